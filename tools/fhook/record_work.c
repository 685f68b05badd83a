// SPDX-License-Identifier: GPL-2.0
/* A command that is run while something is recorded: the rules are in the header. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "record_work.h"

/* Those that do not stop it say what a write that fails says as well. */
static const struct {
	int number;
	bool stops;
} signals[] = {
	{ SIGHUP, true }, { SIGINT, true }, { SIGQUIT, true }, { SIGTERM, true },
	{ SIGUSR1, true }, { SIGUSR2, true }, { SIGALRM, true }, { SIGXCPU, true },
	{ SIGPIPE, false }, { SIGXFSZ, false },
};

static struct sigaction before[ARRAY_SIZE(signals)];
static volatile sig_atomic_t stopped;
static volatile pid_t command;
static int command_fd = -1, command_status;
static bool command_ended;

static void pass_on(int number)
{
	stopped = number;
	if (command > 0)
		kill(command, number);
}

/* Caught, and not ignored, so that what is run has it as it was. */
static void outlive(int number __unused)
{
}

void record_work_begin(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		const struct sigaction action = {
			.sa_handler = signals[i].stops ? pass_on : outlive,
		};

		sigaction(signals[i].number, NULL, &before[i]);
		/* nohup means it. */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i].number, &action, NULL);
	}
}

static void put_signals_back(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i].number, &before[i], NULL);
}

pid_t record_work_fork(void)
{
	sigset_t all, mask;
	pid_t child;
	int error;

	/* What the child gets before it is another program is to end it. */
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

int record_work_start(char **argv, struct fault *fault)
{
	pid_t child;

	if (stopped)
		return fault_say(fault, "%s was not run: signal %d came before it", argv[0],
				 stopped);
	child = record_work_fork();
	if (!child) {
		execvp(argv[0], argv);
		fprintf(stderr, "fhook: %s cannot be run: %s.\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (child < 0)
		return fault_say(fault, "%s cannot be run: %s", argv[0], strerror(errno));
	command = child;
	command_fd = syscall(SYS_pidfd_open, child, 0);
	/* One that came in between was not passed on. */
	if (stopped)
		kill(child, stopped);
	return 0;
}

int record_work_fd(void)
{
	return command_fd;
}

/* Its number may be another's as soon as it was waited for, and gets no signal then. */
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

bool record_work_runs(void)
{
	if (command > 0)
		look(WNOHANG);
	return command > 0 && !stopped;
}

int record_work_end(char **argv, struct fault *fault)
{
	/* A signal interrupts this, and is passed on. */
	while (command > 0)
		look(0);
	if (command_fd >= 0)
		close(command_fd);
	command_fd = -1;
	put_signals_back();
	if (!command_ended)
		return 0;
	if (WIFSIGNALED(command_status))
		return fault_say(fault, "%s was killed by signal %d: the recording ends there",
				 argv[0], WTERMSIG(command_status));
	if (WEXITSTATUS(command_status))
		return fault_say(fault, "%s has ended with status %d; what it did is recorded",
				 argv[0], WEXITSTATUS(command_status));
	return 0;
}
