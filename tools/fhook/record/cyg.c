// SPDX-License-Identifier: GPL-2.0
/*
 * The software recorder for programs compiled with -finstrument-functions
 *
 * For processors without a trace, and as an independent record. Linked into a program, it
 * records if FHOOK_RECORD names a directory, each thread into a stream of its own. A
 * recorder is held while an event is written to it. Threads do not wait for that: if a
 * signal handler, or the end of the process, comes in between, the event is not recorded
 * but counted, and the trace has a gap. A signal handler may leave by siglongjmp() while
 * the recorder is held; the next event of the thread detects that.
 *
 * The recording may also be started and stopped by the command fhook, see control.h, and ended
 * by a condition, see cyg_until.h. A signal handler that interrupts an event leaves a request
 * to the next event of the thread. One that interrupts malloc() or stdio cannot be recognized:
 * if it makes the first event after a request, or of its thread, it may deadlock.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "cyg_control.h"
#include "cyg_place.h"
#include "cyg_until.h"
#include "decode/software.h"
#include "lib/clock.h"
#include "lib/trace_file.h"
#include "named.h"

#define EXPORT	__attribute__((visibility("default")))

/**
 * struct recorder - recorder of one thread
 * @next: link in the list of all recorders
 * @file: stream of the thread
 * @stream: number of the stream
 * @held: the recorder is in use; when the process ends, forever
 * @holder: stack address of the function of the thread that holds the recorder
 * @lost: number of events that could not be recorded since the last recorded event
 * @generation: number of the recording, which the process may have several of
 * @places: locations of the functions that the thread has called
 * @calls: calls that are measured for conditions
 */
struct recorder {
	struct recorder *next;
	struct trace_file *file;
	u32 stream;
	atomic_flag held;
	char *holder;
	atomic_ulong lost;
	u32 generation;
	struct places places;
	struct until_calls calls;
};

/* Values of @state. */
enum { STATE_NEW, STATE_RECORDS, STATE_OFF };

bool record_may_move;

static struct recording recording;
static struct recorder *recorders;
static u32 nr_streams, generation;
static struct settings settings;
static atomic_int state;
static pthread_key_t key;
/* Points at 0 in a child that was created without fork(). */
static volatile int *alive;
/* Protects all variables above, except those that the holder of a recorder uses. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct recorder *own;

/* State from before the lock was taken. */
struct before {
	sigset_t signals;
	int cancelled;
};

/*
 * This thread has the lock: functions that it calls, such as malloc(), may call record().
 */
static __thread bool has_lock;

/* A thread that is cancelled, or left by a signal handler, would keep the lock forever. */
static void take_lock(struct before *before)
{
	sigset_t all;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancelled);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before->signals);
	pthread_mutex_lock(&lock);
	has_lock = true;
}

static void drop_lock(const struct before *before)
{
	has_lock = false;
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
	pthread_setcancelstate(before->cancelled, NULL);
}

static void update(void)
{
	struct fault fault;

	if (recording_write(&recording, &fault))
		fault_print("libfhook-record", &fault);
}

static void put_missing(struct recorder *recorder)
{
	const struct software_record missing = { .time = atomic_exchange(&recorder->lost, 0) };

	if (missing.time)
		trace_file_put(recorder->file, &missing, sizeof(missing));
}

/*
 * Called by the holder, with the lock. Returns true, and notes the loss in the recording, if
 * the disk had no room for all data.
 */
static bool close_file(struct recorder *recorder)
{
	struct trace_file *file = recorder->file;
	u64 lost;

	if (!file)
		return false;
	put_missing(recorder);
	trace_file_flush(file);
	lost = file->lost;
	if (lost)
		recording_add_lost(&recording, recorder->stream, lost);
	/* A child that is forked in the meantime must not access the file. */
	recorder->file = NULL;
	trace_file_close(file);
	return lost;
}

/* Is this a child process that was not created by fork(), so that no handler has run? */
static bool is_child(void)
{
	return alive && !*alive;
}

