// SPDX-License-Identifier: GPL-2.0
/* Descriptions for recordings; the header describes them. */
#include <stdlib.h>
#include <string.h>
#include "trace_format.h"

/* A field of a string, and of an array of strings, before the number of elements. */
#define STRING	"field:__data_loc char[] "
#define STRINGS	"field:__data_loc char[]["
#define ELEMENT	TRACE_FORMAT_ELEMENT

/**
 * struct rule - a replacement in a format
 * @from: text that the kernel writes
 * @to: text that describes how the kernel prints the event
 */
struct rule {
	const char *from, *to;
};

/*
 * The kernel prints symbols for addresses that its formats call numbers, and prints the
 * two of a return in the other order.
 */
static const struct rule kernel_rules[] = {
	{ "\"(%lx <- %lx)", "\"(%pS <- %ps)" },
	{ "REC->__probe_func, REC->__probe_ret_ip", "REC->__probe_ret_ip, REC->__probe_func" },
	{ "\"(%lx)", "\"(%pS)" },
};

static const struct rule user_rules[] = {
	{ "\"(%lx <- %lx)", "\"(0x%lx <- 0x%lx)" },
	{ "REC->__probe_func, REC->__probe_ret_ip", "REC->__probe_ret_ip, REC->__probe_func" },
	{ "\"(%lx)", "\"(0x%lx)" },
};

/* TEXT with LENGTH letters at AT replaced, which frees it; NULL without memory. */
static char *splice(char *text, const char *at, size_t length, const char *to)
{
	char *changed;

	if (asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + length) < 0)
		changed = NULL;
	free(text);
	return changed;
}

/* The part of a description that says how the event is printed, or NULL. */
static const char *print_part(const char *text)
{
	return text ? strstr(text, "print fmt: ") : NULL;
}

static char *apply(const struct rule *rule, char *text)
{
	const char *print = print_part(text), *at = print ? strstr(print, rule->from) : NULL;

	return at ? splice(text, at, strlen(rule->from), rule->to) : text;
}

/* The place of MARK, the label, and END if that is not NULL or else no letter of a name. */
static const char *find_label(const char *text, const char *mark, const char *label,
			      const char *end)
{
	const size_t length = strlen(label);

	while (text && (text = strstr(text, mark))) {
		text += strlen(mark);
		if (strncmp(text, label, length))
			continue;
		if (end ? !strncmp(text + length, end, strlen(end)) :
			  !is_name_letter(text[length]))
			return text;
	}
	return NULL;
}

