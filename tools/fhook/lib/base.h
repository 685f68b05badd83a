/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the host tools: types, error sentences, and lines of words
 *
 * A function that fails for a reason of interest to the user writes one sentence into a
 * struct fault and returns -1; only main() prints it. Other functions neither print nor
 * exit, because the decoders also run in a fuzzer, in QEMU and in traced programs.
 */
#ifndef FHOOK_BASE_H
#define FHOOK_BASE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))
#ifndef __printf
#define __printf(string, first)	__attribute__((format(printf, string, first)))
#endif
#define __unused		__attribute__((unused))

/*
 * The first of NR indices of a sorted array for which BEFORE, an expression with the index
 * I, is false; NR if BEFORE is true for all.
 */
#define first_index(nr, i, before) ({				\
	size_t first_ = 0, end_ = (nr), i;			\
								\
	while (first_ < end_) {					\
		(i) = (first_ + end_) / 2;			\
		if (before)					\
			first_ = (i) + 1;			\
		else						\
			end_ = (i);				\
	}							\
	first_; })

/**
 * struct fault - the reason of a failure
 * @text: sentence, with the name of the file or function concerned
 */
struct fault {
	char text[1024];
};

/* Write the sentence; returns -1, for the caller to return. */
int __printf(2, 3) fault_say(struct fault *fault, const char *format, ...);

/*
 * Print the sentence as the last output of a program, ended by a full stop, and without control
 * characters.
 */
void fault_print(const char *program, const struct fault *fault);

/**
 * grow - make room for one more element of an array
 * @array: address of the pointer to the array
 * @allocated: address of the number of elements that the array has room for
 * @used: number of elements in use
 * @size: size of an element
 *
 * Returns 0, or -1 if there is no memory, with the array unchanged.
 */
int grow(void *array, size_t *allocated, size_t used, size_t size);

/* No line of a text is as long, but a device may have endless ones. */
#define LINE_LENGTH	1048576

/**
 * line_read - read a line, as getline() does
 * @line: address of the pointer to the line, which the caller frees
 * @room: address of its size
 * @file: the file
 *
 * Returns the length of the line, or -1. Then errno is 0 at the end of the file, EFBIG if the line
 * is longer than LINE_LENGTH, EILSEQ if it has a zero byte, or says why the file cannot be read.
 */
ssize_t line_read(char **line, size_t *room, FILE *file);

/* Why line_read() has failed. */
const char *line_error(void);

/* A line without blanks before its text, a byte-order mark and its end, which may be CR LF. */
char *line_text(char *line);

/* Close a file, and fail if anything before has failed: fclose() reports only its own writing. */
int close_checked(FILE *file);

/* Let this process open so many files more, as far as that is allowed. */
void files_raise_limit(unsigned int files);

/* Replace control characters, which would go to a terminal, by '?'. */
void text_clean(char *text);

/* The size of the UTF-8 character that a text begins with; 0 if it is invalid, or at the end. */
size_t text_letter(const char *text);

/*
 * Print the name of a function in a line of a flame graph, where ';' separates names: one in the
 * name becomes ':'.
 */
void text_print_frame(const char *name, FILE *to);

/* May a name of C have this letter? */
bool is_name_letter(char letter);

/* The number of such letters that a text begins with. */
size_t name_length(const char *text);

/*
 * Split a line into words separated by blanks, in place. Returns the number of words, at
 * most MAX; text after the last of these is lost.
 */
int words_split(char *line, char **words, int max);

/* Write a text as one word: blanks, control characters and backslashes as in \040. */
void word_escape(const char *word, FILE *to);

/* Replace \NNN, three octal digits, by the byte of this number, in place. */
void word_unescape(char *word);

/*
 * Parse a word that is a number: "0x" and digits if BASE is 16, digits if it is 10.
 * Returns 0, or -1 if the word is not a number, or exceeds MAX.
 */
int word_number(const char *word, int base, u64 max, u64 *number);

/*
 * Parse a word that is a time with a unit: ns, us, ms or s. Returns 0, or -1 if it is not, or
 * less than a nanosecond.
 */
int word_time(const char *word, u64 *ns);

#endif /* FHOOK_BASE_H */
