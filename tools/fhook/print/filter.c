// SPDX-License-Identifier: GPL-2.0
/* Showing only some of the calls; the header describes how. */
#include <stdlib.h>
#include <string.h>
#include "filter.h"

/* The lists that have a function. */
#define CHOSEN		1
#define BEGINS		2
#define ENDS		4

/* The marks of calls on the first stack. */
#define MARK_SHOWN	1
#define MARK_BEGINS	2

/**
 * struct shown - the second stack of a thread
 * @thread: the thread for the output: its frames are those that the output knows
 * @nr: number of frames, including those that wait
 * @wanted: number of the outermost frames that have called a function of the list of callers
 * @inside: number of calls whose inner calls are shown
 */
struct shown {
	struct thread thread;
	size_t nr, wanted, inside;
};

bool filter_is_needed(const struct filter_choice *choice)
{
	return choice->functions.nr_patterns || choice->callees.nr_patterns ||
	       choice->callers.nr_patterns || choice->depth || choice->from || choice->to ||
	       choice->longer;
}

static struct shown *get_shown(struct filter *filter, struct thread *thread)
{
	struct shown *shown = thread->sink;

	if (!shown) {
		shown = calloc(1, sizeof(*shown));
		if (!shown) {
			filter->sink.no_memory = true;
			return NULL;
		}
		thread->sink = shown;
		/* Who it is; its calls are others. */
		shown->thread = (struct thread){
			.number = thread->number, .pid = thread->pid, .tid = thread->tid,
			.name = thread->name, .process = thread->process,
		};
		memcpy(shown->thread.label, thread->label, sizeof(thread->label));
	}
	shown->thread.now = thread->now;
	shown->thread.gap = thread->gap;
	shown->thread.unseen = thread->unseen;
	shown->thread.several = thread->several;
	return shown;
}

/* Tell the output of the calls that wait, up to a depth. */
static void tell(struct filter *filter, struct shown *shown, size_t depth)
{
	struct sink *output = filter->output;
	struct thread *thread = &shown->thread;
	const u64 now = thread->now;

	while (thread->nr_frames < depth) {
		struct frame *frame = &thread->frames[thread->nr_frames++];

		thread->now = frame->entered;
		if (output->ops->enter)
			output->ops->enter(output, thread, frame);
	}
	thread->now = now;
}

/* Is an event in the time that is shown? */
static bool is_in_time(const struct filter *filter, const struct thread *thread)
{
	const struct filter_choice *choice = filter->choice;

	return thread->now >= choice->from && (!choice->to || thread->now <= choice->to);
}

static bool is_shown(const struct filter *filter, const struct shown *shown, u8 roles)
{
	const struct filter_choice *choice = filter->choice;

	return (roles & CHOSEN) && (shown->inside || !filter->limits_callees) &&
	       (!choice->depth || shown->nr < choice->depth) &&
	       (!choice->to || shown->thread.now <= choice->to);
}

/* Push a call on the second stack. Returns 0, or -1 without memory. */
static int push(struct shown *shown, const struct frame *frame)
{
	struct thread *thread = &shown->thread;
	struct open_calls *open = stacks_open_calls(thread, frame->function);

	if (!open || grow(&thread->frames, &thread->room_frames, shown->nr,
			  sizeof(*thread->frames)))
		return -1;
	thread->frames[shown->nr++] = (struct frame){
		.entered = frame->entered, .function = frame->function, .nested = open->count++,
	};
	return 0;
}

static void enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	struct filter *filter = sink->data;
	struct shown *shown = get_shown(filter, thread);
	const u8 roles = filter->roles[frame->function];

	if (!shown)
		return;
	if (roles & BEGINS) {
		shown->inside++;
		frame->mark |= MARK_BEGINS;
	}
	if (is_shown(filter, shown, roles)) {
		if (push(shown, frame))
			sink->no_memory = true;
		else
			frame->mark |= MARK_SHOWN;
	}
	if (roles & ENDS)
		shown->wanted = shown->nr;
	if (!filter->choice->longer && thread->now >= filter->choice->from)
		tell(filter, shown, shown->wanted);
}

/* Remove a call from the second stack. */
static void pop(struct filter *filter, struct shown *shown, bool uncertain, enum leave_how how)
{
	struct sink *output = filter->output;
	struct thread *thread = &shown->thread;
	struct frame *frame = &thread->frames[shown->nr - 1];
	const u64 time = thread->now - frame->entered;

	if (shown->wanted >= shown->nr && time >= filter->choice->longer &&
	    thread->now >= filter->choice->from)
		tell(filter, shown, shown->nr);
	stacks_open_calls(thread, frame->function)->count--;
	shown->nr--;
	if (shown->wanted > shown->nr)
		shown->wanted = shown->nr;
	if (thread->nr_frames <= shown->nr)
		return;
	thread->uncertain = uncertain ? thread->nr_frames : 0;
	if (output->ops->leave)
		output->ops->leave(output, thread, frame, how);
	thread->nr_frames--;
	if (thread->nr_frames)
		frame[-1].below += time;
}

static void leave(struct sink *sink, struct thread *thread, struct frame *frame,
		  enum leave_how how)
{
	struct shown *shown = get_shown(sink->data, thread);

