// SPDX-License-Identifier: GPL-2.0
/*
 * Common code of the instrumenters: options, refusals, and writing a file
 *
 * A file is written under another name and then renamed, so that no partial file is left, and a
 * running program keeps its old file.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "instrument.h"
#include "lib/command.h"

static const struct argp_option options[] = {
	{ "functions", 'f', "LIST", 0,
	  "Instrument the functions of this file: names and globs, one a line; ! leaves out", 0 },
	{ "function", 'F', "PATTERN", 0, "Instrument this function, or those that match", 0 },
	{ "output", 'o', "OUT", 0, "Write the result to this file", 0 },
	{ "skip", 's', NULL, 0, "Go on without what cannot be done, and say so", 0 },
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
	case ARGP_KEY_ARG:
		if (run->input)
			argp_error(state, "'%s' is one word too many", text);
		run->input = text;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "the file to read is missing");
		break;
	case ARGP_KEY_END:
		if (run->binary && !run->output && isatty(STDOUT_FILENO))
			argp_failure(state, 1, 0, "%s",
				     "The result is nothing for a terminal: say where with -o FILE.");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (ret)
		argp_failure(state, 1, 0, "%s", fault.text);
	return 0;
}

/* Time of the last progress message, or of the start. */
static u64 last_said;

static u64 seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

void instrument_parse(struct instrument *run, int argc, char **argv, const char *words,
		      const char *does, const struct argp_child *more)
{
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = words, .doc = does,
		.children = more,
	};

	output_check_at_exit();
	argp_err_exit_status = 1;
	last_said = seconds();
	argp_parse(&argp, argc, argv, 0, NULL, run);
}

/* Add a sentence to an array of them. */
static int __printf(4, 0) add_sentence(char ***sentences, size_t *nr, size_t *room,
				       const char *format, va_list args)
{
	char *sentence = NULL;

	if (vasprintf(&sentence, format, args) < 0)
		return -1;
	if (grow(sentences, room, *nr, sizeof(sentence))) {
		free(sentence);
		return -1;
	}
	(*sentences)[(*nr)++] = sentence;
	return 0;
}

int instrument_note(struct instrument *run, struct fault *fault, const char *format, ...)
{
	va_list args;
	int ret;

	va_start(args, format);
	ret = add_sentence(&run->notes, &run->nr_notes, &run->room_notes, format, args);
	va_end(args);
	return ret ? fault_say(fault, "There is no memory.") : 0;
}

static int __printf(2, 0) refuse(struct instrument *run, const char *format, va_list args)
{
	return add_sentence(&run->refusals, &run->nr_refusals, &run->room_refusals, format, args);
}

int instrument_refuse(struct instrument *run, const char *format, ...)
{
	va_list args;
	int ret;

	va_start(args, format);
	ret = refuse(run, format, args);
	va_end(args);
	return ret;
}

/* The number of different reasons is that of the sentences in a program. */
static int leave_out(struct instrument *run, const char *name, const char *why)
{
	struct left_out *left_out;
	size_t i;

	for (i = 0; i < run->nr_left_out; i++) {
		if (!strcmp(run->left_out[i].why, why)) {
			run->left_out[i].count++;
			return 0;
		}
	}
	if (grow(&run->left_out, &run->room_left_out, run->nr_left_out, sizeof(*left_out)))
		return -1;
	left_out = run->left_out + run->nr_left_out++;
	*left_out = (struct left_out){ .why = strdup(why), .example = strdup(name), .count = 1 };
	return left_out->why && left_out->example ? 0 : -1;
}

int instrument_cannot(struct instrument *run, bool by_name, const char *name, const char *why,
		      const char *format, ...)
{
	va_list args;
	int ret;

	/* With --skip, print a line for each function. */
	if (!by_name && !run->skip)
		return leave_out(run, name, why);
	va_start(args, format);
	ret = refuse(run, format, args);
	va_end(args);
	return ret;
}

void instrument_progress(const char *what, size_t done, size_t all)
{
	const bool terminal = isatty(STDERR_FILENO);
	static unsigned int calls;
	u64 now;

	/* Fast operations print no progress. */
	if (calls++ % 256)
		return;
	now = seconds();
	if (now - last_said < (terminal ? 2 : 5))
		return;
	last_said = now;
	fprintf(stderr, "%s: %zu of %zu %s.\n", program_invocation_short_name, done, all, what);
}

