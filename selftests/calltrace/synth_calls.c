// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that are decoded from stubs: stacks, and the tasks of processors
 *
 * A case is written as a text, of which Intel PT streams are made: E0 is the entry of
 * function 0, X an exit, T a tail to the next function, U one to an unknown target, O
 * one out of the map, L a landing; "!" is an overflow, "#" an address of no stub, "@3:1234"
 * the third turn of task 1234, "|" begins the stream of the next processor.
 *
 * Usage: synth-calls DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/software.h"
#include "synth.h"

struct calls_case {
	const char *name, *streams, *calls;
	bool cpus;
	unsigned int only;
};

#define THREAD	"thread #0: "
#define NOT_KNOWN	"cpu 0, task not known: "

static const struct calls_case cases[] = {
	{ "nesting", "E0 E1 X1 E2 X2 X0", THREAD "0( 1( ) 2( ) ) " },
	{ "recursion", "E0 E0 E0 X0 X0 X0", THREAD "0( 0( 0( ) ) ) " },
	{ "mutual recursion", "E0 E1 E0 E1 X1 X0 X1 X0", THREAD "0( 1( 0( 1( ) ) ) ) " },
	{ "entered before the trace", "X3 E0 X0 X4", THREAD "?3 0( ) ?4 " },
	{ "not over at the end", "E0 E1", THREAD "0( 1( ~ ~ " },
	{ "no exit seen", "E0 E1 E2 X0", THREAD "0( 1( 2( } } ) " },
	{ "an exit of what is not there", "E0 X5 X0", THREAD "0( ?5 ) " },
	{ "an exception lands", "E0 E1 E2 L0 E3 X3 X0", THREAD "0( 1( 2( } } 3( ) ) " },
	{ "and lands where nobody was", "L0 E1 X1", THREAD "?0 1( ) " },
	{ "exit lost in a gap", "E0 E1 E2 ! X0", THREAD "0( 1( 2( ! ] ] ) " },
	{ "after a gap", "E0 ! E1 E2 X1 X0", THREAD "0( ! 1( 2( } ) ) " },
	{ "entered in a gap", "E0 ! X4 X0", THREAD "0( ! ?4 ) " },
	{ "a tail", "E0 E1 T1 E2 X2 X0", THREAD "0( 1( 2( ) > ) " },
	{ "a tail after the other", "E0 T0 E1 T1 E2 T2 E3 X3", THREAD "0( 1( 2( 3( ) > > > " },
	{ "a tail that an interrupt delays", "E0 T0 E5 X5 E1 X1", THREAD "0( 5( ) 1( ) > " },
	{ "a tail out of the map", "E0 E1 O1 E3 X3 X0", THREAD "0( 1( > 3( ) ) " },
	{ "a tail to nobody knows where", "E0 E1 U1 E7 X7 X0", THREAD "0( 1( > 7( ) ) " },
	{ "a tail to nothing that is traced", "E0 E1 U1 X0", THREAD "0( 1( > ) " },
	{ "a tail whose target does not come", "E0 E1 T1 X0", THREAD "0( 1( > ) " },
	{ "a tail in a gap", "E0 E1 T1 ! E2 X2 X0", THREAD "0( 1( > ! 2( ) ) " },
	{ "a tail of what is not there", "T4 E5 X5", THREAD "?4 5( ) " },
	{ "the target calls and goes on", "E0 E1 T1 E2 E3 X3 E4 X4 X2 X0",
	  THREAD "0( 1( 2( 3( ) 4( ) ) > ) " },
	{ "recursion under a tail", "E1 T1 E2 E1 T1 E2 X2 X2", THREAD "1( 2( 1( 2( ) > ) > " },
	{ "an exception through a tail", "E0 E1 T1 E2 E3 X0", THREAD "0( 1( 2( 3( } } > ) " },
	{ "one task", "@0:5 E0 X0", "task 5: 0( ) ", true },
	{ "large numbers", "@0:65536 E0 @0:70000 E1 @1:65536 X0",
	  "task 65536: 0( task 70000: 1( task 65536: ) task 70000: ~ ", true },
	{ "before the first context", "X3 @0:5 E0 X0",
	  "cpu 0, task not known: ?3 task 5: 0( ) ", true },
	{ "two tasks by turns", "@0:1 E0 @0:2 E1 @1:1 X0 @1:2 X1",
	  "task 1: 0( task 2: 1( task 1: ) task 2: ) ", true },
	{ "a task on two processors", "@0:1 E0 @2:1 E2 X2 | @1:1 E1 X1 @3:1 X0",
	  "task 1: 0( 1( ) 2( ) ) ", true },
	{ "which waits for another one", "@1:2 E1 @1:1 X0 | @0:1 E0 @0:2 E2 @2:2 X1 X2",
	  "task 1: 0( task 2: 2( 1( task 1: ) task 2: ) ) ", true },
	{ "a turn is lost in an overflow", "@0:1 E0 E1 ! X1 | @2:1 X0",
	  "task 1: 0( 1( ! cpu 0, task not known: ?1 task 1: ! ] ) ", true },
	{ "a context that an overflow cuts", "@0:1 E0 ^9 ! _9 E3 @1:1 X0",
	  "task 1: 0( ! cpu 0, task not known: 3( ~ task 1: ) ", true },
	{ "who is not known is somebody else each time", "@0:1 E0 ! E3 @1:1 X0 ! X3 ! E4 ! X4",
	  "task 1: 0( ! " NOT_KNOWN "3( ~ task 1: ) ! " NOT_KNOWN "?3 ! 4( ! ~ ?4 ", true },
	{ "an address of no stub may be a context", "@0:1 E0 # X0 @1:1 X0",
	  "task 1: 0( ! cpu 0, task not known: ?0 task 1: ) ", true },
	{ "one task of several",
	  "@0:3 E4 X4 E4 X4 E4 X4 @2:2 @1:1 X0 | @0:1 E0 @0:2 @1:2 @2:1 E7 X7",
	  "task 1: 0( ) 7( ) ", true, 1 },
	{ "the number of a task that has ended", "@0:1 E0 @1:1 E1 @0:1 E2 X2",
	  "task 1: 0( 1( ~ ~ task 1: 2( ) ", true },
	{ "two stacks by turns", "E0 E1 E2 X0 E3 E4 X2 X1 X4 E5 X3",
	  THREAD "0( 1( 2( } } ) 3( 4( ! ?2 ?1 ) 5( ] ) " },
	{ "leaves", "E0 F1 F1 E2 F3 X2 X0 F4",
	  THREAD "0( 1( * 1( * 2( 3( * ) ) 4( * " },
	{ "a leaf under a tail", "E0 E1 T1 F2 E3 X3 X0", THREAD "0( 1( 2( * > 3( ) ) " },
};