/* A thread ends. Only stop() may still hold its recorder, and has closed it then. */
static void close_recorder(void *data)
{
	struct recorder *recorder = data;
	struct before before;

	if (is_child())
		return;
	take_lock(&before);
	own = NULL;
	if (state == STATE_RECORDS) {
		atomic_flag_test_and_set(&recorder->held);
		if (close_file(recorder))
			update();
		places_free(&recorder->places);
	}
	drop_lock(&before);
}

static void write_map(void)
{
	struct fault fault;

	if (record_write_map(&recording, &fault))
		fault_print("libfhook-record", &fault);
	update();
}

static void forked(void)
{
	struct recorder *recorder;
	char *directory, session[24];

	/* Unwritten data in the parent's streams belong to the parent. */
	pthread_mutex_init(&lock, NULL);
	for (recorder = recorders; recorder; recorder = recorder->next)
		if (recorder->file)
			trace_file_disown(recorder->file);
	recorders = NULL;
	own = NULL;
	pthread_setspecific(key, NULL);
	nr_streams = 0;
	/* The request was for the parent. */
	if (cyg_control)
		cyg_control->request = CONTROL_NONE;
	if (alive)
		*alive = 1;
	if (state != STATE_RECORDS)
		return;
	state = STATE_NEW;
	/* Its map is another one. */
	generation++;
	/* Another child may have had its number, or have it in another PID namespace. */
	record_may_move = true;
	if (asprintf(&directory, "%s-%d", recording.path, getpid()) >= 0) {
		setenv("FHOOK_RECORD", directory, 1);
		settings.directory = directory;
	}
	snprintf(session, sizeof(session), "0x%llx", settings.session);
	setenv(RECORDING_SESSION, session, 1);
	recording_free(&recording);
}

/*
 * Another thread may fork while the first recording begins, so this must not wait until then.
 * But constructors that run before this one may already be recorded.
 */
static void __attribute__((constructor)) prepare(void)
{
	static bool prepared;

	if (prepared)
		return;
	alive = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (alive == MAP_FAILED || madvise((void *)alive, 1, MADV_WIPEONFORK))
		alive = NULL;
	else
		*alive = 1;
	pthread_key_create(&key, close_recorder);
	pthread_atfork(NULL, NULL, forked);
	prepared = true;
}

static int create(struct fault *fault)
{
	if (!settings.session)
		settings.session = recording_new_session();
	recording.session = settings.session;
	return record_may_move ?
	       recording_create_beside(&recording, settings.directory, NULL, fault) :
	       recording_create(&recording, settings.directory, NULL, fault);
}

/* Called with the lock, at the first event of the process, or on request. */
static int start(struct fault *fault)
{
	state = STATE_OFF;
	if (!settings.directory || !*settings.directory)
		return 0;
	recording.format = FORMAT_SOFTWARE;
	recording.threads = true;
	recording.clock = 1000000;
	recording.snapshot = settings.snapshot_mb;
	if (until_set(&recording, settings.until, fault) || create(fault))
		return -1;
	prepare();
	/* In an emulator, the name of its first thread is the emulator's. */
	recording_add_task(&recording, getpid(), getpid(), program_invocation_short_name);
	write_map();
	state = STATE_RECORDS;
	control_note(true);
	return 0;
}

static void start_first(void)
{
	struct fault fault;

	if (!settings.directory)
		settings = settings_of_environment();
	if (start(&fault))
		fault_print("libfhook-record", &fault);
}

/* Called with the lock. A recorder without a file only keeps its thread from trying again. */
static void open_stream(struct recorder *recorder)
{
	char *path = recording_stream_path(&recording, nr_streams), name[16];
	struct fault fault;

	recorder->file = path ? trace_file_open(path) : NULL;
	if (recorder->file) {
		trace_file_keep(recorder->file, (u64)recording.snapshot << 20);
		recorder->stream = nr_streams;
		recording_add_thread(&recording, nr_streams++, gettid());
		if (gettid() != getpid() && !prctl(PR_GET_NAME, name))
			recording_add_task(&recording, gettid(), getpid(), name);
		update();
	} else {
		fault_say(&fault, "%s cannot be written, so a thread is not recorded: %s", path,
			  strerror(errno));
		fault_print("libfhook-record", &fault);
		recording.unopened++;
		update();
	}
	free(path);
}

