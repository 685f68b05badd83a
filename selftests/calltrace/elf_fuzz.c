// SPDX-License-Identifier: GPL-2.0
/*
 * Odd ELF files are rewritten or refused, whatever they hold
 *
 * A program is changed where other things depend on it: the fields of its headers,
 * symbols, relocations and unwind information get numbers at some limit, or those of
 * another field. A command is run on it, which must end with status 0 or 1 within the
 * limits of memory and time; with status 1, its last line must be a sentence.
 *
 * Usage: elf-fuzz DIRECTORY COUNT SEED MEGABYTES PROGRAM COMMAND...
 *
 * COMMAND gets the changed file as its last argument. MEGABYTES limits memory; 0 means no
 * limit, for programs built with sanitizers.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../host/random.h"
#include "lib/base.h"

/* Quadratic algorithms do not end within this limit. */
#define SECONDS_MOST	60

#define MAX_FILE	0x100000

static u8 original[MAX_FILE], data[MAX_FILE];
static size_t size;
static unsigned long accepted, refused;

static u64 random_below(u64 end)
{
	return (random_next() >> 16) % end;
}

/* Numbers that something ends at, or that wrap around. */
static u64 odd_number(void)
{
	static const u64 numbers[] = {
		0, 1, 7, 8, 0xfff, 0x1000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, 500 << 20, 1ULL << 40, 1ULL << 47, 1ULL << 62,
		0x7fffffffffffffff, 0x8000000000000000, -8, -1,
	};
	u64 word;

	switch (random_below(4)) {
	case 0:
		return numbers[random_below(ARRAY_SIZE(numbers))];
	case 1:
		return size + random_below(64) - 32;
	case 2:
		return random_next();
	default:
		/* One that means something elsewhere. */
		memcpy(&word, original + random_below(size / 8) * 8, sizeof(word));
		return word;
	}
}

/* A field of WIDTH bytes of one of COUNT records of LENGTH bytes at OFFSET. */
static void change_record(u64 offset, u64 count, u64 length, unsigned int width)
{
	u64 at, number = odd_number();

	if (!count)
		return;
	at = offset + random_below(count) * length + random_below(length / width) * width;
	if (at + width <= size)
		memcpy(data + at, &number, width);
}

static const Elf64_Shdr *section(const char *wanted)
{
	const Elf64_Ehdr *header = (void *)original;
	const Elf64_Shdr *sections = (void *)(original + header->e_shoff);
	const char *names = (char *)original + sections[header->e_shstrndx].sh_offset;
	unsigned int i;

	for (i = 0; i < header->e_shnum; i++) {
		if (!strcmp(names + sections[i].sh_name, wanted))
			return sections + i;
	}
	return NULL;
}

static void change_section(const char *name, u64 length, unsigned int width)
{
	const Elf64_Shdr *found = section(name);

	if (found && found->sh_size >= length)
		change_record(found->sh_offset, found->sh_size / length, length, width);
}

static void change(void)
{
	const Elf64_Ehdr *header = (void *)original;
	const unsigned int width = 1 << random_below(4);

	switch (random_below(10)) {
	case 0:
		change_record(16, 1, sizeof(*header) - 16, width < 4 ? 2 : 8);
		break;
	case 1:
	case 2:
		change_record(header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr),
			      width < 4 ? 4 : 8);
		break;
	case 3:
	case 4:
		change_record(header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr),
			      width < 4 ? 4 : 8);
		break;
	case 5:
		change_section(".symtab", sizeof(Elf64_Sym), width);
		break;
	case 6:
		change_section(random_below(2) ? ".rela.dyn" : ".rela.plt", sizeof(Elf64_Rela), 8);
		break;
	case 7:
		change_section(random_below(2) ? ".eh_frame" : ".gcc_except_table", 8, width);
		break;
	case 8:
		change_section(".gopclntab", 8, width);
		break;
	default:
		change_section(random_below(2) ? ".text" : ".rodata", 8, width);
	}
}

static void write_file(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static void run_child(char **argv, const char *said, u64 megabytes)
{
	const struct rlimit memory = { megabytes << 20, megabytes << 20 };
	const struct rlimit time = { SECONDS_MOST, SECONDS_MOST };
	const int fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	if (megabytes)
		setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CPU, &time);
	execv(argv[0], argv);
	_exit(126);
}

/* The last word, if it is that of a sentence. */
static bool is_sentence(const char *said)
{
	char end[2] = "";
	FILE *file = fopen(said, "r");
	bool ends = file && !fseek(file, -2, SEEK_END) && fread(end, 1, 2, file) == 2 &&
		    !memcmp(end, ".\n", 2);

	if (file)
		fclose(file);
	return ends;
}

static int try(char **argv, const char *said, u64 megabytes)
{
	pid_t child = fork();
	int status;

	if (!child)
		run_child(argv, said, megabytes);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1 ||
	    (WEXITSTATUS(status) && !is_sentence(said)))
		return -1;
	if (WEXITSTATUS(status))
		refused++;
	else
		accepted++;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long count, i, changes, megabytes;
	char *path, *said;
	FILE *file;

	if (argc < 7 || asprintf(&path, "%s/odd", argv[1]) < 0 ||
	    asprintf(&said, "%s/said", argv[1]) < 0) {
		fprintf(stderr,
			"Usage: elf-fuzz DIRECTORY COUNT SEED MEGABYTES PROGRAM COMMAND...\n");
		return 1;
	}
	file = fopen(argv[5], "r");
	size = file ? fread(original, 1, sizeof(original), file) : 0;
	count = strtoul(argv[2], NULL, 0);
	random_seed(strtoul(argv[3], NULL, 0));
	megabytes = strtoul(argv[4], NULL, 0);
	mkdir(argv[1], 0777);
	/* The command comes first, the file after it. */
	memmove(argv, argv + 6, (argc - 6) * sizeof(*argv));
	argv[argc - 6] = path;
	argv[argc - 5] = NULL;
	for (i = 0; i < count && size > sizeof(Elf64_Ehdr); i++) {
		memcpy(data, original, size);
		for (changes = 1 + random_below(4); changes; changes--)
			change();
		write_file(path);
		if (try(argv, said, megabytes)) {
			fprintf(stderr, "%s: %lu-th: see %s\n", path, i, said);
			return 1;
		}
	}
	fclose(file);
	printf("%lu accepted, %lu refused\n", accepted, refused);
	return !accepted || !refused;
}
