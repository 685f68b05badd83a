// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: unwind information for new code
 *
 * A place in the new code has the stack and the registers of the instruction that it replaces.
 * So it gets an FDE that sets at once the state that the original FDE reaches at that
 * instruction, and belongs to the same CIE. All FDEs, old and new, are in a new table, which
 * replaces .eh_frame_hdr: exceptions, debuggers and profilers find them through this table.
 *
 * A hop in the middle of a function has an FDE inside of another one, which would hide the code
 * after it: so that code, up to the next hop, gets an FDE as well. But the tables of landing pads
 * count from the start of an FDE, so that in a function with such a table, a hop keeps the
 * original FDE. Code whose unwind information is not understood gets none.
 */
#include <stdlib.h>
#include <string.h>
#include "rewrite.h"

/* A CFA instruction that advances the address; the others only have operands. */
#define CFA_ADVANCE	0x40	/* the low six bits are how far */
#define CFA_OFFSET	0x80	/* a register is in the low six bits, and a number follows */
#define CFA_RESTORE	0xc0	/* a register is in the low six bits */
#define CFA_ADVANCE_1	0x02
#define CFA_ADVANCE_2	0x03
#define CFA_ADVANCE_4	0x04
#define CFA_REMEMBER	0x0a
#define CFA_RESTORE_STATE	0x0b

/* Operands: a number of any length, or a block, which has its length before it. */
#define NUMBER	"n"
#define NUMBERS	"nn"
#define BLOCK	"b"

static const char *const operands[0x40] = {
	[0x00] = "",			/* nop */
	[0x05] = NUMBERS,		/* offset_extended */
	[0x06] = NUMBER,		/* restore_extended */
	[0x07] = NUMBER,		/* undefined */
	[0x08] = NUMBER,		/* same_value */
	[0x09] = NUMBERS,		/* register */
	[CFA_REMEMBER] = "",
	[CFA_RESTORE_STATE] = "",
	[0x0c] = NUMBERS,		/* def_cfa */
	[0x0d] = NUMBER,		/* def_cfa_register */
	[0x0e] = NUMBER,		/* def_cfa_offset */
	[0x0f] = BLOCK,			/* def_cfa_expression */
	[0x10] = NUMBER BLOCK,		/* expression */
	[0x11] = NUMBERS,		/* offset_extended_sf */
	[0x12] = NUMBERS,		/* def_cfa_sf */
	[0x13] = NUMBER,		/* def_cfa_offset_sf */
	[0x14] = NUMBERS,		/* val_offset */
	[0x15] = NUMBERS,		/* val_offset_sf */
	[0x16] = NUMBER BLOCK,		/* val_expression */
	[0x2d] = "",			/* AARCH64_negate_ra_state */
	[0x2e] = NUMBER,		/* GNU_args_size */
};

/* An entry of the table: start of the code, its FDE, and whether it is after a hop. */
struct entry {
	u64 start;
	u64 frame;
	bool behind;
};

/* The table, as .eh_frame_hdr has it: all distances have 32 bits. */
struct table {
	u8 version, frames_encoding, count_encoding, entries_encoding;
	s32 frames;
	u32 count;
};

/* Less than the range of 32 bits, by more than the size of the unwind information. */
#define UNWIND_REACH	0x40000000

#define PE_PCREL_4	0x1b
#define PE_UNSIGNED_4	0x03
#define PE_DATAREL_4	0x3b

static size_t skip_number(const u8 *at, const u8 *end, u64 *number)
{
	const u8 *begin = at;
	unsigned int shift = 0;

	*number = 0;
	while (at < end) {
		if (shift < 64)
			*number |= (u64)(*at & 0x7f) << shift;
		shift += 7;
		if (!(*at++ & 0x80))
			return at - begin;
	}
	return 0;
}

static size_t skip_operands(const u8 *at, const u8 *end, const char *kinds)
{
	const u8 *begin = at;
	u64 number;
	size_t size;

	for (; *kinds; kinds++) {
		size = skip_number(at, end, &number);
		if (!size)
			return 0;
		at += size;
		if (*kinds != *BLOCK)
			continue;
		if (number > (size_t)(end - at))
			return 0;
		at += number;
	}
	return at - begin;
}

/* The size of an instruction, 0 if it is unknown; *DISTANCE is set to its advance. */
static size_t instruction(const u8 *at, const u8 *end, u64 *distance)
{
	const u8 code = *at & CFA_RESTORE ? *at & CFA_RESTORE : *at;
	size_t size, left = end - at;
	u64 number;

	*distance = 0;
	switch (code) {
	case CFA_ADVANCE:
		*distance = *at & 0x3f;
		return 1;
	case CFA_RESTORE:
		return 1;
	case CFA_OFFSET:
		size = skip_number(at + 1, end, &number);
		return size ? 1 + size : 0;
	case CFA_ADVANCE_1:
	case CFA_ADVANCE_2:
	case CFA_ADVANCE_4:
		size = 1 << (code - CFA_ADVANCE_1);
		if (left < 1 + size)
			return 0;
		memcpy(distance, at + 1, size);
		return 1 + size;
	default:
		if (!operands[code])
			return 0;
		size = skip_operands(at + 1, end, operands[code]);
		return size || !*operands[code] ? 1 + size : 0;
	}
}

