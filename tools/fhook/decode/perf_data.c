// SPDX-License-Identifier: GPL-2.0
/*
 * Making recordings from files of perf
 *
 * The layout of a perf.data file is documented in the kernel's tree
 * (tools/perf/Documentation/perf.data-file-format.txt): a header, a section of events, and
 * sections of features. An event of type AUXTRACE is followed by a piece of the processor's
 * trace, and names the processor or thread. No such hardware was available: this was tested
 * on files that a test generates according to the documentation.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "decoder.h"
#include "lib/elf_image.h"
#include "lib/map.h"
#include "lib/recording.h"
#include "lib/trace_file.h"
#include "perf_data.h"

#define EVENT_AUXTRACE_INFO	70
#define EVENT_AUXTRACE		71
#define EVENT_COMPRESSED	81
#define EVENT_COMPRESSED2	83
#define AUXTRACE_INTEL_PT	1
#define FEATURE_CPUID		9
#define FEATURES		256
#define MAX_STREAMS		4096

struct perf_section {
	u64 offset, size;
};

struct perf_header {
	char magic[8];
	u64 size, attr_size;
	struct perf_section attrs, data, event_types;
	u64 features[FEATURES / 64];
};

struct perf_auxtrace {
	struct perf_event_header header;
	u64 size, offset, reference;
	u32 index, tid, cpu, reserved;
};

struct perf_auxtrace_info {
	struct perf_event_header header;
	u32 type, reserved;
	u64 values[];
};

/* The positions in the list of values of Intel PT's info. */
enum {
	INFO_PMU_TYPE,
	INFO_TIME_SHIFT,
	INFO_TIME_MULT = 2,
	INFO_MTC_FREQ_BITS = 11,
	INFO_TSC_CTC_N = 12,
	INFO_TSC_CTC_D = 13,
	INFO_MAX_NONTURBO = 15,
	INFO_VALUES
};

struct perf_aux {
	struct perf_event_header header;
	u64 offset, size, flags;
};

struct perf_lost {
	struct perf_event_header header;
	u64 id, lost;
};

struct perf_lost_samples {
	struct perf_event_header header;
	u64 lost;
};

struct perf_mmap2 {
	struct perf_event_header header;
	u32 pid, tid;
	u64 address, size, offset;
	u8 file[24];
	u32 protection, flags;
	char name[];
};

/**
 * struct import - a file that is being read
 * @file: contents of the file, mapped
 * @path: path of the file
 * @header: header, at the start of @file
 * @map: map of the stubs
 * @placed: for each object, whether its location is known
 * @recording: resulting recording
 * @streams: streams of processors or threads, by their number in the recording
 * @keys: processor or thread of each stream
 * @losses: data that perf has lost
 * @pt: the trace is known to be Intel PT
 * @created: the directory of the recording exists
 * @event: current event, copied because it may be unaligned in the file
 * @fault: receives the error sentence
 */
struct import {
	struct decoder file;
	const char *path;
	const struct perf_header *header;
	struct map map;
	bool *placed;
	struct recording recording;
	struct trace_file *streams[MAX_STREAMS];
	u32 keys[MAX_STREAMS];
	struct perf_losses losses;
	bool pt, created;
	u64 event[0x10000 / sizeof(u64)];
	struct fault *fault;
};

static const void *part(const struct import *import, u64 offset, u64 size)
{
	if (offset > import->file.size || size > import->file.size - offset)
		return NULL;
	return import->file.data + offset;
}

static int damaged(const struct import *import)
{
	return fault_say(import->fault, "%s is cut off, or not whole", import->path);
}

static int no_memory(const struct import *import)
{
	return fault_say(import->fault, "there is not enough memory for %s", import->path);
}

/* The text of the feature is "GenuineIntel,FAMILY,MODEL,STEPPING,...". */
static void read_cpuid(struct import *import, const struct perf_section *section)
{
	struct recording *recording = &import->recording;
	char text[128] = "";
	const char *string;

	string = part(import, section->offset, section->size);
	if (!string || section->size < 5)
		return;
	memcpy(text, string + 4,
	       section->size - 4 < sizeof(text) ? section->size - 4 : sizeof(text) - 1);
	if (sscanf(text, "GenuineIntel,%u,%u,%u", &recording->family, &recording->model,
		   &recording->stepping) != 3)
		recording->family = 0;
}

