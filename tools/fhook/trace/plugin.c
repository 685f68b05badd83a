// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that records the execution of address ranges as a processor's trace
 *
 *	-plugin fhook-trace.so,out=DIR,range=0xSTART+0xSIZE,profile=NAME,psb=BYTES,
 *		map=FILE,control=PATH,snapshot=MIB,program=NAME
 *
 * For qemu-x86_64 and qemu-system-x86_64 it writes Intel PT, for qemu-aarch64 and
 * qemu-system-aarch64 ETMv4. A range is an address in memory; the ranges of a map are
 * added, at the locations where the program was loaded. With control=, recording
 * begins on request through the channel, otherwise at once.
 *
 * This file inspects code once, when it is translated. Instructions in a range get
 * callbacks. The same code may be translated any number of times; a site is kept and
 * used again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/base.h"
#include "plugin.h"

QEMU_EXPORT int qemu_plugin_version;

/* Choose the version before QEMU reads it. */
static void __attribute__((constructor)) choose_version(void)
{
	qemu_plugin_version = qemu_plugin_num_vcpus ? QEMU_PLUGIN_NEW : QEMU_PLUGIN_OLD;
}

/* The longest instruction of x86_64. */
#define INSN_MAX	15

static struct trace_site *site_of(struct qemu_plugin_insn *insn, u64 start)
{
	struct trace_site site = {
		.start = start,
		.ip = qemu_plugin_insn_vaddr(insn),
		.size = qemu_plugin_insn_size(insn),
	};
	u8 copy[INSN_MAX] = { 0 };
	const uintptr_t data = qemu_plugin_insn_data(insn, copy, sizeof(copy));
	const u8 *code = plugin.copies ? copy : (const u8 *)data;

	if (plugin.copies && data < site.size)
		return NULL;
	if (plugin.x86)
		branch_decode_x86(&site.branch, code, site.size, site.ip);
	else
		branch_decode_arm64(&site.branch, code, site.size, site.ip);
	return trace_keep_site(&site);
}

static void translated(uint64_t id __unused, struct qemu_plugin_tb *tb)
{
	const size_t nr = qemu_plugin_tb_n_insns(tb);
	size_t i;

	if (!plugin.system)
		trace_find_loads(0);
	if (plugin.profile == PROFILE_BRANCHES) {
		struct trace_site *site = site_of(qemu_plugin_tb_get_insn(tb, nr - 1),
						  qemu_plugin_tb_vaddr(tb));

		if (site)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, trace_block_executed,
							     QEMU_PLUGIN_NO_REGISTERS, site);
		return;
	}
	for (i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		struct trace_site *site;

		if (!trace_in_range(qemu_plugin_insn_vaddr(insn)))
			continue;
		site = site_of(insn, 0);
		if (!site)
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, trace_executed,
						       QEMU_PLUGIN_NO_REGISTERS, site);
		if (site->branch.from_memory)
			qemu_plugin_register_vcpu_mem_cb(insn, trace_loaded,
							 QEMU_PLUGIN_NO_REGISTERS,
							 QEMU_PLUGIN_READS, site);
	}
}

/* Is this thread in mmap() of a file? */
static __thread bool maps_file;

static bool is_execve(int64_t number)
{
	return number == (plugin.x86 ? 59 : 221);
}

static bool is_execveat(int64_t number)
{
	return number == (plugin.x86 ? 322 : 281);
}

static void syscall_begins(uint64_t id __unused, unsigned int vcpu __unused, int64_t number,
			   uint64_t a1, uint64_t a2, uint64_t a3 __unused,
			   uint64_t a4 __unused, uint64_t fd, uint64_t a6 __unused,
			   uint64_t a7 __unused, uint64_t a8 __unused)
{
	maps_file = (int)fd >= 0;
	if (is_execve(number) || is_execveat(number))
		trace_executes(is_execve(number) ? a1 : a2);
}

static void syscall_returned(uint64_t id __unused, unsigned int vcpu __unused,
			     int64_t number, int64_t result)
{
	const int64_t mmap_number = plugin.x86 ? 9 : 222;

	if (number == mmap_number && result > 0 && maps_file)
		trace_find_loads(result);
	if (is_execve(number) || is_execveat(number))
		trace_executes_not();
}

static void vcpu_exited(uint64_t id __unused, unsigned int vcpu)
{
	trace_vcpu_gone(vcpu);
}

