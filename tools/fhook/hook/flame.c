// SPDX-License-Identifier: GPL-2.0
/* A flame graph; the header describes the functions. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "flame.h"

/* In pixels. */
#define WIDTH		1200
#define ROW		18
#define LETTER		7
#define MARGIN		40
/* Narrower ones are left out. */
#define NARROWEST	0.2

static struct flame *find(struct flame *caller, const char *name)
{
	struct flame *child;

	for (child = caller->below; child; child = child->beside)
		if (!strcmp(child->name, name))
			return child;
	child = calloc(1, sizeof(*child));
	if (!child)
		return NULL;
	child->name = strdup(name);
	if (!child->name) {
		free(child);
		return NULL;
	}
	child->beside = caller->below;
	caller->below = child;
	return child;
}

int flame_add(struct flame *root, char *const *stack, size_t depth, u64 calls)
{
	size_t i;

	root->calls += calls;
	for (i = 0; i < depth; i++) {
		root = find(root, stack[i]);
		if (!root)
			return -1;
		root->calls += calls;
	}
	return 0;
}

static unsigned int depth_of(const struct flame *flame)
{
	const struct flame *child;
	unsigned int deepest = 0, depth;

	for (child = flame->below; child; child = child->beside) {
		depth = 1 + depth_of(child);
		if (depth > deepest)
			deepest = depth;
	}
	return deepest;
}

/* Readers refuse the whole graph for an invalid byte, or a control character. */
static void write_text(const char *text, size_t letters, FILE *out)
{
	size_t size;

	for (; *text && letters; text += size ?: 1, letters--) {
		size = text_letter(text);
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else if (!size || (u8)*text < ' ')
			fputc('?', out);
		else
			fwrite(text, 1, size, out);
	}
}

/* The same function has the same colour everywhere. */
static unsigned int colour(const char *name)
{
	unsigned int hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return 0xff0000 | (0x50 + hash % 0x90) << 8 | (hash >> 8) % 0x50;
}

/* A box, and its callees above it. Y is its upper edge. */
static void write_box(const struct flame *flame, double x, int y, double per_call, u64 all,
		      FILE *out)
{
	const double width = flame->calls * per_call;
	const struct flame *child;
	size_t letters;

	if (width < NARROWEST)
		return;
	fprintf(out, "<g><title>");
	write_text(flame->name, ~(size_t)0, out);
	fprintf(out, " (%llu calls, %.1f%%)</title>", flame->calls, 100.0 * flame->calls / all);
	fprintf(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#%06x\"/>",
		x, y, width, ROW - 1, colour(flame->name));
	letters = width / LETTER;
	if (letters > 2) {
		fprintf(out, "<text x=\"%.1f\" y=\"%d\">", x + 2, y + ROW - 5);
		write_text(flame->name, letters, out);
		fputs("</text>", out);
	}
	fputs("</g>\n", out);

	for (child = flame->below; child; child = child->beside) {
		write_box(child, x, y - ROW, per_call, all, out);
		x += child->calls * per_call;
	}
}

static void write_graph(const struct flame *root, const char *title, FILE *out)
{
	const int height = (depth_of(root) + 1) * ROW + MARGIN;
	const struct flame *child;
	double x = 0, per_call = root->calls ? (double)WIDTH / root->calls : 0;

	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" ", WIDTH,
		height);
	fputs("font-family=\"monospace\" font-size=\"12\">\n", out);
	fprintf(out, "<text x=\"4\" y=\"%d\">", MARGIN / 2);
	write_text(title, ~(size_t)0, out);
	fprintf(out, ": %llu calls</text>\n", root->calls);
	for (child = root->below; child; child = child->beside) {
		write_box(child, x, height - ROW, per_call, root->calls, out);
		x += child->calls * per_call;
	}
	fputs("</svg>\n", out);
}

static void write_page(const struct flame *root, const char *title, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", out);
	write_text(title, ~(size_t)0, out);
	fputs("</title></head>\n<body>\n", out);
	write_graph(root, title, out);
	fputs("</body></html>\n", out);
}

