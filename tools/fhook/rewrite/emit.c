// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: generating the code of windows
 *
 * A site jumps to a stub, the stub to the moved code, and that jumps back to the end
 * of the window. Moved instructions before an exit run before its stub if none of
 * them is a branch; otherwise the stub is in the place of the exit. A tail stub jumps
 * directly to the target if that is known. The block contains only jumps and the
 * stubs of the file, sorted in the order of their creation, one at each multiple of
 * the stride.
 *
 * Neither calls nor throwing instructions are moved, so exceptions never pass through
 * moved code; it has unwind information for tools that stop a program anywhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fhook_calltrace_stub.h"
#include "rewrite.h"

static u64 here(const struct rewrite *rw)
{
	return rw->moved_at + rw->moved_size;
}

static int add_place(struct rewrite *rw, u64 at, u32 size, u64 from)
{
	struct place place = { .at = at, .from = from, .size = size };

	if (grow(&rw->places, &rw->room_places, rw->nr_places, sizeof(place)))
		return -1;
	rw->places[rw->nr_places++] = place;
	return 0;
}

int emit_bytes(struct rewrite *rw, const void *bytes, size_t size)
{
	while (rw->moved_size + size > rw->room_moved) {
		size_t room = rw->room_moved ? rw->room_moved * 2 : 4096;
		u8 *moved = realloc(rw->moved, room);

		if (!moved)
			return -1;
		rw->moved = moved;
		rw->room_moved = room;
	}
	memcpy(rw->moved + rw->moved_size, bytes, size);
	rw->moved_size += size;
	return 0;
}

/* Add a jump that replaces the instruction at FROM, or precedes it. */
static int add_jump(struct rewrite *rw, u64 target, u64 from)
{
	const size_t size = rw->code.arch->jump_size;
	u8 bytes[REWRITE_COPY_MAX];

	if (rw->code.arch->jump(here(rw), target, bytes) ||
	    add_place(rw, here(rw), size, from))
		return -1;
	return emit_bytes(rw, bytes, size);
}

/* Copy an instruction; to change the target of a branch, relocate it from another address. */
static int add_copy(struct rewrite *rw, const struct rewrite_insn *insn, u64 target)
{
	u64 from = insn->address + (target ? target - insn->target : 0);
	u8 bytes[REWRITE_COPY_MAX];
	int size;

	size = rw->code.arch->copy(code_bytes(&rw->code, insn), insn->size, from, here(rw), bytes);
	if (size < 0 || add_place(rw, here(rw), size, insn->address))
		return -1;
	return emit_bytes(rw, bytes, size);
}

static int add_patch(struct rewrite *rw, u64 address, const u8 *bytes, size_t size)
{
	struct patch patch = { .address = address, .size = size };

	memcpy(patch.bytes, bytes, size);
	if (grow(&rw->patches, &rw->room_patches, rw->nr_patches, sizeof(patch)))
		return -1;
	rw->patches[rw->nr_patches++] = patch;
	return 0;
}

static int add_name(struct rewrite *rw, const char *name, const struct point *point, u64 *offset)
{
	const struct elf_symbol *target = point->target;
	char *text, *names;
	int length;

	if (point->kind != FHOOK_STUB_TAIL)
		length = asprintf(&text, "%s", name);
	else if (target)
		length = asprintf(&text, "%s %s 0x%llx", name, target->name, target->address);
	else
		length = asprintf(&text, "%s -", name);
	if (length < 0)
		return -1;
	names = realloc(rw->names, rw->names_size + length + 1);
	if (names) {
		memcpy(names + rw->names_size, text, length + 1);
		rw->names = names;
		*offset = rw->names_size;
		rw->names_size += length + 1;
	}
	free(text);
	return names ? 0 : -1;
}

