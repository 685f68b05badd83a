/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the parts of uhook's events: trace_uhook_parse.c makes a &struct
 * trace_uhook from a definition, whose place trace_uhook_place.c looks up;
 * trace_uhook_events.c registers it, trace_uhook_record.c records its hits.
 *
 * There are two sorts of events. Events that record hits, in the kernel or in the program,
 * are registered with uhook while they are enabled, like other events. Events that count
 * hits, or call a function of the program, are registered from their definition on, unless
 * their own file "enable" has stopped them; trace instances do not affect them. perf cannot
 * use events that work in the program, and gets -EOPNOTSUPP.
 *
 * The locks are those of trace_hook.h; uhook's own locks are taken under event_mutex.
 */
#ifndef _TRACE_UHOOK_H
#define _TRACE_UHOOK_H

#include <linux/path.h>
#include <linux/refcount.h>
#include <linux/uhook.h>

#include "../uhook/events.h"
#include "trace_hook.h"

#define UHOOK_EVENT_SYSTEM	"uhooks"

/* The field of a program's record whose name arguments cannot have */
#define FIELD_STRING_TIME	"time"
/* The field with the stack of the program, whose name arguments cannot have */
#define FIELD_STRING_USTACK	"ustacktrace"

/**
 * struct trace_uhook_place - an instruction of a file, or the return or exits of a function
 * @text: the place as shown, PATH:OFFSET[%return][(REF_CTR_OFFSET)] or
 *	PATH:OFFSET[,OFFSET...]%exit[(REF_CTR_OFFSET)]
 * @at: offset of the place in its word, for the caret
 * @path: path of the file, held
 * @offset: offset of the instruction in the file, in bytes; of the first one if there are
 *	several
 * @exits: offsets of the instructions that leave a function, or NULL
 * @nr_exits: number of @exits
 * @ref_ctr_offset: offset of the counter of users (USDT semaphore), or 0
 * @is_return: the place is the return of the function that begins at the offset
 */
struct trace_uhook_place {
	char		*text;
	int		at;
	struct path	path;
	unsigned long	offset;
	unsigned long	*exits;
	unsigned int	nr_exits;
	unsigned long	ref_ctr_offset;
	bool		is_return;
};

/**
 * struct trace_uhook - a probe: a place, and the work to do there
 * @devent: link in the list of dynamic events, under event_mutex
 * @ops: hook of the probe; registered while ops.attachment is set, under event_mutex
 * @place: instruction or return that is hooked; never changes
 * @function: function that is called there, with UHOOK_USER_FUNCTION; never changes
 * @pid: process to which the probe is limited, with a reference, or NULL; never changes
 * @ustack: whether a record has the stack of the program; never changes
 * @for_all: whether the probe applies to all processes (or to @pid), not only to those
 *	that perf selects; changes under event_mutex
 * @past: hits of former registrations, under the lock that uhook_hold_hits() takes
 * @disabled: RCU state at the last unregistration, for cond_synchronize_rcu()
 * @refs: references: one until the probe is removed, one for each registration until no hit
 *	is in its callbacks, one of a removed probe of the same event
 * @keeps: after the removal, another probe of the event, which keeps the event; or NULL
 * @tp: fetch arguments, and the event, which several probes may share; must be
 *	last
 *
 * Lives from its definition until it is removed and no hit is in its callbacks.
 */
struct trace_uhook {
	struct dyn_event		devent;
	struct uhook_ops		ops;
	struct trace_uhook_place	place;
	struct trace_uhook_place	function;
	struct pid			*pid;
	bool				ustack;
	bool				for_all;
	struct uhook_hits		past;
	unsigned long			disabled;
	refcount_t			refs;
	struct trace_uhook		*keeps;
	struct trace_probe		tp;
};

/* Positions of the words of a definition, for the caret */
enum { WORD_HEAD, WORD_PLACE, WORD_OPTIONS };

static inline struct trace_uhook *to_trace_uhook(struct dyn_event *ev)
{
	return container_of(ev, struct trace_uhook, devent);
}

static inline struct trace_uhook *uhook_of_probe(struct trace_probe *tp)
{
	return container_of(tp, struct trace_uhook, tp);
}

/* Can the event be enabled? */
static inline bool trace_uhook_records(const struct trace_uhook *tuh)
{
	return tuh->ops.user == UHOOK_USER_NONE || tuh->ops.user == UHOOK_USER_RECORD;
}

int trace_uhook_parse_place(struct trace_uhook_place *place, const char *word, int at);
bool trace_uhook_place_is_gone(const struct trace_uhook_place *place);
void trace_uhook_leave_place(struct trace_uhook_place *place);
void trace_uhook_put_place(struct trace_uhook_place *place);

struct trace_uhook *trace_uhook_parse(int argc, const char *argv[],
				      struct trace_hook_words *words);
int trace_uhook_show(struct seq_file *m, struct dyn_event *ev);
bool trace_uhook_match(const char *system, const char *event, int argc, const char **argv,
		       struct dyn_event *ev);
void trace_uhook_put(struct trace_uhook *tuh);

void trace_uhook_set_event(struct trace_uhook *tuh);

#endif /* _TRACE_UHOOK_H */
