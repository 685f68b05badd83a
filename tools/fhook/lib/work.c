// SPDX-License-Identifier: GPL-2.0
/* A command that runs during a recording; the header describes the rules. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

/* After a signal, do not wait longer than this for answers. */
#define STOPPED_MS	3000
#define SLICE_MS	100

/* Signals that only occur together with the failure of a write. */
static const struct {
	int number;
	bool stops;
} signals[] = {
	{ SIGHUP, true }, { SIGINT, true }, { SIGQUIT, true }, { SIGTERM, true },
	{ SIGUSR1, true }, { SIGUSR2, true }, { SIGALRM, true }, { SIGXCPU, true },
	{ SIGPIPE, false }, { SIGXFSZ, false },
};

static struct sigaction before[ARRAY_SIZE(signals)];
static volatile sig_atomic_t stopped, triggered, nr_signals;
static volatile pid_t command;
static int command_fd = -1, command_status;
static bool command_ended;

/* Pass on a signal, except those that the terminal also sends to the command. */
static void pass_on(int number, siginfo_t *info, void *context __unused)
{
	const bool terminal = info->si_code == SI_KERNEL &&
			      (number == SIGINT || number == SIGQUIT || number == SIGHUP);

	stopped = number;
	nr_signals++;
	if (command > 0 && !terminal)
		kill(command, number);
}

/* A handler that does nothing: unlike SIG_IGN, it is not inherited by the command. */
static void outlive(int number __unused)
{
}

void work_begin(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		struct sigaction action = { .sa_handler = outlive };

		if (signals[i].stops) {
			action.sa_sigaction = pass_on;
			action.sa_flags = SA_SIGINFO;
		}

		sigaction(signals[i].number, NULL, &before[i]);
		/* Respect nohup. */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i].number, &action, NULL);
	}
	/* If it is ignored, the status of a child cannot be had. */
	signal(SIGCHLD, SIG_DFL);
}

static void trigger(int number __unused)
{
	triggered = true;
}

void work_take_trigger(void)
{
	const struct sigaction action = { .sa_handler = trigger };

	sigaction(WORK_TRIGGER, &action, NULL);
}

bool work_triggered(void)
{
	return triggered;
}

static void put_signals_back(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i].number, &before[i], NULL);
}

pid_t work_fork(void)
{
	sigset_t all, mask;
	pid_t child;
	int error;

	/* A signal that the child gets before it executes the command must end it. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	child = fork();
	error = errno;
	if (!child)
		put_signals_back();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	errno = error;
	return child;
}

/* In the child: report through the pipe why the command could not be executed. */
static void become(char **argv, int said)
{
	int error;

	execvp(argv[0], argv);
	error = errno;
	if (write(said, &error, sizeof(error)) != sizeof(error))
		fprintf(stderr, "fhook: %s cannot be run: %s.\n", argv[0], strerror(error));
	_exit(127);
}

int work_start(char **argv, struct fault *fault)
{
	int ends[2], error = 0;
	pid_t child;

	if (stopped)
		return fault_say(fault, "%s was not run: signal %d came before it", argv[0],
				 stopped);
	if (pipe2(ends, O_CLOEXEC))
		return fault_say(fault, "%s cannot be run: %s", argv[0], strerror(errno));
	child = work_fork();
	if (!child)
		become(argv, ends[1]);
	if (child < 0)
		error = errno;
	close(ends[1]);
	while (child > 0 && read(ends[0], &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(ends[0]);
	if (error) {
		while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		return fault_say(fault, "%s cannot be run: %s", argv[0], strerror(error));
	}
	command = child;
	command_fd = syscall(SYS_pidfd_open, child, 0);
	/* Pass on a signal that arrived in the meantime. */
	if (stopped)
		kill(child, stopped);
	return 0;
}

pid_t work_pid(void)
{
	return command;
}

int work_fd(void)
{
	return command_fd;
}

/* Another process may get the number after waitpid(), so clear it first: no signal is sent. */
static void look(int options)
{
	const pid_t child = command;
	siginfo_t info = { 0 };

	if (waitid(P_PID, child, &info, WEXITED | WNOWAIT | options)) {
		if (errno != EINTR)
			command = 0;
		return;
	}
	if (!info.si_pid)
		return;
	command = 0;
	command_ended = waitpid(child, &command_status, 0) == child;
}

bool work_runs(void)
{
	if (command > 0)
		look(WNOHANG);
	return command > 0 && !stopped && !triggered;
}

int work_stopped(void)
{
	return nr_signals;
}

/* Wait until the descriptor is ready. */
static int wait_for(int fd, short events, int limit_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };
	int waited = 0;

	while (limit_ms < 0 || waited < limit_ms) {
		if (stopped && waited >= STOPPED_MS)
			return -1;
		if (poll(&poll_fd, 1, SLICE_MS) > 0)
			return poll_fd.revents & events ? 0 : -1;
		waited += SLICE_MS;
	}
	return -1;
}

int work_tell(int fd, const char *text, size_t length, int limit_ms)
{
	while (length) {
		ssize_t size;

		if (wait_for(fd, POLLOUT, limit_ms))
			return -1;
		size = write(fd, text, length);
		if (size < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		if (size > 0) {
			text += size;
			length -= size;
		}
	}
	return 0;
}

int work_hear(int fd, char *line, size_t room, int limit_ms)
{
	size_t length = 0;
	char byte = 0;

	while (byte != '\n') {
		ssize_t size;

		if (wait_for(fd, POLLIN, limit_ms))
			return -1;
		size = read(fd, &byte, 1);
		if (!size || (size < 0 && errno != EINTR && errno != EAGAIN))
			return -1;
		if (size < 0)
			byte = 0;
		if (byte && byte != '\n' && length < room - 1)
			line[length++] = byte;
	}
	line[length] = '\0';
	return 0;
}

int work_failed(const char *otherwise, struct fault *fault)
{
	if (stopped)
		return fault_say(fault, "signal %d has come, and then: %s", stopped, otherwise);
	return fault_say(fault, "%s", otherwise);
}

void work_end(void)
{
	/* A signal interrupts the wait, and is passed on. */
	while (command > 0)
		look(0);
	if (command_fd >= 0)
		close(command_fd);
	command_fd = -1;
	put_signals_back();
}

int work_status(const char *name)
{
	if (!command_ended || !command_status)
		return 0;
	if (WIFSIGNALED(command_status)) {
		fprintf(stderr, "fhook: %s was killed by signal %d: the recording ends there.\n",
			name, WTERMSIG(command_status));
		return 128 + WTERMSIG(command_status);
	}
	fprintf(stderr, "fhook: %s has ended with status %d.\n", name,
		WEXITSTATUS(command_status));
	return WEXITSTATUS(command_status);
}

int work_run(char **argv, struct fault *fault)
{
	int result;

	work_begin();
	result = work_start(argv, fault);
	work_end();
	return result;
}
