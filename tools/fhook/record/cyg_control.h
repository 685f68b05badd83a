/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The software recorder's settings, from the environment or from the command fhook
 *
 * The page for requests of the command is made when the program starts.
 */
#ifndef FHOOK_RECORD_CYG_CONTROL_H
#define FHOOK_RECORD_CYG_CONTROL_H

#include "control.h"

/**
 * struct settings - how to record
 * @directory: directory of the recording; NULL or empty to record nothing
 * @until: conditions that end the recording, one on each line, or NULL
 * @snapshot_mb: number of MiB of each thread to keep; 0: all
 * @session: number of the recordings of a program and of its children; 0: a new one
 */
struct settings {
	const char *directory, *until;
	u32 snapshot_mb;
	u64 session;
};

/* The command has this time to lock the directory of a recording that has begun. */
#define WATCH_BEGINS_NS	5000000000ull

/* The page, which the command writes; NULL if it could not be made. */
extern volatile struct control *cyg_control;

/* The request, a value of enum control_request. */
static inline u32 control_request(void)
{
	return cyg_control ? cyg_control->request : CONTROL_NONE;
}

/* Settings of the environment; none if the program is setuid, setgid or has capabilities. */
struct settings settings_of_environment(void);

/* Settings of a request, in memory that stays; without a directory if there is no memory. */
struct settings settings_of_request(void);

/* REQUEST has been obeyed; FAULT: why recording could not begin, or NULL. */
void control_done(u32 request, bool recording, const struct fault *fault);

/* Recording has begun or ended without a request. */
void control_note(bool recording);

/*
 * A command that asked for a recording locks its directory, and has ended when nobody has the
 * lock. Returns whether that is so. Asks the kernel once a second at most, first WATCH_BEGINS_NS
 * after the request, which gives the command time to take the lock. NOW: time of this event.
 */
bool control_is_left(u64 now);

#endif /* FHOOK_RECORD_CYG_CONTROL_H */
