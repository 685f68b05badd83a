// SPDX-License-Identifier: GPL-2.0
/*
 * Decode ETMv4, with OpenCSD's packet processor
 *
 * A stub was executed if its address is followed by an atom, which represents its
 * branch. If an exception follows instead, the stub will be entered again, and is
 * counted then; the address after the exception is the return address, not that of an
 * executed stub. Only the packets are needed: the library's full decoder could only
 * add the effects of a stub's instructions.
 *
 * The library calls back for each packet: the stream is passed to it in pieces so
 * small that there is room here for the events of one piece.
 */
#include <opencsd/c_api/opencsd_c_api.h>
#include <opencsd/etmv4/trc_pkt_types_etmv4.h>
#include <stdlib.h>
#include "decoder.h"

#define PIECE	2048
/* A packet has one byte at least, and is one event at most. */
#define QUEUE	(PIECE + 64)

/**
 * struct etm - a stream of ETMv4
 * @base: mapped file
 * @tree: OpenCSD's decoder
 * @offset: number of bytes passed to the decoder
 * @end: end of the trace in the file
 * @address: address of the last address packet
 * @addressed: no atom has followed @address
 * @excepted: an exception has occurred since the trace was enabled
 * @synced: the decoder is synchronized
 * @events: events that have not been fetched
 */
struct etm {
	struct decoder base;
	dcd_tree_handle_t tree;
	size_t offset, end;
	u64 address;
	bool addressed, excepted, synced;
	bool ended;
	unsigned int nr_events, next_event;
	struct trace_event events[QUEUE];
};

static void put(struct etm *etm, enum trace_event_type type, const char *why)
{
	if (etm->nr_events == QUEUE)
		return;
	etm->events[etm->nr_events++] = (struct trace_event){
		.type = type, .address = etm->address, .why = why,
	};
	etm->addressed = false;
}

/* One sentence until packets are understood again. */
static void put_gap(struct etm *etm, const char *why)
{
	if (etm->synced)
		put(etm, TRACE_GAP, why);
	etm->synced = false;
	etm->addressed = false;
}

static ocsd_datapath_resp_t take_packet(const void *context, const ocsd_datapath_op_t op,
					const ocsd_trc_index_t index __unused,
					const ocsd_etmv4_i_pkt *packet)
{
	struct etm *etm = (struct etm *)context;

	if (op != OCSD_OP_DATA)
		return OCSD_RESP_CONT;
	switch (packet->type) {
	case ETM4_PKT_I_ATOM_F1 ... ETM4_PKT_I_ATOM_F3:
	case ETM4_PKT_I_ATOM_F6:
	case ETM4_PKT_I_ATOM_F5:
	case ETM4_PKT_I_ATOM_F2:
	case ETM4_PKT_I_ATOM_F4:
		if (etm->addressed)
			put(etm, TRACE_HIT, NULL);
		break;
	case ETM4_PKT_I_ADDR_CTXT_L_32IS0 ... ETM4_PKT_I_ADDR_CTXT_L_64IS1:
	case ETM4_PKT_I_ADDR_MATCH:
	case ETM4_PKT_I_ADDR_S_IS0 ... ETM4_PKT_I_ADDR_S_IS1:
	case ETM4_PKT_I_ADDR_L_32IS0 ... ETM4_PKT_I_ADDR_L_64IS1:
		etm->address = packet->v_addr.val;
		etm->addressed = !etm->excepted;
		break;
	case ETM4_PKT_I_TRACE_ON:
		etm->excepted = false;
		etm->addressed = false;
		break;
	case ETM4_PKT_I_EXCEPT:
		if (etm->addressed)
			put(etm, TRACE_DROPPED, NULL);
		etm->excepted = true;
		break;
	case ETM4_PKT_I_ASYNC:
		etm->synced = true;
		etm->addressed = false;
		break;
	case ETM4_PKT_I_OVERFLOW:
		put_gap(etm, "the processor's buffer has overflown");
		etm->synced = true;
		break;
	case ETM4_PKT_I_DISCARD:
		put_gap(etm, "the processor has discarded trace");
		etm->synced = true;
		break;
	case ETM4_PKT_I_NOTSYNC:
		put_gap(etm, "there is no synchronisation point here");
		break;
	case ETM4_PKT_I_BAD_SEQUENCE ... ETM4_PKT_I_RESERVED_CFG:
		put_gap(etm, "a packet is none that this processor writes");
		break;
	case ETM4_PKT_I_INCOMPLETE_EOT:
		put_gap(etm, "the trace ends in the middle of a packet");
		break;
	default:
		break;
	}
	return OCSD_RESP_CONT;
}

