/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording: a directory with the trace, and the data needed to read it
 *
 *	info		description, as lines of words (struct recording)
 *	map		the map of the stubs
 *	0.trace ...	one raw stream for each processor or thread
 *
 * Recorders write info before the first byte of a stream and whenever something becomes
 * known, completely each time: a recorder that is killed leaves a valid recording.
 */
#ifndef FHOOK_RECORDING_H
#define FHOOK_RECORDING_H

#include <stdio.h>
#include "base.h"

enum recording_format {
	FORMAT_INTEL_PT,
	FORMAT_ETMV4,
	FORMAT_SOFTWARE,
	FORMATS
};

enum recording_profile {
	PROFILE_TARGET,		/* disable packets have their target */
	PROFILE_NO_TARGET,	/* disable packets have no target */
	PROFILE_CYCLES,		/* with target, and cycle packets */
	PROFILE_BRANCHES,	/* no filter: each branch, for comparison */
	PROFILES
};

extern const char *const recording_formats[FORMATS];
extern const char *const recording_profiles[PROFILES];

/* Room for the path of a program that has been executed; a longer path is cut off. */
#define RECORDING_PROGRAM	256

struct recording_load {
	u32 object;
	u64 bias;
};

/* Data about the stream with a number; if there are several lines, the last counts. */
struct recording_note {
	u32 stream;
	u32 line;
	u64 value;
};

/* The process of a thread or task; if there are several lines, the last counts. */
struct recording_task {
	u32 tid, pid;
	u32 line;
	char name[16];
};

/* The registers that are needed to decode an ETMv4 stream. */
struct recording_etm {
	u32 traceid;
	u32 config;
	u32 idr0, idr1, idr2, idr8;
};

/**
 * struct recording - the info of a recording
 * @directory: its directory, as given
 * @path: absolute path of a recording being made, independent of the working directory
 * @made_directory: the directory did not exist before
 * @format: line "format intel-pt|etmv4|software"
 * @profile: line "profile NAME"
 * @threads: "streams thread", a stream is one thread; otherwise "streams cpu"
 * @has_format: there was a line "format"
 * @has_streams: there was a line "streams"
 * @session: line "session 0xNUMBER": random number that the recordings of a program and of its
 *	children have in common; 0 without it
 * @loads: lines "load ID 0xBIAS": objects at other addresses than in the map
 * @tids: lines "thread STREAM TID": the thread of a stream
 * @tasks: lines "task TID PID [NAME]": the process of a thread or task, and its own name
 * @lost: lines "lost STREAM N": number of bytes that could not be written, or 0 if unknown
 * @unplaced: line "unplaced N": number of times that an object was loaded whose calls could
 *	not be recorded there
 * @snapshot: line "snapshot MIB": only the last events of each stream were kept, in so many MiB;
 *	0 without it
 * @until: line "until N": the N-th condition, from 1, has ended the recording; 0 without it
 * @unmatched: line "unmatched 0xMASK": the conditions, the first one in bit 0, on functions that
 *	the map does not have; 0 without it
 * @executed_by: line "executed PID PROGRAM": process that has executed a program, whose calls are
 *	not recorded; 0 without it
 * @executed: path of that program, empty if it is not known
 * @unopened: line "unopened N": number of streams that could not be made
 * @family: line "cpu FAMILY MODEL STEPPING", which determines the errata
 * @clock: line "clock KHZ": unit of the time stamps; without it, there are no times
 * @nominal: line "nominal RATIO": bus cycles per time stamp cycle, as in CBR packets
 * @mtc: line "mtc FREQ EAX EBX": period of MTC packets, leaf 15H of CPUID
 * @etm: line "etm TRACEID CONFIG IDR0 IDR1 IDR2 IDR8", all of them 0xNUMBER
 * @nr_streams: number of the last stream, plus one
 */
