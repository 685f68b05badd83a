// SPDX-License-Identifier: GPL-2.0
/* Synthetic recordings, and decoded events as a short text. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "decode/streams.h"
#include "synth.h"

void synth_bytes(struct synth *synth, const void *data, size_t size)
{
	fwrite(data, 1, size, synth->file);
}

static void put_ip(struct synth *synth, u8 opcode, u64 ip)
{
	const u64 changed = ip ^ synth->last_ip;
	const bool canonical = ip >> 47 == 0 || ip >> 47 == 0x1ffff;
	u8 packet[9], size = 8, code = 6;

	if (changed < 0x10000) {
		size = 2;
		code = 1;
	} else if (changed < 0x100000000) {
		size = 4;
		code = 2;
	} else if (canonical) {
		size = 6;
		code = 3;
	}
	packet[0] = opcode + (code << 5);
	memcpy(packet + 1, &ip, size);
	synth_bytes(synth, packet, size + 1);
	synth->last_ip = ip;
}

void synth_psb(struct synth *synth, u64 inside)
{
	static const u8 tsc[] = { 0x19, 0, 0, 1, 0, 0, 0, 0 };
	static const u8 cbr[] = { 0x02, 0x03, 20, 0 };
	unsigned int i;

	for (i = 0; i < 8; i++)
		synth_bytes(synth, "\x02\x82", 2);
	synth->last_ip = 0;
	synth_bytes(synth, tsc, sizeof(tsc));
	synth_bytes(synth, cbr, sizeof(cbr));
	synth->mode = !inside;
	if (inside) {
		synth_bytes(synth, "\x99\x01", 2);
		synth_fup(synth, inside);
	}
	synth_bytes(synth, "\x02\x23", 2);
}

void synth_pge(struct synth *synth, u64 ip)
{
	if (synth->mode)
		synth_bytes(synth, "\x99\x01", 2);
	synth->mode = false;
	put_ip(synth, 0x11, ip);
}

void synth_pgd(struct synth *synth, u64 ip)
{
	put_ip(synth, 0x01, ip);
}

void synth_pgd_bare(struct synth *synth)
{
	synth_bytes(synth, "\x01", 1);
}

void synth_fup(struct synth *synth, u64 ip)
{
	put_ip(synth, 0x1d, ip);
}

void synth_tip(struct synth *synth, u64 ip)
{
	put_ip(synth, 0x0d, ip);
}

void synth_ovf(struct synth *synth)
{
	synth_bytes(synth, "\x02\xf3", 2);
	synth->last_ip = 0;
}

void synth_event(struct synth *synth, unsigned int function, enum synth_stub stub)
{
	synth_pge(synth, synth_stub(function, stub));
	synth_pgd(synth, SYNTH_TEXT + 0x1000 * function);
}

static void put_context(struct synth *synth, enum stub_kind kind, u8 number)
{
	synth_pge(synth, synth_context(kind, number));
	synth_pgd_bare(synth);
}

void synth_task(struct synth *synth, unsigned int turn, u32 task)
{
	put_context(synth, STUB_TURN, turn);
	if (task >> 16)
		put_context(synth, STUB_TASK2, task >> 16);
	if (task >> 8)
		put_context(synth, STUB_TASK1, task >> 8);
	put_context(synth, STUB_TASK0, task);
}

static void fail(const struct fault *fault)
{
	fault_print("synth", fault);
	exit(1);
}

static void write_map(const char *directory)
{
	static const char *const kinds[] = {
		"entry", "exit", "tail", "tail", "tail", "land", "leaf",
	};
	unsigned int function, stub, number;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/map", directory);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	fprintf(file, "# calltrace map 1\nobject 7 - synth\nblock 0x%llx 0x8000 7\n", SYNTH_BLOCK);
	for (function = 0; function < SYNTH_FUNCTIONS; function++)
		for (stub = SYNTH_ENTRY; stub <= SYNTH_LEAF; stub++) {
			fprintf(file, "stub 0x%llx %u %s 7 %u 0x%llx", synth_stub(function, stub),
				stub == SYNTH_EXIT ? 8 : 5, kinds[stub], function,
				SYNTH_TEXT + 0x1000 * function);
			if (stub == SYNTH_TAIL)
				fprintf(file, " %u 0x%llx", (function + 1) % SYNTH_FUNCTIONS,
					SYNTH_TEXT + 0x1000 * ((function + 1) % SYNTH_FUNCTIONS));
			if (stub == SYNTH_TAIL_OUTSIDE)
				fprintf(file, " elsewhere");
			fputc('\n', file);
		}
	for (stub = STUB_TASK2; stub <= STUB_TURN; stub++)
		for (number = 0; number < 256; number++)
			fprintf(file, "stub 0x%llx 5 %s 7 %u\n", synth_context(stub, number),
				map_kinds[stub], number);
	fclose(file);
}

void synth_begin(const char *directory, const struct recording *like)
{
	struct recording recording = *like;
	struct fault fault;

	if (recording_create(&recording, directory, NULL, &fault) ||
	    recording_write(&recording, &fault))
		fail(&fault);
	write_map(directory);
}

void synth_open(struct synth *synth, const char *directory, unsigned int stream)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%u.trace", directory, stream);
	*synth = (struct synth){ .file = fopen(path, "w") };
	if (!synth->file) {
		perror(path);
		exit(1);
	}
}

void synth_close(struct synth *synth)
{
	fclose(synth->file);
}

struct texts {
	FILE *events, *calls;
	struct thread *thread;
};

/* Of a thread, which is named where another one was before. */
static void __printf(3, 4) say(struct sink *sink, struct thread *thread, const char *format, ...)
{
	struct texts *texts = sink->data;
	va_list args;

	if (texts->thread != thread)
		fprintf(texts->calls, "%s: ", thread->label);
	texts->thread = thread;
	va_start(args, format);
	vfprintf(texts->calls, format, args);
	va_end(args);
}