/* After the data there is a section for each present feature, in their order. */
static void read_features(struct import *import)
{
	const struct perf_header *header = import->header;
	u64 offset = header->data.offset + header->data.size;
	struct perf_section section;
	unsigned int feature;
	const void *data;

	for (feature = 0; feature <= FEATURE_CPUID; feature++) {
		if (!(header->features[feature / 64] >> feature % 64 & 1))
			continue;
		data = part(import, offset, sizeof(section));
		if (data && feature == FEATURE_CPUID) {
			memcpy(&section, data, sizeof(section));
			read_cpuid(import, &section);
		}
		offset += sizeof(section);
	}
}

/*
 * The period of MTC packets, which have the time of the crystal clock. It is in the BITS of
 * the event's config; the info says which bits these are.
 */
static u32 find_mtc_freq(const struct import *import, u64 pmu, u64 bits)
{
	const struct perf_header *header = import->header;
	struct perf_event_attr attr;
	const void *data;
	u64 offset;

	if (!bits || header->attr_size < PERF_ATTR_SIZE_VER0)
		return 0;
	for (offset = 0; offset + header->attr_size <= header->attrs.size;
	     offset += header->attr_size) {
		data = part(import, header->attrs.offset + offset, PERF_ATTR_SIZE_VER0);
		if (!data)
			return 0;
		memcpy(&attr, data, PERF_ATTR_SIZE_VER0);
		if (attr.type == pmu)
			return (attr.config & bits) >> __builtin_ctzll(bits);
	}
	return 0;
}

static int read_info(struct import *import, const struct perf_auxtrace_info *info)
{
	struct recording *recording = &import->recording;
	const u64 *values = info->values;
	double ns;

	if (info->header.size < sizeof(*info) || info->type != AUXTRACE_INTEL_PT)
		return fault_say(import->fault, "%s is the trace of something else than Intel PT",
				 import->path);
	import->pt = true;
	if (info->header.size < sizeof(*info) + INFO_VALUES * sizeof(*values))
		return 0;
	/* Nanoseconds per cycle of the time stamp counter, in perf's fixed-point format. */
	ns = values[INFO_TIME_SHIFT] < 64 ?
	     (double)values[INFO_TIME_MULT] / (1ULL << values[INFO_TIME_SHIFT]) : 0;
	if (ns > 0.01 && ns < 1000)
		recording->clock = 1000000 / ns + 0.5;
	recording->nominal = values[INFO_MAX_NONTURBO] & 0xff;
	if (values[INFO_TSC_CTC_N] && values[INFO_TSC_CTC_D]) {
		recording->mtc_ebx = values[INFO_TSC_CTC_N];
		recording->mtc_eax = values[INFO_TSC_CTC_D];
		recording->mtc_freq = find_mtc_freq(import, values[INFO_PMU_TYPE],
						    values[INFO_MTC_FREQ_BITS]);
	}
	return 0;
}

/* False for stubs that were put into processes: their addresses are those in memory. */
static bool has_blocks(const struct import *import, size_t object, const struct elf_image *image)
{
	size_t i;

	for (i = 0; i < import->map.nr_blocks; i++)
		if (import->map.blocks[i].object == object &&
		    !elf_segment_of(image, import->map.blocks[i].start))
			return false;
	return true;
}

/*
 * The segment of the code that was mapped. Linkers may put the end of another segment into
 * the same page of the file, which is then mapped twice.
 */
static const Elf64_Phdr *mapped_code(const struct elf_image *image, const struct perf_mmap2 *mmap)
{
	size_t i;

	for (i = 0; i < image->header->e_phnum; i++) {
		const Elf64_Phdr *load = &image->segments[i];

		if (load->p_type == PT_LOAD && load->p_flags & PF_X &&
		    mmap->offset >= (load->p_offset & ~4095ULL) &&
		    mmap->offset < load->p_offset + load->p_filesz)
			return load;
	}
	return NULL;
}

