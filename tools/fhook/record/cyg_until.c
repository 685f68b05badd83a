// SPDX-License-Identifier: GPL-2.0
/* Conditions that end the recording of a program; the header describes them. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cyg_until.h"
#include "lib/spec.h"

/* More functions of the same name than this are ignored. */
#define TARGETS		64

/**
 * struct target - a function of a condition
 * @address: address of its entry event
 * @condition: index of the condition
 */
struct target {
	u64 address;
	u32 condition;
};

static struct spec specs[UNTIL_CONDITIONS];
static u32 nr_specs;
/* Threads read the array while functions are added: its number is increased last. */
static struct target targets[TARGETS];
static atomic_uint nr_targets;

static int add_condition(const char *text, struct fault *fault)
{
	if (nr_specs == UNTIL_CONDITIONS)
		return fault_say(fault, "%u conditions are the most", UNTIL_CONDITIONS);
	if (spec_parse(&specs[nr_specs], text, fault))
		return -1;
	return spec_check_plain(&specs[nr_specs++], fault);
}

int until_set(struct recording *recording, const char *text, struct fault *fault)
{
	char *lines = strdup(text ?: ""), *rest = lines, *line;
	int result = 0;

	nr_targets = 0;
	while (nr_specs)
		spec_free(&specs[--nr_specs]);
	if (!lines)
		return fault_say(fault, "there is not enough memory to record");
	while (!result && (line = strsep(&rest, "\n")))
		if (*line)
			result = add_condition(line, fault);
	recording->unmatched = (1u << nr_specs) - 1;
	free(lines);
	return result;
}

void until_add_function(struct recording *recording, const char *name, u64 address)
{
	unsigned int nr = nr_targets;
	u32 i;

	for (i = 0; i < nr_specs; i++) {
		if (strcmp(specs[i].pattern, name))
			continue;
		recording->unmatched &= ~(1u << i);
		if (nr < TARGETS)
			targets[nr++] = (struct target){ .address = address, .condition = i };
	}
	nr_targets = nr;
}

/* Returns whether the call of the function took longer. */
static bool left(struct until_call *call, u64 longer, u64 time)
{
	if (!call->frame)
		return false;
	if (call->deeper) {
		call->deeper--;
		return false;
	}
	call->frame = NULL;
	return time - call->entered > longer;
}

static void entered(struct until_call *call, u64 time, char *frame)
{
	/* The stack grows down: no call is within one that was at a lower address. */
	if (call->frame && frame < call->frame)
		call->deeper++;
	else
		*call = (struct until_call){ .frame = frame, .entered = time };
}

u32 until_event(struct until_calls *calls, u64 address, u64 time, char *frame)
{
	const unsigned int nr = nr_targets;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const u32 condition = targets[i].condition;
		const u64 longer = specs[condition].longer;

		if (address == targets[i].address) {
			if (!longer)
				return condition + 1;
			entered(&calls->of[condition], time, frame);
		} else if (address == targets[i].address + 1 && longer &&
			   left(&calls->of[condition], longer, time)) {
			return condition + 1;
		}
	}
	return 0;
}
