// SPDX-License-Identifier: GPL-2.0
/* The map for a software recording of the kernel, made from its symbols. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/elf_image.h"
#include "symbols.h"

/* Names of functions that are hooked: "NAME MODULE", sorted. */
struct names {
	char **names;
	size_t nr_names, room_names;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(struct names *names)
{
	while (names->nr_names)
		free(names->names[--names->nr_names]);
	free(names->names);
}

static bool has_word(const char *text, const char *end, const char *word)
{
	const size_t length = strlen(word);

	while ((text = memmem(text, end - text, word, length))) {
		if (text[-1] == ' ' && (text + length == end || strchr(" \t", text[length])))
			return true;
		text += length;
	}
	return false;
}

/* Parse a line "NAME [MODULE] (COUNT) ... hooks: HOOK HOOK ...". */
static int add_name(struct names *names, const char *line, const char *end, const char *hook)
{
	const char *hooks = memmem(line, end - line, "\thooks:", 7), *module;
	const int length = strcspn(line, " ");
	char *name;
	int result;

	if (!hooks || !has_word(hooks + 1, end, hook))
		return 0;
	if (grow(&names->names, &names->room_names, names->nr_names, sizeof(*names->names)))
		return -1;
	module = line + length;
	if (!strncmp(module, " [", 2))
		result = asprintf(&name, "%.*s %.*s", length, line,
				  (int)strcspn(module + 2, "]"), module + 2);
	else
		result = asprintf(&name, "%.*s ", length, line);
	if (result < 0)
		return -1;
	names->names[names->nr_names++] = name;
	return 0;
}

static int read_names(struct names *names, const char *enabled, const char *hook)
{
	const char *end;

	for (; *enabled; enabled = end + (*end == '\n')) {
		end = enabled + strcspn(enabled, "\n");
		if (add_name(names, enabled, end, hook))
			return -1;
	}
	qsort(names->names, names->nr_names, sizeof(*names->names), compare_names);
	return 0;
}

static int add_symbol(struct symbols *symbols, u64 address, const char *name,
		      const char *module)
{
	struct symbol symbol = {
		.address = address, .name = strdup(name), .module = strdup(module),
	};

	if (!symbol.name || !symbol.module ||
	    grow(&symbols->symbols, &symbols->room_symbols, symbols->nr_symbols,
		 sizeof(symbol))) {
		free(symbol.name);
		free(symbol.module);
		return -1;
	}
	symbols->symbols[symbols->nr_symbols++] = symbol;
	return 0;
}

/* Parse a line "ADDRESS TYPE NAME [MODULE]", and keep wanted functions. */
static int read_line(struct symbols *symbols, const struct names *names, const char *line)
{
	char name[600], module[100] = "", type, both[800], *key = both;
	unsigned long long address;
	int count;

	count = sscanf(line, "%llx %c %599s [%99[^]]]", &address, &type, name, module);
	if (count < 3 || !strchr("tTwW", type) || !address)
		return 0;
	snprintf(both, sizeof(both), "%s %s", name, module);
	if (!bsearch(&key, names->names, names->nr_names, sizeof(key), compare_names))
		return 0;
	return add_symbol(symbols, address, name, module);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

static void free_symbol(struct symbol *symbol)
{
	free(symbol->name);
	free(symbol->module);
}

/* Sort by address, and drop duplicates. */
static void sort(struct symbols *symbols)
{
	size_t i, kept = 0;

	qsort(symbols->symbols, symbols->nr_symbols, sizeof(*symbols->symbols),
	      compare_symbols);
	for (i = 0; i < symbols->nr_symbols; i++) {
		if (kept && symbols->symbols[kept - 1].address == symbols->symbols[i].address)
			free_symbol(&symbols->symbols[i]);
		else
			symbols->symbols[kept++] = symbols->symbols[i];
	}
	symbols->nr_symbols = kept;
}

int symbols_add(struct symbols *symbols, const char *enabled, const char *hook,
		const char *kallsyms, struct fault *fault)
{
	struct names names = { 0 };
	char line[1024];
	FILE *file = NULL;
	int result = read_names(&names, enabled, hook);

	if (!result) {
		file = fopen(kallsyms, "r");
		if (!file) {
			free_names(&names);
			return fault_say(fault, "%s: %s", kallsyms, strerror(errno));
		}
	}
	while (!result && fgets(line, sizeof(line), file))
		result = read_line(symbols, &names, line);
	if (file)
		fclose(file);
	sort(symbols);
	if (result)
		result = fault_say(fault, "there is not enough memory for the map");
	else if (names.nr_names && !symbols->nr_symbols)
		result = fault_say(fault,
				   "%s does not say where the functions are: this needs root, and kernel.kptr_restrict below 2",
				   kallsyms);
	free_names(&names);
	return result;
}

static void write_contexts(FILE *file)
{
	static const enum stub_kind kinds[] = { STUB_TASK2, STUB_TASK1, STUB_TASK0 };
	unsigned int i, number;

	fprintf(file, "block 0x%x 0x%zx 0\n", SYMBOLS_CONTEXT, ARRAY_SIZE(kinds) * 256);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		for (number = 0; number < 256; number++)
			fprintf(file, "stub 0x%llx 1 %s 0 %u\n",
				symbols_context(kinds[i], number), map_kinds[kinds[i]], number);
}

/**
 * struct writer - a map that is being written
 * @file: output for the map
 * @modules: names of object 1, object 2, ...
 */
struct writer {
	FILE *file;
	const char **modules;
	size_t nr_modules, room_modules;
};

static void write_object(const struct writer *writer, size_t id, const char *module)
{
	char path[200], build_id[BUILD_ID_TEXT];

	if (id)
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", module);
	else
		snprintf(path, sizeof(path), "/sys/kernel/notes");
	build_id_of_notes(path, build_id);
	fprintf(writer->file, "object %zu %s %s\n", id, build_id, id ? module : "vmlinux");
}

/* The kernel is object 0. */
static size_t object_of(struct writer *writer, const char *module)
{
	size_t i;

	if (!*module)
		return 0;
	for (i = 0; i < writer->nr_modules; i++)
		if (!strcmp(writer->modules[i], module))
			return i + 1;
	if (grow(&writer->modules, &writer->room_modules, writer->nr_modules,
		 sizeof(*writer->modules)))
		return 0;
	writer->modules[writer->nr_modules++] = module;
	write_object(writer, writer->nr_modules, module);
	return writer->nr_modules;
}

/* The number of symbols from FIRST on that share an object and fit into one block. */
static size_t run_of(const struct symbols *symbols, size_t first)
{
	const struct symbol *all = symbols->symbols;
	size_t next = first + 1;

	while (next < symbols->nr_symbols && !strcmp(all[next].module, all[first].module) &&
	       all[next].address - all[first].address < MAP_MAX_BLOCKS - 2)
		next++;
	return next - first;
}

static void write_run(struct writer *writer, const struct symbol *symbol, size_t count)
{
	const size_t id = object_of(writer, symbol->module);
	const struct symbol *end = symbol + count;

	fprintf(writer->file, "block 0x%llx 0x%llx %zu\n", symbol->address,
		end[-1].address + 2 - symbol->address, id);
	for (; symbol < end; symbol++) {
		fprintf(writer->file, "stub 0x%llx 1 entry %zu %s 0x%llx\n",
			symbols_entry(symbol->address), id, symbol->name, symbol->address);
		fprintf(writer->file, "stub 0x%llx 1 exit %zu %s 0x%llx\n",
			symbols_exit(symbol->address), id, symbol->name, symbol->address);
	}
}

static void write_map(const struct symbols *symbols, struct writer *writer)
{
	size_t i, count;

	fputs("# calltrace map 1\n", writer->file);
	write_object(writer, 0, "");
	write_contexts(writer->file);
	for (i = 0; i < symbols->nr_symbols; i += count) {
		count = run_of(symbols, i);
		write_run(writer, symbols->symbols + i, count);
	}
	free(writer->modules);
}

int symbols_write(const struct symbols *symbols, const char *path, struct fault *fault)
{
	struct writer writer = { 0 };
	char *new_path;
	int result;

	if (asprintf(&new_path, "%s.new", path) < 0)
		return fault_say(fault, "there is not enough memory for the map");
	writer.file = fopen(new_path, "w");
	if (writer.file)
		write_map(symbols, &writer);
	result = !writer.file || close_checked(writer.file);
	if (result || rename(new_path, path)) {
		result = fault_say(fault, "%s: the map cannot be written: %s", path,
				   strerror(errno));
		unlink(new_path);
	}
	free(new_path);
	return result;
}

void symbols_free(struct symbols *symbols)
{
	while (symbols->nr_symbols)
		free_symbol(&symbols->symbols[--symbols->nr_symbols]);
	free(symbols->symbols);
}
