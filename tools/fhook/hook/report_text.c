// SPDX-License-Identifier: GPL-2.0
/* Contents of recorded events; the header describes the functions. */
#include <stdio.h>
#include <string.h>
#include "report.h"
#include "trace_format.h"

/* Bits of an event's flags, of which libtraceevent knows some only. */
#define IRQS_OFF	0x01
#define LAZY_RESCHED	0x02
#define NEED_RESCHED	0x04
#define HARDIRQ		0x08
#define SOFTIRQ		0x10
#define PREEMPT_RESCHED	0x20
#define NMI		0x40
#define BH_OFF		0x80

/**
 * struct letter - a letter for a combination of flags
 * @flags: flags that are set
 * @letter: the letter
 */
struct letter {
	unsigned int flags;
	char letter;
};

static const struct letter disabled[] = {
	{ IRQS_OFF | BH_OFF, 'D' }, { IRQS_OFF, 'd' }, { BH_OFF, 'b' }, { }
};

static const struct letter pending[] = {
	{ LAZY_RESCHED | NEED_RESCHED | PREEMPT_RESCHED, 'B' },
	{ NEED_RESCHED | PREEMPT_RESCHED, 'N' }, { LAZY_RESCHED | PREEMPT_RESCHED, 'L' },
	{ LAZY_RESCHED | NEED_RESCHED, 'b' }, { NEED_RESCHED, 'n' },
	{ PREEMPT_RESCHED, 'p' }, { LAZY_RESCHED, 'l' }, { }
};

static const struct letter contexts[] = {
	{ NMI | HARDIRQ, 'Z' }, { NMI, 'z' }, { HARDIRQ | SOFTIRQ, 'H' }, { HARDIRQ, 'h' },
	{ SOFTIRQ, 's' }, { }
};

/* The first combination that is set, or a dot. */
static char letter_of(const struct letter *letters, unsigned int flags)
{
	while (letters->flags && (flags & letters->flags) != letters->flags)
		letters++;
	return letters->flags ? letters->letter : '.';
}

static char digit_of(unsigned int number)
{
	return number ? "0123456789abcdef"[number] : '.';
}

void report_flags(struct report *report, struct tep_record *record, char text[6])
{
	const unsigned int flags = tep_data_flags(report->tep, record);
	/* The upper half counts how often migration is disabled. */
	const unsigned int counts = tep_data_preempt_count(report->tep, record);

	text[0] = letter_of(disabled, flags);
	text[1] = letter_of(pending, flags);
	text[2] = letter_of(contexts, flags);
	text[3] = digit_of(counts & 0xf);
	text[4] = digit_of(counts >> 4 & 0xf);
	text[5] = '\0';
}

bool report_field(struct tep_format_field *field, struct tep_record *record, u64 *number)
{
	unsigned long long value;

	if (field->offset < 0 || field->size <= 0 || field->offset > record->size ||
	    field->size > record->size - field->offset ||
	    tep_read_number_field(field, record->data, &value))
		return false;
	*number = value;
	return true;
}

bool report_number(struct tep_event *event, struct tep_record *record, const char *name,
		   u64 *number)
{
	struct tep_format_field *field = tep_find_field(event, name);

	return field && report_field(field, record, number);
}

bool report_array(struct tep_format_field *field, struct tep_record *record, const void **data,
		  size_t *size)
{
	size_t offset = field->offset, length = field->size;
	u16 place[2];

	if (field->offset < 0 || field->size < 0 || offset + length > (size_t)record->size)
		return false;
	if (field->flags & TEP_FIELD_IS_DYNAMIC) {
		if (length < sizeof(place))
			return false;
		/* Where they are in the record, and their size. */
		memcpy(place, record->data + offset, sizeof(place));
		offset = place[0];
		length = place[1];
		if (offset + length > (size_t)record->size)
			return false;
	}
	*data = record->data + offset;
	*size = length;
	return true;
}

bool report_is_string(const struct tep_format_field *field)
{
	return field->flags & TEP_FIELD_IS_STRING && strstr(field->type, "char");
}

bool report_is_element(const struct tep_format_field *field, size_t *length, u64 *number)
{
	const char *mark = strstr(field->name, TRACE_FORMAT_ELEMENT), *next;

	if (!(field->flags & TEP_FIELD_IS_DYNAMIC) || !mark)
		return false;
	while ((next = strstr(mark + 1, TRACE_FORMAT_ELEMENT)))
		mark = next;
	*length = mark - field->name;
	return !word_number(mark + strlen(TRACE_FORMAT_ELEMENT), 10, 9999, number) && *length;
}