struct recording {
	char *directory, *path;
	bool made_directory;
	enum recording_format format;
	enum recording_profile profile;
	bool threads, has_format, has_streams;
	u64 session;
	struct recording_load *loads;
	struct recording_note *tids, *lost;
	struct recording_task *tasks;
	size_t nr_loads, nr_tids, nr_lost, nr_tasks;
	size_t room_loads, room_tids, room_lost, room_tasks;
	u32 unopened, unplaced, snapshot, until, unmatched;
	u32 executed_by;
	char executed[RECORDING_PROGRAM];
	u32 family, model, stepping;
	u64 clock;
	u32 nominal;
	u32 mtc_freq, mtc_eax, mtc_ebx;
	struct recording_etm etm;
	u32 nr_streams;
};

int recording_read(struct recording *recording, const char *directory, struct fault *fault);
void recording_free(struct recording *recording);

/* Write the info of a recording, atomically. */
int recording_write(const struct recording *recording, struct fault *fault);

/* Fails if the directory already has a recording, or files with the names of one. */
int recording_check(const char *directory, struct fault *fault);

/*
 * Fails also if the directory is not this user's alone to write to: somebody else could put links
 * there, through which the recorder would write to files that only this user may change. Who may
 * write to a directory above it could do the same later, and is trusted.
 */
int recording_check_new(const char *directory, struct fault *fault);

/**
 * recording_create - make a recording that has only a map
 * @recording: description; its directory is set by this function
 * @directory: path of the directory, for which recording_check_new() must succeed
 * @map: path of the map to copy, or NULL
 * @fault: receives a sentence
 *
 * Returns 0, or -1, in which case nothing has been made.
 */
int recording_create(struct recording *recording, const char *directory, const char *map,
		     struct fault *fault);

/*
 * The same; if the directory has a recording already, as that of an earlier process with the number
 * of this one, make the recording in another one, whose name is followed by numbers.
 */
int recording_create_beside(struct recording *recording, const char *directory, const char *map,
			    struct fault *fault);

/* A number for a program and its children; not 0. */
u64 recording_new_session(void);

/* The number for the programs that the command starts, as 0xNUMBER in the environment. */
#define RECORDING_SESSION	"FHOOK_SESSION"

/* Remove everything that recording_create() and its streams have made. */
void recording_remove(const struct recording *recording);

/* The profile with this name; or -1, and a sentence that lists all of them. */
int recording_find_profile(const char *name, enum recording_profile *profile,
			   struct fault *fault);

/*
 * An unnamed file for a map that is to be copied, which vanishes when this process ends.
 * While it is open, PATH opens it: for others, or for this process and its children. NULL on
 * error, in which case PATH is NULL.
 */
FILE *recording_unnamed_file(bool for_others, char **path);

/*
 * The path of a file of the recording, to be freed; NULL if there is no memory, or if there
 * cannot be so many streams.
 */
char *recording_path(const struct recording *recording, const char *name);
char *recording_stream_path(const struct recording *recording, u32 stream);

int recording_add_load(struct recording *recording, u32 object, u64 bias);
int recording_add_thread(struct recording *recording, u32 stream, u64 tid);
int recording_add_task(struct recording *recording, u32 tid, u32 pid, const char *name);
int recording_add_lost(struct recording *recording, u32 stream, u64 lost);

/* Fails if data of the recording have been lost. */
int recording_check_written(const struct recording *recording, struct fault *fault);

/* Note that a process executes a program. */
void recording_set_executed(struct recording *recording, u32 pid, const char *program);

/* Print a message if the process has executed a program. */
void recording_say_executed(const struct recording *recording);

/* The note about a stream of a recording that was read; or NULL. */
const struct recording_note *recording_note(const struct recording_note *notes, size_t nr,
					    u32 stream);

/* The task of a recording that was read; or NULL. */
const struct recording_task *recording_task(const struct recording *recording, u32 tid);

#endif /* FHOOK_RECORDING_H */