static struct recorder *new_recorder(void)
{
	struct recorder *recorder = NULL;
	struct before before;

	take_lock(&before);
	if (state == STATE_NEW)
		start_first();
	if (state == STATE_RECORDS)
		recorder = calloc(1, sizeof(*recorder));
	if (recorder) {
		open_stream(recorder);
		recorder->generation = generation;
		recorder->next = recorders;
		recorders = recorder;
		pthread_setspecific(key, recorder);
		own = recorder;
	}
	drop_lock(&before);
	return recorder;
}

/*
 * Was the holder left without releasing the recorder? A signal handler that interrupts the
 * holder is deeper in the stack, or on a stack of its own.
 */
static bool was_left(const struct recorder *recorder, const char *frame)
{
	stack_t stack;

	return state == STATE_RECORDS && frame >= recorder->holder &&
	       !sigaltstack(NULL, &stack) && !(stack.ss_flags & SS_ONSTACK);
}

/* Called by the holder without the lock: add an object that has not been seen there before. */
static bool add_place(struct recorder *recorder, const struct record_loaded *loaded, u64 *shift)
{
	struct before before;
	bool recorded;

	take_lock(&before);
	recorded = state == STATE_RECORDS && record_place(&recording, loaded, shift);
	places_add(&recorder->places, loaded, *shift, recorded);
	drop_lock(&before);
	return recorded;
}

/* False if another thread holds it too long. Our own thread may be in the middle of an event. */
static bool hold(struct recorder *recorder)
{
	int tries = 1000;

	while (atomic_flag_test_and_set(&recorder->held) && recorder != own) {
		if (!tries--)
			return false;
		usleep(100);
	}
	return true;
}

/* Called with the lock. Threads may still run: their calls from now on are not recorded. */
static void end_recording(void)
{
	struct recorder *recorder;
	struct fault fault;
	u64 lost;

	if (state != STATE_RECORDS)
		return;
	state = STATE_OFF;
	for (recorder = recorders; recorder; recorder = recorder->next) {
		if (!recorder->file)
			continue;
		if (hold(recorder)) {
			close_file(recorder);
			continue;
		}
		lost = atomic_exchange(&recorder->lost, 0);
		if (lost)
			recording_add_lost(&recording, recorder->stream,
					   lost * sizeof(struct software_record));
	}
	update();
	if (recording_check_written(&recording, &fault))
		fault_print("libfhook-record", &fault);
	control_note(false);
}

/* Called by the holder of a recorder without the lock: a condition is true. */
static void end_at(struct recorder *recorder, u32 until)
{
	struct before before;

	take_lock(&before);
	if (state == STATE_RECORDS) {
		recording.until = until;
		end_recording();
	} else if (recorder == own && recorder->generation == generation && close_file(recorder)) {
		/* Another thread has ended it, and has not waited for this one long enough. */
		update();
	}
	drop_lock(&before);
}

/* Begin a recording after another one, whose recorders are of no use any more. */
static int start_again(struct fault *fault)
{
	recording_free(&recording);
	recorders = NULL;
	nr_streams = 0;
	generation++;
	settings = settings_of_request();
	record_may_move = false;
	return start(fault);
}

/* Obey a request of the command fhook. */
static void obey(void)
{
	struct before before;
	struct fault fault;
	int result = 0;
	u32 request;

	take_lock(&before);
	request = control_request();
	if (request) {
		if (request == CONTROL_STOP)
			end_recording();
		else if (state == STATE_RECORDS)
			result = fault_say(&fault, "it is being recorded to %s already",
					   recording.directory);
		else
			result = start_again(&fault);
		control_done(request, state == STATE_RECORDS, result ? &fault : NULL);
	}
	drop_lock(&before);
}