static int say_not_written(const char *path, struct fault *fault)
{
	return fault_say(fault, "%s cannot be written: %s", path, strerror(errno));
}

/**
 * struct scratch - where a graph is written
 * @to: path of the file, not of a symbolic link to it; NULL if it is a device or a pipe
 * @path: path of a new file beside it, or NULL if it is a device or a pipe, and written to
 * @fd: descriptor, or -1
 */
struct scratch {
	char *to, *path;
	int fd;
};

/* The new file has the owner and the mode of the one that it replaces. */
static int make_beside(struct scratch *scratch, const struct stat *status)
{
	mode_t mode = status->st_mode & 0777;

	if (asprintf(&scratch->path, "%s.XXXXXX", scratch->to) < 0) {
		scratch->path = NULL;
		return -1;
	}
	scratch->fd = mkostemp(scratch->path, O_CLOEXEC);
	if (scratch->fd < 0)
		return -1;
	/* Some file systems have no owners. Another group gets no access then. */
	if (fchown(scratch->fd, status->st_uid, status->st_gid))
		mode &= ~0070;
	fchmod(scratch->fd, mode);
	return 0;
}

/* The path of an open file, without symbolic links; to be freed, or NULL and errno. */
static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	return length < 0 ? NULL : strndup(path, length);
}

/* Returns 0, or -1 and a sentence; scratch_close() is to be called in any case. */
static int scratch_open(struct scratch *scratch, const char *path, struct fault *fault)
{
	const mode_t mask = umask(0);
	struct stat status = { .st_mode = S_IFREG | (0666 & ~mask), .st_uid = -1, .st_gid = -1 };
	int old, result;

	umask(mask);
	*scratch = (struct scratch){ .fd = -1 };
	/* The kernel decides whether root may follow a link; realpath() would follow any. */
	old = open(path, O_PATH | O_CLOEXEC);
	if ((old < 0 && errno != ENOENT) || (old >= 0 && fstat(old, &status))) {
		result = -1;
	} else if (!S_ISREG(status.st_mode)) {
		scratch->fd = open(path, O_WRONLY | O_CLOEXEC);
		result = scratch->fd < 0 ? -1 : 0;
	} else {
		scratch->to = old < 0 ? strdup(path) : path_of(old);
		result = scratch->to ? make_beside(scratch, &status) : -1;
	}
	if (result)
		say_not_written(path, fault);
	if (old >= 0)
		close(old);
	return result;
}

/* Remove the new file, if it is still there. */
static void scratch_close(struct scratch *scratch)
{
	if (scratch->fd >= 0)
		close(scratch->fd);
	if (scratch->fd >= 0 && scratch->path)
		unlink(scratch->path);
	free(scratch->path);
	free(scratch->to);
}

int flame_check(const char *path, struct fault *fault)
{
	struct scratch scratch;
	struct stat status;
	int result;

	/* Who reads a pipe would take its closing for the end. */
	if (!stat(path, &status) && S_ISFIFO(status.st_mode))
		return access(path, W_OK) ? say_not_written(path, fault) : 0;
	result = scratch_open(&scratch, path, fault);
	scratch_close(&scratch);
	return result;
}

/* Write the whole file. Returns 0, or -1 and errno. */
static int write_all(const struct flame *root, const char *title, bool html, int fd)
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (!out) {
		if (copy >= 0)
			close(copy);
		return -1;
	}
	if (html)
		write_page(root, title, out);
	else
		write_graph(root, title, out);
	return close_checked(out);
}

int flame_save(const struct flame *root, const char *title, bool html, const char *path,
	       struct fault *fault)
{
	struct scratch scratch;
	int result = scratch_open(&scratch, path, fault);

	if (!result && (write_all(root, title, html, scratch.fd) ||
			(scratch.path && rename(scratch.path, scratch.to))))
		result = say_not_written(path, fault);
	scratch_close(&scratch);
	return result;
}

void flame_free(struct flame *root)
{
	struct flame *child = root->below, *next;

	for (; child; child = next) {
		next = child->beside;
		flame_free(child);
		free(child->name);
		free(child);
	}
	root->below = NULL;
}