static void write_task(struct synth *synth, const char *word)
{
	unsigned int turn, task;

	if (sscanf(word, "@%u:%u", &turn, &task) == 2)
		synth_task(synth, turn, task);
}

static void write_word(struct synth *synth, const char *word)
{
	static const char kinds[] = "EXTUOLF";
	const char *kind = strchr(kinds, *word);

	switch (*word) {
	case '@':
		write_task(synth, word);
		break;
	case '!':
		synth_ovf(synth);
		break;
	case '#':
		synth_pge(synth, SYNTH_BLOCK + 0x7f00);
		synth_pgd_bare(synth);
		break;
	case '^':	/* only the first part of a context, and only the last one */
		synth_pge(synth, synth_context(STUB_TURN, atoi(word + 1)));
		synth_pgd_bare(synth);
		break;
	case '_':
		synth_pge(synth, synth_context(STUB_TASK0, atoi(word + 1)));
		synth_pgd_bare(synth);
		break;
	default:
		synth_event(synth, atoi(word + 1), kind - kinds);
		break;
	}
}

static void write_streams(const char *directory, const char *streams)
{
	char *copy = strdup(streams), *rest = copy, *word;
	unsigned int stream = 0;
	struct synth synth;

	synth_open(&synth, directory, stream);
	synth_psb(&synth, 0);
	while ((word = strsep(&rest, " "))) {
		if (*word != '|') {
			write_word(&synth, word);
			continue;
		}
		synth_close(&synth);
		synth_open(&synth, directory, ++stream);
		synth_psb(&synth, 0);
	}
	synth_close(&synth);
	free(copy);
}

