// SPDX-License-Identifier: GPL-2.0
/* Write the trace of a processor with an Embedded Trace Macrocell (ETMv4). */
#include "etm_emit.h"

#define ETM_TRACE_INFO		0x01
#define ETM_TRACE_ON		0x04
#define ETM_CONTEXT_ADDRESS	0x85
#define ETM_ADDRESS_SHORT	0x95
#define ETM_ADDRESS_32		0x9a
#define ETM_ADDRESS_64		0x9d
#define ETM_ATOM		0xf6

#define CONTEXT_64BIT		0x10
#define CONTEXT_NONSECURE	0x20
#define CONTEXT_EL1		0x01

/*
 * The values of the identification registers: version 4.0, 64-bit addresses, commits
 * implied, no conditional or data trace, one trace id.
 */
const struct recording_etm etm_emit_registers = {
	.traceid = 0x10,
	.config = 0x1,
	.idr0 = 0x28000ea1,
	.idr1 = 0x4100f403,
	.idr2 = 0x488,
	.idr8 = 0,
};

/* The low bits of the address of a 32-bit instruction. */
static unsigned int put_low(u8 *packet, u64 address)
{
	packet[0] = address >> 2 & 0x7f;
	packet[1] = address >> 9 & 0x7f;
	return 2;
}

static unsigned int put_bytes(u8 *packet, u64 address, unsigned int first_bit,
			      unsigned int end_bit)
{
	unsigned int size = 0;

	for (; first_bit < end_bit; first_bit += 8)
		packet[size++] = address >> first_bit;
	return size;
}

/* The first address after an A-sync includes the context. */
static void put_context_address(struct etm_emitter *etm, u64 address)
{
	u8 packet[10] = { ETM_CONTEXT_ADDRESS };
	unsigned int size = 1;

	size += put_low(packet + size, address);
	size += put_bytes(packet + size, address, 16, 64);
	packet[size++] = CONTEXT_64BIT |
			 (etm->kernel ? CONTEXT_EL1 : 0) | CONTEXT_NONSECURE;
	trace_file_put(etm->file, packet, size);
	etm->synced = false;
	etm->last = address;
}

void etm_emit_address(struct etm_emitter *etm, u64 address)
{
	const u64 changed = address ^ etm->last;
	u8 packet[9];
	unsigned int size = 1;

	if (etm->synced) {
		put_context_address(etm, address);
		return;
	}
	if (!(changed >> 17)) {
		packet[0] = ETM_ADDRESS_SHORT;
		packet[size++] = (address >> 2 & 0x7f) | (changed >> 9 ? 0x80 : 0);
		if (changed >> 9)
			packet[size++] = address >> 9;
	} else {
		packet[0] = changed >> 32 ? ETM_ADDRESS_64 : ETM_ADDRESS_32;
		size += put_low(packet + size, address);
		size += put_bytes(packet + size, address, 16, changed >> 32 ? 64 : 32);
	}
	trace_file_put(etm->file, packet, size);
	etm->last = address;
}

/* Write A-sync and trace info, which reset the state of a decoder. */
static void put_sync(struct etm_emitter *etm)
{
	static const u8 sync[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80 };
	static const u8 info[] = { ETM_TRACE_INFO, 1, 0 };
	u64 bytes = etm->file->written + etm->file->lost + etm->file->used;

	if (bytes < etm->next_sync)
		return;
	etm->next_sync = bytes + etm->period;
	trace_file_put(etm->file, sync, sizeof(sync));
	trace_file_put(etm->file, info, sizeof(info));
	etm->synced = true;
}

void etm_emit_start(struct etm_emitter *etm, struct trace_file *file, u64 period, bool kernel)
{
	*etm = (struct etm_emitter){ .file = file, .period = period, .kernel = kernel };
	put_sync(etm);
}

void etm_emit_enable(struct etm_emitter *etm, u64 address)
{
	static const u8 on = ETM_TRACE_ON;

	put_sync(etm);
	trace_file_put(etm->file, &on, 1);
	etm_emit_address(etm, address);
}

void etm_emit_atom(struct etm_emitter *etm, bool executed)
{
	const u8 atom = ETM_ATOM | executed;

	trace_file_put(etm->file, &atom, 1);
}
