/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that belong to one run of fhook
 *
 * They are in a group of their own, and recorded in a tracefs instance of its own, so that
 * runs do not disturb each other or anybody else. Everything is removed at the end.
 */
#ifndef FHOOK_HOOK_SESSION_H
#define FHOOK_HOOK_SESSION_H

#include <sys/types.h>
#include "lib/instance.h"

/**
 * struct session - events of this run
 * @name: name of the instance, and of the group of events
 * @lock: descriptor of the instance's directory, locked while the run lives
 * @task: the kernel's number of this process, which filters leave out
 * @mainline: use fprobe, kprobe and uprobe events
 * @missing: option of the kernel without which there are no others; NULL if mainline's are used
 *	for comparison
 */
struct session {
	char name[INSTANCE_NAME];
	int lock;
	pid_t task;
	bool mainline;
	const char *missing;
};

/*
 * Begin a run; session_end() may be called in any case, and twice. MAINLINE: do not use
 * fhook's own events, of which FILE is the list.
 */
int session_begin(struct session *session, bool mainline, const char *file, struct fault *fault);
void session_end(struct session *session);

/* Refuse WHAT, the name of a part that mainline's events do not have; returns -1. */
int session_refuse(const struct session *session, const char *what, struct fault *fault);

/*
 * Define an event in FILE (fhook_events, uhook_events, or one of mainline's): the first letter of
 * its type, its name, and the rest of the definition.
 */
int __printf(6, 7) session_define(const struct session *session, struct fault *fault,
				  const char *file, char letter, const char *event,
				  const char *format, ...);

/* Write to a file of an event: enable, filter, or trigger, which gets one more. */
int session_set(const struct session *session, const char *event, const char *file,
		const char *text, struct fault *fault);

/* Let the kernel add up the hits of an event, by a trigger that begins with "hist". */
int session_add_up(const struct session *session, const char *event, const char *trigger,
		   struct fault *fault);

/* The contents of a file of an event (hist), to be freed; or NULL and a sentence. */
char *session_get(const struct session *session, const char *event, const char *file,
		  struct fault *fault);

/*
 * Open a file of the instance for reading without waiting. Returns a descriptor; or -1, errno and
 * a sentence.
 */
int session_open(const struct session *session, const char *file, struct fault *fault);

/* The contents of a file of the instance, to be freed; or NULL and a sentence. */
char *session_read(const struct session *session, const char *file, struct fault *fault);

/* Write a file of the instance. */
int session_control(const struct session *session, const char *file, const char *text,
		    struct fault *fault);

#endif /* FHOOK_HOOK_SESSION_H */
