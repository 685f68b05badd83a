// SPDX-License-Identifier: GPL-2.0
/* Functions of a program or library; the header describes them. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/command.h"
#include "lib/demangle.h"
#include "lib/list.h"
#include "lib/own_task.h"
#include "lib/symbol_part.h"
#include "lines.h"
#include "program.h"
#include "usdt.h"

/* Longer names are cut off. */
#define NAME_MOST	1024

/* The end of a sentence about a file whose own functions are not known. */
#define STRIPPED	"; it is stripped: " DEBUG_HELP

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/*
 * The file of a process. Its path is that of another file, or of none, if the process is in a
 * container or its file was replaced; then the link itself leads to the file.
 */
static char *file_of(pid_t pid, struct fault *fault)
{
	char link[32], target[PATH_MAX];
	ssize_t length;

	if (!own_task_has_proc()) {
		fault_say(fault,
			  "/proc has the numbers of another PID namespace: in this one, mount it with mount -t proc none /proc");
		return NULL;
	}
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0) {
		fault_say(fault, errno == ENOENT ? "there is no process %d, or it has no program" :
			  "the program of process %d cannot be seen: it is somebody else's",
			  pid);
		return NULL;
	}
	target[length] = '\0';
	return strdup(is_same_file(link, target) ? target : link);
}

/* Links in /proc, as /proc/PID/exe, lead to their file when its path does not. */
static char *path_of(const char *text, struct fault *fault)
{
	char *path = realpath(text, NULL);
	const int error = errno;

	if (path && is_same_file(text, path))
		return path;
	free(path);
	if (!access(text, F_OK))
		return strdup(text);
	fault_say(fault, "%s: %s", text, strerror(error));
	return NULL;
}

static char *find_in_path(const char *name)
{
	char *path = program_in_path(name), *found = path ? realpath(path, NULL) : NULL;

	free(path);
	return found;
}

/* Debian has libraries of other architectures beside these. */
#if defined(__aarch64__)
#define MULTIARCH	"aarch64-linux-gnu"
#else
#define MULTIARCH	"x86_64-linux-gnu"
#endif

/*
 * Plugins may be in a directory of the library's name, and libc.so, with which programs are linked,
 * is a text.
 */
static bool is_elf(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[SELFMAG];
	const bool result = fd >= 0 && read(fd, magic, SELFMAG) == SELFMAG &&
			    !memcmp(magic, ELFMAG, SELFMAG);

	if (fd >= 0)
		close(fd);
	return result;
}

/* "libc.so.6", "libc.so" or "libc" in the directories in which Debian has libraries. */
static char *find_library(const char *name)
{
	static const char *const forms[] = {
		"/lib/" MULTIARCH "/%s", "/usr/lib/" MULTIARCH "/%s", "/lib64/%s",
		"/usr/lib/%s", "/lib/%s", "/usr/local/lib/%s",
		"/lib/" MULTIARCH "/%s.so.[0-9]*", "/usr/lib/" MULTIARCH "/%s.so.[0-9]*",
		"/lib/%s.so.[0-9]*", "/usr/lib/%s.so.[0-9]*",
		"/lib/" MULTIARCH "/%s.[0-9]*", "/usr/lib/" MULTIARCH "/%s.[0-9]*",
	};
	char pattern[PATH_MAX], *found = NULL;
	unsigned int i;
	glob_t matches;

	for (i = 0; i < ARRAY_SIZE(forms) && !found; i++) {
		snprintf(pattern, sizeof(pattern), forms[i], name);
		if (glob(pattern, 0, NULL, &matches))
			continue;
		if (is_elf(matches.gl_pathv[0]))
			found = realpath(matches.gl_pathv[0], NULL);
		globfree(&matches);
	}
	return found;
}

static char *find(const char *text, pid_t *pid, struct fault *fault)
{
	char *path = NULL;
	u64 number;

	if (!*text) {
		fault_say(fault, "-p has an empty name: give a program, a library, or a process");
		return NULL;
	}
	if (!word_number(text, 10, INT_MAX, &number) && number) {
		path = file_of(number, fault);
		if (path)
			*pid = number;
		return path;
	}
	if (strchr(text, '/'))
		return path_of(text, fault);
	path = find_in_path(text);
	if (!path)
		path = find_library(text);
	if (!path)
		fault_say(fault, "there is no program %s in PATH, and no such library: give a path",
			  text);
	return path;
}

