// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace record: run a program, and record its calls
 *
 * Uses the processor's trace if it has one, otherwise an emulator with our plugin; or the
 * software recorder, which is linked into the program itself. The map is that of the
 * program, unless another one is given. With --kernel, functions of the kernel are recorded
 * while the program runs: see kernel.c.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "calltrace.h"
#include "lib/base.h"
#include "lib/children.h"
#include "lib/command.h"
#include "lib/elf_image.h"
#include "lib/elf_map.h"
#include "lib/recording.h"
#include "linked.h"
#include "python_map.h"
#include "record.h"
#include "lib/work.h"

/* The default size of each CPU's buffer. */
#define KERNEL_BUFFER_KB	4096
#define SNAPSHOT_MB		4
#define SNAPSHOT_MAX_MB		1048576

enum {
	KEY_PLUGIN = 256, KEY_HARDWARE, KEY_SOFTWARE, KEY_PYTHON, KEY_TRACEFS, KEY_PMU,
	KEY_SNAPSHOT, KEY_UNTIL, KEY_ATTACH,
};

static int add_until(struct record *record, const char *word, struct fault *fault)
{
	struct spec *spec = &record->until[record->nr_until];
	unsigned int i;

	if (record->nr_until == RECORD_UNTIL)
		return fault_say(fault, "%u conditions are the most", RECORD_UNTIL);
	if (spec_parse(spec, word, fault))
		return -1;
	record->until_text[record->nr_until++] = word;
	/* It would be compared as a number without a sign. */
	for (i = 0; i < spec->nr; i++)
		if (!strcmp(spec->values[i], "$retval"))
			return fault_say(fault,
					 "%s: $retval needs a type to be compared: $retval:s32 for an int, $retval:s64 for a long",
					 word);
	return 0;
}

