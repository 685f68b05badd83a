// SPDX-License-Identifier: GPL-2.0
/*
 * Write mutated lines to the files of fhook, uhook and calltrace.
 *
 *	fhook_fuzz [-v] CORPUS NUMBER SEED [KEEP]
 *
 * An input is a text of lines "FILE TEXT", each of which writes TEXT to a file of tracefs. The
 * inputs in CORPUS are tried first, then NUMBER mutations. With CONFIG_KCOV, inputs that reach
 * new code are mutated as well, and written to the directory KEEP. After each input, everything
 * that it has created is removed. Of the lines of CORPUS for each file of events, a third must be
 * accepted.
 *
 * The first input after which the kernel has complained, something is left, or a refused line
 * has no message, ends the program, which prints the input: it can be added to CORPUS. -v
 * prints each input before it is tried, for kernels that crash.
 *
 * The file "words" in CORPUS has words that mutations insert.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <linux/kcov.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "../uhook/uhook_text.h"
#include "fhook_fuzz.h"

#define PROGRAM		"/tmp/fhook_fuzz.text"
#define TEXT_OFFSET	0x1000
#define INSTANCE	"instances/fuzz"

#define COVER_WORDS	0x40000
#define SEEN_SIZE	0x40000

/* Where the kernel promises the reason of an error */
enum promise { NOWHERE, IN_LOG, IN_INSTANCE_LOG, IN_DMESG };

static const struct target {
	const char *file;
	enum promise promise;
	int flags;
	/* Undoes what was written, if the events do not tell */
	const char *reset;
	int reset_flags;
} targets[] = {
	{ "fhook_events", IN_LOG, O_APPEND },
	{ "uhook_events", IN_LOG, O_APPEND },
	{ "dynamic_events", NOWHERE, O_APPEND },
	{ "fhook/enabled", NOWHERE, 0, "1", 0 },
	{ "uhook/boost", NOWHERE, 0, "1", 0 },
	{ "fhook/calltrace/enable", NOWHERE, 0, "0", 0 },
	{ "fhook/calltrace/functions", IN_LOG, O_APPEND, "\n", O_TRUNC },
	{ "fhook/calltrace/programs", IN_DMESG, O_APPEND, "", O_TRUNC },
	{ INSTANCE "/current_tracer", NOWHERE, 0, "nop", 0 },
	{ INSTANCE "/set_fhook_filter", IN_INSTANCE_LOG, O_APPEND, "", O_TRUNC },
	{ INSTANCE "/set_fhook_notrace", IN_INSTANCE_LOG, O_APPEND, "", O_TRUNC },
	/* All that begin with it */
	{ INSTANCE "/events/", NOWHERE, O_APPEND },
};

static bool touched[ARRAY_SIZE(targets)];
static unsigned int written[ARRAY_SIZE(targets)], accepted[ARRAY_SIZE(targets)];

/* Files that are empty, but for comments, when everything has been removed */
static const char *const empty_files[] = {
	"fhook_events", "uhook_events", "dynamic_events", "fhook/enabled_functions",
	"fhook/stat", "fhook/redirects", "fhook/calltrace/functions", "fhook/calltrace/programs",
	"fhook/calltrace/block",
};

static uint32_t seen[SEEN_SIZE];
static unsigned int nr_seen;
static uint64_t *cover;
static int cover_fd = -1, dmesg_fd;
static const char *current;
static char *text;
static bool verbose;
static sigjmp_buf resume;

/* 0 or an error number */
static int write_file(const char *path, int flags, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | flags), err = 0;

	if (fd < 0)
		return errno;
	if (len && write(fd, bytes, len) < 0)
		err = errno;
	close(fd);
	return err;
}

static void blame(const char *why, const char *line)
{
	line = line ?: "";
	printf("%s: %.*s\nafter this input:\n%s", why, (int)strcspn(line, "\n"), line, current);
	exit(1);
}

/*
 * Have the new lines of the kernel's log this word? Those of the kernel's complaints end the
 * run.
 */
