// SPDX-License-Identifier: GPL-2.0
/* Lines of words and numbers, as in a map and in a recording's info. */
#include <string.h>
#include "words.h"

int words_split(char *line, char **words, int max)
{
	int count = 0;
	char *rest = line, *word;

	while (count < max && (word = strsep(&rest, " \t\n")))
		if (*word)
			words[count++] = word;
	return count;
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
