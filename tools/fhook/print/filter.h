/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Showing only some of the calls
 *
 * A filter is between the stacks and an output. It gives each thread a second stack, which has
 * only the calls that are shown, and tells the output of these alone: as if only they had been
 * recorded. So the time of a call that is not shown is that of its caller.
 *
 * Whether a call is shown may become known only later: when it has lasted long enough, or when
 * it has called a certain function. Then it waits on the second stack, and the output is told of
 * it, and of all its callers, at that time.
 */
#ifndef FHOOK_PRINT_FILTER_H
#define FHOOK_PRINT_FILTER_H

#include "decode/sink.h"
#include "lib/list.h"

/**
 * struct filter_choice - the calls to show; patterns without elements choose all
 * @functions: only calls of these functions
 * @callees: only calls of these functions, and the calls within them
 * @callers: only calls of these functions, and the calls around them
 * @depth: only the outermost calls, this many; 0: all
 * @from: only calls that are not over before this time, as threads count it
 * @to: only calls that have begun until this time; 0: all
 * @longer: only calls that last at least this long, in nanoseconds
 */
struct filter_choice {
	struct list functions, callees, callers;
	u64 depth, from, to, longer;
};

/**
 * struct filter - a filter in use
 * @sink: the sink for the stacks
 * @output: the output that is told of some of the calls
 * @choice: the calls to show
 * @limits_callees: there are patterns in the list @callees of the choice
 * @limits_callers: there are patterns in the list @callers of the choice
 * @roles: for each function, by its index, which of the lists have it
 */
struct filter {
	struct sink sink;
	struct sink *output;
	const struct filter_choice *choice;
	bool limits_callees, limits_callers;
	u8 *roles;
};

/* Is anything filtered? */
bool filter_is_needed(const struct filter_choice *choice);

/*
 * Begin to filter the calls of a map for an output. Returns 0, or -1 and a sentence: a pattern
 * matches no function, or there is no memory.
 */
int filter_open(struct filter *filter, struct filter_choice *choice, const struct map *map,
		struct sink *output, struct fault *fault);
void filter_close(struct filter *filter);

#endif /* FHOOK_PRINT_FILTER_H */
