// SPDX-License-Identifier: GPL-2.0
/*
 * Chrome's trace JSON, which Perfetto opens: nested begin and end events
 *
 * A time stamp is in microseconds. Without times it is the number of the event, and the
 * metadata contain a note.
 */
#include "decode/sink.h"
#include "lib/json.h"

static const char *const ends[] = {
	[LEFT_RETURN] = "return",
	[LEFT_LEAF] = "at an unknown time",
	[LEFT_TAIL] = "tail call",
	[LEFT_UNSEEN] = "no exit seen",
	[LEFT_LOST] = "exit lost",
	[LEFT_OPEN] = "not over when its trace ends",
};

/* The common part of all elements. */
static void begin_element(struct sink *sink, const struct thread *thread, const char *phase)
{
	fprintf(sink->out, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,", sink->data ? "," : "",
		phase, thread->pid, thread->tid);
	/* There is an element before the next one. */
	sink->data = sink;
}

/* The name of a thread, or of its process. */
static void print_name(struct sink *sink, const struct thread *thread, const char *what,
		       const char *name)
{
	begin_element(sink, thread, "M");
	fprintf(sink->out, "\"name\":\"%s\",\"args\":{\"name\":", what);
	json_string(sink->out, name);
	fputs("}}", sink->out);
}

/* The common part of all calls and returns; the first event of a thread is preceded by its name. */
static void begin_event(struct sink *sink, struct thread *thread, const char *phase)
{
	if (!thread->sink) {
		thread->sink = sink;
		print_name(sink, thread, "process_name",
			   thread->process ?: thread->pid == THREAD_NO_PROCESS ? "not known" :
			   thread->label);
		print_name(sink, thread, "thread_name", thread->name ?: thread->label);
	}
	begin_element(sink, thread, phase);
	fputs("\"ts\":", sink->out);
	if (sink->timed)
		fprintf(sink->out, "%llu.%03llu", thread->now / 1000, thread->now % 1000);
	else
		fprintf(sink->out, "%llu", thread->now);
}

static int begin(struct sink *sink, struct fault *fault __unused)
{
	fprintf(sink->out,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":\"%s\"},\"traceEvents\":[",
		sink->timed ? "microseconds" : "number of the event");
	return 0;
}

static void enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	const struct place *place = sink_place(sink, frame->function);

	begin_event(sink, thread, "B");
	fputs(",\"name\":", sink->out);
	json_string(sink->out, sink_name(sink, frame->function));
	if (place) {
		fputs(",\"args\":{\"file\":", sink->out);
		json_string(sink->out, place->file);
		fprintf(sink->out, ",\"line\":%d}", place->line);
	}
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
	json_string(sink->out, name);
	fprintf(sink->out, ",\"args\":{\"%s\":true}}", more);
}

static void unmatched(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	const bool before = stacks_entered_before(thread);

	if (stub->kind == STUB_LAND)
		print_instant(sink, thread, sink_name(sink, stub->function),
			      before ? "goes on, entered before" :
			      "goes on, entered nobody knows where");
	else
		print_instant(sink, thread, sink_name(sink, stub->function),
			      before ? "returns, entered before" :
			      "returns, entered nobody knows where");
}

static void gap(struct sink *sink, struct thread *thread, const char *why, u64 lost __unused)
{
	print_instant(sink, thread, why, "gap");
}

static void end(struct sink *sink)
{
	if (!sink->failed)
		fputs("\n]}\n", sink->out);
}

const struct sink_ops sink_json = {
	.begin = begin,
	.enter = enter,
	.leave = leave,
	.unmatched = unmatched,
	.gap = gap,
	.end = end,
	.escapes = true,
};