static bool dmesg_has(const char *word)
{
	static const char *const splats[] = {
		"WARNING:", "BUG:", "Oops", "cut here", "INFO: ", "KASAN", "UBSAN", "ODEBUG",
		"corruption", "uprobe: ",
	};
	/* Reading a longer record fails. */
	char line[1 << 13];
	bool found = false;
	ssize_t len;
	size_t i;

	while ((len = read(dmesg_fd, line, sizeof(line) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0)
			continue;
		line[len] = '\0';
		for (i = 0; i < ARRAY_SIZE(splats); i++)
			if (strstr(line, splats[i]))
				blame("the kernel has complained", line);
		found |= word && strstr(line, word);
	}
	return found;
}

static void check_reason(const struct target *target, const char *line)
{
	char log[64];

	switch (target->promise) {
	case IN_LOG:
		if (read_file("error_log", log, sizeof(log)))
			return;
		break;
	case IN_INSTANCE_LOG:
		if (read_file(INSTANCE "/error_log", log, sizeof(log)))
			return;
		break;
	case IN_DMESG:
		/* The end of a longer message, and so the message, waits for the next one. */
		if (strcspn(line, "\n") > 900 || dmesg_has("fhook: "))
			return;
		break;
	case NOWHERE:
		return;
	}
	blame("a line was refused without a reason", line);
}

/* Split off the first word: the target of a line, or NULL. */
static const struct target *target_of(const char *line, size_t len, char *path, size_t size)
{
	size_t i, name = strcspn(line, "\n ");

	if (name >= len || name >= size || memmem(line, name, "..", 2))
		return NULL;
	memcpy(path, line, name);
	path[name] = '\0';
	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		const char *file = targets[i].file;

		if (!strcmp(path, file) ||
		    (file[strlen(file) - 1] == '/' && !strncmp(path, file, strlen(file))))
			return &targets[i];
	}
	return NULL;
}

static void write_line(const char *line, size_t len)
{
	const struct target *target;
	char path[256];
	size_t name;
	int err;

	target = target_of(line, len, path, sizeof(path));
	if (!target)
		return;
	if (target->promise == IN_LOG)
		write_file("error_log", O_TRUNC, "", 0);
	else if (target->promise == IN_INSTANCE_LOG)
		write_file(INSTANCE "/error_log", O_TRUNC, "", 0);
	dmesg_has(NULL);
	touched[target - targets] = true;
	name = strlen(path) + 1;
	/* With the newline */
	err = write_file(path, target->flags, line + name, len + 1 - name);
	written[target - targets]++;
	accepted[target - targets] += !err;
	/* The parser of all such files refuses longer lines, in the kernel's log. */
	if (err && err != ENOMEM && err != EINTR && len < 4000)
		check_reason(target, line);
}

static void on_signal(int sig)
{
	(void)sig;
	siglongjmp(resume, 1);
}

/* Hit hooks. */
static void run_hooked(void)
{
	char buf[64];
	int i;

	for (i = 0; i < 2; i++) {
		long ret;

		if (sigsetjmp(resume, 1))
			blame("the program has got a signal", NULL);
		ret = call_text(text, i);
		if (ret != i + 1)
			blame("the program has computed something else", NULL);
	}
	read_file("/proc/self/comm", buf, sizeof(buf));
	mkdir("/tmp/fhook_fuzz.dir", 0700);
	rmdir("/tmp/fhook_fuzz.dir");
}

static void read_all(void)
{
	static const char *const files[] = {
		"fhook_events", "uhook_events", "dynamic_events", "fhook/enabled_functions",
		"fhook/stat", "fhook/overrides", "uhook/profile", "uhook/slots",
		"fhook/calltrace/functions", "fhook/calltrace/map", "fhook/calltrace/programs",
		INSTANCE "/trace_pipe", INSTANCE "/set_fhook_filter",
	};
	static char buf[1 << 14];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		read_file(files[i], buf, sizeof(buf));
}

/* Remove the triggers of an event, as they are printed, without their state in brackets. */
static void remove_triggers(const char *path)
{
	char list[4096], trigger[4096], *line, *save, *state;

	read_file(path, list, sizeof(list));
	for (line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		state = strstr(line, " [");
		if (state)
			*state = '\0';
		if (*line == '#')
			continue;
		snprintf(trigger, sizeof(trigger), "!%s", line);
		write_file(path, O_APPEND, trigger, strlen(trigger));
	}
}

