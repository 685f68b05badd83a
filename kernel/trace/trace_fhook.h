/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the parts of fhook's tracing: trace_fhook_parse.c makes a &struct
 * trace_fhook from a definition, trace_fhook_events.c adds and attaches it,
 * trace_fhook_record.c records its hits, trace_fhook_override.c has the values that functions
 * return instead of running, trace_fhook_event_file.c is the file of definitions;
 * trace_fhook.c is the tracer, and trace_fhook_list.c manages its lists.
 *
 * Locks, outermost first: dyn_event_ops_mutex (while a definition is parsed),
 * event_mutex, fhook's own. fhook never takes the first two.
 */
#ifndef _TRACE_FHOOK_H
#define _TRACE_FHOOK_H

#include <linux/fhook.h>
#include <linux/list.h>

#include "trace_hook.h"

#define FHOOK_EVENT_SYSTEM	"fhooks"

/**
 * enum trace_fhook_kind - the time at which an event is recorded
 * @TRACE_FHOOK_ENTRY: when a function is called
 * @TRACE_FHOOK_RETURN: when the function returns
 * @TRACE_FHOOK_SPAN: when the function returns, with the duration of the call
 */
enum trace_fhook_kind {
	TRACE_FHOOK_ENTRY,
	TRACE_FHOOK_RETURN,
	TRACE_FHOOK_SPAN,
};

/**
 * struct trace_fhook_override - the value that a function returns instead of running
 * @value: the value
 * @condition: text of the filter, or NULL
 * @filter: the filter, by which each call is selected, or NULL; set under event_mutex
 *	before the probe is registered
 * @calls: number of overridden calls
 */
struct trace_fhook_override {
	long			value;
	char			*condition;
	struct event_filter	*filter;
	atomic_long_t		calls;
};

/**
 * struct trace_fhook - a probe: a pattern of functions, and arguments to fetch
 * @devent: link in the list of dynamic events, under event_mutex
 * @use: registration with fhook, while the event is enabled, else NULL; under
 *	event_mutex
 * @disabled: RCU state at the last unregistration, for cond_synchronize_rcu()
 * @tally: counts in fhook/stat, from the definition to the removal
 * @kind: the time of recording; never changes
 * @pattern: pattern of functions as the user wrote it, without the suffix for
 *	@kind; never changes
 * @name: GROUP/EVENT, the name in fhook/stat; never changes
 * @head_size: length of the part of a record before the arguments, in bytes;
 *	never changes
 * @is_plain: whether each argument is the value of a register, or was at the entry, so
 *	that fetching cannot fail; set before @use is registered
 * @override: the value to return instead of calling the function, or NULL; never changes
 * @tp: fetch arguments and the event, which several probes may share; must be
 *	last
 *
 * Lives from its definition to its removal, which waits for callbacks first.
 */
struct trace_fhook {
	struct dyn_event	devent;
	struct trace_fhook_use	*use;
	unsigned long		disabled;
	struct fhook_tally	tally;
	enum trace_fhook_kind	kind;
	char			*pattern;
	char			*name;
	unsigned int		head_size;
	bool			is_plain;
	struct trace_fhook_override *override;
	struct trace_probe	tp;
};

/**
 * struct trace_fhook_use - a present or past registration of a probe with fhook
 * @ops: the registered ops
 * @tfh: the probe; NULL once it is unregistered. Read with preemption disabled
 * @name: name of @ops, which outlives the probe
 *
 * Each time an event is enabled, its probes get new registrations, so that
 * nothing has to wait for the callbacks of the previous ones. Freed when no
 * callback can run any more.
 */
struct trace_fhook_use {
	struct fhook_ops	ops;
	struct trace_fhook	*tfh;
	char			name[];
};

extern struct dyn_event_operations trace_fhook_ops;
extern const struct trace_hook_type trace_fhook_type;

static inline bool is_trace_fhook(struct dyn_event *ev)
{
	return ev->ops == &trace_fhook_ops;
}

static inline struct trace_fhook *to_trace_fhook(struct dyn_event *ev)
{
	return container_of(ev, struct trace_fhook, devent);
}

/* Positions of the words of a definition, for the caret */
enum { WORD_HEAD, WORD_PATTERN, WORD_ARGS };

struct trace_fhook *trace_fhook_parse(int argc, const char *argv[],
				      struct trace_hook_words *words);
int trace_fhook_show(struct seq_file *m, struct dyn_event *ev);
bool trace_fhook_match(const char *system, const char *event, int argc,
		       const char **argv, struct dyn_event *ev);
void trace_fhook_free(struct trace_fhook *tfh);

const char *trace_fhook_is_override(const char *word);
int trace_fhook_may_override(void);
struct trace_fhook_override *
trace_fhook_make_override(const char *function, const char *value, int argc, const char *argv[]);
void trace_fhook_free_override(struct trace_fhook_override *override);
int trace_fhook_set_condition(struct trace_fhook *tfh);
unsigned long trace_fhook_override_addr(const struct trace_fhook *tfh);

bool trace_fhook_fits_condition(const struct trace_fhook *tfh);
size_t trace_fhook_data_size(const struct trace_fhook *tfh);
void trace_fhook_set_callbacks(struct trace_fhook *tfh, struct fhook_ops *ops);
void trace_fhook_set_event(struct trace_fhook *tfh);

void trace_fhook_log_error(const char *where, const char *text,
			   const struct fhook_report *report);
char *fhook_list_edit(const char *old, char *added, size_t *pos);

/**
 * trace_fhook_error() - find the error_log message for an error of fhook
 * @error: the error reported by fhook
 *
 * Return: the index of the message in trace_probe.h.
 */
static inline int trace_fhook_error(enum fhook_error error)
{
	switch (error) {
	case FHOOK_ERR_OFF:
		return TP_ERR_FHOOK_OFF;
	case FHOOK_ERR_PATTERN:
		return TP_ERR_FHOOK_PATTERN;
	case FHOOK_ERR_OFFSET:
		return TP_ERR_FHOOK_OFFSET;
	case FHOOK_ERR_NO_FUNCTION:
		return TP_ERR_FHOOK_NO_FUNC;
	case FHOOK_ERR_CLONES:
		return TP_ERR_FHOOK_CLONES;
	case FHOOK_ERR_NO_SLOT:
		return TP_ERR_FHOOK_NO_SLOT;
	case FHOOK_ERR_BYTES:
		return TP_ERR_FHOOK_BYTES;
	case FHOOK_ERR_NO_MEMORY:
		return TP_ERR_FHOOK_NO_MEMORY;
	case FHOOK_ERR_NO_ROOM:
		return TP_ERR_FHOOK_NO_ROOM;
	case FHOOK_ERR_TOO_MANY:
		return TP_ERR_FHOOK_TOO_MANY;
	case FHOOK_ERR_TAKEN:
		return TP_ERR_FHOOK_TAKEN;
	default:
		return TP_ERR_FAIL_REG_PROBE;
	}
}

#endif /* _TRACE_FHOOK_H */
