// SPDX-License-Identifier: GPL-2.0
/* Functions of a program or library; the header describes them. */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "instrument/list.h"
#include "program.h"

char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/*
 * The file of a process. Its path is that of another file, or of none, if the process is in a
 * container or its file was replaced; then the link itself leads to the file.
 */
static char *file_of(pid_t pid, struct fault *fault)
{
	char link[32], target[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0) {
		fault_say(fault, errno == ENOENT ? "there is no process %d, or it has no program" :
			  "the program of process %d cannot be seen: it is somebody else's",
			  pid);
		return NULL;
	}
	target[length] = '\0';
	return strdup(is_same_file(link, target) ? target : link);
}

static char *find_in_path(const char *name)
{
	const char *path = getenv("PATH");
	char *paths = strdup(path ? path : "/usr/bin:/bin"), *rest = paths, *directory;
	char file[PATH_MAX], *found = NULL;
	struct stat status;

	while (!found && (directory = strsep(&rest, ":"))) {
		snprintf(file, sizeof(file), "%s/%s", directory, name);
		if (!access(file, X_OK) && !stat(file, &status) && S_ISREG(status.st_mode))
			found = realpath(file, NULL);
	}
	free(paths);
	return found;
}

/* "libc.so.6" or "libc" in the directories in which Debian has libraries. */
static char *find_library(const char *name)
{
	static const char *const forms[] = {
		"/lib/*-linux-*/%s", "/usr/lib/*-linux-*/%s", "/lib64/%s", "/usr/lib/%s",
		"/lib/%s", "/usr/local/lib/%s",
		"/lib/*-linux-*/%s.so.[0-9]*", "/usr/lib/*-linux-*/%s.so.[0-9]*",
		"/lib/%s.so.[0-9]*", "/usr/lib/%s.so.[0-9]*",
	};
	char pattern[PATH_MAX], *found = NULL;
	unsigned int i;
	glob_t matches;

	for (i = 0; i < ARRAY_SIZE(forms) && !found; i++) {
		snprintf(pattern, sizeof(pattern), forms[i], name);
		if (glob(pattern, 0, NULL, &matches))
			continue;
		found = realpath(matches.gl_pathv[0], NULL);
		globfree(&matches);
	}
	return found;
}

static char *find(const char *text, pid_t *pid, struct fault *fault)
{
	char *path = NULL;
	u64 number;

	if (!word_number(text, 10, INT_MAX, &number) && number) {
		path = file_of(number, fault);
		if (path)
			*pid = number;
		return path;
	}
	if (strchr(text, '/')) {
		path = realpath(text, NULL);
		if (!path)
			fault_say(fault, "%s: %s", text, strerror(errno));
		return path;
	}
	path = find_in_path(text);
	if (!path)
		path = find_library(text);
	if (!path)
		fault_say(fault, "there is no program %s in PATH, and no such library: give a path",
			  text);
	return path;
}

char *program_find(const char *text, pid_t *pid, struct fault *fault)
{
	char *path = find(text, pid, fault);

	/* The kernel splits definitions into words, and takes '#' for a comment. */
	if (path && path[strcspn(path, " \t\n#")]) {
		fault_say(fault, "the kernel takes no blanks or '#' in a path: make a link to %s",
			  path);
		free(path);
		return NULL;
	}
	return path;
}

char *program_demangle(const char *symbol)
{
	char *name = strncmp(symbol, "_Z", 2) ? NULL : __cxa_demangle(symbol, NULL, NULL, NULL);

	return name ? name : strdup(symbol);
}

static int add(struct program *program, const struct elf_symbol *symbol)
{
	const Elf64_Phdr *segment = elf_segment_of(&program->image, symbol->address);
	char *name;

	if (!segment || !(segment->p_flags & PF_X) ||
	    symbol->address - segment->p_vaddr >= segment->p_filesz)
		return 0;
	name = program_demangle(symbol->name);
	if (!name || grow(&program->functions, &program->room, program->nr,
			  sizeof(*program->functions))) {
		free(name);
		return -1;
	}
	program->functions[program->nr++] = (struct program_function) {
		.name = name,
		.symbol = symbol->name,
		.address = symbol->address,
		.offset = symbol->address - segment->p_vaddr + segment->p_offset,
		.size = symbol->size,
	};
	return 0;
}