char *program_find(const char *text, pid_t *pid, struct fault *fault)
{
	char *path = find(text, pid, fault);

	/* The kernel splits definitions into words, and takes '#' for a comment. */
	if (path && path[strcspn(path, " \t\n#")]) {
		fault_say(fault,
			  "the kernel takes no blanks or '#' in a path: name a hard link to %s; symbolic ones are followed",
			  path);
		text_clean(fault->text);
		free(path);
		return NULL;
	}
	return path;
}

char *program_demangle(const char *symbol)
{
	char *name = demangle(symbol);

	if (!name)
		name = strndup(symbol, NAME_MOST);
	if (name)
		text_clean(name);
	return name;
}

/* Take the symbols of a stripped file from its debug file, if there is one. */
static void take_symbols(struct program *program)
{
	const char *path;
	struct fault fault;

	if (!program->image.stripped || debug_open(&program->debug, program->path, &fault))
		return;
	path = debug_symbols(&program->debug);
	if (!path)
		return;
	if (elf_open_debug(&program->separate, path, &fault))
		fault_print("fhook", &fault);
	else if (!program->separate.stripped &&
		 program->separate.header->e_machine == program->image.header->e_machine)
		elf_take_symbols(&program->image, &program->separate);
}

int program_offset(const struct elf_image *image, u64 address, u32 flags, u64 *offset)
{
	const Elf64_Phdr *segment = elf_segment_of(image, address);

	if (!segment || (segment->p_flags & flags) != flags ||
	    address - segment->p_vaddr >= segment->p_filesz)
		return -1;
	*offset = address - segment->p_vaddr + segment->p_offset;
	return 0;
}

int program_add(struct program *program, const struct program_function *place,
		const char *name, struct fault *fault)
{
	const Elf64_Shdr *section = elf_section_of(&program->image, place->address);
	struct program_function added = *place;

	/* Lines of functions that the linker has discarded are at addresses near 0. */
	if (!section || !(section->sh_flags & SHF_EXECINSTR) ||
	    program_offset(&program->image, place->address, PF_X, &added.offset))
		return 0;
	added.name = strdup(name);
	if (added.name)
		text_clean(added.name);
	if (!added.name || grow(&program->functions, &program->room, program->nr,
				sizeof(*program->functions))) {
		free(added.name);
		return fault_say(fault, "there is not enough memory");
	}
	program->functions[program->nr++] = added;
	return 0;
}

static int add(struct program *program, const struct elf_symbol *symbol, struct fault *fault)
{
	const struct program_function function = {
		.symbol = symbol->name, .address = symbol->address, .size = symbol->size,
		.is_local = !symbol->global,
	};
	char *name = program_demangle(symbol->name);
	const int result = name ? program_add(program, &function, name, fault) :
			   fault_say(fault, "there is not enough memory");

	free(name);
	return result;
}

/* A part of a function is entered by jumps, not by calls: it is wanted only by its own name. */
static bool is_wanted(struct list *list, const struct elf_symbol *symbol)
{
	const bool part = symbol_part_of(symbol->name);

	if (symbol->type != STT_FUNC || (part && !list->nr_patterns))
		return false;
	switch (list->nr_patterns ? list_wants(list, symbol->name) : LIST_BY_GLOB) {
	case LIST_NO:
		return false;
	case LIST_BY_NAME:
		return true;
	default:
		return !part;
	}
}

static int add_all(struct program *program, struct list *list, struct fault *fault)
{
	const struct elf_image *image = &program->image;
	size_t i;

	for (i = 0; i < image->nr_symbols; i++) {
		const struct elf_symbol *symbol = image->symbols + i;

		if (!is_wanted(list, symbol))
			continue;
		if (add(program, symbol, fault))
			return -1;
	}
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct program_function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->kind != y->kind ? (int)x->kind - (int)y->kind :
	       x->kind == PROGRAM_FUNCTION ? 0 : strcmp(x->name, y->name);
}

