// SPDX-License-Identifier: GPL-2.0
/*
 * Recordings that the software recorder makes of the kernel's ring buffer
 *
 * No kernel is needed: pages are made here, as the kernel's documentation of the ring
 * buffer has them. A case is written as a text: E0:5@100 is the entry of function 0 by
 * task 5 at the time 100, X an exit, F an event of another kind, P padding; "/" begins
 * the next page, "!" one before which events were overwritten, "!7" one before which
 * seven were; "|" begins the pages of the next processor.
 *
 * Usage: synth-pages DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/software.h"
#include "record/pages.h"
#include "record/symbols.h"
#include "synth.h"

#define PAGE_SIZE	4096
#define PAGE_HEADER	16
#define MISSED		0x80000000u
#define MISSED_STORED	0x40000000u

enum { TYPE_PADDING = 29, TYPE_EXTEND = 30 };

static const struct page_format format = {
	.enter = { .id = 700, .function = 8 }, .leave = { .id = 701, .function = 8 },
	.id = 0, .task = 4,
};

struct page {
	u64 time;
	u64 commit;
	u8 data[PAGE_SIZE - PAGE_HEADER];
};

/**
 * struct pages - of one processor
 * @page: the one that is being made
 * @used: bytes of its data
 * @now: the time of the last event
 * @missed: value in its header for lost events before it
 * @count: how many
 */
struct pages {
	struct page_stream stream;
	struct page page;
	u32 used;
	u64 now;
	u32 missed;
	u64 count;
};

struct pages_case {
	const char *name, *pages, *calls;
	u64 missed, gaps;
};

static const struct pages_case cases[] = {
	{ "one task", "E0:5@10 E1:5@20 X1:5@30 X0:5@40", "task 5: 0( 1( ) ) " },
	{ "several pages", "E0:5@10 / E1:5@20 / / X1:5@30 X0:5@40", "task 5: 0( 1( ) ) " },
	{ "an interrupt in a task", "E0:5@10 E7:5@11 X7:5@12 X0:5@40", "task 5: 0( 7( ) ) " },
	{ "tasks with large numbers", "E0:65536@10 E1:4194303@20 X0:65536@30 X1:4194303@40",
	  "task 65536: 0( task 4194303: 1( task 65536: ) task 4194303: ) " },
	{ "idle tasks", "E0:0@10 X0:0@20 | E1:0@30 X1:0@40",
	  "cpu 0, idle: 0( ) cpu 1, idle: 1( ) " },
	{ "entered before", "X3:5@10 E0:5@20", "task 5: ?3 0( ~ " },
	{ "events of others, padding", "F0:5@10 P E0:5@20 P F1:6@21 X0:5@30", "task 5: 0( ) " },
	{ "long pauses", "E0:5@10 X0:5@90000000000 E1:5@90000000001", "task 5: 0( ) 1( ~ " },
	{ "a task on two processors", "E0:5@10 E6:6@20 X2:5@70 X6:6@80 | E1:5@40 X1:5@45 E2:5@50",
	  "task 5: 0( task 6: 6( task 5: 1( ) 2( ) task 6: ) task 5: ~ " },
	{ "a task that comes back, and nobody was there meanwhile",
	  "E0:5@10 X0:5@70 E3:5@80 | E6:6@5 X6:6@20 E1:5@40 X1:5@45 X3:5@90",
	  "task 6: 6( task 5: 0( task 6: ) task 5: 1( ) ) 3( ) " },
	{ "one that may have been where events are missing, and came back",
	  "E0:5@10 E1:5@70 X1:5@80 X0:5@90 | E6:6@20 ! X6:6@50",
	  "task 5: 0( task 6: 6( ! ) task 5: ! 1( ) ) ", 0, 1 },
	{ "it is said once while events are missing",
	  "E0:5@10 E1:5@30 X1:5@40 X0:5@60 | E6:6@20 ! X6:6@50",
	  "task 5: 0( task 6: 6( ! task 5: ! 1( ) task 6: ) task 5: ! ) ", 0, 1 },
	{ "events are missing", "E0:5@10 E1:5@20 ! X0:5@50", "task 5: 0( 1( ! ] ) ", 0, 1 },
	{ "so many", "E0:5@10 !7 E2:5@50 X2:5@60 !2 X0:5@70",
	  "task 5: 0( ! 2( ) ! ) ", 9, 2 },
	{ "another task that may have been there", "E0:5@10 E1:6@20 E0:7@30 ! X0:7@50 X1:6@60",
	  "task 5: 0( task 6: 1( task 7: 0( ! ) task 6: ! ) task 5: ~ ", 0, 1 },
	{ "that ran elsewhere before",
	  "E0:7@30 ! X0:7@50 X1:6@60 | E1:6@25 E2:6@28 X2:6@29 E0:8@31",
	  "task 6: 1( 2( ) task 7: 0( ! task 8: 0( task 7: ) task 6: ! ) task 8: ~ ", 0, 1 },
	{ "that ran elsewhere meanwhile", "E0:7@30 ! X0:7@50 | E1:6@20 E0:8@31 X1:6@40 X0:8@60",
	  "task 6: 1( task 7: 0( ! task 8: 0( task 6: ! ) task 7: ) task 8: ! ) ", 0, 1 },
	{ "that ran elsewhere afterwards", "E0:7@30 ! X0:7@50 | E1:6@55 E0:8@60 X1:6@65 X0:8@70",
	  "task 7: 0( ! ) task 6: 1( task 8: 0( task 6: ) task 8: ) ", 0, 1 },
};

