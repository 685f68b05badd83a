// SPDX-License-Identifier: GPL-2.0
/*
 * Chrome's trace JSON, which Perfetto opens: nested begin and end events
 *
 * A time stamp is in microseconds. Without times it is the number of the event, and the
 * metadata contain a note.
 */
#include "decode/sink.h"

static const char *const ends[] = {
	[LEFT_RETURN] = "return",
	[LEFT_TAIL] = "tail call",
	[LEFT_UNSEEN] = "no exit seen",
	[LEFT_LOST] = "exit lost",
	[LEFT_OPEN] = "not over when its trace ends",
};

/* The size of the UTF-8 character at the start of a string; 0 if it is invalid. */
static size_t character(const u8 *string)
{
	/* By the first byte; the range of the second excludes overlong forms and surrogates. */
	static const struct {
		u8 first, last, low, high;
		size_t size;
	} forms[] = {
		{ 0x01, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t form, i;

	for (form = 0; form < ARRAY_SIZE(forms); form++) {
		if (*string < forms[form].first || *string > forms[form].last)
			continue;
		if (forms[form].size > 1 &&
		    (string[1] < forms[form].low || string[1] > forms[form].high))
			return 0;
		for (i = 2; i < forms[form].size; i++)
			if ((string[i] & 0xc0) != 0x80)
				return 0;
		return forms[form].size;
	}
	return 0;
}

/* JSON is UTF-8: invalid bytes become replacement characters. */
static void print_string(FILE *out, const char *string)
{
	size_t size;

	fputc('"', out);
	for (; *string; string += size ?: 1) {
		size = character((const u8 *)string);
		if (!size)
			fputs("\\ufffd", out);
		else if (*string == '"' || *string == '\\')
			fprintf(out, "\\%c", *string);
		else if ((u8)*string < ' ' || *string == 0x7f)
			fprintf(out, "\\u%04x", (u8)*string);
		else
			fwrite(string, 1, size, out);
	}
	fputc('"', out);
}

/* The common part of all events; the first event of a thread is preceded by its name. */
static void begin_event(struct sink *sink, struct thread *thread, const char *phase)
{
	if (!thread->sink) {
		thread->sink = sink;
		fprintf(sink->out,
			",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%u,\"args\":{\"name\":",
			thread->number);
		print_string(sink->out, thread->label);
		fputs("}}", sink->out);
	}
	fprintf(sink->out, ",\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%u,\"ts\":", phase, thread->number);
	if (sink->timed)
		fprintf(sink->out, "%llu.%03llu", thread->now / 1000, thread->now % 1000);
	else
		fprintf(sink->out, "%llu", thread->now);
}

static int begin(struct sink *sink, struct fault *fault __unused)
{
	fprintf(sink->out,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":\"%s\"},\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"calltrace\"}}",
		sink->timed ? "microseconds" : "number of the event");
	return 0;
}

static void enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	begin_event(sink, thread, "B");
	fputs(",\"name\":", sink->out);
	print_string(sink->out, map_name(sink->map, frame->function));
	fputc('}', sink->out);
}

static void leave(struct sink *sink, struct thread *thread, struct frame *frame __unused,
		  enum leave_how how)
{
	const bool uncertain = thread->nr_frames <= thread->uncertain;

	begin_event(sink, thread, "E");
	if (how != LEFT_RETURN || uncertain)
		fprintf(sink->out, ",\"args\":{\"end\":\"%s\"%s}", ends[how],
			uncertain ? ",\"gap\":true" : "");
	fputc('}', sink->out);
}

static void print_instant(struct sink *sink, struct thread *thread, const char *name,
			  const char *more)
{
	begin_event(sink, thread, "i");
	fputs(",\"s\":\"t\",\"name\":", sink->out);
	print_string(sink->out, name);
	fprintf(sink->out, ",\"args\":{\"%s\":true}}", more);
}

static void unmatched(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	const bool before = stacks_entered_before(thread);

	if (stub->kind == STUB_LAND)
		print_instant(sink, thread, map_name(sink->map, stub->function),
			      before ? "goes on, entered before" :
			      "goes on, entered nobody knows where");
	else
		print_instant(sink, thread, map_name(sink->map, stub->function),
			      before ? "returns, entered before" :
			      "returns, entered nobody knows where");
}

static void gap(struct sink *sink, struct thread *thread, const char *why, u64 lost __unused)
{
	print_instant(sink, thread, why, "gap");
}

static void end(struct sink *sink)
{
	fputs("\n]}\n", sink->out);
}

const struct sink_ops sink_json = {
	.begin = begin,
	.enter = enter,
	.leave = leave,
	.unmatched = unmatched,
	.gap = gap,
	.end = end,
};
