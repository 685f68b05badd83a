// SPDX-License-Identifier: GPL-2.0
/* Words that hook functions while something runs; the header describes it. */
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "kernel.h"
#include "lib/clock.h"
#include "lib/work.h"
#include "live.h"
#include "progress.h"

/* How often to look whether the command or the time has ended. */
#define LOOK_MS		50

static double now(void)
{
	return clock_ns(CLOCK_MONOTONIC) / (double)NS_PER_S;
}

static bool is_over(const struct options *options, double began)
{
	if (work_stopped() || ferror(stdout))
		return true;
	if (options->command && !work_runs())
		return true;
	return options->duration && now() - began >= options->duration;
}

/**
 * struct target - the program that is hooked, or the process
 * @file: the program's file when the run began; without inode if it is not watched
 * @process: pidfd of the process, or -1
 */
struct target {
	struct stat file;
	int process;
};

/* A process keeps its program, whose path may be in /proc, where it ends with the process. */
static void target_begin(struct target *target, const struct options *options)
{
	*target = (struct target){ .process = -1 };
	if (options->pid)
		target->process = syscall(SYS_pidfd_open, options->pid, 0);
	if (options->program && !options->pid && strncmp(options->program, "/proc/", 6) &&
	    stat(options->program, &target->file))
		target->file.st_ino = 0;
}

/* Events are on the file, not on its path. */
static void target_end(const struct target *target, const struct options *options)
{
	struct stat file;

	if (target->process >= 0)
		close(target->process);
	if (target->file.st_ino && (stat(options->program, &file) ||
				    file.st_dev != target->file.st_dev ||
				    file.st_ino != target->file.st_ino))
		fprintf(stderr,
			"fhook: %s has been replaced or removed: new runs of it were not hooked.\n",
			options->program);
	else if (target->file.st_ino && (file.st_mtim.tv_sec != target->file.st_mtim.tv_sec ||
					 file.st_mtim.tv_nsec != target->file.st_mtim.tv_nsec))
		fprintf(stderr,
			"fhook: %s has been overwritten: hooks were where functions of the old file are.\n",
			options->program);
}

/* Wait for input, the end of the process, or a short time. Returns 1 if the run is to end. */
static int wait_some(const struct live *live, const struct target *target,
		     const struct options *options, struct fault *fault)
{
	struct pollfd ready[] = {
		{ .fd = live->input ? *live->fd : -1, .events = POLLIN },
		{ .fd = target->process, .events = POLLIN },
	};

	if (poll(ready, ARRAY_SIZE(ready), LOOK_MS) <= 0)
		return 0;
	if (ready[1].revents) {
		fprintf(stderr, "fhook: process %d has ended.\n", options->pid);
		return 1;
	}
	return live->input(live->data, fault);
}

/* Print until the end. */
static int watch(const struct live *live, const struct target *target,
		 const struct options *options, struct fault *fault)
{
	double began = now(), next = began + options->interval;
	int result;

	if (options->command && work_start(options->command, fault))
		return -1;
	while (!is_over(options, began)) {
		result = wait_some(live, target, options, fault);
		if (result < 0)
			return -1;
		if (result)
			break;
		if (!options->interval || now() < next)
			continue;
		/* Not a table for each interval in which this process was stopped. */
		next = now() + options->interval;
		if (live->show(live->data, false, fault))
			return -1;
		fflush(stdout);
	}
	return live->show(live->data, true, fault);
}

int live_run(const struct live *live, int argc, char **argv, struct fault *fault)
{
	struct options options;
	struct target target;
	int result;

	options_parse(&options, live->word, argc, argv);
	if (kernel_open(fault))
		return -1;
	work_begin();
	target_begin(&target, &options);
	result = live->open(live->data, &options, fault);
	if (!result)
		result = watch(live, &target, &options, fault);
	live->close(live->data);
	target_end(&target, &options);
	/* The command may go on after the time is over. */
	work_end();
	if (!result && options.command)
		result = work_status(options.command[0]);
	options_free(&options);
	return result;
}

bool live_terminal(const struct options *options)
{
	return options->interval && !options->json && has_escapes(STDOUT_FILENO);
}

unsigned int live_lines(const struct options *options, bool last)
{
	struct winsize size;

	if (options->lines)
		return options->lines;
	if (!last && live_terminal(options) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) &&
	    size.ws_row > 4)
		return size.ws_row - 3;
	return UINT_MAX;
}

void live_more(const struct options *options, unsigned int shown, unsigned int all)
{
	if (shown < all)
		printf("%12s  of %u %s\n", "...", all, options->by ? "rows" : "functions");
}

/* The length of the part of a text that has this many letters. */
static size_t length_of(const char *text, size_t letters)
{
	size_t i;

	for (i = 0; text[i] && letters; letters--)
		i += text_letter(text + i) ?: 1;
	return i;
}

void live_line(const struct options *options, const char *format, ...)
{
	struct winsize size;
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if (live_terminal(options) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		text[length_of(text, size.ws_col)] = '\0';
	puts(text);
	free(text);
}

void live_header(const char *format, ...)
{
	const char *no_color = getenv("NO_COLOR");
	const bool reversed = has_escapes(STDOUT_FILENO) && (!no_color || !*no_color);
	va_list arguments;

	fputs(reversed ? "\033[7m" : "", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	puts(reversed ? "\033[0m" : "");
}

const char *live_time(u64 ns, char text[16])
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	unsigned int i;
	double time;

	/* A number that would be rounded to 1000 is 1 in the next unit. */
	for (i = 0; i < ARRAY_SIZE(units) - 1 && ns < 0.9995 * units[i].ns; i++)
		;
	time = ns / units[i].ns;
	snprintf(text, 16, time < 999.5 ? "%.3g %s" : "%.0f %s", time, units[i].unit);
	return text;
}

void live_clear(void)
{
	fputs("\033[H\033[J", stdout);
}

void live_dropped(u64 calls)
{
	if (calls)
		fprintf(stderr, "fhook: %llu calls are missing: the kernel had no room.\n", calls);
}
