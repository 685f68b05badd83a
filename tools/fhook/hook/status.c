// SPDX-License-Identifier: GPL-2.0
/* fhook stat, off, on and patch: hooks of everybody, and the way out */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "kernel.h"
#include "lib/kernel_files.h"
#include "options.h"
#include "session.h"
#include "status_json.h"
#include "words.h"

static const struct word stat_word = {
	.name = "fhook stat",
	.arguments = "",
	.does = "Show who hooks what.\n"
		"\vPrints hooks and their hits, redirects, overridden functions, and hits of\n"
		"programs; with --verbose, the hooked functions and instructions.",
	.takes = "vj",
};

static const struct word off_word = {
	.name = "fhook off",
	.arguments = "",
	.does = "Remove all hooks and redirects from the kernel at once, until \"fhook on\".\n"
		"\vAlso removes the events of runs of fhook that were killed.\n"
		"Hooks of programs stay.",
	.takes = "",
};

static const struct word on_word = {
	.name = "fhook on",
	.arguments = "",
	.does = "Restore the hooks and redirects that \"fhook off\" has removed.",
	.takes = "",
};

static const struct word patch_word = {
	.name = "fhook patch",
	.arguments = "list | revert NAME",
	.does = "List redirects and live patches of the kernel, or revert one.\n"
		"\vA live patch is disabled. Of a redirect, the module is unloaded, which must have\n"
		"the name of the patch; Linux 6.12 on arm64 never unloads it.",
	.takes = "j",
};

/* Print a file with a title, if it exists and is not empty. */
static int print_file(const struct options *options, const char *title, const char *path,
		      struct fault *fault)
{
	char *text;

	if (!kernel_file_exists(path))
		return 0;
	text = kernel_file_read(path, fault);
	if (!text)
		return -1;
	if (options->json)
		status_json(path, text);
	else if (*text)
		printf("%s (%s)\n%s\n", title, path, text);
	free(text);
	return 0;
}

static int need_fhook(struct fault *fault)
{
	if (kernel_open(fault))
		return -1;
	if (!kernel_file_exists("fhook/enabled"))
		return fault_say(fault, "this kernel has no fhook: it needs CONFIG_FHOOK");
	return 0;
}

static int parse(const struct word *word, struct options *options, int argc, char **argv,
		 struct fault *fault)
{
	options_parse(options, word, argc, argv);
	return need_fhook(fault);
}

int hook_stat(int argc, char **argv, struct fault *fault)
{
	struct options options;
	char *enabled;

	if (parse(&stat_word, &options, argc, argv, fault))
		return -1;
	enabled = kernel_file_read("fhook/enabled", fault);
	if (!enabled)
		return -1;
	if (options.json)
		status_json_enabled(*enabled != '0');
	else
		printf("Hooks in the kernel are %s.\n\n", *enabled == '0' ? "off" : "on");
	free(enabled);
	if (print_file(&options, "Hooks, and their functions, hits and misses", "fhook/stat",
		       fault) ||
	    print_file(&options, "Redirects", "fhook/redirects", fault) ||
	    print_file(&options, "Overridden functions", "fhook/overrides", fault) ||
	    print_file(&options, "Hits of programs", "uhook/profile", fault))
		return -1;
	if (options.verbose &&
	    (print_file(&options, "Hooked functions", "fhook/enabled_functions", fault) ||
	     print_file(&options, "Hooked instructions of programs", "uhook/slots", fault)))
		return -1;
	options_free(&options);
	return 0;
}

int hook_off(int argc, char **argv, struct fault *fault)
{
	struct options options;
	unsigned int swept;
	bool failed;

	if (parse(&off_word, &options, argc, argv, fault))
		return -1;
	failed = kernel_file_write("fhook/enabled", "0", fault);
	swept = instance_sweep();
	/* The override of a killed run may have let it fail. */
	if (failed && kernel_file_write("fhook/enabled", "0", fault))
		return -1;
	if (swept)
		printf("Removed the events of %u killed runs.\n", swept);
	puts("Hooks and redirects in the kernel are off; \"fhook on\" restores them.");
	return 0;
}

