/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of uhook's events share: trace_uhook_parse.c makes a
 * &struct trace_uhook of a definition, whose place trace_uhook_place.c looks up;
 * trace_uhook_events.c registers it, trace_uhook_record.c records its hits.
 *
 * There are two sorts of events. Those that record, in the kernel or in the
 * program, are registered with uhook while they are enabled, like other events.
 * Those that count, or call a function of the program, do so from their definition
 * on, unless their own file "enable" has stopped them; trace instances have nothing to do
 * with it. What works in the program is not for perf, which gets -EOPNOTSUPP.
 *
 * Locks are as in trace_hook.h; under event_mutex, uhook's own are taken.
 */
#ifndef _TRACE_UHOOK_H
#define _TRACE_UHOOK_H

struct seq_file;

#ifdef CONFIG_UHOOK_EVENTS

#include <linux/path.h>
#include <linux/refcount.h>
#include <linux/uhook.h>

#include "../uhook/events.h"
#include "trace_hook.h"

#define UHOOK_EVENT_SYSTEM	"uhooks"

/* The field of a program's record whose name arguments cannot have */
#define FIELD_STRING_TIME	"time"
/* And that which has the stack of the program */
#define FIELD_STRING_USTACK	"ustacktrace"

/**
 * struct trace_uhook_place - an instruction of a file, or the return of a function
 * @text: the place as shown, PATH:OFFSET[%return][(REF_CTR_OFFSET)]
 * @at: offset of the place in its word, for the caret
 * @path: path of the file, held
 * @offset: offset of the instruction in the file, in bytes
 * @ref_ctr_offset: offset of the counter of users (USDT semaphore), or 0
 * @is_return: the place is the return of the function that begins at the offset
 */
struct trace_uhook_place {
	char		*text;
	int		at;
	struct path	path;
	unsigned long	offset;
	unsigned long	ref_ctr_offset;
	bool		is_return;
};

/**
 * struct trace_uhook - one probe: a place, and what to do there
 * @devent: its place in the list of dynamic events, under event_mutex
 * @ops: its hook; registered while ops.attachment is set, under event_mutex
 * @place: where; never changes
 * @function: what is called there, with UHOOK_USER_FUNCTION; never changes
 * @pid: the process that it is for, held, or NULL; never changes
 * @ustack: whether a record has the stack of the program; never changes
 * @for_all: it is meant for all processes (or all that @pid says), and not
 *	only for those that perf looks at; changes under event_mutex
 * @past: the hits of registrations that are gone, under the lock that uhook_hold_hits()
 *	takes
 * @disabled: when it was last unregistered, for cond_synchronize_rcu()
 * @refs: references: one until its removal, one for each registration until that is gone,
 *	one of a probe that was removed from the same event
 * @keeps: once removed, another probe of the event, by which the event is kept, or NULL
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

void trace_uhook_show_hits(struct seq_file *m);

#else /* !CONFIG_UHOOK_EVENTS */

static inline void trace_uhook_show_hits(struct seq_file *m) { }

#endif /* CONFIG_UHOOK_EVENTS */

#endif /* _TRACE_UHOOK_H */