/* The quoted value of a field in TEXT, or NULL. */
static const char *find_string(const char *text, const struct tep_format_field *field)
{
	char mark[2][128];
	const char *at;
	size_t length;
	u64 number;
	int i;

	if (!report_is_element(field, &length, &number))
		length = 0;
	/* The elements after the first one have no name. */
	else if (number && !strncmp(text, ",\"", 2))
		return text + 1;
	snprintf(mark[0], sizeof(mark[0]), " %s=\"", field->name);
	snprintf(mark[1], sizeof(mark[1]), " %.*s={\"", (int)length, field->name);
	for (i = 0; i < 2; i++) {
		at = strstr(text, mark[i]);
		if (at)
			return at + strlen(mark[i]) - 1;
	}
	return NULL;
}

void report_strings(struct tep_event *event, struct tep_record *record, const char *text)
{
	struct tep_format_field *field;
	const void *data;
	const char *at;
	size_t size;

	for (field = event->format.fields; field; field = field->next) {
		if (!report_is_string(field) || !report_array(field, record, &data, &size))
			continue;
		at = find_string(text, field);
		if (!at)
			continue;
		fwrite(text, 1, at - text, stdout);
		text = at;
		/* A very long text is cut off. */
		at += strnlen(at, strlen("\"\"") + strnlen(data, size));
		if (!size)
			fputs("(fault)", stdout);
		else
			fwrite(text, 1, at - text, stdout);
		text = at;
	}
	puts(text);
}

u64 report_frame(struct frames frames, size_t number)
{
	u64 address;

	memcpy(&address, frames.data + number * sizeof(address), sizeof(address));
	return address;
}

/* The unused end of a stack has the largest number. */
static void cut(struct frames *frames)
{
	size_t i;

	for (i = 0; i < frames->nr && report_frame(*frames, i) != ~0ull; i++)
		;
	frames->nr = i;
}

bool report_stack(struct tep_event *event, struct tep_record *record, struct frames *frames)
{
	struct tep_format_field *callers;
	u64 size;

	callers = strcmp(event->name, "kernel_stack") ? NULL : tep_find_field(event, "caller");
	if (!callers || callers->offset < 0 || callers->offset > record->size)
		return false;
	/* The size in the description is that of the shortest stack. */
	frames->data = record->data + callers->offset;
	frames->nr = (record->size - callers->offset) / sizeof(u64);
	if (report_number(event, record, "size", &size) && size < frames->nr)
		frames->nr = size;
	cut(frames);
	return true;
}

struct frames report_user_stack(struct tep_event *event, struct tep_record *record)
{
	struct tep_format_field *field = tep_find_field(event, "ustacktrace");
	struct frames frames = { };
	const void *data;
	size_t size;
	u64 nr;

	if (!field || !report_array(field, record, &data, &size) || size < sizeof(nr))
		return frames;
	/* The number of addresses comes first. */
	memcpy(&nr, data, sizeof(nr));
	frames.data = data + sizeof(nr);
	frames.nr = size / sizeof(nr) - 1;
	if (nr < frames.nr)
		frames.nr = nr;
	return frames;
}

void report_symbol(struct report *report, char text[SYMBOL_ROOM], u64 address, bool offset)
{
	unsigned long long start;
	const char *name;
	unsigned long size;

	if ((s64)address >= 0 ||
	    !tep_find_function_info(report->tep, address, &name, &start, &size))
		snprintf(text, SYMBOL_ROOM, "0x%llx", address);
	else if (!offset)
		snprintf(text, SYMBOL_ROOM, "%s", name);
	else
		snprintf(text, SYMBOL_ROOM, "%s+0x%llx/0x%lx", name, address - start, size);
	text_clean(text);
}

bool report_where(struct report *report, struct tep_event *event, struct tep_record *record,
		  struct where *where)
{
	u64 address, caller;

	if (report_number(event, record, "__probe_ip", &address)) {
		report_symbol(report, where->function, address, true);
		where->caller[0] = '\0';
		return true;
	}
	if (!report_number(event, record, "__probe_func", &address) ||
	    !report_number(event, record, "__probe_ret_ip", &caller))
		return false;
	report_symbol(report, where->function, address, false);
	report_symbol(report, where->caller, caller, true);
	return true;
}