int hook_on(int argc, char **argv, struct fault *fault)
{
	struct options options;
	struct fault kernels;

	if (parse(&on_word, &options, argc, argv, fault))
		return -1;
	if (kernel_file_write("fhook/enabled", "1", &kernels))
		return fault_say(fault,
				 "hooks stay off: %s; dmesg says if some cannot be restored",
				 kernels.text);
	puts("Hooks and redirects in the kernel are on.");
	return 0;
}

/* Disable a live patch; returns 1 if there is none of this name. */
static int disable_livepatch(const char *name, struct fault *fault)
{
	char path[256];
	int fd, result;

	snprintf(path, sizeof(path), "/sys/kernel/livepatch/%s/enabled", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return 1;
	result = write(fd, "0", 1) == 1 ? 0 :
		 fault_say(fault, "the patch %s cannot be disabled: %s", name, strerror(errno));
	close(fd);
	return result;
}

static bool is_module_name(const char *name)
{
	return *name && !name[strcspn(name, "/ \t\n")];
}

/* Does fhook/redirects have a line with this owner? */
static bool owns_redirect(const char *name, struct fault *fault)
{
	char *text = kernel_file_read("fhook/redirects", fault), mark[256];
	bool owns;

	snprintf(mark, sizeof(mark), "by %s ", name);
	owns = text && strstr(text, mark);
	free(text);
	return owns;
}

static int revert(const char *name, struct fault *fault)
{
	int result;

	if (!is_module_name(name))
		return fault_say(fault, "'%s' is no patch: see \"fhook patch list\"", name);
	result = disable_livepatch(name, fault);
	if (result <= 0)
		return result;
	if (!owns_redirect(name, fault))
		return fault_say(fault, "there is no patch %s: see \"fhook patch list\"", name);
	if (!syscall(SYS_delete_module, name, O_NONBLOCK))
		return 0;
	return fault_say(fault, "the module %s cannot be unloaded: %s", name,
			 errno == EBUSY || errno == EAGAIN ?
			 "it is in use, or a task is inside a replacement (see dmesg)" :
			 strerror(errno));
}

/* The first character of a file of a live patch, or '?'. */
static char livepatch_state(const char *directory, const char *file)
{
	char path[512], state = '?';
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return state;
	if (read(fd, &state, 1) != 1)
		state = '?';
	close(fd);
	return state;
}

static void list_livepatches(bool json)
{
	bool enabled, in_transition;
	const char *name;
	glob_t patches;
	size_t i;

	if (glob("/sys/kernel/livepatch/*", GLOB_ONLYDIR, NULL, &patches))
		return;
	if (!json)
		puts("Live patches (/sys/kernel/livepatch)");
	for (i = 0; i < patches.gl_pathc; i++) {
		name = strrchr(patches.gl_pathv[i], '/') + 1;
		enabled = livepatch_state(patches.gl_pathv[i], "enabled") == '1';
		in_transition = livepatch_state(patches.gl_pathv[i], "transition") == '1';
		if (json)
			status_json_patch(name, enabled, in_transition);
		else
			printf("%s: %s%s\n", name, enabled ? "enabled" : "disabled",
			       in_transition ? ", in transition" : "");
	}
	globfree(&patches);
}

int hook_patch(int argc, char **argv, struct fault *fault)
{
	struct options options;
	bool lists, reverts;
	int result;

	options_parse(&options, &patch_word, argc, argv);
	lists = options.nr_functions == 1 && !strcmp(options.functions[0], "list");
	reverts = options.nr_functions == 2 && !strcmp(options.functions[0], "revert");
	if (!lists && !reverts)
		options_wrong(&patch_word, "takes \"list\", or \"revert NAME\"");
	result = need_fhook(fault);
	if (!result)
		result = lists ? print_file(&options, "Redirects", "fhook/redirects", fault) :
				 revert(options.functions[1], fault);
	if (!result && lists)
		list_livepatches(options.json);
	options_free(&options);
	return result;
}