/* If the mapping is of an object of the map, record its distance from the linked address. */
static int place_object(struct import *import, const struct perf_mmap2 *mmap)
{
	const char *name = mmap->name;
	const Elf64_Phdr *load;
	struct elf_image image;
	struct fault ignored;
	int result = 0;
	size_t i;

	if (mmap->header.size <= sizeof(*mmap) ||
	    !memchr(name, '\0', mmap->header.size - sizeof(*mmap)))
		return damaged(import);
	if (!(mmap->protection & PROT_EXEC))
		return 0;
	for (i = 0; i < import->map.nr_objects; i++) {
		char *real = realpath(import->map.objects[i].name, NULL);
		const bool same = real && !strcmp(real, name);

		free(real);
		if (same && !import->placed[i])
			break;
	}
	if (i == import->map.nr_objects || elf_open(&image, name, &ignored))
		return 0;
	load = has_blocks(import, i, &image) ? mapped_code(&image, mmap) : NULL;
	if (load) {
		import->placed[i] = true;
		result = recording_add_load(&import->recording, import->map.objects[i].id,
					    mmap->address - mmap->offset -
					    (load->p_vaddr - load->p_offset));
	}
	elf_close(&image);
	return result ? no_memory(import) : 0;
}

static int cannot_write(const struct import *import, const char *reason)
{
	return fault_say(import->fault, "the trace of %s cannot be written to %s: %s",
			 import->path, import->recording.directory, reason);
}

/* Add the stream to the recording. */
static int add_stream(struct import *import, bool thread, u32 key)
{
	struct recording *recording = &import->recording;
	const u32 number = recording->nr_streams;
	struct trace_file *stream;
	char *path;

	if (number == MAX_STREAMS)
		return fault_say(import->fault,
				 "%s has traces of more than %u %s: record fewer of them",
				 import->path, MAX_STREAMS, thread ? "threads" : "processors");
	path = recording_stream_path(recording, number);
	if (!path)
		return no_memory(import);
	/* All streams stay open. */
	files_raise_limit(number + 1);
	stream = trace_file_open(path);
	free(path);
	if (!stream)
		return cannot_write(import, strerror(errno));
	import->streams[number] = stream;
	import->keys[number] = key;
	recording->threads = thread;
	recording->nr_streams++;
	return thread && recording_add_thread(recording, number, key) ? no_memory(import) : 0;
}

/* The stream of the event's thread or processor; NULL and a sentence if there is none. */
static struct trace_file *stream_of(struct import *import, const struct perf_auxtrace *event)
{
	const struct recording *recording = &import->recording;
	const bool thread = event->cpu == 0xffffffff;
	const u32 key = thread ? event->tid : event->cpu;
	u32 i;

	if (recording->nr_streams && thread != recording->threads) {
		fault_say(import->fault, "%s has traces of threads, and traces of processors",
			  import->path);
		return NULL;
	}
	for (i = 0; i < recording->nr_streams && import->keys[i] != key; i++)
		;
	if (i == recording->nr_streams && add_stream(import, thread, key))
		return NULL;
	return import->streams[i];
}

static int copy_trace(struct import *import, const struct perf_auxtrace *event, const void *data)
{
	struct trace_file *stream = stream_of(import, event);
	u64 done, size;

	if (!stream)
		return -1;
	for (done = 0; done < event->size; done += size) {
		size = event->size - done < 4096 ? event->size - done : 4096;
		trace_file_put(stream, data + done, size);
	}
	return 0;
}

/* If its buffer is full, perf continues, and the loss would go unnoticed. */
static int check_aux(const struct import *import, const struct perf_aux *aux)
{
	if (aux->header.size < sizeof(*aux) || !(aux->flags & PERF_AUX_FLAG_TRUNCATED))
		return 0;
	return fault_say(import->fault,
			 "perf has lost trace of %s, and it cannot be seen where: record it with a larger buffer (--buffer, or -m ,SIZE of perf)",
			 import->path);
}

/* Read an event that reports a loss. */
static int read_loss(struct import *import, const struct perf_event_header *header)
{
	const u64 holes = PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;
	const struct perf_aux *aux = (const void *)header;
	const struct perf_lost *lost = (const void *)header;
	const struct perf_lost_samples *samples = (const void *)header;

	if (header->type == PERF_RECORD_AUX && header->size >= sizeof(*aux))
		import->losses.trace += !!(aux->flags & holes);
	else if (header->type == PERF_RECORD_LOST && header->size >= sizeof(*lost))
		import->losses.records += lost->lost;
	else if (header->type == PERF_RECORD_LOST_SAMPLES && header->size >= sizeof(*samples))
		import->losses.records += samples->lost;
	return header->type == PERF_RECORD_AUX ? check_aux(import, aux) : 0;
}

