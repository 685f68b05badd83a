// SPDX-License-Identifier: GPL-2.0
/*
 * Decode Intel PT, with libipt's query decoder
 *
 * A stub was executed if the trace is enabled in it and disabled again by its own
 * branch. If it is disabled asynchronously, an interrupt came first: the stub is
 * entered again later, and is counted then. The target of the branch is not used:
 * errata omit it, and the address of the stub is sufficient.
 *
 * An overflow or a synchronization point may be in the middle of a stub: then the
 * packets name the stub, and it is counted when it is left.
 */
#include <intel-pt.h>
#include <stdlib.h>
#include "decoder.h"

/**
 * struct pt - a stream of Intel PT
 * @base: mapped file
 * @query: libipt's decoder
 * @status: last status of the decoder
 * @inside: the trace is enabled, at @address
 * @address: address of the stub
 * @time: time of the event
 * @skipped: number of bytes before the first synchronization point, without a hole
 * @begins: it is a snapshot whose beginning was not kept, which has not been reported
 * @ended: the end has been reached
 */
struct pt {
	struct decoder base;
	struct pt_query_decoder *query;
	int status;
	bool inside;
	u64 address;
	u64 time;
	u64 skipped;
	bool begins;
	bool ended;
};

/* A value that is not an event type of libipt. */
#define NO_EVENT	((enum pt_event_type)-1)

static unsigned int say_gap(struct trace_event *event, const struct pt *pt, const char *why,
			    u64 lost)
{
	*event = (struct trace_event){
		.type = TRACE_GAP, .why = why, .lost = lost, .time = pt->time,
	};
	return 1;
}

static void synchronise(struct pt *pt)
{
	uint64_t ip;

	pt->status = pt_qry_sync_forward(pt->query, &ip);
	pt->inside = pt->status >= 0 && !(pt->status & pts_ip_suppressed);
	if (pt->inside)
		pt->address = ip;
}

static u64 offset_of(const struct pt *pt)
{
	uint64_t offset;

	return pt_qry_get_offset(pt->query, &offset) < 0 ? pt->base.size : offset;
}

/* Only padding may follow the last packet. */
static unsigned int say_end(struct trace_event *event, struct pt *pt, u64 offset)
{
	pt->ended = true;
	while (offset < pt->base.size && !pt->base.data[offset])
		offset++;
	if (offset < pt->base.size)
		return say_gap(event, pt, "the trace ends in the middle of a packet",
			       pt->base.size - offset);
	if (pt->inside)
		return say_gap(event, pt, "the trace ends in the middle of a stub", 0);
	return 0;
}

/* Decoding cannot continue here: find the next synchronization point. */
static unsigned int recover(struct trace_event *event, struct pt *pt)
{
	const char *why = pt_errstr(pt_errcode(pt->status));
	const u64 offset = offset_of(pt);
	uint64_t next;

	if (pt->status == -pte_eos)
		return say_end(event, pt, offset);
	/* If a synchronization point is damaged, use the next one. */
	do
		synchronise(pt);
	while (pt->status < 0 && pt->status != -pte_eos);
	pt->ended = pt->status < 0;
	if (pt->ended || pt_qry_get_sync_offset(pt->query, &next) < 0)
		next = pt->base.size;
	return say_gap(event, pt, why, next > offset ? next - offset : 0);
}

static unsigned int accept(struct trace_event *event, struct pt *pt, enum trace_event_type type)
{
	if (!pt->inside)
		return say_gap(event, pt, "the packet that enables the trace is missing", 0);
	/* Only gaps have the other members. */
	event->type = type;
	event->address = pt->address;
	event->time = pt->time;
	pt->inside = false;
	return 1;
}

/*
 * Process the status in a synchronization point. libipt 2.1 and later delivers it as events;
 * older versions have only the status of the first synchronization point.
 */
static unsigned int take_status(struct trace_event *event, struct pt *pt,
				const struct pt_event *from)
{
	const bool inside = pt->inside;

	switch (from->type) {
	case ptev_enabled:
		if (inside)
			return 0;
		pt->inside = true;
		pt->address = from->variant.enabled.ip;
		return say_gap(event, pt, "the packet that enables the trace is missing", 0);
	case ptev_disabled:
		pt->inside = false;
		return inside ? say_gap(event, pt,
					"the packet that disables the trace is missing", 0) : 0;
	default:
		return 0;
	}
}

/* Convert an event of libipt; returns the number of resulting events: 0 or 1. */
static unsigned int take(struct trace_event *event, struct pt *pt, const struct pt_event *from)
{
	bool missing;

	if (from->has_tsc)
		pt->time = from->tsc;
	if (from->status_update)
		return take_status(event, pt, from);
	switch (from->type) {
	case ptev_enabled:
		missing = pt->inside;
		pt->inside = true;
		pt->address = from->variant.enabled.ip;
		return missing ? say_gap(event, pt, "the packet that disables the trace is missing",
					 0) : 0;
	case ptev_disabled:
		return accept(event, pt, TRACE_HIT);
	case ptev_async_disabled:
		return accept(event, pt, TRACE_DROPPED);
	case ptev_overflow:
		pt->inside = !from->ip_suppressed;
		pt->address = from->variant.overflow.ip;
		return say_gap(event, pt, "the processor's buffer has overflown", 0);
	case ptev_stop:
		pt->inside = false;
		return say_gap(event, pt, "the trace was stopped", 0);
	default:
		return 0;
	}
}

