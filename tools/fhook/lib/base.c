// SPDX-License-Identifier: GPL-2.0
/*
 * Common code of the host tools: error sentences, arrays, lines of words and numbers, as in a map
 * and in a recording's info, and the limit of open files
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base.h"

int fault_say(struct fault *fault, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return -1;
}

void fault_print(const char *program, const struct fault *fault)
{
	struct fault clean = *fault;
	const size_t length = strlen(clean.text);
	const bool ends = length && strchr(".?", clean.text[length - 1]);

	/* Names from files, for example. */
	text_clean(clean.text);
	fprintf(stderr, "%s: %s%s\n", program, clean.text, ends ? "" : ".");
}

int grow(void *array, size_t *allocated, size_t used, size_t size)
{
	size_t wanted;
	void *old, *new;

	if (used < *allocated)
		return 0;
	wanted = *allocated ? *allocated * 2 : 64;
	memcpy(&old, array, sizeof(old));
	new = reallocarray(old, wanted, size);
	if (!new)
		return -1;
	memcpy(array, &new, sizeof(new));
	*allocated = wanted;
	return 0;
}

/* The length of the control character that the text begins with, or 0. */
static size_t control_length(const char *text, size_t size)
{
	if ((u8)text[0] < ' ' || text[0] == 0x7f)
		return 1;
	/* Those from U+0080 to U+009F, in UTF-8. */
	return size > 1 && (u8)text[0] == 0xc2 && (u8)text[1] >= 0x80 && (u8)text[1] < 0xa0 ?
	       2 : 0;
}

void text_clean(char *text)
{
	size_t size = strlen(text);

	for (; size; text++, size--)
		memset(text, '?', control_length(text, size));
}

size_t text_letter(const char *text)
{
	const u8 *string = (const u8 *)text;
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

void text_print_frame(const char *name, FILE *to)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name, to);
}

bool is_name_letter(char letter)
{
	return isalnum((unsigned char)letter) || letter == '_';
}

size_t name_length(const char *text)
{
	size_t length = 0;

	while (is_name_letter(text[length]))
		length++;
	return length;
}

ssize_t line_read(char **line, size_t *room, FILE *file)
{
	size_t length = 0;
	int letter;

	do {
		letter = getc_unlocked(file);
		/* For the letter and the end of the string. */
		if (length + 1 >= LINE_LENGTH) {
			errno = EFBIG;
			return -1;
		}
		if (grow(line, room, length + 1, 1))
			return -1;
		if (letter != EOF)
			(*line)[length++] = letter;
	} while (letter != EOF && letter != '\n');
	(*line)[length] = '\0';
	if (letter == EOF && !feof(file))
		return -1;
	errno = strlen(*line) == length ? 0 : EILSEQ;
	return errno || !length ? -1 : (ssize_t)length;
}

const char *line_error(void)
{
	return errno == EILSEQ ? "it has a zero byte, and must be UTF-8 text" : strerror(errno);
}

char *line_text(char *line)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t length;

	/* Only in the first line of a file, if files are not joined. */
	if (!strncmp(line, mark, strlen(mark)))
		line += strlen(mark);
	line += strspn(line, " \t");
	length = strlen(line);
	while (length && strchr("\r\n", line[length - 1]))
		length--;
	line[length] = '\0';
	return line;
}

int close_checked(FILE *file)
{
	const int failed = ferror(file);

	return fclose(file) || failed ? EOF : 0;
}

void files_raise_limit(unsigned int files)
{
	const rlim_t wanted = files + 64;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int words_split(char *line, char **words, int max)
{
	int count = 0;
	char *rest = line, *word;

	while (count < max && (word = strsep(&rest, " \t\n")))
		if (*word)
			words[count++] = word;
	return count;
}

void word_escape(const char *word, FILE *to)
{
	for (; *word; word++)
		if ((u8)*word <= ' ' || *word == 0x7f || *word == '\\')
			fprintf(to, "\\%03o", (u8)*word);
		else
			putc(*word, to);
}

void word_unescape(char *word)
{
	char *to = word;

	while (*word) {
		if (word[0] == '\\' && strspn(word + 1, "01234567") >= 3 && word[1] < '4') {
			*to = (word[1] - '0') << 6 | (word[2] - '0') << 3 | (word[3] - '0');
			/* A zero byte would end the text. */
			if (*to)
				to++;
			word += 4;
		} else {
			*to++ = *word++;
		}
	}
	*to = '\0';
}

static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return 16;
}

int word_number(const char *word, int base, u64 max, u64 *number)
{
	u64 value = 0, digit;

	if (base == 16) {
		if (word[0] != '0' || word[1] != 'x')
			return -1;
		word += 2;
	}
	if (!*word)
		return -1;
	for (; *word; word++) {
		digit = digit_value(*word);
		if (digit >= (u64)base || value > (max - digit) / base || digit > max)
			return -1;
		value = value * base + digit;
	}
	*number = value;
	return 0;
}

int word_time(const char *word, u64 *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	unsigned int i;
	double value;
	char *end;

	if (!isdigit((unsigned char)*word) && *word != '.')
		return -1;
	value = strtod(word, &end);
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(end, units[i].unit) && value * units[i].ns >= 1 &&
		    value * units[i].ns < 1e18) {
			*ns = value * units[i].ns;
			return 0;
		}
	}
	return -1;
}
