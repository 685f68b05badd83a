// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks of the QEMU plugin for executed code
 *
 * A vCPU is inside or outside of the ranges. Executing an instruction in a range while
 * outside enables the trace. A branch is resolved as soon as its target is known: at once for
 * a direct branch; after the load if the target comes from memory; otherwise when the next
 * traced instruction is executed. If QEMU does not provide a target (a jump to a register),
 * the packet has none.
 *
 * QEMU delivers interrupts between blocks only. If the next executed instruction is not the
 * expected one, an interrupt came, and the trace contains it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "etm_emit.h"
#include "plugin.h"
#include "pt_emit.h"

#define VCPUS		4096
/* Calls that a processor remembers to write a return in one bit. */
#define CALLS		64

/**
 * struct vcpu - a processor, or a thread of a program
 * @lock: held while the state is accessed
 * @file: its stream, once it has data
 * @stream: number of the stream
 * @inside: the last traced instruction was followed by another one
 * @failed: its stream cannot be written
 * @expected: address of the following instruction
 * @waiting: a branch whose target is not known yet
 * @calls: return addresses of the last calls, for a full branch trace
 * @nr_calls: number of calls, minus returns
 */
struct vcpu {
	pthread_mutex_t lock;
	struct trace_file *file;
	union {
		struct pt_emitter pt;
		struct etm_emitter etm;
	};
	u32 stream;
	bool inside, failed;
	u64 expected;
	const struct trace_site *waiting;
	u64 calls[CALLS];
	unsigned int nr_calls;
};

static struct vcpu *vcpus[VCPUS];
static struct recording recording;
/*
 * Past and present locations of objects, which each recording must contain; by index of the
 * object.
 */
static struct recording_load loads[TRACE_RANGES];
static unsigned int nr_loads, nr_unplaced;
static bool running;
static unsigned int recordings;
/* The number that this process and its children have in common, and whether it is a child. */
static u64 session;
static bool forked;
static u32 next_stream;
/* Protects all variables above; taken inside of a vCPU's lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_info(void)
{
	struct fault fault;

	if (recording_write(&recording, &fault))
		fault_print("fhook-trace", &fault);
}

/* A map of libraries does not have the program, which is the first object of others. */
static const char *program_name(void)
{
	if (plugin.program)
		return plugin.program;
	return plugin.map.nr_objects ? basename(plugin.map.objects[0].name) : "";
}

static void open_stream(struct vcpu *vcpu, unsigned int index)
{
	struct fault fault;
	char *path;

	pthread_mutex_lock(&lock);
	vcpu->stream = plugin.system ? index : next_stream;
	if (running) {
		path = recording_stream_path(&recording, vcpu->stream);
		vcpu->file = path ? trace_file_open(path) : NULL;
		vcpu->failed = !vcpu->file;
		if (vcpu->failed) {
			recording.unopened++;
			fault_say(&fault, "the stream %s cannot be written: %s", path,
				  strerror(errno));
			fault_print("fhook-trace", &fault);
		}
		free(path);
		if (vcpu->file && !plugin.system) {
			recording_add_thread(&recording, next_stream++, gettid());
			/* The name of the process is that of QEMU. */
			recording_add_task(&recording, gettid(), getpid(), program_name());
		}
		write_info();
	}
	pthread_mutex_unlock(&lock);
	vcpu->inside = false;
	vcpu->waiting = NULL;
	vcpu->nr_calls = 0;
	if (!vcpu->file)
		return;
	trace_file_keep(vcpu->file, plugin.snapshot_mb << 20);
	if (plugin.x86)
		pt_emit_start(&vcpu->pt, vcpu->file, recording.profile, plugin.psb_period);
	else
		etm_emit_start(&vcpu->etm, vcpu->file, plugin.psb_period, plugin.system);
}

static struct vcpu *new_vcpu(unsigned int index)
{
	struct vcpu *vcpu;

	pthread_mutex_lock(&lock);
	vcpu = vcpus[index];
	if (!vcpu) {
		vcpu = calloc(1, sizeof(*vcpu));
		if (vcpu)
			pthread_mutex_init(&vcpu->lock, NULL);
		vcpus[index] = vcpu;
	}
	pthread_mutex_unlock(&lock);
	return vcpu;
}

/*
 * If one thread runs all vCPUs in turn, QEMU 10 passes the number of the vCPU for which code
 * was translated, whichever vCPU executes it.
 */