/* Add a stub that jumps to TARGET, before the instruction at FROM; returns its index, or -1. */
static s64 add_stub(struct rewrite *rw, const struct function *function,
		    const struct point *point, u64 target, u64 from)
{
	struct elf_record record = {
		.stub = rw->block + rw->nr_stubs * rw->code.arch->stride,
		.entry = function->symbol->address,
		.kind = point->kind,
		.size = rw->code.arch->jump_size,
	};

	if (add_name(rw, function->symbol->name, point, &record.name))
		return -1;
	if (grow(&rw->records, &rw->room_records, rw->nr_stubs, sizeof(record)) ||
	    grow(&rw->jumps, &rw->room_jumps, rw->nr_stubs, sizeof(target)) ||
	    add_place(rw, record.stub, record.size, from))
		return -1;
	rw->records[rw->nr_stubs] = record;
	rw->jumps[rw->nr_stubs] = target;
	return rw->nr_stubs++;
}

static u64 stub_address(const struct rewrite *rw, s64 stub)
{
	return rw->records[stub].stub;
}

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->insn != y->insn)
		return x->insn < y->insn ? -1 : 1;
	/* Entries and landings come before exits. */
	return (x->kind == FHOOK_STUB_EXIT || x->kind == FHOOK_STUB_TAIL) -
	       (y->kind == FHOOK_STUB_EXIT || y->kind == FHOOK_STUB_TAIL);
}

/* The point of an instruction: an exit if LEAVES, otherwise an entry or landing; or NULL. */
static const struct point *point_of(const struct rewrite *rw, size_t insn, bool leaves)
{
	size_t low = first_index(rw->nr_points, i, rw->points[i].insn < insn);

	for (; low < rw->nr_points && rw->points[low].insn == insn; low++) {
		u32 kind = rw->points[low].kind;

		if ((kind == FHOOK_STUB_EXIT || kind == FHOOK_STUB_TAIL) == leaves)
			return rw->points + low;
	}
	return NULL;
}

/* May the stub of the last instruction come before all instructions of the window? */
static bool stub_may_lead(const struct rewrite *rw, const struct window *window)
{
	size_t i;

	if (point_of(rw, window->first, false) || !point_of(rw, window->last, true) ||
	    rw->code.insns[window->last].kind == INSN_CONDITIONAL)
		return false;
	for (i = window->first; i < window->last; i++) {
		if (rw->code.insns[i].kind != INSN_PLAIN && rw->code.insns[i].kind != INSN_NOP)
			return false;
	}
	return true;
}

/* Emit the exit instruction, and its stub unless that came before the window. */
static int emit_leaving(struct rewrite *rw, const struct function *function, size_t i,
			const struct point *point, bool has_led)
{
	const struct rewrite_insn *insn = rw->code.insns + i;
	s64 stub;

	if (insn->kind == INSN_CONDITIONAL) {
		stub = add_stub(rw, function, point, insn->target, insn->address);
		return stub < 0 ? -1 : add_copy(rw, insn, stub_address(rw, stub));
	}
	if (has_led)
		return add_copy(rw, insn, 0);
	if (insn->kind == INSN_JUMP) {
		stub = add_stub(rw, function, point, insn->target, insn->address);
		return stub < 0 ? -1 : add_jump(rw, stub_address(rw, stub), insn->address);
	}
	stub = add_stub(rw, function, point, here(rw) + rw->code.arch->jump_size, insn->address);
	if (stub < 0 || add_jump(rw, stub_address(rw, stub), insn->address))
		return -1;
	return add_copy(rw, insn, 0);
}

/* The target of the site's jump, or 0 on failure. */
static u64 emit_head(struct rewrite *rw, const struct window *window, bool leads)
{
	const struct function *function = rw->functions + window->function;
	const struct rewrite_insn *last = rw->code.insns + window->last;
	const struct point *point;
	u64 target = here(rw);
	s64 stub;

	point = leads ? point_of(rw, window->last, true) : point_of(rw, window->first, false);
	if (!point)
		return target;
	/* The window is only a jump to another function: the stub replaces that jump. */
	if (leads && window->first == window->last && last->kind == INSN_JUMP)
		target = last->target;
	stub = add_stub(rw, function, point, target, rw->code.insns[window->first].address);
	return stub < 0 ? 0 : stub_address(rw, stub);
}

