// SPDX-License-Identifier: GPL-2.0
/* Attributing the streams of a recording to threads; the header describes how. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decoder.h"
#include "software.h"
#include "streams.h"
#include "tasks.h"

/**
 * struct stream - a stream that is being read
 * @decoder: decoder of the stream
 * @events: last batch of events
 * @nr_events: number of @events
 * @next: index of the next event
 * @thread: thread of the events; NULL: not selected, or unknown
 * @task: current task, if processors are ordered by time
 * @gap_task: task that ran before the last gap
 * @last: time of the last event of a function
 * @gap_begin: time of the last event before the gap
 * @in_gap: there was a gap, and no event after it has been processed
 * @nobody: the running task is unknown
 * @unknown: thread for events of unknown tasks; possibly different tasks
 * @spelled: values of context stubs since the last complete context
 * @spelling: a context has begun
 * @turn: turn of the task, as far as spelled; -1: not spelled
 * @taken: number of events read from the stream
 * @strange: the last address was outside of stubs
 * @waits: a context is complete, and waits for its task's previous turn
 * @resumes: the stream waits not with a context, but with an event that must come after
 *	events of other streams
 * @since: time of the context or event with which the stream waits
 * @number: number of the stream
 */
struct stream {
	struct decoder *decoder;
	struct trace_event events[TRACE_BATCH];
	unsigned int nr_events, next;
	struct thread *thread, *unknown;
	struct task *task, *gap_task;
	u64 last, gap_begin;
	u32 spelled;
	bool in_gap, nobody, spelling, strange, waits, resumes;
	int turn;
	u64 since, taken;
	u32 number;
};

/**
 * struct decoding - data shared by the functions here
 * @turns: the map has stubs for turns, so a context begins with a turn
 * @by_time: there are no turns, but a clock
 * @limit: with @by_time: no other stream has an event before this time
 * @gap_end: end of the last gap of any stream, as far as read
 * @nr_gaps: number of streams with a gap whose end has not been read
 * @lost_from: start of the gap at the end of a stream, if any
 */
struct decoding {
	struct streams *streams;
	struct stacks stacks;
	struct tasks tasks;
	struct stream **open;
	unsigned int nr_open;
	bool turns, by_time;
	u64 limit, gap_end, lost_from;
	unsigned int nr_gaps;
};

static bool wanted(const struct decoding *decoding, u64 number)
{
	return decoding->streams->only < 0 || decoding->streams->only == (s64)number;
}

static struct stream *open_stream(struct decoding *decoding, u32 number, struct fault *fault)
{
	struct streams *streams = decoding->streams;
	struct stream *stream = calloc(1, sizeof(*stream));
	size_t end;

	if (!stream) {
		fault_say(fault, "there is not enough memory to decode");
		return NULL;
	}
	stream->number = number;
	stream->turn = -1;
	stream->decoder = decoder_open(streams->recording, streams->map, number, fault);
	if (!stream->decoder) {
		free(stream);
		return NULL;
	}
	/* A recorder that was killed leaves zeroes after the data. A record may end with some. */
	end = decoder_end(stream->decoder, DECODER_PADDING);
	end += (stream->decoder->size - end) % sizeof(struct software_record);
	if (end > stream->decoder->begin)
		streams->totals.bytes += end - stream->decoder->begin;
	return stream;
}

/* The next event that has not been processed, or NULL at the end. */
static const struct trace_event *next_event(struct stream *stream)
{
	if (stream->next == stream->nr_events) {
		stream->nr_events = stream->decoder->ops->fill(stream->decoder, stream->events);
		stream->next = 0;
		if (!stream->nr_events)
			return NULL;
	}
	stream->taken++;
	return &stream->events[stream->next++];
}

/* Set the process of a thread, and the names of both, as far as the recording has them. */
static void set_process(const struct decoding *decoding, struct thread *thread, u32 tid, u32 pid)
{
	const struct recording *recording = decoding->streams->recording;
	const struct recording_task *task = recording_task(recording, tid), *process;

	thread->tid = tid;
	thread->pid = task ? task->pid : pid;
	process = recording_task(recording, thread->pid) ?: task;
	if (task && *task->name)
		thread->name = task->name;
	if (process && *process->name)
		thread->process = process->name;
}

