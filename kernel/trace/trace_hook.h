/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the events on hooks of functions (trace_fhook) and of programs
 * (trace_uhook): trace_hook_events.c enables events and manages their probes,
 * trace_hook_file.c provides the file with definitions.
 *
 * Locks, outermost first: dyn_event_ops_mutex (while a definition is parsed),
 * event_mutex, those of the hooks.
 */
#ifndef _TRACE_HOOK_H
#define _TRACE_HOOK_H

#include <linux/ctype.h>
#include <linux/minmax.h>
#include <linux/sizes.h>

#include "trace_dynevent.h"
#include "trace_probe.h"

/**
 * struct trace_hook_type - a type of dynamic events made of hooks
 * @ops: operations of its events, which identify the type
 * @file: name of the file with its definitions
 * @log: name shown in error_log
 * @letter: first letter of a definition
 * @foreign: message for definitions that @ops does not accept
 * @run: executes a line of @file, by trace_hook_run_command()
 * @probe: returns the probe of a dynamic event of this type
 * @same_kind: checks whether two probes may belong to the same event; the names
 *	of their arguments are checked elsewhere
 * @same_place: checks whether two probes have the same hits
 * @attach: registers the hook of a probe, or returns a negative error; after an error,
 *	callbacks may use the probe until it is freed
 * @detach: unregisters the hook of a probe
 *
 * All callbacks but @run run under event_mutex.
 */
struct trace_hook_type {
	struct dyn_event_operations	*ops;
	const char			*file;
	const char			*log;
	char				letter;
	const char			*foreign;
	int				(*run)(const char *command);
	struct trace_probe		*(*probe)(struct dyn_event *ev);
	bool				(*same_kind)(struct trace_probe *a, struct trace_probe *b);
	bool				(*same_place)(struct trace_probe *a, struct trace_probe *b);
	int				(*attach)(struct trace_probe *tp);
	void				(*detach)(struct trace_probe *tp);
};

/**
 * struct trace_hook_words - words of the arguments of a definition
 * @first: index of the word of the first argument
 * @meta: index of the first argument from the expansion of $arg*, if any
 * @grown: number of arguments in excess of words
 */
struct trace_hook_words {
	int	first;
	int	meta;
	int	grown;
};

/* The word of argument @i, counted from 0, for the caret. */
static inline int trace_hook_word(const struct trace_hook_words *words, int i)
{
	return words->first + (i < words->meta ? i : max(i - words->grown, words->meta));
}

int trace_hook_attach(const struct trace_hook_type *type, struct trace_probe *event);
void trace_hook_detach(const struct trace_hook_type *type, struct trace_probe *event);
int trace_hook_enable(const struct trace_hook_type *type, struct trace_event_call *call,
		      struct trace_event_file *file);
int trace_hook_disable(const struct trace_hook_type *type, struct trace_event_call *call,
		       struct trace_event_file *file);
bool trace_hook_is_busy(struct trace_probe *tp);
int trace_hook_add(const struct trace_hook_type *type, struct dyn_event *ev,
		   const struct trace_hook_words *words);
int trace_hook_remove(struct dyn_event *ev, struct trace_probe *tp);
int trace_hook_retire(struct dyn_event *ev, struct trace_probe *tp);
void trace_hook_cleanup(struct trace_probe *tp);

int trace_hook_check_arg(const char *arg);

int trace_hook_run_command(const struct trace_hook_type *type, const char *command);
void trace_hook_create_file(const struct trace_hook_type *type);

/* The field of a span whose name arguments cannot have */
#define FIELD_STRING_DURATION	"duration"

/**
 * struct span_trace_entry_head - head of the record of a call
 * @ret: head of the record of a return
 * @duration: duration of the call, in nanoseconds
 */
struct span_trace_entry_head {
	struct fexit_trace_entry_head	ret;
	u64				duration;
};

/* Maximum size of a record that fits into a page of a ring buffer, and into perf's buffer */
#define MAX_HOOK_RECORD	(SZ_4K - 256)

/*
 * Size of what follows the strings of a record: a 0, which is the place of those that have no
 * room or cannot be read, because filters compare these, too.
 */
static inline int trace_hook_end_size(const struct trace_probe *tp)
{
	unsigned int i;

	for (i = 0; i < tp->nr_args; i++)
		if (tp->args[i].dynamic)
			return 1;

	return 0;
}

/* Give strings without contents their place. @end is that of the 0 in the record. */
static inline void trace_hook_end_strings(const struct trace_probe *tp, void *args, int end)
{
	unsigned int i, j;

	for (i = 0; i < tp->nr_args; i++) {
		const struct probe_arg *arg = &tp->args[i];
		u32 *loc = args + arg->offset;

		for (j = 0; arg->dynamic && j < max(arg->count, 1U); j++)
			if (!get_loc_len(loc[j]))
				loc[j] = make_data_loc(0, end);
	}
}

/* Replace characters that the name of an event cannot have. */
static inline void trace_hook_clean_name(char *name)
{
	for (; *name; name++)
		if (!isalnum(*name))
			*name = '_';
}

#endif /* _TRACE_HOOK_H */