static int emit_moved(struct rewrite *rw, const struct window *window, bool leads)
{
	const struct rewrite_insn *last = rw->code.insns + window->last;
	const struct point *point;
	size_t i;

	if (leads && window->first == window->last && last->kind == INSN_JUMP)
		return 0;
	for (i = window->first; i <= window->last; i++) {
		point = point_of(rw, i, true);
		if (point ? emit_leaving(rw, rw->functions + window->function, i, point, leads) :
		    add_copy(rw, rw->code.insns + i, 0))
			return -1;
	}
	if (rewrite_ends(last))
		return 0;
	return add_jump(rw, last->address + last->size, last->address + last->size);
}

static int emit_site(struct rewrite *rw, const struct window *window, u64 target)
{
	const struct rewrite_arch *arch = rw->code.arch;
	u64 site = rw->code.insns[window->first].address;
	const struct rewrite_insn *last = rw->code.insns + window->last;
	size_t size = last->address + last->size - site;
	u8 bytes[REWRITE_COPY_MAX * 2];

	/* The rest of the window is never executed. */
	memset(bytes, arch->fill, sizeof(bytes));
	if (size > sizeof(bytes) || size > REWRITE_COPY_MAX)
		return -1;
	if (!window->hop) {
		if (arch->jump(site, target, bytes))
			return -1;
		return add_patch(rw, site, bytes, size > arch->jump_size ? size : arch->jump_size);
	}
	arch->short_jump(site, window->hop, bytes);
	return add_patch(rw, site, bytes, size > arch->short_size ? size : arch->short_size);
}

/* Hops are written after all windows, because a hop may be inside a window. */
static int emit_hop(struct rewrite *rw, const struct window *window)
{
	const size_t size = rw->code.arch->jump_size;
	u8 bytes[REWRITE_COPY_MAX];

	if (rw->code.arch->jump(window->hop, window->target, bytes) ||
	    add_place(rw, window->hop, size, rw->code.insns[window->first].address))
		return -1;
	return add_patch(rw, window->hop, bytes, size);
}

static int emit_window(struct rewrite *rw, struct window *window)
{
	bool leads = stub_may_lead(rw, window);

	window->target = emit_head(rw, window, leads);
	if (!window->target || emit_moved(rw, window, leads))
		return -1;
	return emit_site(rw, window, window->target);
}

/* The largest section that has no bytes in the file, such as .bss; or NULL. */
static const Elf64_Shdr *largest_empty(const struct elf_image *image)
{
	const Elf64_Shdr *largest = NULL, *section = image->sections;
	const Elf64_Shdr *end = section + image->nr_sections;

	for (; section < end; section++) {
		if (section->sh_type == SHT_NOBITS && (section->sh_flags & SHF_ALLOC) &&
		    !(section->sh_flags & SHF_TLS) &&
		    (!largest || section->sh_size > largest->sh_size))
			largest = section;
	}
	return largest;
}

int emit_too_far(const struct rewrite *rw, const char *function, struct fault *fault)
{
	const struct elf_image *image = &rw->image;
	const Elf64_Shdr *section = largest_empty(image);
	const char *name = section ? elf_section_name(image, section) : "";

	/* The new code is after all data, which is the cause if it has half of a jump's range. */
	if (!*name || section->sh_size < rw->code.arch->reach / 2)
		return fault_say(fault, "%s: the new code is too far away from %s.", image->path,
				 function);
	return fault_say(fault,
			 "%s: the new code is too far away from %s, because %s has %llu MiB: %s.",
			 image->path, function, name, (u64)section->sh_size >> 20,
			 "allocate such arrays when the program runs");
}

int emit_all(struct rewrite *rw, struct fault *fault)
{
	struct window *window = rw->windows, *end = window + rw->nr_windows;

	qsort(rw->points, rw->nr_points, sizeof(*rw->points), compare_points);
	rw->block = file_new_address(rw) + file_head_size(rw);
	/* Each point has at most one stub. */
	rw->moved_at = rw->block + rw->nr_points * rw->code.arch->stride;
	for (; window < end; window++) {
		if (rw->functions[window->function].refused)
			continue;
		if (emit_window(rw, window))
			return emit_too_far(rw, rw->functions[window->function].symbol->name,
					    fault);
	}
	for (window = rw->windows; window < end; window++) {
		if (!rw->functions[window->function].refused && window->hop &&
		    emit_hop(rw, window))
			return fault_say(fault, "There is no memory.");
	}
	rw->run.stubs = rw->nr_stubs;
	return 0;
}