static unsigned int who_executes(unsigned int index)
{
	static __thread void **current;
	unsigned int i;

	if (!plugin.vcpus)
		return index;
	/* set_target() has checked that the symbol exists; each thread has its own variable. */
	if (!current)
		current = dlsym(RTLD_DEFAULT, "current_cpu");
	if (*current == qemu_get_cpu(index))
		return index;
	for (i = 0; i < plugin.vcpus; i++) {
		if (*current == qemu_get_cpu(i))
			return i;
	}
	return index;
}

/* Lock the vCPU, and make its stream if necessary; NULL if there is none to write to. */
static struct vcpu *get_vcpu(unsigned int index)
{
	struct vcpu *vcpu;

	if (index >= VCPUS || !__atomic_load_n(&running, __ATOMIC_RELAXED))
		return NULL;
	vcpu = vcpus[index];
	if (!vcpu)
		vcpu = new_vcpu(index);
	if (!vcpu)
		return NULL;
	pthread_mutex_lock(&vcpu->lock);
	if (!vcpu->file && !vcpu->failed)
		open_stream(vcpu, index);
	if (vcpu->file)
		return vcpu;
	pthread_mutex_unlock(&vcpu->lock);
	return NULL;
}

static void put_vcpu(struct vcpu *vcpu)
{
	pthread_mutex_unlock(&vcpu->lock);
}

static void close_stream(struct vcpu *vcpu)
{
	if (!vcpu->file)
		return;
	if (plugin.x86)
		pt_emit_flush(&vcpu->pt);
	trace_file_flush(vcpu->file);
	if (vcpu->file->lost) {
		pthread_mutex_lock(&lock);
		recording_add_lost(&recording, vcpu->stream, vcpu->file->lost);
		write_info();
		pthread_mutex_unlock(&lock);
	}
	trace_file_close(vcpu->file);
	vcpu->file = NULL;
}

static void enable(struct vcpu *vcpu, u64 ip)
{
	if (plugin.x86)
		pt_emit_enable(&vcpu->pt, ip);
	else
		etm_emit_enable(&vcpu->etm, ip);
	vcpu->inside = true;
}

static void leave(struct vcpu *vcpu, const struct trace_site *site, bool has_target, u64 target)
{
	if (plugin.x86)
		pt_emit_disable(&vcpu->pt, site->ip, has_target, target);
	else if (site->branch.kind != BRANCH_NONE)
		etm_emit_atom(&vcpu->etm, true);
	vcpu->inside = false;
}

/* Write a branch whose target is known. */
static void go(struct vcpu *vcpu, const struct trace_site *site, u64 target)
{
	const bool direct = site->branch.kind == BRANCH_DIRECT || site->branch.kind == BRANCH_CALL;

	vcpu->expected = target;
	if (!trace_in_range(target)) {
		leave(vcpu, site, true, target);
	} else if (!plugin.x86) {
		etm_emit_atom(&vcpu->etm, true);
		if (!direct)
			etm_emit_address(&vcpu->etm, target);
	} else if (!direct) {
		pt_emit_target(&vcpu->pt, target);
	}
}

static void resolve_condition(struct vcpu *vcpu, const struct trace_site *site, u64 next)
{
	const bool taken = next != site->ip + site->size;

	vcpu->expected = next;
	if (taken && next != site->branch.target)
		/* A taken branch out of the range: such a packet has no target. */
		leave(vcpu, site, false, 0);
	else if (plugin.x86)
		pt_emit_taken(&vcpu->pt, taken);
	else
		etm_emit_atom(&vcpu->etm, taken);
}

/* Resolve a waiting branch: the next traced instruction is at NEXT. */
static void resolve(struct vcpu *vcpu, u64 next)
{
	const struct trace_site *site = vcpu->waiting;

	vcpu->waiting = NULL;
	if (site->branch.kind == BRANCH_CONDITIONAL)
		resolve_condition(vcpu, site, next);
	else
		leave(vcpu, site, false, 0);
}

/* The executed instruction is not the expected one. */
static void interrupt(struct vcpu *vcpu)
{
	if (plugin.x86)
		pt_emit_interrupt(&vcpu->pt, vcpu->expected);
	vcpu->inside = false;
}