static void flushed(uint64_t id __unused)
{
	trace_control_flushed();
}

static void exiting(uint64_t id __unused, void *data __unused)
{
	struct fault fault;

	if (trace_stop(&fault))
		fault_print("fhook-trace", &fault);
	trace_check_loads();
}

static int set_range(char *text, struct fault *fault)
{
	char *plus = strchr(text, '+');
	u64 start, size;

	if (plus)
		*plus = '\0';
	if (!plus || word_number(text, 16, ~0ULL, &start) ||
	    word_number(plus + 1, 16, ~0ULL, &size))
		return fault_say(fault, "a range is written 0xSTART+0xSIZE");
	return trace_add_range(start, size, fault);
}

static int set_option(char *argument, struct fault *fault)
{
	char *value = strchr(argument, '=');

	if (!value)
		return fault_say(fault, "'%s' is no option", argument);
	*value++ = '\0';
	if (!strcmp(argument, "out"))
		plugin.out = strdup(value);
	else if (!strcmp(argument, "map"))
		plugin.map_path = strdup(value);
	else if (!strcmp(argument, "program"))
		plugin.program = strdup(value);
	else if (!strcmp(argument, "control"))
		plugin.control = strdup(value);
	else if (!strcmp(argument, "range"))
		return set_range(value, fault);
	else if (!strcmp(argument, "profile"))
		return recording_find_profile(value, &plugin.profile, fault);
	else if (!strcmp(argument, "snapshot"))
		return word_number(value, 10, 1 << 20, &plugin.snapshot_mb) ?
		       fault_say(fault, "snapshot=%s is no number of MiB", value) : 0;
	else if (strcmp(argument, "psb"))
		return fault_say(fault, "there is no option '%s'", argument);
	else if (word_number(value, 10, 1ULL << 40, &plugin.psb_period) || plugin.psb_period < 64)
		return fault_say(fault, "psb=%s is no number of bytes from 64 on", value);
	return 0;
}

static int set_target(const struct qemu_plugin_info *info, struct fault *fault)
{
	plugin.x86 = !strcmp(info->target_name, "x86_64");
	plugin.system = info->system_emulation;
	plugin.copies = info->version.cur >= QEMU_PLUGIN_COPIES;
	if (plugin.system && info->version.cur >= QEMU_PLUGIN_NEW && info->system.max_vcpus > 1)
		plugin.vcpus = info->system.max_vcpus;
	if (plugin.vcpus && (!qemu_get_cpu || !dlsym(RTLD_DEFAULT, "current_cpu")))
		return fault_say(fault,
				 "this QEMU does not say which processor executes: give the machine one only");
	if (!plugin.x86 && strcmp(info->target_name, "aarch64"))
		return fault_say(fault,
				 "there is no trace of a processor %s: only of x86_64 and aarch64",
				 info->target_name);
	return 0;
}

static int set_up(const struct qemu_plugin_info *info, int argc, char **argv,
		  struct fault *fault)
{
	int i;

	if (set_target(info, fault))
		return -1;
	for (i = 0; i < argc; i++)
		if (set_option(argv[i], fault))
			return -1;
	if (!plugin.out)
		return fault_say(fault, "where to is missing: out=DIR");
	if (plugin.map_path && map_read_file(&plugin.map, plugin.map_path, fault))
		return -1;
	if (!plugin.control && !plugin.map_path && !atomic_load(&plugin.nr_ranges) &&
	    plugin.profile != PROFILE_BRANCHES)
		return fault_say(fault,
				 "what to trace is missing: range=0xSTART+0xSIZE, map=FILE or control=PATH");
	return plugin.control ? trace_control_start(fault) : trace_start(plugin.profile, fault);
}

QEMU_EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_plugin_info *info, int argc,
				    char **argv)
{
	struct fault fault;

	plugin.id = id;
	if (set_up(info, argc, argv, &fault)) {
		fault_print("fhook-trace", &fault);
		return -EINVAL;
	}
	pthread_atfork(NULL, NULL, trace_forked);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_vcpu_exit_cb(id, vcpu_exited);
	qemu_plugin_register_flush_cb(id, flushed);
	qemu_plugin_register_atexit_cb(id, exiting, NULL);
	if (!plugin.system) {
		qemu_plugin_register_vcpu_syscall_cb(id, syscall_begins);
		qemu_plugin_register_vcpu_syscall_ret_cb(id, syscall_returned);
	}
	return 0;
}