/* More turns than their numbers can count, each on the other of two processors. */
static int many_turns(const char *directory)
{
	static char events[1 << 16], calls[1 << 16], wanted[1 << 16] = "task 7: ";
	const struct recording like = { 0 };
	struct synth synth[2];
	unsigned int turn;
	int i;

	synth_begin(directory, &like);
	for (i = 0; i < 2; i++) {
		synth_open(&synth[i], directory, i);
		synth_psb(&synth[i], 0);
	}
	for (turn = 0; turn < 2000; turn++) {
		struct synth *s = &synth[turn % 3 != 0];

		synth_task(s, turn ? 1 + (turn - 1) % 255 : 0, 7);
		synth_event(s, turn % 10, SYNTH_ENTRY);
		synth_event(s, turn % 10, SYNTH_EXIT);
		sprintf(wanted + strlen(wanted), "%u( ) ", turn % 10);
	}
	for (i = 0; i < 2; i++)
		synth_close(&synth[i]);
	if (!synth_decode(directory, -1, events, calls, sizeof(calls)) && !strcmp(calls, wanted))
		return 0;
	printf("many turns: they are not in order\n");
	return 1;
}

/* Tails without an end do not fill the memory, and calls are closed all the same. */
static int many_tails(const char *directory)
{
	static char events[1 << 20], calls[1 << 20];
	const struct recording like = { .threads = true };
	unsigned int i, opened = 0, closed = 0, deepest = 0;
	struct synth synth;

	synth_begin(directory, &like);
	synth_open(&synth, directory, 0);
	synth_psb(&synth, 0);
	for (i = 0; i < 5000; i++) {
		synth_event(&synth, i % 10, SYNTH_ENTRY);
		synth_event(&synth, i % 10, SYNTH_TAIL);
	}
	synth_event(&synth, 0, SYNTH_ENTRY);
	synth_event(&synth, 0, SYNTH_EXIT);
	synth_close(&synth);
	synth_decode(directory, -1, events, calls, sizeof(calls));
	for (i = 0; calls[i]; i++) {
		opened += calls[i] == '(';
		closed += calls[i] == '>' || calls[i] == ')';
		if (opened - closed > deepest)
			deepest = opened - closed;
	}
	if (opened == 5001 && closed == 5001 && deepest > 20 && deepest < 100)
		return 0;
	printf("many tails: %u calls, %u ends, a depth of %u\n", opened, closed, deepest);
	return 1;
}

/* A stack deeper than any program's: the outputs must not recurse as deep. */
static int deep_stack(const char *directory)
{
	const struct recording like = { .format = FORMAT_SOFTWARE, .threads = true, .clock = 1000 };
	struct sink sink = { .ops = &sink_folded, .out = fopen("/dev/null", "w") };
	struct software_record record = { .time = 1 };
	struct synth synth;
	unsigned int i;
	int result;

	synth_begin(directory, &like);
	synth_open(&synth, directory, 0);
	for (i = 0; i < 1000000; i++) {
		record.address = synth_stub(i % 10, SYNTH_ENTRY);
		synth_bytes(&synth, &record, sizeof(record));
	}
	record.address = synth_stub(9, SYNTH_EXIT);
	record.time = 2;
	synth_bytes(&synth, &record, sizeof(record));
	synth_close(&synth);
	result = synth_run(directory, &sink, -1);
	fclose(sink.out);
	return result || sink.no_memory;
}

