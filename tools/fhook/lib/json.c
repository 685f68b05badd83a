// SPDX-License-Identifier: GPL-2.0
/* Strings and numbers in JSON; the header describes the functions. */
#include "json.h"

/* Larger numbers are strings, because readers have floating point. */
#define MOST_EXACT	9007199254740992ll

void json_string(FILE *out, const char *string)
{
	size_t size;

	fputc('"', out);
	for (; *string; string += size ?: 1) {
		size = text_letter(string);
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