void trace_executed(unsigned int index, void *data)
{
	const struct trace_site *site = data;
	struct vcpu *vcpu = get_vcpu(who_executes(index));

	if (!vcpu)
		return;
	if (vcpu->waiting)
		resolve(vcpu, site->ip);
	if (vcpu->inside && vcpu->expected != site->ip)
		interrupt(vcpu);
	if (!vcpu->inside)
		enable(vcpu, site->ip);
	switch (site->branch.kind) {
	case BRANCH_NONE:
		vcpu->expected = site->ip + site->size;
		if (!trace_in_range(vcpu->expected))
			leave(vcpu, site, false, 0);
		break;
	case BRANCH_DIRECT:
	case BRANCH_CALL:
		go(vcpu, site, site->branch.target);
		break;
	default:
		vcpu->waiting = site;
		break;
	}
	put_vcpu(vcpu);
}

/* Read a word of the guest's memory; false if QEMU does not support it. */
static bool read_guest(unsigned int vcpu, u64 address, u64 *value)
{
	if (!plugin.system) {
		if (!&guest_base)
			return false;
		memcpy(value, (void *)(guest_base + address), sizeof(*value));
		return true;
	}
	return qemu_get_cpu && cpu_memory_rw_debug &&
	       !cpu_memory_rw_debug(qemu_get_cpu(vcpu), address, value, sizeof(*value), false);
}

void trace_loaded(unsigned int index, uint32_t info __unused, uint64_t address, void *data)
{
	const struct trace_site *site = data;
	struct vcpu *vcpu;
	u64 target;

	index = who_executes(index);
	vcpu = get_vcpu(index);
	if (!vcpu)
		return;
	/*
	 * QEMU 7.2 may leave the callback to a later load, such as that of the end of an
	 * interrupt, which goes on in the range; nothing returns to there.
	 */
	if (vcpu->waiting == site && read_guest(index, address, &target) &&
	    !(site->branch.kind == BRANCH_RETURN && trace_in_range(target))) {
		vcpu->waiting = NULL;
		go(vcpu, site, target);
	}
	put_vcpu(vcpu);
}

static void returned(struct vcpu *vcpu, u64 to)
{
	if (vcpu->nr_calls && vcpu->calls[(vcpu->nr_calls - 1) % CALLS] == to) {
		vcpu->nr_calls--;
		pt_emit_taken(&vcpu->pt, true);
	} else {
		pt_emit_target(&vcpu->pt, to);
	}
}

static void call(struct vcpu *vcpu, const struct trace_site *site)
{
	const u64 next = site->ip + site->size;

	/* A call of the next instruction has no matching return. */
	if (site->branch.kind == BRANCH_CALL && site->branch.target == next)
		return;
	/* The index wraps around, and only the last CALLS entries are valid. */
	vcpu->calls[vcpu->nr_calls++ % CALLS] = next;
	if (vcpu->nr_calls == 2 * CALLS)
		vcpu->nr_calls = CALLS;
}

/* In a full branch trace, the block that ends with SITE is followed by a block at NEXT. */
static void follow(struct vcpu *vcpu, const struct trace_site *site, u64 next)
{
	switch (site->branch.kind) {
	case BRANCH_CONDITIONAL:
		pt_emit_taken(&vcpu->pt, next == site->branch.target);
		break;
	case BRANCH_CALL:
		call(vcpu, site);
		break;
	case BRANCH_INDIRECT_CALL:
		call(vcpu, site);
		pt_emit_target(&vcpu->pt, next);
		break;
	case BRANCH_INDIRECT:
		pt_emit_target(&vcpu->pt, next);
		break;
	case BRANCH_RETURN:
		returned(vcpu, next);
		break;
	case BRANCH_FAR:
		if (plugin.system) {
			pt_emit_target(&vcpu->pt, next);
			break;
		}
		/* The trace covers only the program. */
		pt_emit_disable(&vcpu->pt, site->ip, false, 0);
		pt_emit_enable(&vcpu->pt, next);
		break;
	default:
		break;
	}
}

static bool follows(const struct trace_site *site, u64 next)
{
	const u64 behind = site->ip + site->size;

	switch (site->branch.kind) {
	case BRANCH_NONE:
		/* A repeated instruction has not finished. */
		return next == behind || next == site->ip;
	case BRANCH_DIRECT:
	case BRANCH_CALL:
		return next == site->branch.target;
	case BRANCH_CONDITIONAL:
		return next == site->branch.target || next == behind;
	default:
		return true;
	}
}

