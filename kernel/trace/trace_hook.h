/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the events on hooks of functions (trace_fhook) and of programs
 * (trace_uhook) share: trace_hook_events.c has how an event is enabled, and how
 * one comes to have several probes, trace_hook_file.c the file with definitions.
 *
 * Locks, outermost first: dyn_event_ops_mutex (while a definition is parsed),
 * event_mutex, those of the hooks.
 */
#ifndef _TRACE_HOOK_H
#define _TRACE_HOOK_H

#include <linux/ctype.h>
#include <linux/minmax.h>

#include "trace_dynevent.h"
#include "trace_probe.h"

/**
 * struct trace_hook_type - a type of dynamic events that are made of hooks
 * @ops: of its events, by which they are told from others
 * @file: the name of the file that has its definitions
 * @log: the name by which error_log shows it
 * @letter: with which a definition begins
 * @foreign: the sentence for what @ops does not take for one
 * @run: does what a line of @file says, by trace_hook_run_command()
 * @probe: the probe that belongs to a dynamic event of this type
 * @same_kind: may two probes be of the same event? They must fetch under the
 *	same names, which is not asked for here.
 * @same_place: do they hit the same?
 * @attach: register the hook of a probe, or return a negative error
 * @detach: unregister it
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
 * struct trace_hook_words - which words of a definition its arguments come from
 * @first: the word that is the first argument
 * @meta: the argument with which those begin that $arg* has become, if it has
 * @grown: how many more there are than words
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

/* Make what may be in the name of an event of what a user wrote. */
static inline void trace_hook_clean_name(char *name)
{
	for (; *name; name++)
		if (!isalnum(*name))
			*name = '_';
}

#endif /* _TRACE_HOOK_H */