/* Keep one of several names of a function. */
static void remove_aliases(struct program *program)
{
	size_t i, nr = 0;

	if (!program->nr)
		return;
	qsort(program->functions, program->nr, sizeof(*program->functions), compare_places);
	for (i = 0; i < program->nr; i++) {
		if (nr && !compare_places(program->functions + nr - 1, program->functions + i))
			free(program->functions[i].name);
		else
			program->functions[nr++] = program->functions[i];
	}
	program->nr = nr;
}

/* An indirect function has several implementations, of which the dynamic linker chooses one. */
static bool is_indirect(const struct elf_image *image, const char *name)
{
	size_t i;

	for (i = 0; i < image->nr_symbols; i++)
		if (image->symbols[i].type == STT_GNU_IFUNC &&
		    !strcmp(image->symbols[i].name, name))
			return true;
	return false;
}

/* Is this a name with an offset, as "parse+0x10"? */
static bool has_offset(const char *pattern)
{
	const char *plus = strrchr(pattern, '+');
	u64 offset;

	return plus && (!word_number(plus + 1, 10, ~0ULL, &offset) ||
			!word_number(plus + 1, 16, ~0ULL, &offset));
}

/* Has a name a colon that is none of C++, nor of a glob as [[:alpha:]]? */
static bool has_colon(const char *name)
{
	name += strcspn(name, ":[");
	while (name[0] == ':' && name[1] == ':')
		name += 2 + strcspn(name + 2, ":[");
	return *name == ':';
}

/* Say that a name is not known, and which one may be meant. */
static int say_unknown(const struct elf_image *image, const char *name, const char *near,
		       struct fault *fault)
{
	const char *stripped = image->stripped ? STRIPPED : "";

	if (is_indirect(image, name))
		return fault_say(fault, "%s is indirect: hook an implementation, such as __%s_*",
				 name, name);
	if (has_offset(name))
		return fault_say(fault,
				 "%s: only entries of functions, lines as FILE:NUMBER and USDT probes are hooked; use perf probe -x %s",
				 name, image->path);
	if (has_colon(name))
		return fault_say(fault,
				 "%s: write FILE:NUMBER for a line, as in main.c:20, or usdt:PROVIDER:NAME for a USDT probe",
				 name);
	if (strstr(name, " > ") || strstr(name, " if "))
		return fault_say(fault,
				 "%s: write only a name or a glob; trace and record take arguments, > TIME and if CONDITION",
				 name);
	if (near)
		return fault_say(fault, "%s has no function %s; the nearest name is %s%s",
				 image->path, name, near, stripped);
	return fault_say(fault, "%s has no function that matches %s%s", image->path, name,
			 stripped);
}

/* Every pattern must match. */
static int check_matches(const struct list *list, const struct elf_image *image,
			 struct fault *fault)
{
	size_t i;

	for (i = 0; i < list->nr_patterns; i++) {
		const struct list_pattern *pattern = list->patterns + i;

		if (!pattern->excludes && (!pattern->matched || is_indirect(image, pattern->text)))
			return say_unknown(image, pattern->text, pattern->is_glob ? NULL :
					   list_near(list, pattern->text), fault);
	}
	return 0;
}

/**
 * struct selection - patterns by the kind of place that they select
 * @functions: patterns of functions
 * @probes: patterns of USDT probes
 * @lines: lines of the source
 */
struct selection {
	struct list functions;
	struct list probes;
	const char **lines;
	size_t nr_lines, room_lines;
};

static int add_pattern(struct selection *selection, const char *pattern, struct fault *fault)
{
	if (usdt_is_pattern(pattern))
		return usdt_add_pattern(&selection->probes, pattern, fault);
	if (lines_is_pattern(pattern)) {
		if (grow(&selection->lines, &selection->room_lines, selection->nr_lines,
			 sizeof(*selection->lines)))
			return fault_say(fault, "there is not enough memory");
		selection->lines[selection->nr_lines++] = pattern;
		return 0;
	}
	return list_add(&selection->functions, pattern, fault);
}

