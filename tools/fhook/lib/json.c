// SPDX-License-Identifier: GPL-2.0
/* Strings and numbers in JSON; the header describes the functions. */
#include "json.h"

/* Larger numbers are strings, because readers have floating point. */
#define MOST_EXACT	9007199254740992ll

/* The size of the UTF-8 character at the start of a string; 0 if it is invalid. */
static size_t character(const u8 *string)
{
	/* By the first byte; the range of the second excludes overlong forms and surrogates. */
	static const struct {
		u8 first, last, low, high;
		size_t size;
	} forms[] = {
		{ 0x01, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t form, i;

	for (form = 0; form < ARRAY_SIZE(forms); form++) {
		if (*string < forms[form].first || *string > forms[form].last)
			continue;
		if (forms[form].size > 1 &&
		    (string[1] < forms[form].low || string[1] > forms[form].high))
			return 0;
		for (i = 2; i < forms[form].size; i++)
			if ((string[i] & 0xc0) != 0x80)
				return 0;
		return forms[form].size;
	}
	return 0;
}

void json_string(FILE *out, const char *string)
{
	size_t size;

	fputc('"', out);
	for (; *string; string += size ?: 1) {
		size = character((const u8 *)string);
		if (!size)
			fputs("\\ufffd", out);
		else if (*string == '"' || *string == '\\')
			fprintf(out, "\\%c", *string);
		else if ((u8)*string < ' ' || *string == 0x7f)
			fprintf(out, "\\u%04x", (u8)*string);
		/* Some terminals obey the control characters from U+0080 to U+009F. */
		else if (size == 2 && (u8)string[0] == 0xc2 && (u8)string[1] < 0xa0)
			fprintf(out, "\\u%04x", (u8)string[1]);
		else
			fwrite(string, 1, size, out);
	}
	fputc('"', out);
}

void json_number(FILE *out, u64 number, bool is_signed)
{
	const s64 value = number;

	if (is_signed)
		fprintf(out, value > MOST_EXACT || value < -MOST_EXACT ? "\"%lld\"" : "%lld",
			value);
	else
		fprintf(out, number > MOST_EXACT ? "\"%llu\"" : "%llu", number);
}