/* Disable all events of the instance that were added. */
static void disable_events(void)
{
	static char list[1 << 16];
	char path[512], *line, *save;

	read_file("dynamic_events", list, sizeof(list));
	for (line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = strchr(line, ':');

		if (!name)
			continue;
		name[strcspn(name, " ")] = '\0';
		snprintf(path, sizeof(path), INSTANCE "/events/%s/enable", name + 1);
		write_file(path, 0, "0", 1);
		snprintf(path, sizeof(path), INSTANCE "/events/%s/trigger", name + 1);
		remove_triggers(path);
	}
}

static bool remove_events(void)
{
	return !write_file("fhook_events", O_TRUNC, "", 0) &&
	       !write_file("uhook_events", O_TRUNC, "", 0) &&
	       !write_file("dynamic_events", O_TRUNC, "", 0);
}

static void undo(void)
{
	int tries;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		if (touched[i] && targets[i].reset)
			write_file(targets[i].file, targets[i].reset_flags, targets[i].reset,
				   strlen(targets[i].reset));
		touched[i] = false;
	}
	/* Triggers may refer to each other. */
	for (tries = 0; tries < 4; tries++) {
		disable_events();
		if (remove_events())
			return;
	}
	/* Some triggers cannot be removed by the text that they print; they end here. */
	if (rmdir(INSTANCE) || mkdir(INSTANCE, 0700))
		blame("the instance cannot be removed", strerror(errno));
	if (!remove_events())
		blame("events cannot be removed", strerror(errno));
}

static void check_removed(void)
{
	char left[512];
	size_t i;
	int tries;

	for (i = 0; i < ARRAY_SIZE(empty_files); i++) {
		for (tries = 0; read_file(empty_files[i], left, sizeof(left)) &&
		     *after_comments(left); tries++) {
			if (tries == 50)
				blame(empty_files[i], left);
			usleep(20000);
		}
	}
	if (!access("events/fhooks", F_OK) || !access("events/uhooks", F_OK))
		blame("a group of events is left", NULL);
	dmesg_has(NULL);
}

/* The number of addresses that were not reached before */
static unsigned int new_addresses(void)
{
	uint64_t i, nr = cover[0];
	unsigned int before = nr_seen;

	for (i = 1; i <= nr; i++) {
		uint32_t pc = cover[i], at = pc * 2654435761u >> 14;

		while (seen[at] && seen[at] != pc)
			at = (at + 1) % SEEN_SIZE;
		if (!seen[at] && nr_seen < SEEN_SIZE / 2) {
			seen[at] = pc;
			nr_seen++;
		}
	}
	return nr_seen - before;
}

/* Returns whether the input has reached new code. */
static bool try_input(const char *input)
{
	unsigned int new = 0;
	const char *line;
	size_t len;

	current = input;
	if (verbose)
		fprintf(stderr, "--\n%s", input);
	if (cover_fd >= 0) {
		cover[0] = 0;
		check(!ioctl(cover_fd, KCOV_ENABLE, KCOV_TRACE_PC), "KCOV_ENABLE");
	}
	for (line = input; *line; line += len + 1) {
		len = strcspn(line, "\n");
		write_line(line, len);
	}
	run_hooked();
	read_all();
	if (cover_fd >= 0) {
		check(!ioctl(cover_fd, KCOV_DISABLE, 0), "KCOV_DISABLE");
		new = new_addresses();
	}
	undo();
	check_removed();
	return new;
}