static int select_all(struct program *program, struct selection *selection, bool all,
		      struct fault *fault)
{
	const bool functions = all || selection->functions.nr_patterns;
	size_t i;

	if (functions || selection->nr_lines)
		take_symbols(program);
	if (functions && (add_all(program, &selection->functions, fault) ||
			  check_matches(&selection->functions, &program->image, fault)))
		return -1;
	if (selection->probes.nr_patterns && usdt_select(program, &selection->probes, fault))
		return -1;
	for (i = 0; i < selection->nr_lines; i++)
		if (lines_select(program, selection->lines[i], fault))
			return -1;
	remove_aliases(program);
	if (program->nr)
		return 0;
	if (all)
		return fault_say(fault, "%s has no functions%s", program->path,
				 program->image.stripped ? STRIPPED : "");
	return fault_say(fault, "%s has no place that is left", program->path);
}

int program_select(struct program *program, const char *path, char **patterns,
		   size_t nr_patterns, struct fault *fault)
{
	struct selection selection = { 0 };
	size_t i;
	bool only_excludes = true;
	int result = 0;

	memset(program, 0, sizeof(*program));
	if (elf_open(&program->image, path, fault))
		return -1;
	program->path = path;
	program->machine = program->image.header->e_machine;
	for (i = 0; i < nr_patterns && !result; i++) {
		result = add_pattern(&selection, patterns[i], fault);
		only_excludes &= *patterns[i] == '!';
	}
	/* Nothing but excludes selects all other functions, as in the kernel. */
	if (!result && nr_patterns && only_excludes)
		result = list_add(&selection.functions, "*", fault);
	if (!result)
		result = select_all(program, &selection, !nr_patterns, fault);
	list_free(&selection.functions);
	list_free(&selection.probes);
	free(selection.lines);
	if (result)
		program_free(program);
	return result;
}

void program_free(struct program *program)
{
	size_t i;

	if (!program->path)
		return;
	for (i = 0; i < program->nr; i++)
		free(program->functions[i].name);
	free(program->functions);
	elf_close(&program->image);
	elf_close(&program->separate);
	debug_close(&program->debug);
	memset(program, 0, sizeof(*program));
}

void program_leave_out(struct left_out *left_out, const struct fault *why)
{
	if (left_out->nr++)
		return;
	left_out->first = *why;
	text_clean(left_out->first.text);
}

int program_report(const struct program *program, const struct left_out *left_out,
		   struct fault *fault)
{
	if (!left_out->nr)
		return 0;
	if (left_out->nr == program->nr) {
		*fault = left_out->first;
		return -1;
	}
	fprintf(stderr, "fhook: %zu of %zu places are left out; the first because %s.\n",
		left_out->nr, program->nr, left_out->first.text);
	return 0;
}

int program_check_machine(const struct program *program, struct fault *fault)
{
	if (program->machine == PROGRAM_OWN_MACHINE)
		return 0;
	return fault_say(fault, "%s is a program for %s, which this kernel does not execute",
			 program->path, program->machine == EM_X86_64 ? "x86_64" : "aarch64");
}

char *program_place(const struct program_function *place, struct fault *fault)
{
	char *text;
	int result;

	if (place->semaphore)
		result = asprintf(&text, "0x%llx(0x%llx)", place->offset, place->semaphore);
	else
		result = asprintf(&text, "0x%llx", place->offset);
	if (result >= 0)
		return text;
	fault_say(fault, "there is not enough memory");
	return NULL;
}

int program_check_function(const struct program_function *place, struct fault *fault)
{
	if (place->kind == PROGRAM_FUNCTION)
		return 0;
	return fault_say(fault,
			 "%s is no function: it has no returns, no times and no stacks of callers",
			 place->name);
}

const char *program_events(const struct session *session)
{
	return session->mainline ? "uprobe_events" : "uhook_events";
}

char program_letter(const struct session *session, bool returns)
{
	if (!session->mainline)
		return 'u';
	return returns ? 'r' : 'p';
}

const char *program_return_address(const struct program *program)
{
	return program->machine == EM_AARCH64 ? "%lr:x64" : "$stack0:x64";
}
