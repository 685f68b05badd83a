// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace record: run a program, and record its calls
 *
 * With the processor's trace where it has one, otherwise in an emulator with our
 * plugin; or by the software recorder, which is linked into the program itself.
 * The map is that of the program, unless another one is given.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "calltrace.h"
#include "elf_image.h"
#include "elf_map.h"
#include "record.h"
#include "recording.h"

enum { KEY_PLUGIN = 256, KEY_HARDWARE, KEY_SOFTWARE };

static const char pmu[] = "/sys/bus/event_source/devices/intel_pt";

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct record *record = state->input;
	unsigned int i;

	switch (key) {
	case 'o':
		record->directory = word;
		return 0;
	case 'm':
		record->map = word;
		return 0;
	case 'p':
		for (i = 0; i < PROFILES && strcmp(recording_profiles[i], word); i++)
			;
		if (i == PROFILES)
			argp_error(state,
				   "there is no profile '%s': it is target, no-target, cycles or branches",
				   word);
		record->profile = word;
		return 0;
	case KEY_PLUGIN:
	case KEY_HARDWARE:
	case KEY_SOFTWARE:
		record->how = key - KEY_PLUGIN + RECORD_PLUGIN;
		return 0;
	case ARGP_KEY_ARG:
		record->argv = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void parse_arguments(int argc, char **argv, struct record *record)
{
	static const struct argp_option options[] = {
		{ "output", 'o', "DIRECTORY", 0, "The recording (default: calltrace.out)" },
		{ "map", 'm', "FILE", 0, "The map of the stubs (default: the program's own)" },
		{ "profile", 'p', "NAME", 0, "target, no-target, cycles or branches" },
		{ "plugin", KEY_PLUGIN, NULL, 0, "In QEMU, with our plugin" },
		{ "hardware", KEY_HARDWARE, NULL, 0, "With perf and the processor's trace" },
		{ "software", KEY_SOFTWARE, NULL, 0,
		  "With libfhook-record, which the program was linked with" },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PROGRAM [ARGUMENT...]",
		.doc = "Run a program and record its calls.",
	};

	argv[0] = "fhook calltrace record";
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, record);
}

/* Where the shell would find it, which is to be freed; or NULL. */
static char *find_program(const char *name)
{
	const char *search = getenv("PATH");
	char *path;

	if (strchr(name, '/'))
		return strdup(name);
	while (search && *search) {
		const int length = strcspn(search, ":");

		if (asprintf(&path, "%.*s/%s", length, search, name) < 0)
			return NULL;
		if (!access(path, X_OK))
			return path;
		free(path);
		search += length + (search[length] == ':');
	}
	return strdup(name);
}

/* The program's own map, in a file that is removed when it was recorded. */
static int make_map(struct record *record, struct fault *fault)
{
	char *path = strdup("/tmp/fhook-map-XXXXXX");
	int fd = path ? mkstemp(path) : -1, result;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		return fault_say(fault, "%s: %s", path, strerror(errno));
	result = elf_map_write(&record->program, 1, file, fault);
	if (fclose(file) && !result)
		result = fault_say(fault, "%s: %s", path, strerror(errno));
	if (result) {
		unlink(path);
		free(path);
		return -1;
	}
	record->map = path;
	record->own_map = true;
	return 0;
}

int record_run(char **argv, struct fault *fault)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execvp(argv[0], argv);
		fprintf(stderr, "fhook: %s cannot be run: %s.\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return fault_say(fault, "%s cannot be run: %s", argv[0], strerror(errno));
	if (WIFSIGNALED(status))
		return fault_say(fault, "%s was killed by signal %d: the recording ends there",
				 argv[0], WTERMSIG(status));
	if (WEXITSTATUS(status))
		return fault_say(fault, "%s has ended with status %d", argv[0],
				 WEXITSTATUS(status));
	return 0;
}

static int emulator_of(const char *program, const char **emulator, struct fault *fault)
{
	struct elf_image image;
	int machine;

	if (elf_open(&image, program, fault))
		return -1;
	machine = image.header->e_machine;
	elf_close(&image);
	*emulator = machine == EM_X86_64 ? "qemu-x86_64" : "qemu-aarch64";
	return 0;
}

static int record_plugin(struct record *record, struct fault *fault)
{
	char *options = NULL, *plugin = own_file("fhook-trace.so"), **argv;
	const char *emulator;
	int count = 0, result = -1;

	if (emulator_of(record->program, &emulator, fault))
		return -1;
	if (strchr(record->directory, ',') || strchr(record->map, ','))
		return fault_say(fault, "%s, %s: QEMU does not take names with commas",
				 record->directory, record->map);
	while (record->argv[count])
		count++;
	argv = calloc(count + 4, sizeof(*argv));
	if (!plugin || !argv ||
	    asprintf(&options, "%s,out=%s,map=%s,profile=%s", plugin, record->directory,
		     record->map, record->profile) < 0) {
		fault_say(fault, "there is not enough memory to record");
	} else {
		argv[0] = (char *)emulator;
		argv[1] = "-plugin";
		argv[2] = options;
		memcpy(argv + 3, record->argv, count * sizeof(*argv));
		argv[3] = record->program;
		result = record_run(argv, fault);
	}
	free(options);
	free(plugin);
	free(argv);
	return result;
}

/* Before anything runs or is written. */
static int check_directory(const struct record *record, struct fault *fault)
{
	char *info;
	int result = 0;

	if (asprintf(&info, "%s/info", record->directory) < 0)
		return fault_say(fault, "there is not enough memory to record");
	if (!access(info, F_OK))
		result = fault_say(fault,
				   "%s holds a recording already: remove it, or choose another directory",
				   record->directory);
	free(info);
	return result;
}

static int record_software(struct record *record, struct fault *fault)
{
	setenv("FHOOK_RECORD", record->directory, 1);
	if (record_run(record->argv, fault))
		return -1;
	if (access(record->directory, F_OK))
		return fault_say(fault,
				 "%s has not recorded itself: it is to be compiled with -finstrument-functions and linked with libfhook-record",
				 record->program);
	return 0;
}

int calltrace_record(int argc, char **argv, struct fault *fault)
{
	struct record record = {
		.directory = "calltrace.out", .profile = "target",
	};
	int result;

	parse_arguments(argc, argv, &record);
	if (check_directory(&record, fault))
		return -1;
	if (!record.how)
		record.how = access(pmu, F_OK) ? RECORD_PLUGIN : RECORD_HARDWARE;
	record.program = find_program(record.argv[0]);
	if (!record.program)
		return fault_say(fault, "there is not enough memory to record");
	if (record.how == RECORD_HARDWARE && access(pmu, F_OK))
		result = fault_say(fault,
				   "this processor has no Intel PT, or the kernel does not offer it: use --plugin");
	else if (!record.map && record.how != RECORD_SOFTWARE)
		result = make_map(&record, fault);
	else
		result = 0;
	if (!result && record.how == RECORD_PLUGIN)
		result = record_plugin(&record, fault);
	else if (!result && record.how == RECORD_HARDWARE)
		result = record_hardware(&record, fault);
	else if (!result)
		result = record_software(&record, fault);
	if (record.own_map) {
		unlink(record.map);
		free((char *)record.map);
	}
	free(record.program);
	return result;
}