/* The value of field LABEL as its names. Zero, as a set of flags, is 0 if it has no name. */
static char *symbolic(const char *label, const struct enumeration *names)
{
	const bool flags = enumeration_is_flags(names);
	const char *zero = "0";
	char *text = NULL, mask[32] = "";
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (i = 0; i < names->nr; i++)
		if (!names->all[i].value)
			zero = names->all[i].name;
	if (names->is_part)
		snprintf(mask, sizeof(mask), " & 0x%llx", enumeration_cut(names, ~0ull));
	if (flags)
		fprintf(out, *mask ? "(REC->%s%s) ? __print_flags(REC->%s%s, \"|\"" :
			"REC->%s%s ? __print_flags(REC->%s%s, \"|\"", label, mask, label, mask);
	else
		fprintf(out, "__print_symbolic(REC->%s%s", label, mask);
	for (i = 0; i < names->nr; i++)
		if (!flags || names->all[i].value)
			fprintf(out, ", {%llu, \"%s\"}", names->all[i].value, names->all[i].name);
	fputc(')', out);
	if (flags)
		fprintf(out, " : \"%s\"", zero);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* Replace "LABEL=%d", and the argument of it, which comes after the whole format. */
static char *name_values(char *text, const char *label, const struct enumeration *names)
{
	const char *print = print_part(text);
	const char *value = find_label(print, " ", label, "=%");
	const char *argument = find_label(print, ", REC->", label, NULL);
	char *to = value && argument ? symbolic(label, names) : NULL;
	size_t kept;

	if (!to)
		return text;
	kept = argument - strlen("REC->") - text;
	text = splice(text, text + kept, strlen("REC->") + strlen(label), to);
	free(to);
	value = find_label(print_part(text), " ", label, "=%");
	if (!value)
		return text;
	value += strlen(label) + strlen("=%");
	return splice(text, value, strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789"), "s");
}

/*
 * The kernel leaves out how many elements an array has, without which readers do not know the
 * size of one. It prints each of them.
 */
static char *count_elements(char *text, const char *label)
{
	const char *field = find_label(text, " ", label, "[];");
	const char *at = print_part(text);
	unsigned int nr = 0;
	char number[16];

	if (!field)
		return text;
	while ((at = find_label(at, ", REC->", label, "[")))
		nr++;
	snprintf(number, sizeof(number), "%u", nr);
	return nr ? splice(text, field + strlen(label) + 1, 0, number) : text;
}

/**
 * struct strings - the description of a field that is an array of strings
 * @begin: its text
 * @end: the text after it
 * @nr: number of strings
 * @offset: offset of the first one
 * @size: size of all
 * @is_signed: 0 or 1
 */
struct strings {
	const char *begin, *end;
	unsigned int nr, offset, size, is_signed;
};

/* The array of this label; false if there is none. */
static bool find_strings(const char *text, const char *label, struct strings *strings)
{
	char name[64];
	int end;

	while ((text = strstr(text, STRINGS))) {
		end = 0;
		strings->begin = text;
		if (sscanf(text, STRINGS "%u] %63[^;];\toffset:%u;\tsize:%u;\tsigned:%u;%n",
			   &strings->nr, name, &strings->offset, &strings->size,
			   &strings->is_signed, &end) == 5 && end && strings->nr &&
		    !strcmp(name, label)) {
			strings->end = text + end;
			return true;
		}
		text += strlen(STRINGS);
	}
	return false;
}

/* Write the rest of a description, which prints each element as "__get_str(LABEL[0])". */
static void write_rest(const char *text, const char *label, FILE *out)
{
	static const char get[] = "__get_str(";
	const size_t length = strlen(label);
	const char *at;
	char *end;

	while ((at = strstr(text, get))) {
		at += strlen(get);
		fwrite(text, 1, at - text, out);
		text = at;
		if (strncmp(at, label, length) || at[length] != '[')
			continue;
		fprintf(out, "%s" ELEMENT "%lu", label, strtoul(at + length + 1, &end, 10));
		text = end + (*end == ']');
	}
	fputs(text, out);
}

/* Readers know no arrays of strings: describe a field for each element. */
static char *split_strings(char *text, const char *label)
{
	struct strings strings;
	char *changed = NULL;
	unsigned int i, one;
	FILE *out;

	if (!text || !find_strings(text, label, &strings))
		return text;
	out = open_memstream(&changed, &(size_t){ 0 });
	if (!out) {
		free(text);
		return NULL;
	}
	one = strings.size / strings.nr;
	fwrite(text, 1, strings.begin - text, out);
	for (i = 0; i < strings.nr; i++)
		fprintf(out, "%s" STRING "%s" ELEMENT "%u;\toffset:%u;\tsize:%u;\tsigned:%u;",
			i ? "\n\t" : "", label, i, strings.offset + i * one, one,
			strings.is_signed);
	write_rest(strings.end, label, out);
	free(text);
	if (!fclose(out))
		return changed;
	free(changed);
	return NULL;
}

/*
 * The kernel prints signed fields of one and two bytes as they are; readers take the size from
 * the format.
 */
static char *size_values(char *text, const char *label)
{
	const char *size = find_label(text, "field:s8 ", label, NULL) ? "hh" :
			   find_label(text, "field:s16 ", label, NULL) ? "h" : NULL;
	const char *value = size ? find_label(print_part(text), " ", label, "=") : NULL;
	size_t at;

	if (!value)
		return text;
	/* An array has several, up to the blank before the next field. */
	for (at = value - text; text && text[at] && !strchr(" \"", text[at]); at++)
		if (!strncmp(text + at, "%d", 2))
			text = splice(text, text + at + 1, 0, size);
	return text;
}

char *trace_format(const char *text, bool user, const struct call_event *event)
{
	const struct rule *rules = user ? user_rules : kernel_rules;
	char *changed = strdup(text);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(user_rules) && changed; i++)
		changed = apply(rules + i, changed);
	for (i = 0; event && changed && i < event->spec.nr; i++) {
		const char *label = event->spec.labels[i];

		if (event->enumerations[i].nr) {
			changed = name_values(changed, label, event->enumerations + i);
			continue;
		}
		changed = size_values(count_elements(changed, label), label);
		changed = split_strings(changed, label);
	}
	return changed;
}

/* Does a line with the number and name of a task begin there? */
static bool begins_task(const char *text)
{
	const size_t digits = strspn(text, "0123456789");

	return digits && text[digits] == ' ';
}

/* The end of the line of a task. A name may have ends of lines. */
static const char *end_of_task(const char *text)
{
	text += strcspn(text, "\n");
	while (*text && text[1] && !begins_task(text + 1))
		text += 1 + strcspn(text + 1, "\n");
	return text;
}

char *trace_format_tasks(const char *text)
{
	const char *end;
	char *changed;
	FILE *out = open_memstream(&changed, &(size_t){ 0 });

	for (; out && *text; text = end + (*end == '\n')) {
		end = end_of_task(text);
		while (text < end && *text != ' ')
			putc(*text++, out);
		text += strspn(text, " \f\r\t\v");
		fputs(text < end ? " " : " ?", out);
		for (; text < end; text++)
			putc(*text == '\n' ? '?' : *text, out);
		putc('\n', out);
	}
	if (!out || !fclose(out))
		return out ? changed : NULL;
	free(changed);
	return NULL;
}
