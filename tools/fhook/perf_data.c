// SPDX-License-Identifier: GPL-2.0
/*
 * A recording from what perf has recorded
 *
 * The layout of a perf.data file is documented in the kernel's tree
 * (tools/perf/Documentation/perf.data-file-format.txt): a header, a section of events,
 * and sections of features. An event of type AUXTRACE is followed by a piece of the
 * processor's trace, and says of which processor or thread. No hardware was at hand:
 * this was run on files that a test had made after the documentation.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decoder.h"
#include "elf_image.h"
#include "map.h"
#include "perf_data.h"
#include "recording.h"
#include "trace_file.h"

#define EVENT_AUXTRACE_INFO	70
#define EVENT_AUXTRACE		71
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

/* What Intel PT's info says, by its place in the list of values. */
enum {
	INFO_TIME_SHIFT = 1,
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
 * @file: it, mapped
 * @path: its name
 * @header: at its begin
 * @map: of the stubs
 * @placed: for each object, whether it is known where it is
 * @recording: what is made
 * @streams: of each processor or thread, by their number in the recording
 * @keys: processor or thread of each
 * @truncated: how often perf says that its buffer was full
 * @pt: it is said that the trace is Intel PT
 * @created: there is a directory for the recording
 * @fault: where a sentence goes
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
	u64 truncated;
	bool pt, created;
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

/* The text of the feature is "GenuineIntel,FAMILY,MODEL,STEPPING,...". */
static void read_cpuid(struct import *import, const struct perf_section *section)
{
	struct recording *recording = &import->recording;
	char text[128] = "";
	const char *string;

	string = part(import, section->offset, section->size);
	if (!string || section->size < 5)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)(section->size - 4), string + 4);
	if (sscanf(text, "GenuineIntel,%u,%u,%u", &recording->family, &recording->model,
		   &recording->stepping) != 3)
		recording->family = 0;
}

/* Behind the data is a section for each feature that there is, in their order. */
static void read_features(struct import *import)
{
	const struct perf_header *header = import->header;
	u64 offset = header->data.offset + header->data.size;
	unsigned int feature;

	for (feature = 0; feature <= FEATURE_CPUID; feature++) {
		const struct perf_section *section;

		if (!(header->features[feature / 64] >> feature % 64 & 1))
			continue;
		section = part(import, offset, sizeof(*section));
		if (section && feature == FEATURE_CPUID)
			read_cpuid(import, section);
		offset += sizeof(*section);
	}
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
	/* A cycle of the time stamp counter is so many nanoseconds. */
	ns = values[INFO_TIME_SHIFT] < 64 ?
	     (double)values[INFO_TIME_MULT] / (1ULL << values[INFO_TIME_SHIFT]) : 0;
	if (ns > 0.01 && ns < 1000)
		recording->clock = 1000000 / ns + 0.5;
	recording->nominal = values[INFO_MAX_NONTURBO] & 0xff;
	if (values[INFO_TSC_CTC_N] && values[INFO_TSC_CTC_D]) {
		recording->mtc_ebx = values[INFO_TSC_CTC_N];
		recording->mtc_eax = values[INFO_TSC_CTC_D];
	}
	return 0;
}

/* An object of the map that was mapped here: how far is it from where it was linked? */
static int place_object(struct import *import, const struct perf_mmap2 *mmap)
{
	const char *name = mmap->name;
	struct elf_image image;
	struct fault ignored;
	size_t i, segment;

	if (mmap->header.size <= sizeof(*mmap) ||
	    !memchr(name, '\0', mmap->header.size - sizeof(*mmap)))
		return damaged(import);
	for (i = 0; i < import->map.nr_objects; i++) {
		char *real = realpath(import->map.objects[i].name, NULL);
		const bool same = real && !strcmp(real, name);

		free(real);
		if (same && !import->placed[i])
			break;
	}
	if (i == import->map.nr_objects || elf_open(&image, name, &ignored))
		return 0;
	for (segment = 0; segment < image.header->e_phnum; segment++) {
		const Elf64_Phdr *load = &image.segments[segment];
		const u64 pages = load->p_offset & ~4095ULL;

		if (load->p_type != PT_LOAD || mmap->offset < pages ||
		    mmap->offset >= load->p_offset + load->p_filesz || import->placed[i])
			continue;
		import->placed[i] = true;
		recording_add_load(&import->recording, import->map.objects[i].id,
				   mmap->address - mmap->offset - (load->p_vaddr - load->p_offset));
	}
	elf_close(&image);
	return 0;
}

static struct trace_file *stream_of(struct import *import, const struct perf_auxtrace *event)
{
	struct recording *recording = &import->recording;
	const bool thread = event->cpu == 0xffffffff;
	const u32 key = thread ? event->tid : event->cpu;
	char *path;
	u32 i;

	for (i = 0; i < recording->nr_streams; i++)
		if (import->keys[i] == key)
			return import->streams[i];
	if (i == MAX_STREAMS)
		return NULL;
	path = recording_stream_path(recording, i);
	import->streams[i] = path ? trace_file_open(path) : NULL;
	free(path);
	if (!import->streams[i])
		return NULL;
	import->keys[i] = key;
	recording->threads = thread;
	if (thread)
		recording_add_thread(recording, i, key);
	recording->nr_streams++;
	return import->streams[i];
}

