// SPDX-License-Identifier: GPL-2.0
/* Separate debug files; the header describes them. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "debug_fetch.h"
#include "debug_file.h"
#include "elf_image.h"

/* The path of a file that libdwfl has opened: it does not always know it itself. */
static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path));
	return length > 0 ? strndup(path, length) : NULL;
}

/* A file that was fetched before, if none may be fetched now. Returns a descriptor, or -1. */
static int find_fetched(Dwfl_Module *module, char **found)
{
	const unsigned char *bytes;
	char id[BUILD_ID_TEXT];
	GElf_Addr address;
	const int length = dwfl_module_build_id(module, &bytes, &address);
	int fd;

	if (length <= 0 || getenv("DEBUGINFOD_URLS"))
		return -1;
	build_id_of(bytes, length, id);
	*found = debug_fetch(id);
	fd = *found ? open(*found, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		free(*found);
		*found = NULL;
	}
	return fd;
}

static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word checksum, char **found)
{
	struct debug_file *program = *data;
	int fd = dwfl_standard_find_debuginfo(module, data, name, base, file, link, checksum,
					      found);

	if (fd < 0)
		fd = find_fetched(module, found);
	if (fd >= 0) {
		free(program->separate);
		program->separate = path_of(fd);
	}
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

int debug_file_open(struct debug_file *file, const char *path, struct fault *fault)
{
	void **data;

	if (file->dwfl)
		return 0;
	file->dwfl = dwfl_begin(&callbacks);
	if (file->dwfl)
		file->module = dwfl_report_offline(file->dwfl, "", path, -1);
	if (!file->module || dwfl_report_end(file->dwfl, NULL, NULL)) {
		fault_say(fault, "the debug information of %s cannot be read: %s", path,
			  dwfl_errmsg(-1));
		debug_file_close(file);
		return -1;
	}
	debug_fetch_follow(file->dwfl);
	dwfl_module_info(file->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = file;
	return 0;
}

void debug_file_close(struct debug_file *file)
{
	if (file->dwfl)
		dwfl_end(file->dwfl);
	free(file->separate);
	memset(file, 0, sizeof(*file));
}

const char *debug_file_symbols(struct debug_file *file)
{
	/* For a stripped file, this looks for the debug file. */
	dwfl_module_getsymtab(file->module);
	return file->separate;
}