/* A guess takes time proportional to the number of names in the file: limit the guesses. */
#define GUESSES_MOST	16

static int refuse_unmatched(struct instrument *run, const struct list_pattern *pattern,
			    const char *why)
{
	const char *near = NULL;

	if (pattern->is_glob)
		return instrument_refuse(run, "No function of %s matches %s.", run->input,
					 pattern->text);
	if (why)
		return instrument_refuse(run, "%s %s.", pattern->text, why);
	if (run->nr_refusals < GUESSES_MOST)
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
		return fault_say(fault,
				 "Nothing is written, for not all of the list can be done%s.",
				 run->instrumented ? ": with --skip, the rest is" : "");
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

/* Something that is not a file, such as a terminal or a pipe, cannot be replaced. */
static int write_through(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = write_all(fd, data, size);
	return close(fd) || ret ? -1 : 0;
}

/* Make a file beside PATH. Returns its descriptor, and its name, to be freed; or -1. */
static int make_beside(const char *path, char **beside)
{
	int fd;

	if (asprintf(beside, "%s.XXXXXX", path) < 0)
		return -1;
	fd = mkstemp(*beside);
	if (fd < 0)
		free(*beside);
	return fd;
}

/* MODE before applying the umask, as for other programs. */
static int write_beside(const char *path, const void *data, size_t size, unsigned int mode)
{
	const mode_t mask = umask(0);
	int fd, ret, error;
	char *beside;

	umask(mask);
	fd = make_beside(path, &beside);
	if (fd < 0)
		return -1;
	ret = write_all(fd, data, size) || fchmod(fd, mode & 0777 & ~mask);
	ret = close(fd) || ret || rename(beside, path);
	error = errno;
	if (ret)
		unlink(beside);
	errno = error;
	free(beside);
	return ret ? -1 : 0;
}

static int check_beside(const char *path)
{
	char *beside;
	int fd = make_beside(path, &beside);

	if (fd < 0)
		return -1;
	unlink(beside);
	close(fd);
	free(beside);
	return 0;
}

int instrument_check(const char *path, struct fault *fault)
{
	struct stat status;
	int ret = 0;

	if (!path)
		return 0;
	if (stat(path, &status) || S_ISREG(status.st_mode)) {
		ret = check_beside(path);
	} else if (S_ISDIR(status.st_mode)) {
		errno = EISDIR;
		ret = -1;
	} else {
		ret = access(path, W_OK);
	}
	return ret ? fault_say(fault, "%s cannot be written: %s.", path, strerror(errno)) : 0;
}

int instrument_write(const char *path, const void *data, size_t size, unsigned int mode,
		     struct fault *fault)
{
	struct stat stat_buffer;
	int ret;

	if (!path)
		ret = write_all(STDOUT_FILENO, data, size);
	else if (!stat(path, &stat_buffer) && !S_ISREG(stat_buffer.st_mode))
		ret = write_through(path, data, size);
	else
		ret = write_beside(path, data, size, mode);
	return ret ? fault_say(fault, "%s cannot be written: %s.", path ?: "The result",
			       strerror(errno)) : 0;
}

static void print_sentences(const char *me, char **sentences, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		/* Names from files, for example. */
		text_clean(sentences[i]);
		fprintf(stderr, "%s: %s\n", me, sentences[i]);
		free(sentences[i]);
	}
	free(sentences);
}

int instrument_finish(struct instrument *run, int ret, const struct fault *fault)
{
	const char *me = program_invocation_short_name;
	size_t i;

	print_sentences(me, run->notes, run->nr_notes);
	print_sentences(me, run->refusals, run->nr_refusals);
	for (i = 0; i < run->nr_left_out; i++) {
		const struct left_out *left_out = run->left_out + i;

		text_clean(left_out->example);
		text_clean(left_out->why);
		if (left_out->count > 1)
			fprintf(stderr, "%s: %zu functions are left out, such as %s: %s.\n", me,
				left_out->count, left_out->example, left_out->why);
		else
			fprintf(stderr, "%s: a function is left out, %s: %s.\n", me,
				left_out->example, left_out->why);
		free(left_out->why);
		free(left_out->example);
	}
	free(run->left_out);
	if (ret)
		fault_print(me, fault);
	else
		fprintf(stderr, "%s: %zu functions, %zu stubs.\n", me, run->instrumented,
			run->stubs);
	list_free(&run->list);
	return ret ? 1 : 0;
}