void trace_block_executed(unsigned int index, void *data)
{
	const struct trace_site *site = data;
	struct vcpu *vcpu = get_vcpu(who_executes(index));

	if (!vcpu)
		return;
	if (!vcpu->waiting)
		pt_emit_enable(&vcpu->pt, site->start);
	else if (follows(vcpu->waiting, site->start))
		follow(vcpu, vcpu->waiting, site->start);
	else
		pt_emit_async(&vcpu->pt, vcpu->waiting->ip, site->start);
	vcpu->waiting = site;
	put_vcpu(vcpu);
}

/* Called with the vCPU's lock, or while the vCPU does not run. */
static void finish(struct vcpu *vcpu)
{
	/* The target of a waiting branch stays unknown, but its event has happened. */
	if (vcpu->file && vcpu->waiting && plugin.profile != PROFILE_BRANCHES)
		resolve(vcpu, 0);
	close_stream(vcpu);
	vcpu->failed = false;
}

void trace_vcpu_gone(unsigned int index)
{
	struct vcpu *vcpu = index < VCPUS ? vcpus[index] : NULL;

	if (!vcpu)
		return;
	pthread_mutex_lock(&vcpu->lock);
	finish(vcpu);
	pthread_mutex_unlock(&vcpu->lock);
}

int trace_stop(struct fault *fault)
{
	unsigned int i;
	int result;

	if (!running)
		return 0;
	__atomic_store_n(&running, false, __ATOMIC_RELAXED);
	for (i = 0; i < VCPUS; i++)
		trace_vcpu_gone(i);
	pthread_mutex_lock(&lock);
	result = recording_write(&recording, fault);
	if (recording.unopened)
		result = fault_say(fault, "of the recording %s %u streams could not be written",
				   recording.directory, recording.unopened);
	else if (recording_check_written(&recording, fault))
		result = -1;
	recording_free(&recording);
	pthread_mutex_unlock(&lock);
	return result;
}

/* The first recording uses the given directory, later ones add a number. */
static int create(struct fault *fault)
{
	char *directory;
	int result;

	if (!session)
		session = recording_new_session();
	recording.session = session;
	if (!recordings++)
		return forked ? recording_create_beside(&recording, plugin.out, plugin.map_path,
							fault) :
				recording_create(&recording, plugin.out, plugin.map_path, fault);
	if (asprintf(&directory, "%s.%u", plugin.out, recordings) < 0)
		return fault_say(fault, "there is not enough memory to record");
	result = recording_create(&recording, directory, plugin.map_path, fault);
	free(directory);
	return result;
}

char *trace_directory(void)
{
	char *directory;

	pthread_mutex_lock(&lock);
	directory = recording.directory ? strdup(recording.directory) : NULL;
	pthread_mutex_unlock(&lock);
	return directory;
}

