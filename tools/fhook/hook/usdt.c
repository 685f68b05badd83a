// SPDX-License-Identifier: GPL-2.0
/* USDT probes; the header describes them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "operand.h"
#include "usdt.h"

#define PREFIX		"usdt:"
#define NT_STAPSDT	3

/**
 * struct probe - a note
 * @address: address of the probe's instruction
 * @base: address of the section .stapsdt.base when the note was made
 * @semaphore: address of the semaphore, or 0
 * @provider: name of the provider
 * @name: name of the probe
 * @arguments: operands
 */
struct probe {
	u64 address;
	u64 base;
	u64 semaphore;
	const char *provider;
	const char *name;
	const char *arguments;
};

bool usdt_is_pattern(const char *pattern)
{
	return !strncmp(pattern + (*pattern == '!'), PREFIX, strlen(PREFIX));
}

int usdt_add_pattern(struct list *list, const char *pattern, struct fault *fault)
{
	const char *names = pattern + (*pattern == '!') + strlen(PREFIX);
	char *text;
	int result;

	if (!*names)
		return fault_say(fault, "%s names no probe: write usdt:PROVIDER:NAME", pattern);
	if (asprintf(&text, "%s%s%s", *pattern == '!' ? "!" : "", strchr(names, ':') ? "" : "*:",
		     names) < 0)
		return fault_say(fault, "there is not enough memory");
	result = list_add(list, text, fault);
	free(text);
	return result;
}

/* A string of a note; the next one begins at *TEXT. NULL if it does not end in the note. */
static const char *take_string(const char **text, const char *end)
{
	const char *string = *text;
	const size_t length = strnlen(string, end - string);

	if (string + length == end)
		return NULL;
	*text += length + 1;
	return string;
}

/* The parts of names are printed, and separated by colons. */
static bool is_name(const char *text)
{
	for (; *text; text++)
		if (!isgraph((unsigned char)*text) || *text == ':')
			return false;
	return true;
}

static int parse_note(const struct elf_note *note, struct probe *probe)
{
	const char *text = (const char *)note->data + 3 * sizeof(u64);
	const char *end = (const char *)note->data + note->size;

	if (note->type != NT_STAPSDT || strcmp(note->name, "stapsdt") ||
	    note->size < 3 * sizeof(u64))
		return -1;
	memcpy(&probe->address, note->data, sizeof(u64));
	memcpy(&probe->base, note->data + sizeof(u64), sizeof(u64));
	memcpy(&probe->semaphore, note->data + 2 * sizeof(u64), sizeof(u64));
	probe->provider = take_string(&text, end);
	probe->name = probe->provider ? take_string(&text, end) : NULL;
	probe->arguments = probe->name ? take_string(&text, end) : NULL;
	return probe->arguments && is_name(probe->provider) && is_name(probe->name) ? 0 : -1;
}

/* prelink moves a file, but not what its notes contain: the section shows by how much. */
static void adjust(const Elf64_Shdr *base, struct probe *probe)
{
	if (!base || !probe->base)
		return;
	probe->address += base->sh_addr - probe->base;
	if (probe->semaphore)
		probe->semaphore += base->sh_addr - probe->base;
}

static int add_probe(struct program *program, const struct probe *probe, struct list *list,
		     struct fault *fault)
{
	struct program_function place = {
		.kind = PROGRAM_USDT, .address = probe->address, .arguments = probe->arguments,
	};
	char *name;
	int result;

	if (asprintf(&name, PREFIX "%s:%s", probe->provider, probe->name) < 0)
		return fault_say(fault, "there is not enough memory");
	if (list_wants(list, name + strlen(PREFIX)) == LIST_NO)
		result = 0;
	/* A damaged note: others may be right. */
	else if (probe->semaphore &&
		 program_offset(&program->image, probe->semaphore, PF_W, &place.semaphore))
		result = 0;
	else
		result = program_add(program, &place, name, fault);
	free(name);
	return result;
}

static int add_section(struct program *program, const Elf64_Shdr *section, struct list *list,
		       struct fault *fault)
{
	const Elf64_Shdr *base = elf_section(&program->image, ".stapsdt.base");
	u8 *notes = elf_section_data(&program->image, section);
	size_t left = section->sh_size;
	struct elf_note note;
	struct probe probe;

	while (notes && elf_next_note(&notes, &left, &note)) {
		if (parse_note(&note, &probe))
			continue;
		adjust(base, &probe);
		if (add_probe(program, &probe, list, fault))
			return -1;
	}
	return 0;
}

int usdt_select(struct program *program, struct list *list, struct fault *fault)
{
	const Elf64_Shdr *section = elf_section(&program->image, ".note.stapsdt");
	size_t i;

	if (!section || section->sh_offset % 4)
		return fault_say(fault, "%s has no USDT probes", program->path);
	if (add_section(program, section, list, fault))
		return -1;
	for (i = 0; i < list->nr_patterns; i++) {
		const char *text = list->patterns[i].text;

		if (!list->patterns[i].matched && !list->patterns[i].excludes)
			return fault_say(fault,
					 "%s has no USDT probe %s: fhook list -p %s 'usdt:*' lists all",
					 program->path, text + 2 * !strncmp(text, "*:", 2),
					 program->path);
	}
	return 0;
}

int usdt_value(const struct program *program, const struct program_function *probe,
	       const char *name, struct program_value *value, struct fault *fault)
{
	const char *text = probe->arguments;
	unsigned int nr = 0;
	char found[16];
	size_t length;

	while (*(text = operand_next(text, &length))) {
		snprintf(found, sizeof(found), "arg%u", ++nr);
		if (!strcmp(found, name))
			break;
		text += length;
	}
	if (!*text)
		return fault_say(fault, nr ? "%s has no argument %s: it has arg1 to arg%u" :
				 "%s has no argument %s: it has none", probe->name, name, nr);
	if (operand_value(program->image.header->e_machine, text, length, value))
		return fault_say(fault, "the kernel cannot fetch %s of %s, which is %.*s",
				 name, probe->name, (int)length, text);
	return 0;
}

void usdt_print(struct program *program, const struct program_function *probe, FILE *out)
{
	const char *text = probe->arguments;
	struct program_value value;
	unsigned int nr = 0;
	size_t length;

	for (; *(text = operand_next(text, &length)); text += length) {
		fprintf(out, "%sarg%u=", nr ? " " : "", nr + 1);
		nr++;
		if (operand_value(program->image.header->e_machine, text, length, &value))
			fputc('?', out);
		else
			fprintf(out, "%s:%s", value.text, value.type);
	}
}