/* A branch within the range, whose target is not needed. */
static int skip_branch(struct pt *pt)
{
	uint64_t ip;
	int taken;
	int status = pt_qry_cond_branch(pt->query, &taken);

	if (status == -pte_bad_query)
		status = pt_qry_indirect_branch(pt->query, &ip);
	return status;
}

static unsigned int fill(struct decoder *decoder, struct trace_event *events)
{
	struct pt *pt = (struct pt *)decoder;
	unsigned int count = 0;
	struct pt_event event;

	if (pt->begins) {
		/* The bytes up to the first synchronization point are none that were lost. */
		count += say_gap(&events[count], pt, "the snapshot begins here", 0);
	} else if (pt->skipped) {
		count += say_gap(&events[count], pt, "the trace begins with what cannot be read",
				 pt->skipped);
	}
	pt->begins = false;
	pt->skipped = 0;
	while (count < TRACE_BATCH && !pt->ended) {
		if (pt->status >= 0 && pt->status & pts_event_pending) {
			/* The error may belong to data after the event. */
			event.type = NO_EVENT;
			pt->status = pt_qry_event(pt->query, &event, sizeof(event));
			if (event.type != NO_EVENT)
				count += take(&events[count], pt, &event);
		} else if (pt->status < 0) {
			count += recover(&events[count], pt);
		} else if (pt->status & pts_eos) {
			count += say_end(&events[count], pt, offset_of(pt));
		} else {
			pt->status = skip_branch(pt);
		}
	}
	if (!pt->ended)
		decoder_release(decoder, offset_of(pt));
	return count;
}

static void set_filter(struct pt_config *config, const struct map *map)
{
	uint64_t *ranges = &config->addr_filter.addr0_a;
	size_t i;

	if (map->nr_blocks > 4)
		return;
	for (i = 0; i < map->nr_blocks; i++) {
		config->addr_filter.config.addr_cfg |= 1 << 4 * i;
		ranges[2 * i] = map->blocks[i].memory;
		ranges[2 * i + 1] = map->blocks[i].memory + map->blocks[i].size - 1;
	}
}

static void set_config(struct pt_config *config, const struct recording *recording,
		       const struct map *map)
{
	config->cpu.family = recording->family;
	config->cpu.model = recording->model;
	config->cpu.stepping = recording->stepping;
	if (recording->family) {
		config->cpu.vendor = pcv_intel;
		/* If the library does not know the processor, no errata are set. */
		pt_cpu_errata(&config->errata, &config->cpu);
	}
	config->nom_freq = recording->nominal;
	config->mtc_freq = recording->mtc_freq;
	config->cpuid_0x15_eax = recording->mtc_eax;
	config->cpuid_0x15_ebx = recording->mtc_ebx;
	set_filter(config, map);
}

/* Data before the first synchronization point cannot be decoded. */
static struct decoder *open_pt(const struct recording *recording, const struct map *map,
			       const char *path, struct fault *fault)
{
	struct pt *pt = calloc(1, sizeof(*pt));
	struct pt_config config;
	uint64_t offset;

	if (!pt) {
		fault_say(fault, "%s: there is not enough memory", path);
		return NULL;
	}
	pt->base.ops = &decoder_pt;
	if (decoder_map_stream(&pt->base, path, fault)) {
		free(pt);
		return NULL;
	}
	if (!pt->base.size) {
		pt->ended = true;
		return &pt->base;
	}
	if (recording->snapshot)
		pt->begins = decoder_find_begin(&pt->base);
	pt_config_init(&config);
	config.begin = (u8 *)pt->base.data;
	config.end = config.begin + pt->base.size;
	set_config(&config, recording, map);
	pt->query = pt_qry_alloc_decoder(&config);
	if (!pt->query) {
		fault_say(fault, "%s: libipt does not take this trace", path);
		decoder_unmap(&pt->base);
		free(pt);
		return NULL;
	}
	synchronise(pt);
	if (pt->status == -pte_eos) {
		pt->skipped = pt->base.size - pt->base.begin;
		pt->ended = true;
	} else if (pt_qry_get_sync_offset(pt->query, &offset) >= 0) {
		pt->skipped = offset - pt->base.begin;
	}
	return &pt->base;
}

static void close_pt(struct decoder *decoder)
{
	struct pt *pt = (struct pt *)decoder;

	if (pt->query)
		pt_qry_free_decoder(pt->query);
	decoder_unmap(decoder);
	free(pt);
}

const struct decoder_ops decoder_pt = {
	.open = open_pt,
	.fill = fill,
	.close = close_pt,
};
