// SPDX-License-Identifier: GPL-2.0
/*
 * The software recorder for programs compiled with -finstrument-functions
 *
 * For processors without a trace, and as a record that owes nothing to one. Linked
 * into a program, it records when FHOOK_RECORD names a directory, each thread into
 * a buffer and a stream of its own. A recorder is held while an event is put into
 * it. It is never waited for: if a signal handler comes in between, or the end of the
 * process, the event is not recorded but counted, and the trace says so.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "decode_software.h"
#include "record_cyg.h"
#include "trace_file.h"

#define EXPORT	__attribute__((visibility("default")))

/**
 * struct recorder - of one thread
 * @next: in the list of all
 * @file: its stream
 * @stream: the number of that
 * @held: somebody uses it
 * @closed: its thread has ended
 * @lost: events that could not be recorded since the last one that was
 */
struct recorder {
	struct recorder *next;
	struct trace_file *file;
	u32 stream;
	atomic_flag held;
	atomic_bool closed;
	atomic_ulong lost;
};

/* What @state is. */
enum { STATE_NEW, STATE_RECORDS, STATE_OFF };

static struct recording recording;
static struct recorder *recorders;
static u32 nr_streams;
static atomic_int state;
static pthread_key_t key;
/* Of all above, but for what a recorder's holder may touch. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct recorder *own;
/* The thread has the lock; what a signal handler does then, without a recorder, is counted. */
static __thread bool busy;
static __thread unsigned long unrecorded;

static void take_lock(void)
{
	busy = true;
	pthread_mutex_lock(&lock);
}

static void drop_lock(void)
{
	pthread_mutex_unlock(&lock);
	busy = false;
}

static void update(void)
{
	struct fault fault;

	if (recording_write(&recording, &fault))
		fault_print("libfhook-record", &fault);
}

/* With the lock, and by who holds it: what the disk had no room for is noted. */
static void flush(const struct recorder *recorder)
{
	trace_file_flush(recorder->file);
	if (recorder->file->lost)
		recording_add_lost(&recording, recorder->stream, recorder->file->lost);
}

static void close_recorder(void *data)
{
	struct recorder *recorder = data;

	take_lock();
	own = NULL;
	while (atomic_flag_test_and_set(&recorder->held))
		;
	if (recorder->file) {
		flush(recorder);
		if (recorder->file->lost && state == STATE_RECORDS)
			update();
		trace_file_close(recorder->file);
	}
	recorder->file = NULL;
	/* It stays held, and in the list: another thread may just look at it. */
	recorder->closed = true;
	drop_lock();
}

static void write_map(void)
{
	struct fault fault;

	recording.nr_loads = 0;
	if (record_write_map(&recording, &fault))
		fault_print("libfhook-record", &fault);
	update();
}

static void forked(void)
{
	char *directory;

	/* What is in the parent's buffers is the parent's. */
	pthread_mutex_init(&lock, NULL);
	busy = false;
	recorders = NULL;
	own = NULL;
	pthread_setspecific(key, NULL);
	nr_streams = 0;
	if (state != STATE_RECORDS)
		return;
	state = STATE_NEW;
	if (asprintf(&directory, "%s-%d", recording.directory, getpid()) >= 0)
		setenv("FHOOK_RECORD", directory, 1);
	recording_free(&recording);
}

/* With the lock: the first event of the process. */
static void start(void)
{
	const char *directory = getenv("FHOOK_RECORD");
	static bool prepared;
	struct fault fault;

	state = STATE_OFF;
	if (!directory || !*directory)
		return;
	recording.format = FORMAT_SOFTWARE;
	recording.threads = true;
	recording.clock = 1000000;
	if (recording_create(&recording, directory, NULL, &fault)) {
		fault_print("libfhook-record", &fault);
		return;
	}
	if (!prepared) {
		pthread_key_create(&key, close_recorder);
		pthread_atfork(NULL, NULL, forked);
		prepared = true;
	}
	write_map();
	state = STATE_RECORDS;
}

/* With the lock. A recorder without a file only keeps its thread from trying again. */
static void open_stream(struct recorder *recorder)
{
	char *path = recording_stream_path(&recording, nr_streams);
	struct fault fault;

	recorder->file = path ? trace_file_open(path) : NULL;
	if (recorder->file) {
		recorder->stream = nr_streams;
		recording_add_thread(&recording, nr_streams++, gettid());
		update();
	} else {
		fault_say(&fault, "%s cannot be written: a thread is not recorded", path);
		fault_print("libfhook-record", &fault);
	}
	free(path);
}

static struct recorder *new_recorder(void)
{
	struct recorder *recorder = NULL;

	if (busy) {
		unrecorded++;
		return NULL;
	}
	take_lock();
	if (state == STATE_NEW)
		start();
	if (state == STATE_RECORDS)
		recorder = calloc(1, sizeof(*recorder));
	if (recorder) {
		open_stream(recorder);
		recorder->next = recorders;
		recorders = recorder;
		pthread_setspecific(key, recorder);
		recorder->lost = unrecorded;
		unrecorded = 0;
		own = recorder;
	}
	drop_lock();
	return recorder;
}

static u64 now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void record(u64 address)
{
	struct software_record event = { .address = address };
	struct recorder *recorder = own;

	if (!recorder) {
		if (state == STATE_OFF)
			return;
		recorder = new_recorder();
		if (!recorder)
			return;
	}
	if (atomic_flag_test_and_set(&recorder->held)) {
		recorder->lost++;
		return;
	}
	if (recorder->file) {
		struct software_record missing = { .time = atomic_exchange(&recorder->lost, 0) };

		if (missing.time)
			trace_file_put(recorder->file, &missing, sizeof(missing));
		event.time = now();
		trace_file_put(recorder->file, &event, sizeof(event));
	}
	atomic_flag_clear(&recorder->held);
}

EXPORT void __cyg_profile_func_enter(void *function, void *caller __unused)
{
	record((unsigned long)function);
}

EXPORT void __cyg_profile_func_exit(void *function, void *caller __unused)
{
	record((unsigned long)function + 1);
}

/* False when there is nothing to wait for: it has ended, or this came in its middle. */
static bool hold(struct recorder *recorder)
{
	while (atomic_flag_test_and_set(&recorder->held))
		if (recorder->closed || recorder == own)
			return false;
	return true;
}

/* Threads may still run: what they do from now on is not recorded. */
static void __attribute__((destructor)) stop(void)
{
	struct recorder *recorder;

	take_lock();
	if (state == STATE_RECORDS) {
		state = STATE_OFF;
		for (recorder = recorders; recorder; recorder = recorder->next)
			if (hold(recorder) && recorder->file)
				flush(recorder);
		/* More may have been loaded since. */
		write_map();
	}
	drop_lock();
}