static void hit(struct sink *sink, struct thread *thread __unused, const struct map_stub *stub)
{
	struct texts *texts = sink->data;

	fprintf(texts->events, "%c%s ", "EXTLF"[stub->kind], map_name(sink->map, stub->function));
}

static void enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	say(sink, thread, "%s( ", map_name(sink->map, frame->function));
}

static void leave(struct sink *sink, struct thread *thread, struct frame *frame __unused,
		  enum leave_how how)
{
	say(sink, thread, "%c ", ")*>}]~"[how]);
}

static void unmatched(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	say(sink, thread, "?%s ", map_name(sink->map, stub->function));
}

static void gap(struct sink *sink, struct thread *thread, const char *why __unused,
		u64 lost __unused)
{
	struct texts *texts = sink->data;

	fputs("! ", texts->events);
	say(sink, thread, "! ");
}

static void ended(struct sink *sink, struct thread *thread)
{
	struct texts *texts = sink->data;

	if (texts->thread == thread)
		texts->thread = NULL;
}

static const struct sink_ops sink_texts = {
	.hit = hit,
	.enter = enter,
	.leave = leave,
	.unmatched = unmatched,
	.gap = gap,
	.ended = ended,
};

int synth_run(const char *directory, struct sink *sink, s64 only)
{
	struct streams streams = { .sink = sink, .only = only };
	struct recording recording;
	struct fault fault;
	struct map map;
	char path[4096];
	int result;

	snprintf(path, sizeof(path), "%s/map", directory);
	if (recording_read(&recording, directory, &fault) || map_read_file(&map, path, &fault))
		fail(&fault);
	sink->map = &map;
	sink->totals = &streams.totals;
	sink->timed = recording.clock != 0;
	streams.map = &map;
	streams.recording = &recording;
	result = streams_decode(&streams, &fault);
	if (result)
		fault_print("synth", &fault);
	map_free(&map);
	recording_free(&recording);
	return result;
}

int synth_decode(const char *directory, s64 only, char *events, char *calls, size_t size)
{
	struct texts texts = {
		.events = fmemopen(events, size, "w"), .calls = fmemopen(calls, size, "w"),
	};
	struct sink sink = { .ops = &sink_texts, .data = &texts };
	int result;

	memset(events, 0, size);
	memset(calls, 0, size);
	result = synth_run(directory, &sink, only);
	fclose(texts.events);
	fclose(texts.calls);
	return result;
}
