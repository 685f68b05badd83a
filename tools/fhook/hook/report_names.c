// SPDX-License-Identifier: GPL-2.0
/*
 * Names of values in recordings
 *
 * The description of an event has them where it says how the event is printed, in one of the
 * forms that trace_format() writes. Files are not trusted: any other form has no names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"

/* FIELD, or FIELD & MASK for a bit-field */
static bool is_field(const struct tep_print_arg *arg, const struct tep_format_field *field)
{
	if (arg && arg->type == TEP_PRINT_OP && arg->op.op && !strcmp(arg->op.op, "&"))
		arg = arg->op.left;
	return arg && arg->type == TEP_PRINT_FIELD && arg->field.name &&
	       !strcmp(arg->field.name, field->name);
}

/* Begin with the width of a value: that of the field, or of a bit-field in it. */
static void begin(const struct tep_print_arg *arg, const struct tep_format_field *field,
		  struct enumeration *names)
{
	const struct tep_print_arg *mask = arg->type == TEP_PRINT_OP ? arg->op.right : NULL;
	u64 bits;

	enumeration_begin(names, "");
	names->bits = field->size * 8;
	if (!mask || mask->type != TEP_PRINT_ATOM || !mask->atom.atom)
		return;
	bits = strtoull(mask->atom.atom, NULL, 0);
	if (bits && !(bits & (bits + 1)))
		names->bits = __builtin_popcountll(bits);
}

/* Take a list of values and names. Returns 0, or -1 if it has something else. */
static int take(const struct tep_print_flag_sym *list, struct enumeration *names)
{
	char *end;
	u64 value;

	for (; list; list = list->next) {
		if (!list->value || !list->str)
			return -1;
		errno = 0;
		value = strtoull(list->value, &end, 0);
		if (end == list->value || *end || errno ||
		    enumeration_add_text(names, list->str, value))
			return -1;
	}
	return 0;
}

/* FIELD ? __print_flags(FIELD, ...) : "NAME OF ZERO" */
static int take_flags(const struct tep_print_arg *arg, const struct tep_format_field *field,
		      struct enumeration *names)
{
	const struct tep_print_arg *choice = arg->op.right, *flags, *zero;

	if (!arg->op.op || strcmp(arg->op.op, "?") || !choice || choice->type != TEP_PRINT_OP)
		return -1;
	flags = choice->op.left;
	zero = choice->op.right;
	if (!flags || flags->type != TEP_PRINT_FLAGS || !is_field(flags->flags.field, field) ||
	    !zero || zero->type != TEP_PRINT_ATOM || !zero->atom.atom)
		return -1;
	if (enumeration_add(names, zero->atom.atom, 0) || take(flags->flags.flags, names))
		return -1;
	return enumeration_is_flags(names) ? 0 : -1;
}

static int find_names(const struct tep_event *event, const struct tep_format_field *field,
		      struct enumeration *names)
{
	const struct tep_print_arg *arg;

	for (arg = event->print_fmt.args; arg; arg = arg->next) {
		if (arg->type == TEP_PRINT_SYMBOL && is_field(arg->symbol.field, field)) {
			begin(arg->symbol.field, field, names);
			return take(arg->symbol.symbols, names);
		}
		if (arg->type == TEP_PRINT_OP && is_field(arg->op.left, field)) {
			begin(arg->op.left, field, names);
			return take_flags(arg, field, names);
		}
	}
	return 0;
}

const struct enumeration *report_names(struct report *report, const struct tep_event *event,
				       const struct tep_format_field *field)
{
	struct field_names *names;
	size_t i;

	for (i = 0; i < report->nr_names; i++)
		if (report->names[i].field == field)
			return &report->names[i].names;
	if (grow(&report->names, &report->room_names, report->nr_names, sizeof(*report->names)))
		return NULL;
	names = report->names + report->nr_names++;
	*names = (struct field_names) { .field = field };
	if (find_names(event, field, &names->names))
		enumeration_free(&names->names);
	return &names->names;
}

void report_free_names(struct report *report)
{
	size_t i;

	for (i = 0; i < report->nr_names; i++)
		enumeration_free(&report->names[i].names);
	free(report->names);
}
