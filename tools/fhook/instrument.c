// SPDX-License-Identifier: GPL-2.0
/*
 * What the three instrumenters share: options, refusals, and writing a file
 *
 * A file is written beside its place and then put there, so that nothing is left
 * half-written, and a program that runs keeps what it has.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "instrument.h"

static const struct argp_option options[] = {
	{ "functions", 'f', "LIST", 0,
	  "Instrument the functions of this file: names and globs, one a line; ! leaves out", 1 },
	{ "function", 'F', "PATTERN", 0, "Instrument this function, or those that match", 1 },
	{ "output", 'o', "OUT", 0, "Write the result to this file", 1 },
	{ "skip", 's', NULL, 0, "Go on without what cannot be done, and say so", 1 },
	{ }
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct instrument *run = state->input;
	struct fault fault;
	int ret = 0;

	switch (key) {
	case 'f':
		ret = list_read(&run->list, text, &fault);
		break;
	case 'F':
		ret = list_add(&run->list, text, &fault);
		break;
	case 'o':
		run->output = text;
		break;
	case 's':
		run->skip = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (ret)
		argp_failure(state, 1, 0, "%s", fault.text);
	return 0;
}

const struct argp instrument_argp = { .options = options, .parser = parse };

int instrument_refuse(struct instrument *run, const char *format, ...)
{
	char *sentence = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&sentence, format, args);
	va_end(args);
	if (length < 0)
		return -1;
	if (grow(&run->refusals, &run->room_refusals, run->nr_refusals, sizeof(sentence))) {
		free(sentence);
		return -1;
	}
	run->refusals[run->nr_refusals++] = sentence;
	return 0;
}

static int refuse_unmatched(struct instrument *run, const struct list_pattern *pattern,
			    const char *why)
{
	const char *near;

	if (pattern->is_glob)
		return instrument_refuse(run, "No function of %s matches %s.", run->input,
					 pattern->text);
	if (why)
		return instrument_refuse(run, "%s %s.", pattern->text, why);
	near = list_near(&run->list, pattern->text);
	if (near)
		return instrument_refuse(run, "There is no function %s in %s: is %s meant?",
					 pattern->text, run->input, near);
	return instrument_refuse(run, "There is no function %s in %s.", pattern->text,
				 run->input);
}

int instrument_unmatched(struct instrument *run,
			 const char *(*declared)(const char *name, void *data), void *data)
{
	const struct list_pattern *pattern = run->list.patterns;
	const struct list_pattern *end = pattern + run->list.nr_patterns;

	for (; pattern < end; pattern++) {
		if (pattern->matched || pattern->excludes)
			continue;
		if (refuse_unmatched(run, pattern, declared ? declared(pattern->text, data) : NULL))
			return -1;
	}
	return 0;
}

int instrument_may_write(const struct instrument *run, struct fault *fault)
{
	if (run->nr_refusals && !run->skip)
		return fault_say(fault, "Nothing is written, for %s.",
				 "not all of the list can be done: with --skip, the rest is");
	if (!run->instrumented)
		return fault_say(fault, "Nothing is written, for %s.",
				 "there is no function to instrument");
	return 0;
}

static int write_all(int fd, const void *data, size_t size)
{
	ssize_t done;

	while (size) {
		done = write(fd, data, size);
		if (done < 0 && errno != EINTR)
			return -1;
		if (done > 0) {
			data += done;
			size -= done;
		}
	}
	return 0;
}

int instrument_write(const char *path, const void *data, size_t size, unsigned int mode,
		     struct fault *fault)
{
	char *beside;
	int fd, ret;

	if (!path) {
		if (write_all(STDOUT_FILENO, data, size))
			return fault_say(fault, "The result cannot be written: %s.",
					 strerror(errno));
		return 0;
	}
	if (asprintf(&beside, "%s.XXXXXX", path) < 0)
		return fault_say(fault, "There is no memory.");
	fd = mkstemp(beside);
	if (fd < 0) {
		free(beside);
		return fault_say(fault, "%s cannot be written: %s.", path, strerror(errno));
	}
	ret = write_all(fd, data, size) || fchmod(fd, mode);
	ret = close(fd) || ret || rename(beside, path);
	if (ret) {
		fault_say(fault, "%s cannot be written: %s.", path, strerror(errno));
		unlink(beside);
	}
	free(beside);
	return ret ? -1 : 0;
}

int instrument_finish(struct instrument *run, int ret, const struct fault *fault)
{
	const char *me = program_invocation_short_name;
	size_t i;

	for (i = 0; i < run->nr_refusals; i++) {
		fprintf(stderr, "%s: %s\n", me, run->refusals[i]);
		free(run->refusals[i]);
	}
	free(run->refusals);
	if (ret)
		fprintf(stderr, "%s: %s\n", me, fault->text);
	else
		fprintf(stderr, "%s: %zu functions, %zu stubs.\n", me, run->instrumented,
			run->stubs);
	list_free(&run->list);
	return ret ? 1 : 0;
}