static void put(struct pages *pages, const void *data, size_t size)
{
	memcpy(pages->page.data + pages->used, data, size);
	pages->used += size;
}

static void begin_page(struct pages *pages)
{
	memset(&pages->page, 0, sizeof(pages->page));
	pages->used = 0;
	pages->page.time = pages->now;
	pages->missed = 0;
}

static void end_page(struct pages *pages)
{
	pages->page.commit = pages->used | pages->missed;
	if (pages->missed & MISSED_STORED)
		memcpy(pages->page.data + pages->used, &pages->count, sizeof(pages->count));
	page_stream_add(&pages->stream, &format, &pages->page);
}

static void put_event(struct pages *pages, u16 id, unsigned int function, u32 task, u64 time)
{
	struct {
		u16 id, flags;
		u32 task;
		u64 function, ret;
	} event = {
		.id = id, .task = task, .function = SYNTH_TEXT + function * 0x100,
	};
	const u32 size = id == format.enter.id ? 16 : 24;
	u64 delta = time - pages->now;
	u32 head;

	if (delta >> 27) {
		const u32 extend[] = { TYPE_EXTEND | (u32)delta << 5, delta >> 27 };

		put(pages, extend, sizeof(extend));
		delta = 0;
	}
	head = size / 4 | (u32)delta << 5;
	put(pages, &head, sizeof(head));
	put(pages, &event, size);
	pages->now = time;
}

static void put_padding(struct pages *pages)
{
	const u32 padding[] = { TYPE_PADDING | 1 << 5, 4, 0 };

	put(pages, padding, 12 - 4);
}

static void put_word(struct pages *pages, const char *word)
{
	unsigned long long missed = 0, time;
	unsigned int function, task;
	char kind;

	if (*word == '/' || *word == '!') {
		end_page(pages);
		begin_page(pages);
		if (*word == '!')
			pages->missed = MISSED;
		if (sscanf(word, "!%llu", &missed) == 1)
			pages->missed |= MISSED_STORED;
		pages->count = missed;
	} else if (*word == 'P') {
		put_padding(pages);
	} else if (sscanf(word, "%c%u:%u@%llu", &kind, &function, &task, &time) == 4) {
		put_event(pages, kind == 'E' ? format.enter.id : kind == 'X' ?
			  format.leave.id : 5, function, task, time);
	} else {
		printf("'%s' is no word\n", word);
		exit(1);
	}
}