/* The thread of the next event, or NULL. */
static struct thread *thread_of(struct decoding *decoding, struct stream *stream)
{
	if (stream->thread || !stream->nobody || decoding->streams->only >= 0)
		return stream->thread;
	if (!stream->unknown) {
		stream->unknown = stacks_new_thread(&decoding->stacks);
		if (stream->unknown) {
			snprintf(stream->unknown->label, sizeof(stream->unknown->label),
				 "cpu %u, task not known", stream->number);
			stream->unknown->pid = THREAD_NO_PROCESS;
			stream->unknown->tid = stream->number;
		}
	}
	stream->thread = stream->unknown;
	return stream->thread;
}

static void gap(struct decoding *decoding, struct stream *stream, const char *why, u64 lost)
{
	struct thread *thread = thread_of(decoding, stream);

	decoding->streams->totals.gaps++;
	decoding->streams->totals.lost += lost;
	if (thread)
		stacks_gap(&decoding->stacks, thread, why, lost);
}

/* If the current task is unknown, end its calls, because a known task follows. */
static void leave_task(struct decoding *decoding, struct stream *stream)
{
	if (stream->unknown)
		stacks_forget(&decoding->stacks, stream->unknown);
	stream->thread = NULL;
}

/* The current task is unknown until the next context. */
static void forget_task(struct decoding *decoding, struct stream *stream)
{
	leave_task(decoding, stream);
	stream->nobody = true;
	stream->spelling = false;
	stream->turn = -1;
}

static void begin_gap(struct decoding *decoding, struct stream *stream)
{
	if (stream->in_gap)
		return;
	stream->in_gap = true;
	decoding->nr_gaps++;
	stream->gap_begin = stream->last;
	stream->gap_task = stream->task;
	if (stream->task)
		stream->task->told = true;
	stream->task = NULL;
}

/* End a gap at TIME. The task that ran before the gap has been notified. */
static void end_gap(struct decoding *decoding, struct stream *stream, u64 time)
{
	struct task *task = stream->gap_task;

	if (!stream->in_gap)
		return;
	stream->in_gap = false;
	decoding->nr_gaps--;
	if (decoding->gap_end < time)
		decoding->gap_end = time;
	if (task && task->until <= stream->gap_begin)
		task->until = time;
}

/* Is TIME of a stream in a gap of another stream whose end has not been read? */
static bool in_open_gap(const struct decoding *decoding, u64 time)
{
	unsigned int i;

	if (decoding->lost_from < time)
		return true;
	for (i = 0; decoding->nr_gaps && i < decoding->nr_open; i++)
		if (decoding->open[i]->in_gap && decoding->open[i]->gap_begin < time)
			return true;
	return false;
}

/*
 * Between its last event and this one the task may have been on any processor, and so in
 * any gap. During one gap, this is reported once.
 */
static void follow_task(struct decoding *decoding, struct stream *stream, u64 time)
{
	struct task *task = stream->task;
	const bool open = in_open_gap(decoding, time);

	if (time <= task->until)
		return;
	if (task->until < decoding->gap_end || (open && !task->told))
		gap(decoding, stream, "it may have run where something is missing", 0);
	else if (open)
		stacks_doubt(&decoding->stacks, stream->thread);
	task->told = open;
	task->until = time;
}

static void cpu_gap(struct decoding *decoding, struct stream *stream, const char *why, u64 lost)
{
	gap(decoding, stream, why, lost);
	if (decoding->streams->recording->threads)
		return;
	if (decoding->by_time)
		begin_gap(decoding, stream);
	forget_task(decoding, stream);
}