static void read_piece(struct etm *etm)
{
	size_t size = etm->end - etm->offset;
	ocsd_datapath_resp_t response;
	uint32_t used = 0;

	etm->nr_events = 0;
	etm->next_event = 0;
	if (!size) {
		ocsd_dt_process_data(etm->tree, OCSD_OP_EOT, 0, 0, NULL, &used);
		if (etm->addressed)
			put_gap(etm, "the trace ends in the middle of a stub");
		etm->ended = true;
		return;
	}
	if (size > PIECE)
		size = PIECE;
	response = ocsd_dt_process_data(etm->tree, OCSD_OP_DATA, etm->offset, size,
					etm->base.data + etm->offset, &used);
	etm->offset += used;
	decoder_release(&etm->base, etm->offset);
	if (used && !OCSD_DATA_RESP_IS_FATAL(response))
		return;
	/* After data that it refuses, the decoder has to synchronize again. */
	put_gap(etm, "OpenCSD cannot read this");
	etm->offset += !used;
	ocsd_dt_process_data(etm->tree, OCSD_OP_RESET, 0, 0, NULL, &used);
}

static unsigned int fill(struct decoder *decoder, struct trace_event *events)
{
	struct etm *etm = (struct etm *)decoder;
	unsigned int count = 0;

	while (count < TRACE_BATCH) {
		if (etm->next_event < etm->nr_events)
			events[count++] = etm->events[etm->next_event++];
		else if (!etm->ended)
			read_piece(etm);
		else
			return count;
	}
	return count;
}

static int make_tree(struct etm *etm, const struct recording *recording)
{
	const ocsd_etmv4_cfg config = {
		.reg_idr0 = recording->etm.idr0,
		.reg_idr1 = recording->etm.idr1,
		.reg_idr2 = recording->etm.idr2,
		.reg_idr8 = recording->etm.idr8,
		.reg_configr = recording->etm.config,
		.reg_traceidr = recording->etm.traceid,
		.arch_ver = ARCH_V8,
		.core_prof = profile_CortexA,
	};
	unsigned char id;

	etm->tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
	if (etm->tree == C_API_INVALID_TREE_HANDLE)
		return -1;
	return ocsd_dt_create_decoder(etm->tree, OCSD_BUILTIN_DCD_ETMV4I,
				      OCSD_CREATE_FLG_PACKET_PROC, &config, &id) ||
	       ocsd_dt_attach_packet_callback(etm->tree, id, OCSD_C_API_CB_PKT_SINK,
					      take_packet, etm) ? -1 : 0;
}

static void close_etm(struct decoder *decoder)
{
	struct etm *etm = (struct etm *)decoder;

	if (etm->tree != C_API_INVALID_TREE_HANDLE)
		ocsd_destroy_dcd_tree(etm->tree);
	decoder_unmap(decoder);
	free(etm);
}

static struct decoder *open_etm(const struct recording *recording,
				const struct map *map __unused, const char *path,
				struct fault *fault)
{
	struct etm *etm = calloc(1, sizeof(*etm));

	if (!etm) {
		fault_say(fault, "%s: there is not enough memory", path);
		return NULL;
	}
	/* TRCIDR8: parts of the trace may be cancelled by later packets. */
	if (recording->etm.idr8) {
		fault_say(fault,
			  "%s: its processor traces what it does not know yet to happen, which is not understood here",
			  path);
		free(etm);
		return NULL;
	}
	etm->base.ops = &decoder_etm;
	etm->tree = C_API_INVALID_TREE_HANDLE;
	etm->synced = true;
	if (decoder_map_stream(&etm->base, path, fault)) {
		free(etm);
		return NULL;
	}
	/* A packet has fewer zeroes. */
	etm->end = decoder_end(&etm->base, 16);
	if (recording->snapshot && decoder_find_begin(&etm->base)) {
		etm->offset = etm->base.begin;
		put_gap(etm, "the snapshot begins here");
	}
	if (make_tree(etm, recording)) {
		fault_say(fault,
			  "%s: OpenCSD does not take the registers that the recording's info has",
			  path);
		close_etm(&etm->base);
		return NULL;
	}
	return &etm->base;
}

const struct decoder_ops decoder_etm = {
	.open = open_etm,
	.fill = fill,
	.close = close_etm,
};
