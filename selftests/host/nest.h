/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls in each other, and the time that they take
 */
#ifndef SELFTESTS_HOST_NEST_H
#define SELFTESTS_HOST_NEST_H

/* The function at the end, and one to call before each of them: it returns its next state. */
typedef unsigned long nest_last_t(void);
typedef unsigned int nest_before_t(unsigned int state);

/**
 * struct nest_calls - calls to measure
 * @last: the function
 * @depth: number of calls in each other, the last being that of @last
 * @count: how many times they are made
 * @before: called before each, or NULL
 * @state: first argument of @before
 */
struct nest_calls {
	nest_last_t	*last;
	unsigned int	depth;
	unsigned int	count;
	nest_before_t	*before;
	unsigned int	state;
};

unsigned long nest(unsigned int depth, nest_last_t *last);
double nest_time(const struct nest_calls *calls);
void nest_print(double *times, unsigned int nr);

#endif /* SELFTESTS_HOST_NEST_H */
