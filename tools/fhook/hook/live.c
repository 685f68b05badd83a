// SPDX-License-Identifier: GPL-2.0
/* Running until the end of a time, of a command, or Ctrl-C; the header describes it. */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "lib/work.h"
#include "live.h"

/* How often to look whether the command or the time has ended. */
#define LOOK_MS		50

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static bool is_over(const struct options *options, double began)
{
	if (work_stopped() || ferror(stdout))
		return true;
	if (options->command && !work_runs())
		return true;
	return options->duration && now() - began >= options->duration;
}

/* Wait for input, or for a short time. */
static int wait_some(const struct live *live, struct fault *fault)
{
	struct pollfd input = { .fd = live->input ? live->fd : -1, .events = POLLIN };

	if (poll(&input, 1, LOOK_MS) > 0 && input.revents)
		return live->input(live->data, fault);
	return 0;
}

int live_run(const struct live *live, const struct options *options, struct fault *fault)
{
	double began = now(), next = began + options->interval;

	if (options->command && work_start(options->command, fault))
		return -1;
	while (!is_over(options, began)) {
		if (wait_some(live, fault))
			return -1;
		if (!options->interval || now() < next)
			continue;
		next += options->interval;
		if (live->show(live->data, false, fault))
			return -1;
		fflush(stdout);
	}
	return live->show(live->data, true, fault);
}

int live_end(const struct options *options, int result)
{
	/* The command may go on after the time is over. */
	work_end();
	return !result && options->command ? work_status(options->command[0]) : result;
}

bool live_terminal(const struct options *options)
{
	return options->interval && !options->json && isatty(STDOUT_FILENO);
}

unsigned int live_lines(const struct options *options)
{
	struct winsize size;

	if (options->lines)
		return options->lines;
	if (live_terminal(options) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row > 4)
		return size.ws_row - 3;
	return UINT_MAX;
}

void live_clear(void)
{
	fputs("\033[H\033[J", stdout);
}