/* Options that end a recording, or that leave out its beginning. */
static error_t parse_end(int key, char *word, struct argp_state *state)
{
	struct record *record = state->input;
	struct fault fault;
	u64 pid;

	switch (key) {
	case KEY_SNAPSHOT:
		record->snapshot_mb = SNAPSHOT_MB;
		if (word && (word_number(word, 10, SNAPSHOT_MAX_MB, &record->snapshot_mb) ||
			     !record->snapshot_mb))
			argp_error(state, "'%s' is no number of MiB from 1 to %u", word,
				   SNAPSHOT_MAX_MB);
		return 0;
	case KEY_ATTACH:
		if (word_number(word, 10, 0x7fffffff, &pid) || !pid)
			argp_error(state, "'%s' is no number of a process", word);
		record->attach = pid;
		return 0;
	case KEY_UNTIL:
		if (add_until(record, word, &fault))
			argp_failure(state, 1, 0, "%s", fault.text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Options of --kernel. */
static error_t parse_kernel(int key, char *word, struct argp_state *state)
{
	struct record *record = state->input;
	struct fault fault;
	int result = 0;

	switch (key) {
	case 'k':
		record->kernel = true;
		return 0;
	case 'f':
		result = list_read(&record->functions, word, &fault);
		break;
	case 'F':
		result = list_add(&record->functions, word, &fault);
		break;
	case 'b':
		if (word_number(word, 10, 0x7fffffff, &record->buffer_kb))
			argp_error(state, "'%s' is no number of KiB", word);
		return 0;
	case KEY_TRACEFS:
		record->tracefs = word;
		return 0;
	case KEY_PMU:
		record->pmu = word;
		return 0;
	default:
		return parse_end(key, word, state);
	}
	if (result)
		argp_failure(state, 1, 0, "%s", fault.text);
	return 0;
}

/* Remove trailing slashes: files next to the directory get its name with a suffix. */
static char *without_last_slashes(char *directory)
{
	size_t length = strlen(directory);

	while (length > 1 && directory[length - 1] == '/')
		directory[--length] = '\0';
	return directory;
}

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct record *record = state->input;
	enum recording_profile profile;
	struct fault fault;

	switch (key) {
	case 'o':
		record->directory = without_last_slashes(word);
		return 0;
	case 'm':
		if (record->nr_maps == RECORD_MAPS)
			argp_error(state, "%u maps are the most", RECORD_MAPS);
		record->maps[record->nr_maps++] = word;
		return 0;
	case 'p':
		if (recording_find_profile(word, &profile, &fault))
			argp_error(state, "%s", fault.text);
		record->profile = word;
		return 0;
	case KEY_PLUGIN:
	case KEY_HARDWARE:
	case KEY_SOFTWARE:
	case KEY_PYTHON:
		if (record_choose_how(&record->how, key - KEY_PLUGIN + RECORD_PLUGIN, &fault))
			argp_failure(state, 1, 0, "%s", fault.text);
		return 0;
	case ARGP_KEY_ARG:
		if (record->attach)
			argp_error(state, "with --attach, there is no program to run");
		record->argv = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (!record->attach)
			argp_usage(state);
		return 0;
	default:
		return parse_kernel(key, word, state);
	}
}

static void parse_arguments(int argc, char **argv, struct record *record)
{
	static const struct argp_option options[] = {
		{ "output", 'o', "DIRECTORY", 0, "The recording (default: " RECORD_DIRECTORY ")" },
		{ "map", 'm', "FILE", 0,
		  "The program's map (default: its own); --kernel: of one that is attached" },
		{ "profile", 'p', "NAME", 0, "target, no-target, cycles or branches" },
		{ "plugin", KEY_PLUGIN, NULL, 0,
		  "In QEMU, with our plugin; the kernel by that of the QEMU that it runs in" },
		{ "hardware", KEY_HARDWARE, NULL, 0, "With perf and the processor's trace" },
		{ "software", KEY_SOFTWARE, NULL, 0,
		  "With libfhook-record in the program, or fhook's events in the kernel" },
		{ "python", KEY_PYTHON, NULL, 0,
		  "Functions of Python, and of instrumented or, with --plugin, rewritten code" },
		{ "attach", KEY_ATTACH, "PID", 0,
		  "Record a running process with libfhook-record from now on, until Ctrl-C" },
		{ "snapshot", KEY_SNAPSHOT, "MIB", OPTION_ARG_OPTIONAL,
		  "Keep the last MIB (default: 4) of each CPU or thread only" },
		{ "until", KEY_UNTIL, "CONDITION", 0,
		  "End the recording, not the program, at a call of FUNCTION, or FUNCTION > TIME" },
		{ NULL, 0, NULL, 0,
		  "Functions of the kernel, by default those in fhook/calltrace/functions:", 1 },
		{ "kernel", 'k', NULL, 0,
		  "Record functions of the kernel, on all CPUs, while the program runs", 1 },
		{ "function", 'F', "PATTERN", 0,
		  "This function, or those that match; ! leaves out, :mod:NAME is a module's", 1 },
		{ "functions", 'f', "LIST", 0, "Those of this file, one pattern a line", 1 },
		{ "buffer", 'b', "KIB", 0,
		  "The buffer for each CPU (default: 4096), or of perf for a program", 1 },
		{ "tracefs", KEY_TRACEFS, "DIRECTORY", 0,
		  "The kernel's files (default: where tracefs is mounted)", 1 },
		{ "pmu", KEY_PMU, "DIRECTORY", 0,
		  "The processor's trace (default: /sys/bus/event_source/devices/intel_pt)", 1 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PROGRAM [ARGUMENT...]\n--attach=PID",
		.doc = "Run a program and record its calls, or those of the kernel meanwhile.",
	};

	argv[0] = "fhook calltrace record";
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, record);
}

/* The path of a program as the shell would find it, to be freed; or NULL. */
static char *find_program(const char *name)
{
	char *path = strchr(name, '/') ? NULL : program_in_path(name);

	return path ?: strdup(name);
}

static int make_map(struct record *record, struct fault *fault)
{
	FILE *file = recording_unnamed_file(true, &record->own_map);

	if (!file)
		return fault_say(fault, "there is no place for the map of %s: %s",
				 record->program, strerror(errno));
	record->map = record->own_map;
	return elf_map_write(&record->program, 1, file, fault);
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

/*
 * QEMU may be linked statically, as Debian's is since 13, and then cannot load plugins. If it
 * cannot be run at all, the error is reported later.
 */
static int check_plugins(const char *emulator, struct fault *fault)
{
	bool takes = false, runs = false;
	char line[256], command[64];
	FILE *help;

	snprintf(command, sizeof(command), "%s --help 2> /dev/null", emulator);
	help = popen(command, "r");
	while (help && fgets(line, sizeof(line), help)) {
		runs = true;
		takes |= !!strstr(line, "-plugin");
	}
	if (help)
		pclose(help);
	if (!runs || takes)
		return 0;
	return fault_say(fault,
			 "this machine's %s loads no plugins: record in a guest of a QEMU that does",
			 emulator);
}

char *record_absolute(const char *path)
{
	char *here = *path == '/' ? strdup("") : getcwd(NULL, 0), *result = NULL;

	if (here && asprintf(&result, *path == '/' ? "%s%s" : "%s/%s", here, path) < 0)
		result = NULL;
	free(here);
	return result;
}

static int check_recorded(const struct record *record, const char *who, struct fault *fault)
{
	struct fault holds_one;

	return recording_check(record->directory, &holds_one) ? 0 :
	       fault_say(fault, "%s has recorded nothing: what it has said is above", who);
}

/* Print which processes of the recording have executed other programs. */
static void say_executed(const struct record *record, time_t began)
{
	struct directories directories = { 0 };
	struct fault ignored;

	if (!directories_add(&directories, record->directory, &ignored) &&
	    !directories_add_children(&directories, record->directory, &ignored))
		directories_say_executed(&directories, began);
	directories_free(&directories);
}

/**
 * struct emulation - arguments of QEMU
 * @emulator: name of the QEMU for the program
 * @out: directory of the recording
 * @map: path of the map
 * @plugin: path of the plugin
 * @options: the plugin and its options, as QEMU takes them
 * @python: functions of Python that have stubs, if they are recorded
 */
struct emulation {
	const char *emulator;
	char *out, *map, *plugin, *options;
	struct python_map python;
};

static int prepare(struct emulation *emulation, const struct record *record, struct fault *fault)
{
	const bool python = record->how == RECORD_PLUGIN_PYTHON;
	const char *name = basename(record->argv[0]);
	const bool comma = strchr(name, ',');

	if (emulator_of(record->program, &emulation->emulator, fault) ||
	    check_plugins(emulation->emulator, fault) ||
	    (python && python_map_make(&emulation->python, record, fault)))
		return -1;
	emulation->out = record_absolute(record->directory);
	emulation->map = record_absolute(python ? emulation->python.path : record->map);
	emulation->plugin = own_file("fhook-trace.so");
	if (!emulation->out || !emulation->map || !emulation->plugin)
		return fault_say(fault, "there is not enough memory to record");
	if (strchr(emulation->out, ',') || strchr(emulation->map, ','))
		return fault_say(fault, "%s, %s: QEMU does not take names with commas",
				 emulation->out, emulation->map);
	if (asprintf(&emulation->options, "%s,out=%s,map=%s,profile=%s,snapshot=%llu%s%s",
		     emulation->plugin, emulation->out, emulation->map, record->profile,
		     record->snapshot_mb, comma ? "" : ",program=", comma ? "" : name) >= 0)
		return 0;
	emulation->options = NULL;
	return fault_say(fault, "there is not enough memory to record");
}

/* Run the program in QEMU. */
static int emulate(const struct emulation *emulation, const struct record *record,
		   struct fault *fault)
{
	const struct python_map *python = &emulation->python;
	size_t count = 0, nr = 0;
	char **argv;
	int result;

	while (record->argv[count])
		count++;
	argv = calloc(count + 8, sizeof(*argv));
	if (!argv)
		return fault_say(fault, "there is not enough memory to record");
	argv[nr++] = (char *)emulation->emulator;
	if (python->stubs) {
		argv[nr++] = "-E";
		argv[nr++] = python->preload;
		argv[nr++] = "-E";
		argv[nr++] = python->stubs;
	}
	argv[nr++] = "-plugin";
	argv[nr++] = emulation->options;
	memcpy(argv + nr, record->argv, count * sizeof(*argv));
	argv[nr] = record->program;
	result = work_run(argv, fault);
	free(argv);
	return result;
}

static int record_plugin(struct record *record, struct fault *fault)
{
	struct emulation emulation = { 0 };
	const time_t began = time(NULL);
	int result;

	result = prepare(&emulation, record, fault) ?: emulate(&emulation, record, fault) ?:
		 check_recorded(record, emulation.emulator, fault);
	if (!result)
		say_executed(record, began);
	if (!result && emulation.python.stubs)
		result = python_map_finish(&emulation.python, record, fault);
	python_map_free(&emulation.python);
	free(emulation.out);
	free(emulation.map);
	free(emulation.options);
	free(emulation.plugin);
	return result;
}

static bool is_script(const char *path)
{
	FILE *file = fopen(path, "re");
	const bool is = file && getc(file) == '#' && getc(file) == '!';

	if (file)
		fclose(file);
	return is;
}

/* Check whether the program can be recorded in this way. */
static int check_program(const struct record *record, struct fault *fault)
{
	size_t i;

	if (!record_is_by_program(record) && is_script(record->program))
		return fault_say(fault,
				 "%s is a script: record the program that runs it, which its first line names",
				 record->program);

	if (record->functions.nr_patterns)
		return fault_say(fault,
				 "functions of a program are chosen when it gets its stubs: --function is for --kernel");
	if (record->nr_maps > 1)
		return fault_say(fault, "a program has one map, and these are %zu",
				 record->nr_maps);
	for (i = 0; i < record->nr_until; i++)
		if (spec_check_plain(&record->until[i], fault))
			return -1;
	/* An attached process makes the directory, perhaps as another user. */
	return record->attach ? recording_check(record->directory, fault) :
				recording_check_new(record->directory, fault);
}

static int record_program(struct record *record, struct fault *fault)
{
	const bool traced = !access(record->pmu, F_OK);
	int result = 0;

	record->directory = record->directory ?: RECORD_DIRECTORY;
	record->map = record->maps[0];
	if (check_program(record, fault))
		return -1;
	if (record->attach)
		return record_attached(record, fault);
	if (!record->how)
		record->how = traced ? RECORD_HARDWARE : RECORD_PLUGIN;
	if (record->how == RECORD_HARDWARE && !traced)
		return fault_say(fault,
				 "this processor has no Intel PT, or the kernel does not offer it: use --plugin");
	if (record->nr_until && !record_is_by_program(record))
		return fault_say(fault,
				 "conditions of a program need libfhook-record: use --software");
	if (record->snapshot_mb && record->how == RECORD_HARDWARE)
		return fault_say(fault,
				 "the processor's trace of a program is recorded whole: use --plugin or --software for --snapshot");
	/* With functions of Python, the program need not have stubs. */
	if (!record->map && !record_is_by_program(record) && record->how != RECORD_PLUGIN_PYTHON)
		result = make_map(record, fault);
	if (!result && record_is_by_plugin(record))
		result = record_plugin(record, fault);
	else if (!result && record->how == RECORD_HARDWARE)
		result = record_hardware(record, fault);
	else if (!result)
		result = record_linked(record, fault);
	return result;
}

int calltrace_record(int argc, char **argv, struct fault *fault)
{
	struct record record = {
		.profile = "target",
		.pmu = "/sys/bus/event_source/devices/intel_pt",
	};
	int result;

	parse_arguments(argc, argv, &record);
	if (record.kernel && !record.buffer_kb)
		record.buffer_kb = KERNEL_BUFFER_KB;
	/*
	 * The parent may have ignored SIGCHLD; this program must wait for its children.
	 */
	signal(SIGCHLD, SIG_DFL);
	if (record.attach && (record.kernel || (record.how && record.how != RECORD_SOFTWARE)))
		return fault_say(fault,
				 "--attach is for processes with libfhook-record, which record themselves: give no other recorder");
	if (record.kernel && (record.how == RECORD_PYTHON || record.how == RECORD_PLUGIN_PYTHON))
		return fault_say(fault,
				 "--python is for programs, and --kernel records no functions of Python: give one of the two");
	record.program = record.attach ? strdup("") : find_program(record.argv[0]);
	if (!record.program)
		return fault_say(fault, "there is not enough memory to record");
	result = record.kernel ? record_kernel(&record, fault) : record_program(&record, fault);
	while (record.nr_until)
		spec_free(&record.until[--record.nr_until]);
	list_free(&record.functions);
	free(record.own_map);
	free(record.program);
	return result || record.attach ? result : work_status(record.argv[0]);
}
