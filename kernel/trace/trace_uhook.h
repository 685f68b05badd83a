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
 * enum trace_uhook_kind - the hits that an event records
 * @TRACE_UHOOK_POINT: an instruction
 * @TRACE_UHOOK_RETURN: the return of a function, whose return address is replaced
 * @TRACE_UHOOK_EXIT: the instructions that leave a function
 * @TRACE_UHOOK_SPAN: the same, if the entry was hit before, with the duration of the call
 */
enum trace_uhook_kind {
	TRACE_UHOOK_POINT,
	TRACE_UHOOK_RETURN,
	TRACE_UHOOK_EXIT,
	TRACE_UHOOK_SPAN,
};

/**
 * struct trace_uhook_place - instructions of a file
 * @kind: the hits that are recorded
 * @text: the place as shown, PATH:OFFSET[,OFFSET...][SUFFIX][(REF_CTR_OFFSET)]
 * @at: offset of the place in its word, for the caret
 * @path: path of the file, held
 * @offset: the first of @offsets
 * @offsets: offsets of the instructions in the file, in bytes; for spans, the entry of the
 *	function is the first
 * @nr: number of @offsets
 * @ref_ctr_offset: offset of the counter of users (USDT semaphore), or 0
 */
struct trace_uhook_place {
	enum trace_uhook_kind	kind;
	char			*text;
	int			at;
	struct path		path;
	unsigned long		offset;
	unsigned long		*offsets;
	unsigned int		nr;
	unsigned long		ref_ctr_offset;
};

/**
 * struct trace_uhook - a probe: a place, and the work to do there
 * @devent: link in the list of dynamic events, under event_mutex
 * @ops: hook of the probe; registered while ops.attachment is set, under event_mutex
 * @entry: for spans, hook of the function's entry, registered when @ops is; its registers
 *	are those that arguments need
 * @owner: for spans, number of this registration, by which its calls are known
 * @place: instruction or return that is hooked; never changes
 * @function: function that is called there, with UHOOK_USER_FUNCTION; never changes
 * @pid: process to which the probe is limited, with a reference, or NULL; never changes
 * @ustack: whether a record has the stack of the program; never changes
 * @for_all: whether the probe applies to all processes (or to @pid), not only to those
 *	that perf selects; changes under event_mutex
 * @unpaired: for spans, exits that were hit without a known entry
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
	struct uhook_ops		entry;
	u64				owner;
	struct trace_uhook_place	place;
	struct trace_uhook_place	function;
	struct pid			*pid;
	bool				ustack;
	bool				for_all;
	atomic64_t			unpaired;
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
void trace_uhook_begin_span(struct trace_uhook *tuh);

#endif /* _TRACE_UHOOK_H */
