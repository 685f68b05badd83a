// SPDX-License-Identifier: GPL-2.0
/* Write the trace of a processor with Intel Processor Trace. */
#include <time.h>
#include "pt_emit.h"

#define PT_TIP		0x0d
#define PT_PGE		0x11
#define PT_PGD		0x01
#define PT_FUP		0x1d

#define TNT_BITS	6

static u64 cycles(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static u64 bytes_of(const struct pt_emitter *pt)
{
	return pt->file->written + pt->file->lost + pt->file->used;
}

/* Compress an address; returns the IPBytes bits of the header, and sets the number of bytes. */
static u8 compress(u64 ip, u64 last_ip, unsigned int *size)
{
	const u64 changed = ip ^ last_ip;

	if (!(changed >> 16)) {
		*size = 2;
		return 1 << 5;
	}
	if (!(changed >> 32)) {
		*size = 4;
		return 2 << 5;
	}
	if ((u64)((s64)(ip << 16) >> 16) == ip) {
		*size = 6;
		return 3 << 5;
	}
	*size = 8;
	return 6 << 5;
}

static void put_ip(struct pt_emitter *pt, u8 opcode, u64 ip)
{
	u8 *packet = trace_file_room(pt->file, 16);
	unsigned int size;

	packet[0] = opcode | compress(ip, pt->last_ip, &size);
	memcpy(packet + 1, &ip, size);
	pt->file->used += size + 1;
	pt->last_ip = ip;
}

/* A cycle packet precedes each other packet about execution. */
static void put_cycles(struct pt_emitter *pt, u64 count)
{
	u8 packet[12];
	unsigned int size = 0;

	if (pt->profile != PROFILE_CYCLES)
		return;
	pt->last_cycle += count;
	packet[size++] = (count & 31) << 3 | (count > 31) << 2 | 3;
	for (count >>= 5; count; count >>= 7)
		packet[size++] = (count & 127) << 1 | (count > 127);
	trace_file_put(pt->file, packet, size);
}

static void put_mode(struct pt_emitter *pt)
{
	static const u8 mode_64bit[] = { 0x99, 0x01 };

	trace_file_put(pt->file, mode_64bit, sizeof(mode_64bit));
	pt->mode_due = false;
}

void pt_emit_flush(struct pt_emitter *pt)
{
	u8 packet;

	if (!pt->nr_bits)
		return;
	put_cycles(pt, 1);
	/* The bits follow a leading one, the first branch highest. */
	packet = (pt->bits | 1 << pt->nr_bits) << 1;
	trace_file_put(pt->file, &packet, 1);
	pt->nr_bits = 0;
	pt->bits = 0;
}

/* Write PSB+ if it is due; INSIDE: execution is in the range, at IP. */
static void put_psb(struct pt_emitter *pt, bool inside, u64 ip)
{
	static const u8 psb[] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
				  2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	static const u8 psbend[] = { 2, 0x23 };
	static const u8 cbr[] = { 2, 3, PT_NOMINAL, 0 };
	u8 tsc[8] = { 0x19 };
	u64 now;

	if (bytes_of(pt) < pt->next_psb)
		return;
	/* No cycle packet precedes the first PSB of a trace. */
	if (pt->next_psb)
		put_cycles(pt, 1);
	trace_file_put(pt->file, psb, sizeof(psb));
	pt->next_psb = bytes_of(pt) - sizeof(psb) + pt->psb_period;
	pt->last_ip = 0;
	now = pt->profile == PROFILE_CYCLES ? pt->last_cycle : cycles();
	memcpy(tsc + 1, &now, sizeof(tsc) - 1);
	trace_file_put(pt->file, tsc, sizeof(tsc));
	trace_file_put(pt->file, cbr, sizeof(cbr));
	pt->mode_due = !inside;
	if (inside) {
		put_mode(pt);
		put_ip(pt, PT_FUP, ip);
	}
	trace_file_put(pt->file, psbend, sizeof(psbend));
}

void pt_emit_start(struct pt_emitter *pt, struct trace_file *file,
		   enum recording_profile profile, u64 psb_period)
{
	*pt = (struct pt_emitter){
		.file = file, .profile = profile, .psb_period = psb_period,
		.last_cycle = cycles(),
	};
	put_psb(pt, false, 0);
}

void pt_emit_enable(struct pt_emitter *pt, u64 ip)
{
	put_psb(pt, false, 0);
	/* Outside, the clock continues; inside, each instruction takes one cycle. */
	if (pt->profile == PROFILE_CYCLES) {
		const u64 now = cycles();

		put_cycles(pt, now > pt->last_cycle ? now - pt->last_cycle : 1);
	}
	if (pt->mode_due)
		put_mode(pt);
	put_ip(pt, PT_PGE, ip);
}

void pt_emit_disable(struct pt_emitter *pt, u64 ip, bool has_target, u64 target)
{
	static const u8 no_payload = PT_PGD;

	pt_emit_flush(pt);
	put_psb(pt, true, ip);
	put_cycles(pt, 1);
	if (has_target && pt->profile != PROFILE_NO_TARGET)
		put_ip(pt, PT_PGD, target);
	else
		trace_file_put(pt->file, &no_payload, 1);
}

void pt_emit_interrupt(struct pt_emitter *pt, u64 ip)
{
	static const u8 no_payload = PT_PGD;

	pt_emit_flush(pt);
	put_cycles(pt, 1);
	put_ip(pt, PT_FUP, ip);
	trace_file_put(pt->file, &no_payload, 1);
}

void pt_emit_taken(struct pt_emitter *pt, bool taken)
{
	pt->bits = pt->bits << 1 | taken;
	if (++pt->nr_bits == TNT_BITS)
		pt_emit_flush(pt);
}

void pt_emit_target(struct pt_emitter *pt, u64 target)
{
	pt_emit_flush(pt);
	put_cycles(pt, 1);
	put_ip(pt, PT_TIP, target);
	put_psb(pt, true, target);
}

void pt_emit_async(struct pt_emitter *pt, u64 from, u64 to)
{
	pt_emit_flush(pt);
	put_cycles(pt, 1);
	put_ip(pt, PT_FUP, from);
	pt_emit_target(pt, to);
}
