/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inputs of fhook_fuzz, texts of lines "FILE TEXT": reading and mutating them.
 *
 * The same seed gives the same mutations of the same inputs.
 */
#ifndef _FHOOK_FUZZ_H
#define _FHOOK_FUZZ_H

#include <dirent.h>
#include <stdint.h>

#include "../uhook/uhook_text.h"

/* The maximum size of an input, in bytes, and the number of its lines that lines are added to */
#define INPUT_MAX	6000
#define LINES_MAX	16

#define INPUTS_MAX	8192
#define WORDS_MAX	512

static char *inputs[INPUTS_MAX];
static unsigned int nr_inputs;
static char *words[WORDS_MAX];
static unsigned int nr_words;

/* The rest of a file, up to size - 1 bytes; "" if there is no such file */
static size_t read_file(const char *path, char *buf, size_t size)
{
	/* An empty trace_pipe would block. */
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	size_t len = 0;
	ssize_t got;

	while (fd >= 0 && len < size - 1 && (got = read(fd, buf + len, size - 1 - len)) > 0)
		len += got;
	if (fd >= 0)
		close(fd);
	buf[len] = '\0';
	return len;
}

/* Text after the comments at its beginning */
static char *after_comments(char *text)
{
	while (*text == '#')
		text += strcspn(text, "\n") + !!strchr(text, '\n');
	return text;
}

static const char *pick_word(void)
{
	static const char *const numbers[] = {
		"0", "1", "-1", "31", "32", "63", "64", "65", "127", "128", "255", "256", "4095",
		"4096", "65535", "65536", "0x7fffffff", "0x80000000", "4294967295", "4294967296",
		"0x7fffffffffffffff", "-9223372036854775808", "18446744073709551615",
		"18446744073709551616", "00", "0x", "1e9",
	};

	if (!nr_words || !pick(4))
		return numbers[pick(ARRAY_SIZE(numbers))];
	return words[pick(nr_words)];
}

/* Replace @del bytes at @at by @len bytes, @times times, unless it gets too long. */
static void edit(char *input, char *at, size_t del, const char *with, size_t len,
		 unsigned int times)
{
	char copy[INPUT_MAX];
	size_t rest;

	if (strlen(input) - del + len * times >= INPUT_MAX || len > sizeof(copy))
		return;
	/* It may be a part of the input. */
	memcpy(copy, with, len);
	rest = strlen(at + del) + 1;
	memmove(at + len * times, at + del, rest);
	while (times--)
		memcpy(at + len * times, copy, len);
}

/* A line: begin, and length without the newline */
static char *pick_line(char *input, size_t *len)
{
	unsigned int nr = 0, want;
	char *p;

	for (p = input; *p; p++)
		nr += *p == '\n';
	want = nr ? pick(nr) : 0;
	for (p = input; want; want--)
		p = strchr(p, '\n') + 1;
	*len = strcspn(p, "\n");
	return p;
}

static const char separators[] = " \t,:=%+-()[]/.|&\"$@*";

/* Mutate at @p, where a word of @word bytes begins; the line ends after @rest bytes. */
static void mutate_at(char *input, char *p, size_t word, size_t rest)
{
	const char *other = pick_word();
	char byte;

	switch (pick(7)) {
	case 0:
	case 1:
		edit(input, p, word, other, strlen(other), 1);
		break;
	case 2:
		edit(input, p, 0, other, strlen(other), 1);
		break;
	case 3:
		edit(input, p, pick(rest + 1), "", 0, 1);
		break;
	case 4:
		edit(input, p, 0, p, pick(rest + 1), 1 + pick(pick(4) ? 3 : 200));
		break;
	case 5:
		byte = 1 + pick(255);
		if (pick(2))
			byte = separators[pick(sizeof(separators) - 1)];
		if (byte != '\n')
			edit(input, p, rest && pick(2), &byte, 1, 1);
		break;
	case 6:
		edit(input, p, 0, " ", 1, 1);
		break;
	}
}

/* Mutate the text of a line, after the file. */
static void mutate_text(char *input)
{
	size_t len, file, rest, word;
	char *line = pick_line(input, &len), *p;

	file = strcspn(line, "\n ") + 1;
	if (file > len)
		return;
	line += file;
	len -= file;
	p = line + pick(len + 1);
	if (pick(4)) {
		/* To the beginning of a word */
		while (p > line && !strchr(separators, p[-1]))
			p--;
	}
	rest = line + len - p;
	word = strcspn(p, separators);
	mutate_at(input, p, word < rest ? word : rest, rest);
}

/* Mutate the order of lines, or take lines of another input. */
static void mutate_lines(char *input)
{
	size_t len, other_len;
	char *other = inputs[pick(nr_inputs)], *line, *from;
	unsigned int lines = 0;

	for (line = input; *line; line++)
		lines += *line == '\n';
	line = pick_line(input, &len);
	from = pick_line(other, &other_len);
	if (!pick(4) || lines >= LINES_MAX)
		edit(input, line, len + !!line[len], "", 0, 1);
	else
		edit(input, line, 0, from, other_len + !!from[other_len], 1);
}

static void mutate(char *input)
{
	const char *from = inputs[pick(nr_inputs)];
	unsigned int i;

	memcpy(input, from, strlen(from) + 1);
	for (i = 1 + pick(4); i; i--) {
		if (pick(4))
			mutate_text(input);
		else
			mutate_lines(input);
	}
}

/* Mutate it, too, and write it to a directory, unless that is NULL. */
static void keep_input(const char *dir, const char *input)
{
	char path[512];
	FILE *file;

	if (nr_inputs < INPUTS_MAX)
		inputs[nr_inputs++] = strdup(input);
	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%u", dir, nr_inputs);
	file = fopen(path, "w");
	check(file, "%s: %s", path, strerror(errno));
	fputs(input, file);
	fclose(file);
}

/* The inputs of a file, or its words; lines "--" separate inputs, as -v prints them. */
static void read_inputs(const char *path, char *text, bool is_words)
{
	const char *separator = is_words ? "\n" : "\n--\n";
	char *next;

	for (; text && *text; text = next) {
		next = strstr(text, separator);
		if (next) {
			next[!is_words] = '\0';
			next += strlen(separator);
		}
		check(strlen(text) < INPUT_MAX, "%s: an input has more than %u bytes", path,
		      INPUT_MAX);
		if (is_words && nr_words < WORDS_MAX)
			words[nr_words++] = strdup(text);
		else if (!is_words && nr_inputs < INPUTS_MAX)
			inputs[nr_inputs++] = strdup(text);
	}
}

static void read_corpus(const char *dir)
{
	struct dirent **entries;
	static char buf[1 << 20];
	int i, nr = scandir(dir, &entries, NULL, alphasort);
	char path[512];

	check(nr > 0, "%s: %s", dir, strerror(errno));
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && read_file(path, buf, sizeof(buf)))
			read_inputs(path, after_comments(buf),
				    !strcmp(entries[i]->d_name, "words"));
	}
	check(nr_inputs, "%s has no inputs", dir);
}

#endif /* _FHOOK_FUZZ_H */