/* A file with a function in a page of returns: hooks anywhere in it do no harm. */
static void make_program(void)
{
#if defined(__x86_64__)
	enum { MACHINE = EM_X86_64 };
	const unsigned char ret[] = { 0xc3 };
#else
	enum { MACHINE = EM_AARCH64 };
	const unsigned char ret[] = { 0xc0, 0x03, 0x5f, 0xd6 };
#endif
	struct {
		unsigned char ident[EI_NIDENT];
		uint16_t type, machine;
		uint32_t version;
		uint64_t entry, headers, sections;
		uint32_t flags;
		uint16_t size, header_size, nr_headers, section_size, nr_sections, names;
		uint32_t segment_type, segment_flags;
		uint64_t offset, vaddr, paddr, file_size, mem_size, align;
	} elf = {
		.ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.type = ET_DYN, .machine = MACHINE, .version = EV_CURRENT, .size = 64,
		.headers = 64, .header_size = 56, .nr_headers = 1,
		.segment_type = PT_LOAD, .segment_flags = PF_R | PF_X, .offset = TEXT_OFFSET,
		.vaddr = TEXT_OFFSET, .file_size = 0x1000, .mem_size = 0x1000, .align = 0x1000,
	};
	unsigned char code[16];
	off_t at;
	int fd;

	unlink(PROGRAM);
	fd = open(PROGRAM, O_RDWR | O_CREAT | O_EXCL, 0755);
	check(fd >= 0, "%s: %s", PROGRAM, strerror(errno));
	write_at(fd, &elf, sizeof(elf), 0);
	for (at = TEXT_OFFSET; at < 2 * TEXT_OFFSET; at += sizeof(ret))
		write_at(fd, ret, sizeof(ret), at);
	write_at(fd, code, plain_code(code, 1), TEXT_OFFSET);
	close(fd);
	text = map_text(PROGRAM, TEXT_OFFSET / getpagesize(), HERE, MAP_FIXED_NOREPLACE) +
	       TEXT_OFFSET % getpagesize();
}

static void start(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_NODEFER };
	static const int signals[] = { SIGSEGV, SIGILL, SIGTRAP, SIGBUS };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	make_program();
	check(!chdir("/sys/kernel/tracing"), "no tracefs");
	check(!mkdir(INSTANCE, 0700) || errno == EEXIST, "%s: %s", INSTANCE, strerror(errno));
	dmesg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	check(dmesg_fd >= 0 && lseek(dmesg_fd, 0, SEEK_END) >= 0, "/dev/kmsg");

	cover_fd = open("/sys/kernel/debug/kcov", O_RDWR);
	if (cover_fd < 0)
		return;
	check(!ioctl(cover_fd, KCOV_INIT_TRACE, COVER_WORDS), "KCOV_INIT_TRACE");
	cover = mmap(NULL, COVER_WORDS * sizeof(*cover), PROT_READ | PROT_WRITE, MAP_SHARED,
		     cover_fd, 0);
	check(cover != MAP_FAILED, "kcov: %s", strerror(errno));
}

/*
 * Mutations of lines that are refused anyway would test nothing but their parser. Some lines of
 * the corpus are for one architecture, or were refused when they were found. The files of
 * events are those that are not reset.
 */
static void check_accepted(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		printf("%s: %u of %u lines accepted\n", targets[i].file, accepted[i], written[i]);
		check(targets[i].reset || accepted[i] >= written[i] / 3,
		      "most lines of the corpus for %s are refused", targets[i].file);
	}
}

static void fuzz(unsigned long number, const char *keep)
{
	static char input[INPUT_MAX];
	unsigned int i, given = nr_inputs;
	unsigned long n;

	for (i = 0; i < given; i++)
		try_input(inputs[i]);
	printf("corpus: %u inputs, %u addresses\n", given, nr_seen);
	check_accepted();
	for (n = 0; n < number; n++) {
		mutate(input);
		if (try_input(input))
			keep_input(keep, input);
		if (verbose && n % 100 == 99)
			printf("%lu: %u inputs, %u addresses\n", n + 1, nr_inputs, nr_seen);
	}
	printf("%lu inputs tried, %u kept, %u addresses%s\n", n, nr_inputs - given, nr_seen,
	       cover ? "" : " (without KCOV)");
}

int main(int argc, char **argv)
{
	verbose = argc > 1 && !strcmp(argv[1], "-v");
	argc -= verbose;
	argv += verbose;
	check(argc == 4 || argc == 5, "usage: fhook_fuzz [-v] CORPUS NUMBER SEED [KEEP]");
	setlinebuf(stdout);
	uhook_seed = strtoul(argv[3], NULL, 0) * 2 + 1;
	read_corpus(argv[1]);
	start();
	fuzz(strtoul(argv[2], NULL, 0), argv[4]);
	rmdir(INSTANCE);
	unlink(PROGRAM);
	return 0;
}
