/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The QEMU plugin that records: declarations that its files share
 *
 * plugin.c reads the arguments and processes code that is translated, vcpu.c is called when
 * the code is executed, load.c finds the locations of programs, and control.c reads the
 * commands of a guest.
 *
 * Code outside of the ranges has no callbacks: it runs as without the plugin. The array
 * of ranges only grows, and is read without a lock: a range is complete before the
 * counter includes it. Each vCPU's state has a mutex, which is otherwise taken only to
 * start and stop.
 */
#ifndef FHOOK_TRACE_PLUGIN_H
#define FHOOK_TRACE_PLUGIN_H

#include <stdatomic.h>
#include "branch.h"
#include "lib/map.h"
#include "lib/recording.h"
#include "qemu_plugin.h"

#define TRACE_RANGES	1024

struct trace_range {
	u64 start, size;
};

/**
 * struct trace_plugin - the plugin
 * @id: identifier given by QEMU
 * @x86: the guest is x86_64; otherwise it is arm64
 * @system: a machine is emulated, not a program
 * @copies: the emulator copies instructions, see qemu_plugin.h
 * @vcpus: number of vCPUs of a machine whose emulator may confuse them; or 0
 * @out: directory of the first recording
 * @map_path: path of the map, or NULL
 * @map: contents of the map, if there is one
 * @program: name of the program, or NULL
 * @control: the channel, or NULL
 * @profile: profile of the next recording
 * @psb_period: distance between synchronisation points, in bytes
 * @snapshot_mb: number of MiB of each stream to keep; 0: all
 * @ranges: traced ranges
 * @nr_ranges: number of ranges
 */
struct trace_plugin {
	u64 id;
	bool x86, system, copies;
	unsigned int vcpus;
	const char *out, *map_path, *program, *control;
	struct map map;
	enum recording_profile profile;
	u64 psb_period, snapshot_mb;
	struct trace_range ranges[TRACE_RANGES];
	atomic_uint nr_ranges;
};

extern struct trace_plugin plugin;

/* Returns 0, or -1 and a sentence. */
int trace_add_range(u64 start, u64 size, struct fault *fault);
/* Code in a range that is translated from here on is not traced any more. */
void trace_drop_range(u64 start, u64 size);
/* Drop all ranges while nothing is recorded; the caller then drops translated code. */
void trace_forget_ranges(void);

static inline bool trace_in_range(u64 address)
{
	const unsigned int nr = atomic_load_explicit(&plugin.nr_ranges, memory_order_acquire);
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (address - plugin.ranges[i].start < plugin.ranges[i].size)
			return true;
	return false;
}

/**
 * struct trace_site - a traced instruction
 * @next: link to the next site with the same address and other bytes
 * @start: start address of the block
 * @ip: address of the instruction; in a full branch trace, the last one of its block
 * @size: size of the instruction in bytes
 * @branch: effect of the instruction
 */
struct trace_site {
	struct trace_site *next;
	u64 start, ip;
	u32 size;
	struct branch branch;
};

/* Find or add a site; NULL if there is no memory. */
struct trace_site *trace_keep_site(const struct trace_site *wanted);

/* Callbacks of executed code; DATA is a struct trace_site. */
void trace_executed(unsigned int vcpu, void *data);
void trace_loaded(unsigned int vcpu, uint32_t info, uint64_t address, void *data);
void trace_block_executed(unsigned int vcpu, void *data);

/* Begin a recording in the next directory; end the current one. */
int trace_start(enum recording_profile profile, struct fault *fault);
/* End the current recording, and fail if it could not be written completely. */
int trace_stop(struct fault *fault);
/* The directory of the current recording, to be freed; or NULL. */
char *trace_directory(void);
void trace_vcpu_gone(unsigned int vcpu);
/* The process executes the program whose path is at an address of the guest. */
void trace_executes(u64 path);
/* That has failed. */
void trace_executes_not(void);
/* In the child of a fork; the others release locks that other threads of the parent had. */
void trace_forked(void);
void trace_sites_forked(void);
void trace_loads_forked(void);
void trace_control_forked(void);

/* An object of the map was found in memory. */
void trace_add_load(u32 object, u64 bias);

/*
 * Find the locations of the map's objects: once, or again for a new mapping at ADDRESS.
 */
void trace_find_loads(u64 address);

/* At the end: print a message if none was found. */
void trace_check_loads(void);

/* Begin to accept requests. Returns 0, or -1 and a sentence. */
int trace_control_start(struct fault *fault);

/* QEMU has dropped all code that it had translated. */
void trace_control_flushed(void);

#endif /* FHOOK_TRACE_PLUGIN_H */
