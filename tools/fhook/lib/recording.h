/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording: a directory with what was traced, and what it takes to read it
 *
 *	info		what it is, as lines of words (struct recording)
 *	map		the map of the stubs
 *	0.trace ...	one raw stream a processor or a thread
 *
 * Recorders write info before the first byte of a stream and whenever they learn
 * something, each time as a whole: a recorder that is killed leaves a recording.
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
	PROFILE_NO_TARGET,	/* they do not */
	PROFILE_CYCLES,		/* with target, and cycle packets */
	PROFILE_BRANCHES,	/* no filter: each branch, for comparison */
	PROFILES
};

extern const char *const recording_formats[FORMATS];
extern const char *const recording_profiles[PROFILES];

struct recording_load {
	u32 object;
	u64 bias;
};

/* A stream's number, and something that is known of it; of several lines the last counts. */
struct recording_note {
	u32 stream;
	u32 line;
	u64 value;
};

/* The registers without which an ETMv4 stream cannot be read. */
struct recording_etm {
	u32 traceid;
	u32 config;
	u32 idr0, idr1, idr2, idr8;
};

/**
 * struct recording - what the info of a recording says
 * @directory: where it is, as it was named
 * @path: of one that is made: where it is, wherever the program goes
 * @made_directory: it was not there before
 * @format: line "format intel-pt|etmv4|software"
 * @profile: line "profile NAME"
 * @threads: "streams thread", a stream is one thread; otherwise "streams cpu"
 * @has_format: there is such a line in what was read
 * @has_streams: and such a line
 * @loads: lines "load ID 0xBIAS": objects that are not where the map has them
 * @tids: lines "thread STREAM TID": which thread a stream is of
 * @lost: lines "lost STREAM N": what could not be written, in bytes, or 0 when nobody
 *	knows how much
 * @unplaced: line "unplaced N": so many times an object was loaded whose calls could not
 *	be recorded there
 * @unopened: line "unopened N": so many streams could not be made
 * @family: line "cpu FAMILY MODEL STEPPING", which decides what errata there are
 * @clock: line "clock KHZ": the time stamps' unit; without it, there are no times
 * @nominal: line "nominal RATIO": bus cycles in a time stamp cycle, as CBR has it
 * @mtc: line "mtc FREQ EAX EBX": period of MTC packets, leaf 15H of CPUID
 * @etm: line "etm TRACEID CONFIG IDR0 IDR1 IDR2 IDR8", all of them 0xNUMBER
 * @nr_streams: streams are numbered from 0, and it is one more than the last
 */
struct recording {
	char *directory, *path;
	bool made_directory;
	enum recording_format format;
	enum recording_profile profile;
	bool threads, has_format, has_streams;
	struct recording_load *loads;
	struct recording_note *tids, *lost;
	size_t nr_loads, nr_tids, nr_lost;
	size_t room_loads, room_tids, room_lost;
	u32 unopened, unplaced;
	u32 family, model, stepping;
	u64 clock;
	u32 nominal;
	u32 mtc_freq, mtc_eax, mtc_ebx;
	struct recording_etm etm;
	u32 nr_streams;
};

int recording_read(struct recording *recording, const char *directory, struct fault *fault);
void recording_free(struct recording *recording);

/* Write the info of a recording, in one step. */
int recording_write(const struct recording *recording, struct fault *fault);

/* Fails if the directory holds a recording already, or files called as those of one. */
int recording_check(const char *directory, struct fault *fault);

/**
 * recording_create - make a recording, with nothing in it but a map
 * @recording: what the info is to say; its directory is set
 * @directory: its, which must not hold one already
 * @map: the file that is copied to it, or NULL
 * @fault: receives a sentence
 *
 * Returns 0, or -1, and nothing has been made.
 */
int recording_create(struct recording *recording, const char *directory, const char *map,
		     struct fault *fault);

/* Take away what recording_create() and its streams have made. */
void recording_remove(const struct recording *recording);

/* The profile of this name; or -1, and a sentence that names all of them. */
int recording_find_profile(const char *name, enum recording_profile *profile,
			   struct fault *fault);

/*
 * A file without a name, for a map that is to be copied; it goes with us, however we end.
 * It is opened by PATH while we have it open: by others, or by ourselves and children that
 * we fork. NULL if there is none, and then PATH is NULL.
 */
FILE *recording_unnamed_file(bool for_others, char **path);

/*
 * The path of one of its files, which is to be freed; NULL without memory, or when there
 * cannot be so many streams.
 */
char *recording_path(const struct recording *recording, const char *name);
char *recording_stream_path(const struct recording *recording, u32 stream);

int recording_add_load(struct recording *recording, u32 object, u64 bias);
int recording_add_thread(struct recording *recording, u32 stream, u64 tid);
int recording_add_lost(struct recording *recording, u32 stream, u64 lost);

/* The note of a stream, of a recording that was read; or NULL. */
const struct recording_note *recording_note(const struct recording_note *notes, size_t nr,
					    u32 stream);

#endif /* FHOOK_RECORDING_H */