/* The most remembered states of which restoring drops the instructions in between. */
#define REMEMBERED_MAX	16

/*
 * The end of the part of a CFA program that applies before address UNTIL. FROM applies at HERE. A
 * part that is not understood is included.
 */
static const u8 *part_end(const struct frame *frame, const u8 *from, u64 here, u64 until)
{
	const u8 *end = frame->program + frame->size;
	u64 distance;
	size_t size;

	for (; from < end; from += size) {
		size = instruction(from, end, &distance);
		if (!size)
			return end;
		here += distance * frame->unit;
		if (here >= until)
			break;
	}
	return from;
}

/*
 * Copy a CFA program up to an address, without the advances, and the part from there to address
 * UNTIL. Returns the size, which exceeds that of the program by less than PROGRAM_MORE, or -1.
 *
 * Instructions between remembering and restoring a state have no effect after it, except on the
 * size of arguments, which only matters to landing pads: the new FDE has none. Compilers restore
 * the state after each return, so a copy of all would have the size of the whole program.
 */
#define PROGRAM_MORE	8

static ssize_t program_to(const struct frame *frame, u64 address, u64 until, u8 *to)
{
	const u8 *at = frame->program, *end = at + frame->size;
	size_t size, done = 0, depth = 0, remembered[REMEMBERED_MAX];
	u64 here = frame->start, distance;
	u32 further;

	for (; at < end; at += size) {
		size = instruction(at, end, &distance);
		if (!size)
			return -1;
		here += distance * frame->unit;
		if (here > address)
			break;
		if (distance || !*at)
			continue;
		if (*at == CFA_RESTORE_STATE && depth && --depth < REMEMBERED_MAX) {
			done = remembered[depth];
			continue;
		}
		if (*at == CFA_REMEMBER && depth++ < REMEMBERED_MAX)
			remembered[depth - 1] = done;
		memcpy(to + done, at, size);
		done += size;
	}
	if (at < end && here < until) {
		further = (here - address) / frame->unit;
		to[done++] = CFA_ADVANCE_4;
		memcpy(to + done, &further, sizeof(further));
		done += sizeof(further);
		at += size;
		size = part_end(frame, at, here, until) - at;
		memcpy(to + done, at, size);
		done += size;
	}
	return done;
}

static const struct frame *frame_of(const struct rewrite *rw, u64 address)
{
	size_t low = first_index(rw->nr_frames, i, rw->frames[i].start <= address);

	return low && address < rw->frames[low - 1].end ? rw->frames + low - 1 : NULL;
}

static u64 here(const struct rewrite *rw)
{
	return rw->moved_at + rw->moved_size;
}

/* Pad to a multiple of eight; zeros are instructions without effect. */
static int pad(struct rewrite *rw)
{
	static const u8 zeros[8];

	return emit_bytes(rw, zeros, -here(rw) & 7);
}

/* Write an FDE with 32-bit relative addresses; its CIE is before it. */
static int emit_frame(struct rewrite *rw, const struct frame *frame, const struct place *place,
		      const u8 *program, size_t size)
{
	const u64 at = here(rw);
	const u8 data_size = frame->has_data ? 1 + frame->lsda_size : 0;
	const size_t head = 4 * sizeof(u32) + data_size;
	const u32 words[] = {
		((head + size + 7) & ~7UL) - sizeof(u32), at + 4 - frame->rules,
		place->at - (at + 8), place->size,
	};
	u8 data[16] = { frame->lsda_size };

	return emit_bytes(rw, words, sizeof(words)) || emit_bytes(rw, data, data_size) ||
	       emit_bytes(rw, program, size) || pad(rw) ? -1 : 0;
}

/* May an FDE be replaced by FDEs for parts of its function? */
static bool can_split(const struct frame *frame)
{
	return frame->usual && !frame->lsda_size;
}

/*
 * Add an FDE for a place, with the state of FRAME at FROM. Returns 1, 0 if there is none, or -1.
 */
static int add_frame(struct rewrite *rw, const struct frame *frame, const struct place *place,
		     bool behind, struct entry *entry)
{
	u8 *program = malloc(frame->size + PROGRAM_MORE);
	ssize_t size;
	int result;

	if (!program)
		return -1;
	size = program_to(frame, place->from, behind ? place->at + place->size : 0, program);
	*entry = (struct entry){ .start = place->at, .frame = here(rw), .behind = behind };
	result = size < 0 ? 0 : emit_frame(rw, frame, place, program, size) ?: 1;
	free(program);
	return result;
}