int trace_start(enum recording_profile profile, struct fault *fault)
{
	unsigned int i;
	int result;

	if (!plugin.x86 && profile > PROFILE_NO_TARGET)
		return fault_say(fault,
				 "the profile '%s' is one of Intel PT, and this is an arm64 machine",
				 recording_profiles[profile]);
	if (trace_stop(fault))
		fault_print("fhook-trace", fault);
	pthread_mutex_lock(&lock);
	memset(&recording, 0, sizeof(recording));
	plugin.profile = profile;
	recording.format = plugin.x86 ? FORMAT_INTEL_PT : FORMAT_ETMV4;
	recording.profile = profile;
	recording.threads = !plugin.system;
	recording.snapshot = plugin.snapshot_mb;
	if (profile == PROFILE_CYCLES)
		recording.clock = PT_CLOCK_KHZ;
	recording.nominal = plugin.x86 ? PT_NOMINAL : 0;
	recording.etm = etm_emit_registers;
	next_stream = 0;
	for (i = 0; i < nr_loads; i++)
		if (loads[i].bias)
			recording_add_load(&recording, plugin.map.objects[loads[i].object].id,
					   loads[i].bias);
	recording.unplaced = nr_unplaced;
	result = create(fault);
	if (!result && recording_write(&recording, fault)) {
		recording_remove(&recording);
		result = -1;
	}
	if (result)
		recording_free(&recording);
	else
		__atomic_store_n(&running, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	return result;
}

/* Do the blocks of two loads have an address in common? */
static bool overlap(u32 object, u64 bias, const struct recording_load *load)
{
	const struct map *map = &plugin.map;
	size_t i, j;

	for (i = 0; i < map->nr_blocks; i++)
		for (j = 0; j < map->nr_blocks; j++) {
			const struct map_block *a = &map->blocks[i], *b = &map->blocks[j];
			const u64 at = a->start + bias, other = b->start + load->bias;

			if (a->object == object && b->object == load->object &&
			    (at - other < b->size || other - at < a->size))
				return true;
		}
	return false;
}

/* Count an object that is not traced, because its addresses were used or there is no room. */
static void leave_out(u32 object, const char *why)
{
	struct fault fault;

	fault_say(&fault, "%s was loaded %s: its calls from here on are not recorded",
		  plugin.map.objects[object].name, why);
	fault_print("fhook-trace", &fault);
	pthread_mutex_lock(&lock);
	nr_unplaced++;
	if (running) {
		recording.unplaced++;
		write_info();
	}
	pthread_mutex_unlock(&lock);
}

/* Not called concurrently. */
void trace_add_load(u32 object, u64 bias)
{
	const struct map *map = &plugin.map;
	bool no_room = nr_loads == TRACE_RANGES;
	struct fault fault;
	size_t i;

	for (i = 0; i < nr_loads; i++)
		if (loads[i].object == object && loads[i].bias == bias)
			return;
	for (i = 0; i < nr_loads && !overlap(object, bias, &loads[i]); i++)
		;
	if (i < nr_loads) {
		/* Events recorded at this location belonged to the other object, and stay. */
		for (i = 0; i < map->nr_blocks; i++)
			if (map->blocks[i].object == object)
				trace_drop_range(map->blocks[i].start + bias, map->blocks[i].size);
		leave_out(object, "where something else had been");
		return;
	}
	for (i = 0; i < map->nr_blocks && !no_room; i++)
		no_room = map->blocks[i].object == object &&
			  trace_add_range(map->blocks[i].start + bias, map->blocks[i].size, &fault);
	if (no_room) {
		leave_out(object, "too many times");
		return;
	}
	loads[nr_loads++] = (struct recording_load){ .object = object, .bias = bias };
	if (!bias)
		return;
	pthread_mutex_lock(&lock);
	if (running) {
		recording_add_load(&recording, map->objects[object].id, bias);
		write_info();
	}
	pthread_mutex_unlock(&lock);
}

/* Read a string of the program, whose address may be wrong; empty if it cannot be read. */
static void read_string(u64 address, char *text, size_t size)
{
	int fd = &guest_base ? open("/proc/self/mem", O_RDONLY | O_CLOEXEC) : -1;
	ssize_t length = fd < 0 ? 0 : pread(fd, text, size - 1, guest_base + address);

	text[length < 0 ? 0 : length] = '\0';
	if (fd >= 0)
		close(fd);
}

static void note_executed(u32 pid, const char *program)
{
	pthread_mutex_lock(&lock);
	if (running) {
		recording_set_executed(&recording, pid, program);
		write_info();
	}
	pthread_mutex_unlock(&lock);
}

/* Nothing of this process runs after a success, so note it before. */
void trace_executes(u64 path)
{
	char program[RECORDING_PROGRAM];

	read_string(path, program, sizeof(program));
	note_executed(getpid(), program);
}

void trace_executes_not(void)
{
	note_executed(0, "");
}

/* Unwritten data belong to the parent; the child begins with empty streams. */
void trace_forked(void)
{
	const enum recording_profile profile = plugin.profile;
	struct fault fault;
	unsigned int i;
	char *out;

	pthread_mutex_init(&lock, NULL);
	trace_sites_forked();
	trace_loads_forked();
	trace_control_forked();
	for (i = 0; i < VCPUS; i++) {
		if (!vcpus[i])
			continue;
		if (vcpus[i]->file)
			trace_file_disown(vcpus[i]->file);
		free(vcpus[i]);
		vcpus[i] = NULL;
	}
	if (!running)
		return;
	running = false;
	recording_free(&recording);
	recordings = 0;
	forked = true;
	if (asprintf(&out, "%s-%d", plugin.out, getpid()) < 0)
		return;
	plugin.out = out;
	if (trace_start(profile, &fault))
		fault_print("fhook-trace", &fault);
}