/* An address outside of stubs may be a task or a call; report one gap for all in a row. */
static void strange_address(struct decoding *decoding, struct stream *stream)
{
	decoding->streams->totals.strange++;
	if (!stream->strange)
		cpu_gap(decoding, stream, "an address is no stub of the map", 0);
	stream->strange = true;
}

/* A context stub; the last one of a context makes the stream wait. */
static void spell(struct decoding *decoding, struct stream *stream, const struct map_stub *stub,
		  u64 time)
{
	decoding->streams->totals.contexts++;
	if (stub->kind == STUB_TURN || (!stream->spelling && !decoding->turns)) {
		stream->spelling = true;
		stream->spelled = 0;
		stream->turn = -1;
	}
	if (!stream->spelling)
		return;
	switch (stub->kind) {
	case STUB_TURN:
		stream->turn = stub->function;
		break;
	case STUB_TASK2:
		stream->spelled |= stub->function << 16;
		break;
	case STUB_TASK1:
		stream->spelled |= stub->function << 8;
		break;
	default:
		stream->spelled |= stub->function;
		if (!stream->spelled)
			stream->spelled = TASK_IDLE + stream->number;
		stream->spelling = false;
		stream->waits = true;
		stream->since = time;
		break;
	}
}

/* If ordered by time, the last event may have to wait for events of other streams. */
static bool is_early(const struct decoding *decoding, struct stream *stream, u64 time)
{
	if (!decoding->by_time || time <= decoding->limit)
		return false;
	stream->next--;
	stream->taken--;
	stream->waits = true;
	stream->resumes = true;
	stream->since = time;
	return true;
}

static void function_event(struct decoding *decoding, struct stream *stream,
			   const struct map_stub *stub, u64 time)
{
	struct thread *thread = thread_of(decoding, stream);

	stream->last = time;
	if (stream->task)
		follow_task(decoding, stream, time);
	if (thread)
		stacks_hit(&decoding->stacks, thread, stub, time);
}

/* Process events until the stream waits or ends. Returns false at the end. */
static bool advance(struct decoding *decoding, struct stream *stream)
{
	struct streams *streams = decoding->streams;
	const struct trace_event *event;
	const struct map_stub *stub;

	while (!stream->waits) {
		event = next_event(stream);
		if (!event)
			return false;
		if (event->type == TRACE_GAP) {
			cpu_gap(decoding, stream, event->why, event->lost);
			continue;
		}
		if (event->type == TRACE_DROPPED) {
			streams->totals.dropped++;
			continue;
		}
		stub = map_find(streams->map, event->address);
		if (!stub) {
			strange_address(decoding, stream);
			continue;
		}
		stream->strange = false;
		if (map_is_context(stub))
			spell(decoding, stream, stub, event->time);
		else if (!is_early(decoding, stream, event->time))
			function_event(decoding, stream, stub, event->time);
	}
	return true;
}

/* The data that the recorder could not write: 0 bytes if the number is unknown. */
static const struct recording_note *lost_of(const struct decoding *decoding,
					    const struct stream *stream)
{
	const struct recording *recording = decoding->streams->recording;

	return recording_note(recording->lost, recording->nr_lost, stream->number);
}

static void close_stream(struct decoding *decoding, struct stream *stream)
{
	const struct recording_note *lost = lost_of(decoding, stream);

	if (lost)
		gap(decoding, stream, "the recorder could not write all", lost->value);
	if (stream->unknown)
		stacks_end_thread(&decoding->stacks, stream->unknown);
	stream->decoder->ops->close(stream->decoder);
	free(stream);
}

