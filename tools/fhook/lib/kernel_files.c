// SPDX-License-Identifier: GPL-2.0
/* Files of tracefs; the header describes the functions. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>
#include "kernel_files.h"

/* The directory that was given, for libtracefs; NULL for the mounted tracefs. */
static struct tracefs_instance *top;
static const char *top_path;

int kernel_files_open(const char *directory, struct fault *fault)
{
	top_path = directory ? directory : tracefs_tracing_dir();
	if (!top_path)
		return fault_say(fault,
				 "there is no tracefs: this needs root, and a kernel with fhook");
	if (access(top_path, R_OK | X_OK))
		return fault_say(fault, "%s: %s: recording the kernel is for root", top_path,
				 strerror(errno));
	if (directory) {
		top = tracefs_instance_alloc(directory, NULL);
		if (!top)
			return fault_say(fault, "there is not enough memory for %s", directory);
	}
	return 0;
}

void kernel_files_close(void)
{
	if (top)
		tracefs_instance_free(top);
	top = NULL;
}

const char *kernel_files_path(void)
{
	return top_path;
}

bool kernel_file_exists(const char *path)
{
	return tracefs_file_exists(top, path);
}

/* The list of possible CPUs ends in the highest number, as in "0-3,8-11". */
unsigned int kernel_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	unsigned int last = 0;

	while (file && fscanf(file, "%*[,-]") != EOF && fscanf(file, "%u", &last) == 1)
		;
	if (file)
		fclose(file);
	return last ? last + 1 : sysconf(_SC_NPROCESSORS_CONF);
}

const char *kernel_lockdown(void)
{
	static const char *const modes[] = { "integrity", "confidentiality", "none" };
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128], *mode = NULL;
	unsigned int i;

	if (file && fgets(line, sizeof(line), file))
		mode = strchr(line, '[');
	if (file)
		fclose(file);
	for (i = 0; mode && i < ARRAY_SIZE(modes); i++)
		if (!strncmp(mode + 1, modes[i], strlen(modes[i])))
			return modes[i];
	return NULL;
}

const char *kernel_refusal(int error)
{
	/* An instance that may not have files is an invalid argument. */
	const char *const mode = error == EPERM || error == EINVAL ? kernel_lockdown() : NULL;

	if (mode && *mode == 'c')
		return "the kernel is locked down (confidentiality), so that nobody may trace";
	if (mode && *mode == 'i' && error == EPERM)
		return "the kernel is locked down (integrity), so that nobody may change it";
	if (error != EPERM && error != EACCES)
		return strerror(error);
	return geteuid() ? "this needs root: run it with sudo" :
	       "you are root, but not allowed to: in a container, run it outside";
}

char *kernel_file_read(const char *path, struct fault *fault)
{
	const int fd = tracefs_instance_file_open(top, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *text = NULL;
	size_t size = 0;
	ssize_t length;
	bool failed;

	length = file ? getdelim(&text, &size, '\0', file) : -1;
	failed = !file || ferror(file);
	if (failed)
		fault_say(fault, "%s/%s cannot be read: %s", top_path, path, kernel_refusal(errno));
	if (file)
		fclose(file);
	if (!failed && length > 0)
		return text;
	free(text);
	return failed ? NULL : strdup("");
}

/* The last error in the log of the instance to which the file belongs. */
static char *last_error(const char *path)
{
	struct tracefs_instance *instance = NULL;
	char name[64], *text;

	if (sscanf(path, "instances/%63[^/]/", name) == 1)
		instance = tracefs_instance_alloc(top_path, name);
	text = tracefs_error_last(instance ? instance : top);
	if (instance)
		tracefs_instance_free(instance);

	return text ? text : strdup("");
}

/*
 * The last error in the log has three lines: the message, the command, and a caret under
 * the word concerned. Returns false if there is none.
 */
static bool explain(char *log, const char *path, struct fault *fault)
{
	char *says = strstr(log, "error: "), *command, *caret, *word;
	size_t end = 0;

	command = says ? strchr(says, '\n') : NULL;
	caret = command ? strchr(command + 1, '\n') : NULL;
	if (!caret)
		return false;
	*command++ = '\0';
	*caret++ = '\0';
	word = command + strcspn(caret, "^");
	/* It may be under the end of the command: then take the last word. */
	if (word >= command + strlen(command)) {
		word = command + strlen(command);
		while (word > command && isspace((unsigned char)word[-1]))
			*--word = '\0';
		while (word > command && !isspace((unsigned char)word[-1]))
			word--;
	}
	while (word[end] && !isspace(word[end]))
		end++;
	/* Filters say it twice. */
	says += strlen("error: ");
	if (!strncmp(says, "error: ", strlen("error: ")))
		says += strlen("error: ");
	fault_say(fault, "%s does not take '%.*s': %s", path, (int)end, word, says);
	return true;
}

static int put(const char *path, const char *text, bool append, struct fault *fault)
{
	char *before = last_error(path), *after = NULL;
	int result, error;

	if (append)
		result = tracefs_instance_file_append(top, path, text);
	else if (*text)
		result = tracefs_instance_file_write(top, path, text);
	else
		result = tracefs_instance_file_clear(top, path);
	error = errno;
	if (result < 0) {
		after = last_error(path);
		if (!before || !after || !strcmp(before, after) || !explain(after, path, fault))
			fault_say(fault, "%s/%s does not take what is written: %s",
				  top_path, path, kernel_refusal(error));
	}
	free(before);
	free(after);
	return result < 0 ? -1 : 0;
}

int kernel_file_write(const char *path, const char *text, struct fault *fault)
{
	return put(path, text, false, fault);
}

int kernel_file_append(const char *path, const char *text, struct fault *fault)
{
	return put(path, text, true, fault);
}

void kernel_file_restore(const char *path, const char *text)
{
	struct fault fault;

	if (put(path, text, false, &fault))
		fault_print("fhook", &fault);
}

/* Not record-tgid: clearing that in an instance stops the recording for all instances. */
void kernel_instance_reset(const char *instance)
{
	static const char *const options[][2] = {
		{ "markers", "1" }, { "context-info", "1" }, { "irq-info", "1" }, { "raw", "0" },
		{ "hex", "0" }, { "bin", "0" }, { "fields", "0" }, { "verbose", "0" },
		{ "latency-format", "0" }, { "sym-addr", "0" }, { "stacktrace", "0" },
		{ "userstacktrace", "0" },
	};
	struct fault ignored;
	char path[96];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		snprintf(path, sizeof(path), "instances/%s/options/%s", instance, options[i][0]);
		if (kernel_file_exists(path))
			kernel_file_write(path, options[i][1], &ignored);
	}
}