/*
 * Add FDEs for a place and, if it is inside a function, for the code after it, up to NEXT, the
 * next place that has FDEs. Returns their number, or -1.
 */
static int add_frames(struct rewrite *rw, const struct place *place, u64 next,
		      struct entry *entries)
{
	const struct frame *frame = frame_of(rw, place->from), *around = frame_of(rw, place->at);
	struct place rest = { .at = place->at + place->size };
	u64 end = around && around->end < next ? around->end : next;
	int count, more;

	if (!frame || !frame->usual || (around && !can_split(around)))
		return 0;
	count = add_frame(rw, frame, place, false, entries);
	if (count <= 0 || !around || rest.at >= end)
		return count;
	rest.from = rest.at;
	rest.size = end - rest.at;
	more = add_frame(rw, around, &rest, true, entries + count);
	/* No FDE is better than one that hides others. */
	return more > 0 ? count + more : more;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Returns the number of entries, or -1 if there is no memory. */
static ssize_t emit_frames(struct rewrite *rw, struct entry *entries)
{
	size_t count = 0, i;
	u64 next = -1;
	int added;

	if (rw->nr_places)
		qsort(rw->places, rw->nr_places, sizeof(*rw->places), compare_places);
	for (i = 0; i < rw->nr_frames; i++)
		entries[count++] = (struct entry){
			.start = rw->frames[i].start, .frame = rw->frames[i].entry,
		};
	for (i = rw->nr_places; i--;) {
		added = add_frames(rw, rw->places + i, next, entries + count);
		if (added < 0)
			return -1;
		if (added)
			next = rw->places[i].at;
		count += added;
	}
	return count;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->behind - y->behind;
}

/* Sort; the code after a hop may begin with another entry, which is then used instead. */
static size_t sort_entries(struct entry *entries, size_t count)
{
	size_t i, kept = 0;

	qsort(entries, count, sizeof(*entries), compare_entries);
	for (i = 0; i < count; i++) {
		if (!i || !entries[i].behind || entries[kept - 1].start != entries[i].start)
			entries[kept++] = entries[i];
	}
	return kept;
}

static int emit_table(struct rewrite *rw, struct entry *entries, size_t count, u64 old)
{
	struct table table = {
		.version = 1, .frames_encoding = PE_PCREL_4, .count_encoding = PE_UNSIGNED_4,
		.entries_encoding = PE_DATAREL_4, .count = count,
	};
	size_t i;

	rw->table_at = here(rw);
	table.frames = old - (rw->table_at + offsetof(struct table, frames));
	if (emit_bytes(rw, &table, sizeof(table)))
		return -1;
	for (i = 0; i < count; i++) {
		const s32 words[] = {
			entries[i].start - rw->table_at, entries[i].frame - rw->table_at,
		};

		if (emit_bytes(rw, words, sizeof(words)))
			return -1;
	}
	rw->table_size = here(rw) - rw->table_at;
	return 0;
}

/* Without a table for the loader the FDEs are useless; and all must be within reach. */
static bool is_wanted(const struct rewrite *rw)
{
	const struct elf_image *image = &rw->image;
	const u64 end = here(rw);
	bool has_table = false;
	size_t i;

	for (i = 0; i < image->header->e_phnum; i++) {
		has_table |= image->segments[i].p_type == PT_GNU_EH_FRAME;
		if (image->segments[i].p_type == PT_LOAD &&
		    end - image->segments[i].p_vaddr > UNWIND_REACH)
			return false;
	}
	return has_table && rw->nr_frames;
}

static int compare_frames(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int unwind_emit(struct rewrite *rw, struct fault *fault)
{
	const Elf64_Shdr *section = elf_section(&rw->image, ".eh_frame");
	static const u32 no_more;
	struct entry *entries;
	ssize_t count;
	int result = -1;

	if (pad(rw))
		return fault_say(fault, "There is no memory.");
	rw->unwind_at = here(rw);
	if (!is_wanted(rw))
		return 0;
	qsort(rw->frames, rw->nr_frames, sizeof(*rw->frames), compare_frames);
	entries = calloc(rw->nr_frames + 2 * rw->nr_places, sizeof(*entries));
	if (entries) {
		count = emit_frames(rw, entries);
		count = count < 0 ? count : (ssize_t)sort_entries(entries, count);
		if (count >= 0 && !emit_bytes(rw, &no_more, sizeof(no_more)))
			result = emit_table(rw, entries, count, section->sh_addr);
	}
	free(entries);
	return result ? fault_say(fault, "There is no memory.") : 0;
}