static int decode_thread(struct decoding *decoding, u32 number, struct fault *fault)
{
	const struct recording *recording = decoding->streams->recording;
	const struct recording_note *note = recording_note(recording->tids, recording->nr_tids,
							   number);
	const u64 tid = note ? note->value : 0;
	struct stream *stream;
	struct thread *thread;

	if (!wanted(decoding, tid ? tid : number))
		return 0;
	decoding->streams->found = true;
	stream = open_stream(decoding, number, fault);
	if (!stream)
		return -1;
	thread = stacks_new_thread(&decoding->stacks);
	if (thread) {
		if (tid)
			snprintf(thread->label, sizeof(thread->label), "thread %llu", tid);
		else
			snprintf(thread->label, sizeof(thread->label), "thread #%u", number);
		set_process(decoding, thread, tid ?: thread->number, THREAD_NO_PROCESS);
		stream->thread = thread;
		while (advance(decoding, stream))
			stream->waits = false;
	}
	close_stream(decoding, stream);
	if (thread)
		stacks_end_thread(&decoding->stacks, thread);
	return 0;
}

/* The uncertainty that the context with which a stream waits comes next: less is better. */
static unsigned int doubt(const struct decoding *decoding, const struct stream *stream)
{
	const struct task *task;

	if (!stream->waits)
		return 0;
	if (stream->turn < 0)
		return decoding->by_time;
	task = tasks_find(&decoding->tasks, stream->spelled);
	if (!task)
		return stream->turn ? 2 : 0;
	if (stream->turn == tasks_next_turn(task->turn))
		return 0;
	/* The number of an ended task is used again, or the context is too early. */
	return stream->turn ? 3 : 1;
}

/* Compare by the clock or, if there is none, by the number of events read. */
static bool is_behind(const struct stream *stream, const struct stream *other)
{
	if (stream->since != other->since)
		return stream->since < other->since;
	return stream->taken < other->taken;
}

static unsigned int choose(const struct decoding *decoding, unsigned int recent)
{
	unsigned int best = recent, best_doubt = 4, i;

	for (i = 0; i < decoding->nr_open && best_doubt; i++) {
		/* A stream that has just been read can often continue. */
		const unsigned int index = (recent + i) % decoding->nr_open;
		const struct stream *stream = decoding->open[index];
		const unsigned int this = doubt(decoding, stream);

		if (this < best_doubt ||
		    (this == best_doubt && is_behind(stream, decoding->open[best]))) {
			best = index;
			best_doubt = this;
		}
	}
	return best;
}

/* The time until which the chosen stream may continue before other streams. */
static u64 earliest_other(const struct decoding *decoding, unsigned int chosen)
{
	u64 earliest = ~0ULL;
	unsigned int i;

	for (i = 0; i < decoding->nr_open; i++) {
		const struct stream *stream = decoding->open[i];
		const u64 since = stream->waits ? stream->since : 0;

		if (i != chosen && since < earliest)
			earliest = since;
	}
	return earliest;
}

static void name_task(const struct decoding *decoding, const struct task *task)
{
	struct thread *thread = task->thread;

	if (task->id < TASK_IDLE) {
		snprintf(thread->label, sizeof(thread->label), "task %u", task->id);
		set_process(decoding, thread, task->id, task->id);
	} else {
		snprintf(thread->label, sizeof(thread->label), "cpu %u, idle",
			 task->id - TASK_IDLE);
		thread->tid = task->id - TASK_IDLE;
		thread->process = "idle";
	}
}

/* Continue a task with the context of a waiting stream, which is the task's next turn. */
static void begin_turn(struct decoding *decoding, struct stream *stream)
{
	struct task *task = tasks_get(&decoding->tasks, stream->spelled);
	bool missing = false;

	stream->task = NULL;
	end_gap(decoding, stream, stream->since);
	leave_task(decoding, stream);
	stream->nobody = false;
	if (!task)
		return;
	if (!wanted(decoding, stream->spelled)) {
		task->turn = stream->turn;
		return;
	}
	decoding->streams->found = true;
	if (task->thread && stream->turn >= 0) {
		if (!stream->turn) {
			stacks_end_thread(&decoding->stacks, task->thread);
			task->thread = NULL;
		} else {
			missing = task->turn >= 0 && stream->turn != tasks_next_turn(task->turn);
		}
	}
	if (!task->thread) {
		task->thread = stacks_new_thread(&decoding->stacks);
		if (!task->thread)
			return;
		name_task(decoding, task);
		/* The history of the task is unknown in any case. */
		task->thread->gap = missing || decoding->gap_end ||
				    in_open_gap(decoding, stream->since);
		task->until = stream->since;
		missing = false;
	}
	if (decoding->by_time)
		stream->task = task;
	task->turn = stream->turn;
	stream->thread = task->thread;
	if (missing)
		gap(decoding, stream, "turns of this task are missing", 0);
}