	if (!shown)
		return;
	if (frame->mark & MARK_SHOWN)
		pop(sink->data, shown, thread->nr_frames <= thread->uncertain, how);
	if (frame->mark & MARK_BEGINS)
		shown->inside--;
}

static void hit(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	struct filter *filter = sink->data;

	if ((filter->roles[stub->function] & CHOSEN) && is_in_time(filter, thread))
		filter->output->ops->hit(filter->output, thread, stub);
}

static void stub_gap(struct sink *sink, struct thread *thread, const char *why, u64 lost)
{
	struct filter *filter = sink->data;

	if (filter->output->ops->gap && is_in_time(filter, thread))
		filter->output->ops->gap(filter->output, thread, why, lost);
}

/* The exit of a call whose entry is missing: what is around it is not known. */
static void unmatched(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	struct filter *filter = sink->data;
	const struct filter_choice *choice = filter->choice;
	struct shown *shown = get_shown(filter, thread);

	if (shown && filter->output->ops->unmatched && !filter->limits_callers &&
	    !choice->longer && is_in_time(filter, thread) &&
	    is_shown(filter, shown, filter->roles[stub->function]))
		filter->output->ops->unmatched(filter->output, &shown->thread, stub);
}

static void gap(struct sink *sink, struct thread *thread, const char *why, u64 lost)
{
	struct filter *filter = sink->data;
	struct shown *shown = get_shown(filter, thread);

	if (shown && filter->output->ops->gap && is_in_time(filter, thread))
		filter->output->ops->gap(filter->output, &shown->thread, why, lost);
}

static void switched(struct sink *sink, struct thread *thread)
{
	struct filter *filter = sink->data;
	struct shown *shown = get_shown(filter, thread);

	if (shown && filter->output->ops->switched && is_in_time(filter, thread))
		filter->output->ops->switched(filter->output, &shown->thread);
}

static void ended(struct sink *sink, struct thread *thread)
{
	struct filter *filter = sink->data;
	struct shown *shown = get_shown(filter, thread);

	if (!shown)
		return;
	if (filter->output->ops->ended)
		filter->output->ops->ended(filter->output, &shown->thread);
	free(shown->thread.frames);
	free(shown->thread.open);
	free(shown);
}

static int begin(struct sink *sink, struct fault *fault)
{
	struct filter *filter = sink->data;

	return filter->output->ops->begin ? filter->output->ops->begin(filter->output, fault) : 0;
}

static void end(struct sink *sink)
{
	struct filter *filter = sink->data;

	filter->output->no_memory |= sink->no_memory;
	filter->output->failed = sink->failed;
	if (filter->output->ops->end)
		filter->output->ops->end(filter->output);
}

/* An output of single stubs needs no second stack. */
static const struct sink_ops filter_stubs = {
	.begin = begin,
	.hit = hit,
	.gap = stub_gap,
	.end = end,
};

static const struct sink_ops filter_calls = {
	.begin = begin,
	.enter = enter,
	.leave = leave,
	.unmatched = unmatched,
	.gap = gap,
	.switched = switched,
	.ended = ended,
	.end = end,
};

/* Give the functions that a list chooses a role; all of them if the list is empty. */
static int give_role(u8 *roles, u8 role, struct list *list, const struct map *map,
		     struct fault *fault)
{
	bool excludes = true;
	const char *near;
	size_t i;

	for (i = 0; i < list->nr_patterns; i++)
		excludes &= list->patterns[i].excludes;
	/* Exclusions alone leave all other functions. */
	if (excludes && list->nr_patterns && list_add(list, "*", fault))
		return -1;
	for (i = 0; i < map->nr_functions; i++)
		if (!list->nr_patterns || list_wants(list, map_name(map, i)) != LIST_NO)
			roles[i] |= role;
	for (i = 0; i < list->nr_patterns; i++) {
		if (list->patterns[i].matched || !map->nr_functions)
			continue;
		near = list_near(list, list->patterns[i].text);
		return fault_say(fault, "no function of the recording is named or matches '%s'%s%s",
				 list->patterns[i].text, near ? "; the nearest name is " : "",
				 near ?: "");
	}
	return 0;
}

int filter_open(struct filter *filter, struct filter_choice *choice, const struct map *map,
		struct sink *output, struct fault *fault)
{
	u8 *roles = calloc(map->nr_functions + 1, sizeof(*roles));

	if (!roles)
		return fault_say(fault, "there is not enough memory to filter");
	*filter = (struct filter){
		.output = output, .choice = choice, .roles = roles,
		.limits_callees = choice->callees.nr_patterns,
		.limits_callers = choice->callers.nr_patterns,
	};
	filter->sink = *output;
	filter->sink.ops = output->ops->hit ? &filter_stubs : &filter_calls;
	filter->sink.data = filter;
	return give_role(roles, CHOSEN, &choice->functions, map, fault) ?:
	       give_role(roles, BEGINS, &choice->callees, map, fault) ?:
	       give_role(roles, ENDS, &choice->callers, map, fault);
}

void filter_close(struct filter *filter)
{
	free(filter->roles);
}