/* Where tails go: those of a kernel, of its module, and of a program beside them. */
static const char target_map[] =
	"# calltrace map 1\n"
	"object 0 - kernel\nblock 0x1000 0x100 0\n"
	"object 1 - module\n"
	"object 2 - program\nblock 0x1000 0x100 2\n"
	"stub 0x1000 8 entry 0 one 0x10\n"
	"stub 0x1008 8 entry 0 two 0x20\n"
	"stub 0x1010 8 entry 0 twin 0x30\n"
	"stub 0x1018 8 entry 0 twin 0x40\n"
	"stub 0x1020 8 entry 1 three 0x50\n"
	"stub 0x1000 8 entry 2 four 0x20\n"
	"stub 0x1080 8 tail ";

static const struct {
	const char *tail, *target;
} targets[] = {
	{ "0 one 0x10 two 0x20", "two 0x20" },
	{ "0 one 0x10 two 0x60", "-" },		/* another two, that has no stubs */
	{ "0 one 0x10 twin 0x40", "twin 0x40" },
	{ "0 one 0x10 alias 0x30", "twin 0x30" },
	{ "0 one 0x10 three 0x50", "three 0x50" },
	{ "1 three 0x50 two 0x20", "two 0x20" },
	{ "2 four 0x20 one 0x10", "-" },
	{ "2 four 0x20 four 0x20", "four 0x20" },
	{ "0 one 0x10 two", "two 0x20" },
	{ "1 three 0x50 two", "two 0x20" },
	{ "0 one 0x10 twin", "-" },		/* which of them? */
	{ "0 one 0x10 four", "-" },
	{ "0 one 0x10 nothing", "-" },
	{ "0 one 0x10 -", "-" },
	{ "0 one 0x10", "-" },
};

static int check_targets(void)
{
	char text[2000], is[100];
	unsigned int i, failed = 0;
	const struct map_stub *stub;
	struct fault fault;
	struct map map;
	FILE *file;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		snprintf(text, sizeof(text), "%s%s\n", target_map, targets[i].tail);
		file = fmemopen(text, strlen(text), "r");
		if (map_read(&map, file, "targets", &fault)) {
			fault_print("synth", &fault);
			return 1;
		}
		fclose(file);
		for (stub = map.stubs; stub->kind != STUB_TAIL; stub++)
			;
		snprintf(is, sizeof(is), "-");
		if (stub->target != TARGET_OUTSIDE)
			snprintf(is, sizeof(is), "%s 0x%llx", map_name(&map, stub->target),
				 map.functions[stub->target].entry);
		if (strcmp(is, targets[i].target)) {
			printf("tail %s: to %s instead of %s\n", targets[i].tail, is,
			       targets[i].target);
			failed++;
		}
		map_free(&map);
	}
	return failed;
}

int main(int argc, char **argv)
{
	char directory[4096], events[4096], calls[4096];
	unsigned int i, failed = 0;

	if (argc != 2) {
		fprintf(stderr, "Usage: synth-calls DIRECTORY\n");
		return 1;
	}
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct recording like = { .threads = !cases[i].cpus };

		snprintf(directory, sizeof(directory), "%s/calls.%u", argv[1], i);
		synth_begin(directory, &like);
		write_streams(directory, cases[i].streams);
		if (!synth_decode(directory, cases[i].only ?: -1LL, events, calls,
				  sizeof(events)) &&
		    !strcmp(calls, cases[i].calls))
			continue;
		printf("%s: '%s' instead of '%s'\n", cases[i].name, calls, cases[i].calls);
		failed++;
	}
	snprintf(directory, sizeof(directory), "%s/calls.turns", argv[1]);
	failed += many_turns(directory);
	snprintf(directory, sizeof(directory), "%s/calls.tails", argv[1]);
	failed += many_tails(directory);
	snprintf(directory, sizeof(directory), "%s/calls.deep", argv[1]);
	failed += deep_stack(directory);
	failed += check_targets();
	return failed ? 1 : 0;
}