/* Report a loss at the end of a stream; the end of the gap is unknown. */
static void end_stream(struct decoding *decoding, struct stream *stream)
{
	const bool lost = lost_of(decoding, stream);

	if ((stream->in_gap || lost) && decoding->by_time && stream->last < decoding->lost_from)
		decoding->lost_from = stream->last;
	if (stream->in_gap)
		decoding->nr_gaps--;
	close_stream(decoding, stream);
}

static int open_cpus(struct decoding *decoding, struct fault *fault)
{
	const u32 nr = decoding->streams->recording->nr_streams;
	char *path;
	FILE *file;
	u32 i;

	decoding->open = calloc(nr + 1, sizeof(*decoding->open));
	if (!decoding->open)
		return fault_say(fault, "there is not enough memory to decode");
	for (i = 0; i < nr; i++) {
		/* An idle processor may have no stream. */
		path = recording_stream_path(decoding->streams->recording, i);
		file = path ? fopen(path, "r") : NULL;
		free(path);
		if (!file)
			continue;
		fclose(file);
		decoding->open[decoding->nr_open] = open_stream(decoding, i, fault);
		if (!decoding->open[decoding->nr_open])
			return -1;
		forget_task(decoding, decoding->open[decoding->nr_open++]);
	}
	return 0;
}

static int decode_cpus(struct decoding *decoding, struct fault *fault)
{
	unsigned int recent = 0;
	int result = open_cpus(decoding, fault);

	while (!result && decoding->nr_open) {
		struct stream *stream;

		recent = choose(decoding, recent);
		stream = decoding->open[recent];
		if (decoding->by_time)
			decoding->limit = earliest_other(decoding, recent);
		if (stream->waits && !stream->resumes)
			begin_turn(decoding, stream);
		stream->waits = false;
		stream->resumes = false;
		if (advance(decoding, stream))
			continue;
		end_stream(decoding, stream);
		decoding->open[recent] = decoding->open[--decoding->nr_open];
		recent = 0;
	}
	while (decoding->nr_open)
		close_stream(decoding, decoding->open[--decoding->nr_open]);
	free(decoding->open);
	tasks_end(&decoding->tasks, &decoding->stacks);
	return result;
}

static bool has_turns(const struct map *map)
{
	size_t i;

	for (i = 0; i < map->nr_stubs; i++)
		if (map->stubs[i].kind == STUB_TURN)
			return true;
	return false;
}

static int decode(struct decoding *decoding, struct fault *fault)
{
	const struct recording *recording = decoding->streams->recording;
	u32 i;

	if (!recording->threads)
		return decode_cpus(decoding, fault);
	for (i = 0; i < recording->nr_streams; i++)
		if (decode_thread(decoding, i, fault))
			return -1;
	return 0;
}

int streams_decode(struct streams *streams, struct fault *fault)
{
	struct sink *sink = streams->sink;
	struct decoding decoding = {
		.streams = streams,
		.stacks = {
			.sink = sink, .totals = &streams->totals,
		},
		.turns = has_turns(streams->map),
		.lost_from = ~0ULL,
	};

	decoding.by_time = !decoding.turns && streams->recording->clock &&
			   !streams->recording->threads;
	if (streams->recording->clock)
		decoding.stacks.multiply = (1000000ULL << 32) / streams->recording->clock;
	if (!streams->goes_on && sink->ops->begin && sink->ops->begin(sink, fault))
		return -1;
	sink->failed = decode(&decoding, fault);
	if ((sink->failed || !streams->more) && sink->ops->end)
		sink->ops->end(sink);
	return sink->failed ? -1 : 0;
}