static int copy_trace(struct import *import, const struct perf_auxtrace *event, const void *data)
{
	struct trace_file *stream = stream_of(import, event);
	u64 done, size;

	if (!stream)
		return fault_say(import->fault, "the trace of %s cannot be written to %s",
				 import->path, import->recording.directory);
	for (done = 0; done < event->size; done += size) {
		size = event->size - done < 4096 ? event->size - done : 4096;
		trace_file_put(stream, data + done, size);
	}
	return 0;
}

/* Returns how many bytes follow the event that are part of it, or -1. */
static s64 read_event(struct import *import, const struct perf_event_header *header)
{
	const struct perf_auxtrace *trace = (const void *)header;
	const struct perf_aux *aux = (const void *)header;
	const u64 end = (const u8 *)header - import->file.data + header->size;
	const void *data;

	switch (header->type) {
	case EVENT_AUXTRACE_INFO:
		return read_info(import, (const void *)header);
	case PERF_RECORD_MMAP2:
		return place_object(import, (const void *)header);
	case PERF_RECORD_AUX:
		if (header->size >= sizeof(*aux) && aux->flags & PERF_AUX_FLAG_TRUNCATED)
			import->truncated++;
		return 0;
	case EVENT_AUXTRACE:
		data = header->size < sizeof(*trace) ? NULL : part(import, end, trace->size);
		if (!data)
			return damaged(import);
		return copy_trace(import, trace, data) ? -1 : (s64)trace->size;
	default:
		return 0;
	}
}

static int read_events(struct import *import)
{
	u64 offset = import->header->data.offset;
	const u64 end = offset + import->header->data.size;

	while (offset < end) {
		const struct perf_event_header *header = part(import, offset, sizeof(*header));
		s64 more;

		if (!header || header->size < sizeof(*header) ||
		    !part(import, offset, header->size))
			return damaged(import);
		more = read_event(import, header);
		if (more < 0)
			return -1;
		offset += header->size + more;
	}
	if (!import->pt || !import->recording.nr_streams)
		return fault_say(import->fault, "%s has no trace of Intel PT", import->path);
	return 0;
}

static int copy_map(const struct import *import, const char *map)
{
	char *path = recording_path(&import->recording, "map"), line[4096];
	FILE *from = fopen(map, "r"), *to = path ? fopen(path, "w") : NULL;
	int result = from && to ? 0 : -1;

	while (!result && fgets(line, sizeof(line), from))
		result = fputs(line, to) < 0;
	if (from)
		fclose(from);
	if (to && fclose(to))
		result = -1;
	if (result)
		fault_say(import->fault, "the map %s cannot be copied to %s", map,
			  import->recording.directory);
	free(path);
	return result ? -1 : 0;
}

static int open_file(struct import *import, const char *map)
{
	if (map_read_file(&import->map, map, import->fault))
		return -1;
	import->placed = calloc(import->map.nr_objects + 1, sizeof(*import->placed));
	if (!import->placed)
		return fault_say(import->fault, "there is not enough memory for %s",
				 import->path);
	if (decoder_map(&import->file, import->path, import->fault))
		return -1;
	import->header = part(import, 0, sizeof(*import->header));
	if (!import->header || memcmp(import->header->magic, "PERFILE2", 8))
		return fault_say(import->fault, "%s is no perf.data file", import->path);
	if (!part(import, import->header->data.offset, import->header->data.size))
		return damaged(import);
	return 0;
}

static void remove_file(char *path)
{
	if (path)
		unlink(path);
	free(path);
}

/* Where perf itself has lost something, it does not say how much. */
static int finish(struct import *import, int result)
{
	struct recording *recording = &import->recording;
	u32 i;

	for (i = 0; i < recording->nr_streams; i++) {
		trace_file_close(import->streams[i]);
		if (result)
			remove_file(recording_stream_path(recording, i));
	}
	if (result && import->created) {
		remove_file(recording_path(recording, "map"));
		rmdir(recording->directory);
	}
	if (!result && import->truncated)
		recording_add_lost(recording, 0, import->truncated);
	if (!result)
		result = recording_write(recording, import->fault);
	recording_free(recording);
	map_free(&import->map);
	free(import->placed);
	decoder_unmap(&import->file);
	free(import);
	return result;
}

int perf_data_import(const char *path, const char *map, const char *directory,
		     struct fault *fault)
{
	struct import *import = calloc(1, sizeof(*import));
	int result;

	if (!import)
		return fault_say(fault, "there is not enough memory for %s", path);
	import->path = path;
	import->fault = fault;
	result = open_file(import, map);
	if (!result)
		result = recording_create(&import->recording, directory, fault);
	import->created = !result;
	if (!result)
		result = copy_map(import, map);
	if (!result) {
		read_features(import);
		result = read_events(import);
	}
	return finish(import, result);
}
