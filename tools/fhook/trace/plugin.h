/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The QEMU plugin that records: what its files share
 *
 * plugin.c reads the arguments and looks at code that is translated,
 * vcpu.c is called when it is executed, load.c finds where programs
 * are loaded, and control.c hears what a guest wants.
 *
 * Code outside of the ranges has no callbacks: it runs as without the plugin. The
 * ranges are an array that only grows, and is read without a lock: a range is
 * complete before the count says that it is there. Each vCPU's state has a mutex,
 * which nobody else takes but who starts and stops.
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
 * @id: what QEMU calls it
 * @x86: the guest's architecture; otherwise it is arm64
 * @system: a machine, not a program
 * @copies: the emulator copies instructions, see qemu_plugin.h
 * @vcpus: how many a machine has whose emulator may take one for another; or 0
 * @out: where the first recording goes
 * @map_path: the map, or NULL
 * @map: what is in it, if there is one
 * @control: the channel, or NULL
 * @profile: of the next recording
 * @psb_period: bytes between synchronisation points
 * @ranges: what is traced
 * @nr_ranges: how many
 */
struct trace_plugin {
	u64 id;
	bool x86, system, copies;
	unsigned int vcpus;
	const char *out, *map_path, *control;
	struct map map;
	enum recording_profile profile;
	u64 psb_period;
	struct trace_range ranges[TRACE_RANGES];
	atomic_uint nr_ranges;
};

extern struct trace_plugin plugin;

/* Returns 0, or -1 and a sentence. */
int trace_add_range(u64 start, u64 size, struct fault *fault);
/* Nothing in a range is traced any more that is translated from here on. */
void trace_drop_range(u64 start, u64 size);
/* While nothing is recorded; what has been translated is to be dropped then. */
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
 * struct trace_site - an instruction that is traced, or, of a full branch trace,
 *	the last one of a translated block
 * @next: of the same address, with other bytes
 * @start: where the block begins
 * @ip: the instruction's address
 * @size: its bytes
 * @branch: what it does
 */
struct trace_site {
	struct trace_site *next;
	u64 start, ip;
	u32 size;
	struct branch branch;
};

/* The one that is kept for such an instruction, or NULL without memory. */
struct trace_site *trace_keep_site(const struct trace_site *wanted);

/* Callbacks of executed code; DATA is a struct trace_site. */
void trace_executed(unsigned int vcpu, void *data);
void trace_loaded(unsigned int vcpu, uint32_t info, uint64_t address, void *data);
void trace_block_executed(unsigned int vcpu, void *data);

/* Begin a recording in the next directory; end the one that there is. */
int trace_start(enum recording_profile profile, struct fault *fault);
/* End the one that there is, and fail if it could not all be written. */
int trace_stop(struct fault *fault);
/* Where that recording is, which is to be freed; or NULL. */
char *trace_directory(void);
void trace_vcpu_gone(unsigned int vcpu);
/* In the child of a fork. */
void trace_forked(void);

/* An object of the map was found in memory. */
void trace_add_load(u32 object, u64 bias);

/* Look where the objects of the map are: once, or again at what was mapped at ADDRESS. */
void trace_find_loads(u64 address);

/* In the end: say it if none was found. */
void trace_check_loads(void);

/* Listen. Returns 0, or -1 and a sentence. */
int trace_control_start(struct fault *fault);

/* QEMU has dropped all code that it had translated. */
void trace_control_flushed(void);

#endif /* FHOOK_TRACE_PLUGIN_H */