/* Data of the event, if any, begin at END. Returns the size of these data, or -1. */
static s64 read_event(struct import *import, u64 end)
{
	const struct perf_event_header *header = (const void *)import->event;
	const struct perf_auxtrace *trace = (const void *)header;
	const void *data;

	switch (header->type) {
	case EVENT_AUXTRACE_INFO:
		return read_info(import, (const void *)header);
	case PERF_RECORD_MMAP2:
		return place_object(import, (const void *)header);
	case PERF_RECORD_AUX:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return read_loss(import, header);
	case EVENT_AUXTRACE:
		data = header->size < sizeof(*trace) ? NULL : part(import, end, trace->size);
		if (!data)
			return damaged(import);
		return copy_trace(import, trace, data) ? -1 : (s64)trace->size;
	case EVENT_COMPRESSED:
	case EVENT_COMPRESSED2:
		return fault_say(import->fault, "%s is compressed: record it without -z",
				 import->path);
	default:
		return 0;
	}
}

static int read_events(struct import *import)
{
	u64 offset = import->header->data.offset;
	const u64 end = offset + import->header->data.size;

	while (offset < end) {
		struct perf_event_header header;
		const void *data = part(import, offset, sizeof(header));
		s64 more;

		if (!data)
			return damaged(import);
		memcpy(&header, data, sizeof(header));
		data = part(import, offset, header.size);
		if (!data || header.size < sizeof(header))
			return damaged(import);
		memcpy(import->event, data, header.size);
		offset += header.size;
		more = read_event(import, offset);
		if (more < 0)
			return -1;
		offset += more;
	}
	if (!import->pt || !import->recording.nr_streams)
		return fault_say(import->fault, "%s has no trace of Intel PT", import->path);
	return 0;
}

static int open_file(struct import *import, const char *map)
{
	if (map_read_file(&import->map, map, import->fault))
		return -1;
	import->placed = calloc(import->map.nr_objects + 1, sizeof(*import->placed));
	if (!import->placed)
		return no_memory(import);
	if (decoder_map(&import->file, import->path, import->fault))
		return -1;
	import->header = part(import, 0, sizeof(*import->header));
	if (!import->header || memcmp(import->header->magic, "PERFILE2", 8))
		return fault_say(import->fault, "%s is no perf.data file", import->path);
	if (import->header->size < sizeof(*import->header))
		return fault_say(import->fault, "%s was written to a pipe: record it to a file",
				 import->path);
	if (!part(import, import->header->data.offset, import->header->data.size))
		return damaged(import);
	return 0;
}

/* Returns -1 if the disk is full. */
static int close_streams(struct import *import)
{
	int result = 0;
	u32 i;

	for (i = 0; i < import->recording.nr_streams; i++) {
		trace_file_flush(import->streams[i]);
		if (import->streams[i]->lost)
			result = -1;
		trace_file_close(import->streams[i]);
	}
	return result;
}

static int finish(struct import *import, int result)
{
	const bool lost = import->losses.trace || import->losses.records;
	struct recording *recording = &import->recording;
	u32 i;

	if (close_streams(import) && !result)
		result = cannot_write(import, "is the disk full?");
	/* Missing records may have reported losses of the trace of any stream */
	for (i = 0; !result && lost && i < recording->nr_streams; i++)
		recording_add_lost(recording, i, 0);
	if (!result)
		result = recording_write(recording, import->fault);
	if (result && import->created)
		recording_remove(recording);
	recording_free(recording);
	map_free(&import->map);
	free(import->placed);
	decoder_unmap(&import->file);
	free(import);
	return result;
}

int perf_data_import(const char *path, const char *map, const char *directory,
		     struct perf_losses *losses, struct fault *fault)
{
	struct import *import = calloc(1, sizeof(*import));
	int result;

	if (!import)
		return fault_say(fault, "there is not enough memory for %s", path);
	import->path = path;
	import->fault = fault;
	result = open_file(import, map);
	if (!result) {
		result = recording_create(&import->recording, directory, map, fault);
		import->created = !result;
	}
	if (!result) {
		read_features(import);
		result = read_events(import);
	}
	*losses = import->losses;
	return finish(import, result);
}

void perf_losses_print(const struct perf_losses *losses)
{
	if (losses->trace)
		fprintf(stderr,
			"fhook: the processor's trace had no room %llu times, and is not whole: --buffer, or -m ,SIZE of perf, makes that larger, and fewer functions make the trace less.\n",
			losses->trace);
	if (losses->records)
		fprintf(stderr, "fhook: perf had no room for %llu records of its own.\n",
			losses->records);
}
