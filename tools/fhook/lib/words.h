/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of words and numbers, as in a map and in a recording's info. */
#ifndef FHOOK_WORDS_H
#define FHOOK_WORDS_H

#include "base.h"

/*
 * Cut a line into the words that blanks separate, in place. Returns how many
 * there are, at most MAX: what is behind the last one is lost.
 */
int words_split(char *line, char **words, int max);

/*
 * A number that is the whole word: with 16, "0x" and digits, with 10, digits.
 * Returns 0, or -1 when it is not one, or is more than MAX.
 */
int word_number(const char *word, int base, u64 max, u64 *number);

#endif /* FHOOK_WORDS_H */