static int add_all(struct program *program, struct list *list, struct fault *fault)
{
	const struct elf_image *image = &program->image;
	size_t i;

	for (i = 0; i < image->nr_symbols; i++) {
		const struct elf_symbol *symbol = image->symbols + i;

		if (symbol->type != STT_FUNC ||
		    (list->nr_patterns && list_wants(list, symbol->name) == LIST_NO))
			continue;
		if (add(program, symbol))
			return fault_say(fault, "there is not enough memory");
	}
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct program_function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Keep one of several names of a function. */
static void remove_aliases(struct program *program)
{
	size_t i, nr = 0;

	qsort(program->functions, program->nr, sizeof(*program->functions), compare_addresses);
	for (i = 0; i < program->nr; i++) {
		if (nr && program->functions[nr - 1].address == program->functions[i].address)
			free(program->functions[i].name);
		else
			program->functions[nr++] = program->functions[i];
	}
	program->nr = nr;
}

/* An indirect function has several implementations, of which the dynamic linker chooses one. */
static bool is_indirect(const struct elf_image *image, const char *name)
{
	size_t i;

	for (i = 0; i < image->nr_symbols; i++)
		if (image->symbols[i].type == STT_GNU_IFUNC &&
		    !strcmp(image->symbols[i].name, name))
			return true;
	return false;
}

/* Every pattern must match. */
static int check_matches(const struct list *list, const struct elf_image *image,
			 struct fault *fault)
{
	size_t i;

	for (i = 0; i < list->nr_patterns; i++) {
		const struct list_pattern *pattern = list->patterns + i;
		const char *near = pattern->matched || pattern->is_glob ? NULL :
				   list_near(list, pattern->text);

		if (pattern->excludes)
			continue;
		if (is_indirect(image, pattern->text))
			return fault_say(fault,
					 "%s is indirect: hook an implementation, such as __%s_*",
					 pattern->text, pattern->text);
		if (pattern->matched)
			continue;
		if (near)
			return fault_say(fault, "%s has no function %s; the nearest name is %s",
					 image->path, pattern->text, near);
		return fault_say(fault, "%s has no function that matches %s%s", image->path,
				 pattern->text, image->stripped ? "; it is stripped" : "");
	}
	return 0;
}

int program_select(struct program *program, const char *path, char **patterns,
		   size_t nr_patterns, struct fault *fault)
{
	struct list list = { 0 };
	size_t i;
	int result = 0;

	memset(program, 0, sizeof(*program));
	if (elf_open(&program->image, path, fault))
		return -1;
	program->path = path;
	for (i = 0; i < nr_patterns && !result; i++)
		result = list_add(&list, patterns[i], fault);
	if (!result)
		result = add_all(program, &list, fault);
	if (!result)
		result = check_matches(&list, &program->image, fault);
	if (!result)
		remove_aliases(program);
	if (!result && !program->nr)
		result = fault_say(fault, "%s has no function that is left", path);
	list_free(&list);
	if (result)
		program_free(program);
	return result;
}

void program_free(struct program *program)
{
	size_t i;

	if (!program->path)
		return;
	for (i = 0; i < program->nr; i++)
		free(program->functions[i].name);
	free(program->functions);
	elf_close(&program->image);
	memset(program, 0, sizeof(*program));
}

void program_leave_out(struct left_out *left_out, const struct fault *why)
{
	if (!left_out->nr++)
		left_out->first = *why;
}

int program_report(const struct program *program, const struct left_out *left_out,
		   struct fault *fault)
{
	if (!left_out->nr)
		return 0;
	if (left_out->nr == program->nr) {
		*fault = left_out->first;
		return -1;
	}
	fprintf(stderr, "fhook: %zu of %zu functions are left out; the first because %s.\n",
		left_out->nr, program->nr, left_out->first.text);
	return 0;
}

const char *program_events(const struct session *session)
{
	return session->mainline ? "uprobe_events" : "uhook_events";
}

char program_letter(const struct session *session, bool returns)
{
	if (!session->mainline)
		return 'u';
	return returns ? 'r' : 'p';
}