/* The kernel's files, and the map that is made of them: some functions are a module's. */
static void write_map(const char *directory)
{
	char path[4200], enabled[1000] = "";
	struct symbols symbols = { 0 };
	struct fault fault;
	unsigned int i;
	FILE *file;

	snprintf(path, sizeof(path), "%s/kallsyms", directory);
	file = fopen(path, "w");
	for (i = 0; i < SYNTH_FUNCTIONS; i++) {
		const char *module = i == 3 || i == 5 ? "\t[some]" : "";

		fprintf(file, "%llx t %u%s\n", SYNTH_TEXT + i * 0x100, i, module);
		fprintf(file, "%llx t not_hooked%u\n", SYNTH_TEXT + i * 0x100 + 0x10, i);
		sprintf(enabled + strlen(enabled), "%u%s (1)\ttramp: x\thooks: a/b g/enter\n", i,
			*module ? " [some]" : "");
		sprintf(enabled + strlen(enabled), "not_hooked%u (1)\ttramp: x\thooks: g/enter2\n",
			i);
	}
	fclose(file);
	if (symbols_add(&symbols, enabled, "g/enter", path, &fault) ||
	    symbols_add(&symbols, enabled, "g/enter", path, &fault)) {
		fault_print("synth-pages", &fault);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/map", directory);
	if (symbols.nr_symbols != SYNTH_FUNCTIONS || symbols_write(&symbols, path, &fault)) {
		printf("%zu symbols\n", symbols.nr_symbols);
		exit(1);
	}
	symbols_free(&symbols);
}

static void begin_cpu(struct pages *pages, const char *directory, unsigned int cpu)
{
	char path[4200];

	memset(pages, 0, sizeof(*pages));
	snprintf(path, sizeof(path), "%s/%u.trace", directory, cpu);
	if (page_stream_open(&pages->stream, path)) {
		perror(path);
		exit(1);
	}
	begin_page(pages);
}

static void end_cpu(struct pages *pages, u64 *missed, u64 *gaps)
{
	end_page(pages);
	*missed += pages->stream.missed;
	*gaps += pages->stream.gaps;
	page_stream_close(&pages->stream);
}

static void write_recording(const char *directory, const char *text, u64 *missed, u64 *gaps)
{
	struct recording recording = { .format = FORMAT_SOFTWARE, .clock = 1000000 };
	char *words = strdup(text), *rest = words, *word;
	static struct pages pages;
	unsigned int cpu = 0;
	struct fault fault;

	if (recording_create(&recording, directory, NULL, &fault) ||
	    recording_write(&recording, &fault)) {
		fault_print("synth-pages", &fault);
		exit(1);
	}
	write_map(directory);
	begin_cpu(&pages, directory, cpu);
	while ((word = strsep(&rest, " "))) {
		if (*word != '|') {
			put_word(&pages, word);
			continue;
		}
		end_cpu(&pages, missed, gaps);
		begin_cpu(&pages, directory, ++cpu);
	}
	end_cpu(&pages, missed, gaps);
	free(words);
	recording_free(&recording);
}

int main(int argc, char **argv)
{
	char directory[4096], events[4096], calls[4096];
	unsigned int i, failed = 0;

	if (argc != 2) {
		fprintf(stderr, "Usage: synth-pages DIRECTORY\n");
		return 1;
	}
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 missed = 0, gaps = 0;

		snprintf(directory, sizeof(directory), "%s/pages.%u", argv[1], i);
		write_recording(directory, cases[i].pages, &missed, &gaps);
		if (!synth_decode(directory, -1, events, calls, sizeof(events)) &&
		    !strcmp(calls, cases[i].calls) && missed == cases[i].missed &&
		    gaps == cases[i].gaps)
			continue;
		printf("%s: '%s' instead of '%s', %llu missed in %llu gaps\n", cases[i].name,
		       calls, cases[i].calls, missed, gaps);
		failed++;
	}
	return failed ? 1 : 0;
}