/* Find the address in the recording of a function in memory. Returns whether it has one. */
static bool find_address(struct recorder *recorder, u64 address, u64 *at)
{
	struct record_loaded loaded;
	u64 shift = 0;

	switch (places_find(&recorder->places, address, at, &loaded)) {
	case PLACE_NEW:
		if (!add_place(recorder, &loaded, &shift))
			return false;
		*at = address + shift;
		return true;
	case PLACE_KNOWN:
		return true;
	default:
		return false;
	}
}

/* Called by the holder without the lock: add a function of an interpreter to the map. */
static bool find_named(struct named *named, u64 *at)
{
	struct before before;
	struct fault fault;
	u32 unmatched;

	if (named->recording != generation + 1) {
		take_lock(&before);
		if (state == STATE_RECORDS && named->recording != generation + 1) {
			unmatched = recording.unmatched;
			named->failed = record_add_named(&recording, named, &fault);
			if (named->failed) {
				recording.unplaced++;
				fault_print("libfhook-record", &fault);
			}
			if (named->failed || recording.unmatched != unmatched)
				update();
			named->recording = generation + 1;
		}
		drop_lock(&before);
	}
	*at = named->address;
	return named->recording == generation + 1 && !named->failed;
}

static void put_event(struct recorder *recorder, u64 at)
{
	struct software_record event;
	u32 until;

	put_missing(recorder);
	event.address = at;
	event.time = clock_ns(CLOCK_MONOTONIC);
	trace_file_put(recorder->file, &event, sizeof(event));
	until = until_event(&recorder->calls, event.address, event.time, recorder->holder);
	if (until || control_is_left(event.time))
		end_at(recorder, until);
}

/* Hold the thread's own recorder for an event. Otherwise the event is lost. */
static bool try_hold(struct recorder *recorder, const char *frame)
{
	if (!atomic_flag_test_and_set(&recorder->held))
		return true;
	/* This event or, if the holder was left, the event of the holder is lost. */
	recorder->lost++;
	return was_left(recorder, frame);
}

/*
 * Obeying ends a recording by closing the file of this thread, too, which an event that this
 * one has interrupted still writes to. Without a recording there is no file to close, and a
 * recorder of the last one may be held forever.
 */
static bool may_obey(struct recorder *recorder, const char *frame)
{
	if (!recorder || state != STATE_RECORDS || recorder->generation != generation)
		return true;
	if (!try_hold(recorder, frame))
		return false;
	/* obey() blocks signals: no handler can hold it in the meantime. */
	atomic_flag_clear(&recorder->held);
	return true;
}

/*
 * OFFSET is 0 at the entry of the function that begins at ADDRESS, or is NAMED, and 1 at its exit.
 */
static void record(u64 address, struct named *named, u64 offset)
{
	char *frame = __builtin_frame_address(0);
	struct recorder *recorder = own;
	u64 at;

	if (has_lock)
		return;
	if (is_child()) {
		forked();
		recorder = NULL;
	}
	if (control_request()) {
		if (!may_obey(recorder, frame))
			return;
		obey();
		recorder = own;
	}
	if (!recorder || recorder->generation != generation) {
		if (state == STATE_OFF)
			return;
		recorder = new_recorder();
		if (!recorder)
			return;
	}
	if (!try_hold(recorder, frame))
		return;
	recorder->holder = frame;
	/* A recorder that end_recording() could not hold still has its file. */
	if (recorder->file && state == STATE_RECORDS &&
	    (named ? find_named(named, &at) : find_address(recorder, address, &at)))
		put_event(recorder, at + offset);
	atomic_flag_clear(&recorder->held);
}

EXPORT void __cyg_profile_func_enter(void *function, void *caller __unused)
{
	record((unsigned long)function, NULL, 0);
}

EXPORT void __cyg_profile_func_exit(void *function, void *caller __unused)
{
	record((unsigned long)function, NULL, 1);
}

void record_named(struct named *named, u64 offset)
{
	record(0, named, offset);
}

static void __attribute__((destructor)) stop(void)
{
	struct before before;

	if (is_child())
		return;
	take_lock(&before);
	end_recording();
	drop_lock(&before);
}
