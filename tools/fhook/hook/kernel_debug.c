// SPDX-License-Identifier: GPL-2.0
/* Debug information of the running kernel; the header describes the functions. */
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "kernel_debug.h"
#include "lib/debug_fetch.h"

#define NOTES	"/sys/kernel/notes"

static int compare_functions(const void *a, const void *b)
{
	const struct program_function *x = a, *y = b;

	return strcmp(x->symbol, y->symbol) ?:
	       x->address < y->address ? -1 : x->address > y->address;
}

/* Take the functions of the symbol table, whose names stay in it. */
static int read_functions(struct program *program, struct fault *fault)
{
	Dwfl_Module *module = program->debug.file.module;
	const int nr = dwfl_module_getsymtab(module);
	GElf_Sym symbol;
	GElf_Addr address;
	const char *name;
	int i;

	for (i = 1; i < nr; i++) {
		name = dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL,
					       NULL);
		if (!name || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		if (grow(&program->functions, &program->room, program->nr,
			 sizeof(*program->functions)))
			return fault_say(fault, "there is not enough memory");
		program->functions[program->nr++] = (struct program_function) {
			.kind = PROGRAM_FUNCTION, .name = (char *)name, .symbol = name,
			.address = symbol.st_value, .size = symbol.st_size,
			.is_local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL,
		};
	}
	if (program->nr)
		qsort(program->functions, program->nr, sizeof(*program->functions),
		      compare_functions);
	return 0;
}

/* Does the file have the build id? */
static bool is_of_kernel(struct program *program, const char *id)
{
	char found[BUILD_ID_TEXT];
	const unsigned char *bytes;
	GElf_Addr address, bias;
	int length = -1;

	if (dwfl_module_getelf(program->debug.file.module, &bias))
		length = dwfl_module_build_id(program->debug.file.module, &bytes, &address);
	if (length <= 0)
		return false;
	build_id_of(bytes, length, found);
	return !strcmp(found, id);
}

int kernel_debug_open_file(struct kernel_debug *debug, const char *path, const char *id,
			   struct fault *fault)
{
	struct program *program = &debug->program;
	GElf_Ehdr header;
	Dwarf *dwarf;

	*program = (struct program) { .path = strdup(path), .is_kernel = true };
	if (!program->path)
		return fault_say(fault, "there is not enough memory");
	if (debug_open(&program->debug, path, fault))
		return -1;
	if (!is_of_kernel(program, id))
		return fault_say(fault, "%s is of another kernel: its build id is not %s", path,
				 id);
	dwarf = debug_dwarf(&program->debug, path, fault);
	if (!dwarf)
		return -1;
	if (!gelf_getehdr(dwarf_getelf(dwarf), &header))
		return fault_say(fault, "%s cannot be read", path);
	program->machine = header.e_machine;
	return read_functions(program, fault);
}

void kernel_debug_close(struct kernel_debug *debug)
{
	debug_close(&debug->program.debug);
	free(debug->program.functions);
	free((char *)debug->program.path);
	*debug = (struct kernel_debug) { };
}

/* Use a file if it exists and is of use. Returns 0, or -1; FAULT says why if it exists. */
static int try_file(struct kernel_debug *debug, const char *path, const char *id,
		    struct fault *fault)
{
	if (access(path, R_OK))
		return -1;
	if (!kernel_debug_open_file(debug, path, id, fault))
		return 0;
	kernel_debug_close(debug);
	return -1;
}

static int try_installed(struct kernel_debug *debug, const char *id, struct fault *fault)
{
	static const struct {
		const char *before, *after;
	} places[] = {
		{ "/usr/lib/debug/boot/vmlinux-", "" },
		{ "/usr/lib/debug/lib/modules/", "/vmlinux" },
		{ "/boot/vmlinux-", "" },
		{ "/lib/modules/", "/vmlinux" },
		{ "/lib/modules/", "/build/vmlinux" },
	};
	struct utsname names;
	char path[512];
	unsigned int i;

	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	if (!try_file(debug, path, id, fault))
		return 0;
	if (uname(&names))
		return -1;
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s%s%s", places[i].before, names.release,
			 places[i].after);
		if (!try_file(debug, path, id, fault))
			return 0;
	}
	return -1;
}

static int find_and_open(struct kernel_debug *debug, struct fault *fault)
{
	char id[BUILD_ID_TEXT], *path;
	int result;

	build_id_of_notes(NOTES, id);
	if (strlen(id) < 3)
		return fault_say(fault,
				 "the kernel has no build id, by which to find its debug file");
	fault->text[0] = '\0';
	if (!try_installed(debug, id, fault))
		return 0;
	path = debug_fetch(id);
	result = path ? try_file(debug, path, id, fault) : -1;
	free(path);
	if (result && !*fault->text)
		fault_say(fault,
			  "the kernel's debug file, with build id %s, is not found: " DEBUG_HELP,
			  id);
	return result;
}

int kernel_debug_open(struct kernel_debug *debug, struct fault *fault)
{
	struct fault why;

	if (!debug->opened && find_and_open(debug, &why)) {
		kernel_debug_close(debug);
		debug->why = why;
	}
	debug->opened = true;
	if (debug->program.path)
		return 0;
	*fault = debug->why;
	return -1;
}

const struct program_function *kernel_debug_function(const struct kernel_debug *debug,
						     const char *name, struct fault *fault)
{
	const struct program *program = &debug->program;
	const struct program_function *function;
	size_t at = first_index(program->nr, i, strcmp(program->functions[i].symbol, name) < 0);

	function = program->functions + at;
	if (at == program->nr || strcmp(function->symbol, name)) {
		fault_say(fault, "%s does not have %s", program->path, name);
		return NULL;
	}
	for (; ++at < program->nr && !strcmp(program->functions[at].symbol, name);) {
		if (program->functions[at].address == function->address)
			continue;
		fault_say(fault, "several functions are named %s: write $arg1 and so on", name);
		return NULL;
	}
	return function;
}
