// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: planning points and windows of functions
 *
 * The jump is written over the first instruction of a window. None of the other instructions
 * may be a target, because a jump there would arrive in the middle of the new jump; and none
 * may be a call, because its return address is in the program. A return or a jump is the last
 * one, and the padding after it, which cannot be reached, may be used too.
 *
 * On x86_64 a window has five bytes; or two, for a short jump to a hop of five bytes in
 * padding nearby, or after the jump of another window of the function. It grows forward from
 * an entry or a landing, backward from an exit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fhook_calltrace_stub.h"
#include "rewrite.h"

static int refuse(struct rewrite *rw, size_t f, const char *why, u64 address)
{
	struct function *function = rw->functions + f;
	char reason[200];

	/* Without an address before it, the reason must be a complete sentence. */
	snprintf(reason, sizeof(reason), "%s%s", strncmp(why, "is ", 3) ? "" : "there ", why);
	if (!function->refused &&
	    instrument_cannot(&rw->run, function->by_name, function->symbol->name, reason,
			      "%s cannot be done: at 0x%llx %s.", function->symbol->name, address,
			      why))
		return -1;
	function->refused = true;
	return 1;
}

/* Can an instruction be moved? Its reach is checked later, when its new address is known. */
static bool can_move(const struct code *code, size_t i)
{
	const struct rewrite_insn *insn = code->insns + i;
	const u8 *bytes = code_bytes(code, insn);
	u8 copy[REWRITE_COPY_MAX];

	if (!bytes || (insn->marks & (MARK_FIXED | MARK_USED)) || insn->kind == INSN_BAD ||
	    (code->finds_functions && insn->marks & MARK_FAULTS))
		return false;
	return code->arch->copy(bytes, insn->size, insn->address, insn->address, copy) >= 0;
}

/* May a window continue with this instruction: is it adjacent, and not a target? */
static bool may_join(const struct code *code, size_t i)
{
	const struct rewrite_insn *insn = code->insns + i;

	return i < code->nr_insns && !(insn->marks & (MARK_TARGET | MARK_PAD | MARK_REGION |
						      MARK_WINDOW | MARK_USED)) &&
	       insn[-1].address + insn[-1].size == insn->address && insn[-1].kind != INSN_CALL;
}

/* Is this the last instruction of a function, and a call that does not return? */
static bool closes(const struct code *code, const struct rewrite_insn *insn)
{
	const struct elf_symbol *symbol = elf_symbol_of(code->image, insn->address);

	return insn->kind == INSN_CALL && symbol && !code->image->stripped &&
	       symbol->address + symbol->size == insn->address + insn->size;
}

/* The number of free bytes of padding after a final instruction, up to WANTED. */
static size_t padding_behind(const struct code *code, size_t i, size_t wanted)
{
	const struct rewrite_insn *insn = code->insns + i, *end = code->insns + code->nr_insns;
	size_t room = 0;

	if (!rewrite_ends(insn) && !closes(code, insn))
		return 0;
	for (insn++; insn < end && room < wanted; insn++) {
		if (insn->kind != INSN_NOP || insn[-1].address + insn[-1].size != insn->address ||
		    (insn->marks & (MARK_TARGET | MARK_PAD | MARK_REGION | MARK_USED)))
			break;
		room += insn->size;
	}
	return room;
}

static void use_padding(struct code *code, u64 from, u64 to)
{
	size_t i = code_find(code, from);

	for (; i < code->nr_insns && code->insns[i].address < to; i++)
		code->insns[i].marks |= MARK_USED;
}

static size_t bytes_of(const struct code *code, size_t first, size_t last)
{
	return code->insns[last].address + code->insns[last].size - code->insns[first].address;
}

static void mark_window(struct rewrite *rw, struct window *window)
{
	const size_t w = window - rw->windows;
	struct code *code = &rw->code;
	size_t i, bytes = bytes_of(code, window->first, window->last);
	u64 end = code->insns[window->first].address + bytes;

	for (i = window->first; i <= window->last; i++) {
		code->insns[i].marks |= MARK_WINDOW;
		code->insns[i].window = w;
	}
	window->room = bytes;
	if (bytes >= code->arch->jump_size)
		return;
	window->room += padding_behind(code, window->last, code->arch->jump_size - bytes);
	use_padding(code, end, end - bytes + window->room);
}

static int keep_window(struct rewrite *rw, const struct window *window)
{
	if (rw->nr_windows > 0xffffffff ||
	    grow(&rw->windows, &rw->room_windows, rw->nr_windows, sizeof(*window)))
		return -1;
	rw->windows[rw->nr_windows] = *window;
	mark_window(rw, rw->windows + rw->nr_windows++);
	return 0;
}

static int add_window(struct rewrite *rw, size_t f, size_t first, size_t last)
{
	struct window window = { .function = f, .first = first, .last = last };
	const struct code *code = &rw->code;
	size_t room = bytes_of(code, first, last);

	room += padding_behind(code, last, code->arch->jump_size);
	if (room < code->arch->jump_size && (!code->arch->short_size ||
					     room < code->arch->short_size))
		return refuse(rw, f, "there is no room for a jump", code->insns[first].address);
	return keep_window(rw, &window);
}

static struct window *window_of(struct rewrite *rw, size_t i)
{
	const struct rewrite_insn *insn = rw->code.insns + i;

	return insn->marks & MARK_WINDOW ? rw->windows + insn->window : NULL;
}

/* Make a window that begins with an instruction. */
static int cover_forward(struct rewrite *rw, size_t f, size_t first)
{
	const struct code *code = &rw->code;
	size_t last = first;

	if (!can_move(code, first))
		return refuse(rw, f, "is an instruction that cannot run elsewhere",
			      code->insns[first].address);
	while (bytes_of(code, first, last) + padding_behind(code, last, code->arch->jump_size) <
	       code->arch->jump_size) {
		if (rewrite_ends(code->insns + last) || !may_join(code, last + 1) ||
		    !function_has(rw->functions + f, code->insns[last + 1].address) ||
		    !can_move(code, last + 1))
			break;
		last++;
	}
	return add_window(rw, f, first, last);
}

/* Extend the window that ends before FIRST. */
static int join_window(struct rewrite *rw, size_t f, size_t first, size_t last)
{
	struct window *window = window_of(rw, first - 1);

	if (!window || window->function != f || window->last != first - 1)
		return refuse(rw, f, "there is no room for a jump", rw->code.insns[first].address);
	window->last = last;
	mark_window(rw, window);
	return 0;
}

/* Make a window that ends with an instruction. */
static int cover_backward(struct rewrite *rw, size_t f, size_t last)
{
	const struct code *code = &rw->code;
	size_t first = last, room = code->insns[last].size;
	bool joins;

	if (!can_move(code, last))
		return refuse(rw, f, "is an instruction that cannot run elsewhere",
			      code->insns[last].address);
	room += padding_behind(code, last, code->arch->jump_size);
	while (room < code->arch->jump_size) {
		joins = first &&
			!(code->insns[first].marks & (MARK_TARGET | MARK_PAD | MARK_REGION)) &&
			code->insns[first - 1].address + code->insns[first - 1].size ==
			code->insns[first].address;
		if (joins && (code->insns[first - 1].marks & MARK_WINDOW))
			return join_window(rw, f, first, last);
		if (!joins || code->insns[first - 1].kind == INSN_CALL ||
		    code->insns[first - 1].kind == INSN_LANDING ||
		    rewrite_ends(code->insns + first - 1) || !can_move(code, first - 1))
			break;
		first--;
		room += code->insns[first].size;
	}
	return add_window(rw, f, first, last);
}

static int cover(struct rewrite *rw, size_t f, const struct point *point)
{
	const struct rewrite_insn *insn = rw->code.insns + point->insn;
	bool backward = point->kind == FHOOK_STUB_EXIT || point->kind == FHOOK_STUB_TAIL;

	if (insn->marks & MARK_WINDOW) {
		/* Control arrives at an entry or landing, so that must be the window's start. */
		if (!backward && window_of(rw, point->insn)->first != point->insn)
			return refuse(rw, f, "a jump that is needed before leaves no room",
				      insn->address);
		return 0;
	}
	if (backward && insn->kind != INSN_CONDITIONAL)
		return cover_backward(rw, f, point->insn);
	return cover_forward(rw, f, point->insn);
}

static int add_point(struct rewrite *rw, size_t insn, u32 kind, const struct elf_symbol *target)
{
	struct point point = { .insn = insn, .kind = kind, .target = target };

	if (grow(&rw->points, &rw->room_points, rw->nr_points, sizeof(point)))
		return -1;
	rw->points[rw->nr_points++] = point;
	return 0;
}

static const struct elf_symbol *symbol_at(const struct elf_image *image, u64 address)
{
	const struct elf_symbol *symbol = elf_symbol_of(image, address);

	return symbol && symbol->address == address ? symbol : NULL;
}

/* Add the exit of a jump to another function, or follow one to code moved elsewhere. */
static int add_tail(struct rewrite *rw, size_t f, size_t i)
{
	const struct rewrite_insn *insn = rw->code.insns + i;

	if (insn->kind == INSN_JUMP && code_comes_back(&rw->code, insn) &&
	    function_has(rw->functions + f, insn->address + insn->size))
		return 0;
	return add_point(rw, i, FHOOK_STUB_TAIL, symbol_at(&rw->image, insn->target));
}

/**
 * struct inside - possible ways from a function into its middle
 * @taken: an address in it that is in data or computed, or 0
 * @packed: data that is not aligned may have an address in it
 * @edge: it computes the address of its own start or end, the base of labels perhaps
 * @tables: number of tables of distances
 * @registers: bit mask of the registers to which a table's address is moved
 */
struct inside {
	u64 taken;
	bool packed;
	bool edge;
	size_t tables;
	u32 registers;
};

static bool is_through(const struct rewrite_insn *insn)
{
	return insn->kind == INSN_MEMORY || insn->kind == INSN_INDIRECT ||
	       insn->kind == INSN_TABLE;
}

/* A jump through a register or memory is a switch, leaves the function, or is refused. */
static int add_through(struct rewrite *rw, size_t f, size_t i, const struct inside *inside)
{
	const struct rewrite_insn *insn = rw->code.insns + i;
	enum jump_way way;
	u64 base;

	way = jumps_way(rw, rw->functions + f, i, inside->registers, &base);
	if (way == JUMP_SUM && insn->kind == INSN_TABLE)
		return refuse(rw, f, "is a jump whose table is not found", insn->address);
	if (inside->taken && way == JUMP_CASE)
		return refuse(rw, f, "is an address that something knows which is no switch",
			      inside->taken);
	if (way == JUMP_CASE)
		return 0;
	if (inside->taken || inside->packed || inside->edge || way == JUMP_SUM ||
	    (way != JUMP_WORD && inside->tables))
		return refuse(rw, f, "is a jump of which is not known whether it stays",
			      insn->address);
	return add_point(rw, i, FHOOK_STUB_TAIL, NULL);
}

/* Add the exits of a function: returns, and jumps to other functions. */
static int add_exits(struct rewrite *rw, size_t f, const struct inside *inside)
{
	const struct function *function = rw->functions + f;
	const struct code *code = &rw->code;
	size_t r, i;
	int ret = 0;

	for (r = 0; r < function->nr_ranges; r++) {
		for (i = code_find(code, function->ranges[r].start);
		     !ret && i < code->nr_insns && code->insns[i].address < function->ranges[r].end;
		     i++) {
			const struct rewrite_insn *insn = code->insns + i;

			if (insn->kind == INSN_RETURN)
				ret = add_point(rw, i, FHOOK_STUB_EXIT, NULL);
			else if (rw->at_run_time && insn->kind == INSN_CONDITIONAL &&
				 !function_has(function, insn->target))
				ret = refuse(rw, f, "is a conditional jump that leaves it",
					     insn->address);
			else if ((insn->kind == INSN_JUMP || insn->kind == INSN_CONDITIONAL) &&
				 !function_has(function, insn->target))
				ret = add_tail(rw, f, i);
			else if (is_through(insn))
				ret = add_through(rw, f, i, inside);
			else if (insn->kind == INSN_BAD)
				ret = refuse(rw, f, "is something that is no instruction",
					     insn->address);
		}
	}
	return ret;
}

static bool is_base(const struct rewrite *rw, u64 address)
{
	size_t i;

	for (i = 0; i < rw->nr_bases; i++) {
		if (rw->bases[i] == address)
			return true;
	}
	return false;
}

/* Find the addresses in a function to which its switches add distances. */
static int find_bases(struct rewrite *rw, const struct function *function, u32 tables)
{
	const struct code *code = &rw->code;
	size_t r, i;
	u64 base;

	rw->nr_bases = 0;
	for (r = 0; code->arch->bases_in_code && r < function->nr_ranges; r++) {
		for (i = code_find(code, function->ranges[r].start);
		     i < code->nr_insns && code->insns[i].address < function->ranges[r].end; i++) {
			if (!is_through(code->insns + i) ||
			    jumps_way(rw, function, i, tables, &base) != JUMP_CASE || !base)
				continue;
			if (grow(&rw->bases, &rw->room_bases, rw->nr_bases, sizeof(base)))
				return -1;
			rw->bases[rw->nr_bases++] = base;
		}
	}
	return 0;
}

/* Refuse a function that is entered in its middle: exits would lack an entry. */
static int check_shared(struct rewrite *rw, size_t f, const struct rewrite_insn *insn)
{
	if (insn->marks & MARK_SHARED)
		return refuse(rw, f, "another function jumps into it", insn->address);
	if (insn->marks & MARK_ENTERED)
		return refuse(rw, f, "is an address where others enter it", insn->address);
	return 0;
}

/* Is the operand of an instruction the address where the function starts or ends? */
static bool takes_edge(const struct function *function, const struct rewrite_insn *insn)
{
	return insn->kind == INSN_PLAIN && insn->target &&
	       (insn->target == function->symbol->address ||
		targets_is_end(function, insn->target));
}

/*
 * Look for addresses inside the function that data or tables of switches contain, and for those
 * from which its code may compute others.
 */
static int look_inside(struct rewrite *rw, size_t f, struct inside *inside)
{
	const struct function *function = rw->functions + f;
	const struct code *code = &rw->code;
	size_t r, i;
	int ret;

	inside->tables = targets_of_tables(rw, function);
	inside->registers = inside->tables ? jumps_tables(rw, function) : 0;
	ret = find_bases(rw, function, inside->registers);
	for (r = 0; r < function->nr_ranges; r++) {
		for (i = code_find(code, function->ranges[r].start); !ret &&
		     i < code->nr_insns && code->insns[i].address < function->ranges[r].end; i++) {
			const struct rewrite_insn *insn = code->insns + i;

			ret = check_shared(rw, f, insn);
			inside->edge |= takes_edge(function, insn);
			inside->packed |= (insn->marks & MARK_PACKED) &&
					  insn->address != function->symbol->address;
			if ((insn->marks & MARK_TAKEN) &&
			    insn->address != function->symbol->address &&
			    !is_base(rw, insn->address))
				inside->taken = insn->address;
		}
	}
	return ret;
}

static int add_landing(struct rewrite *rw, size_t f, u64 pad)
{
	size_t insn = code_find(&rw->code, pad);
	const bool switches = insn != NO_INSN && insn &&
			      switches_calls(rw, rw->code.insns + insn - 1);

	if (insn != NO_INSN && rw->code.insns[insn].kind == INSN_LANDING)
		insn++;
	if (insn == NO_INSN || insn >= rw->code.nr_insns)
		return refuse(rw, f, "an exception lands between instructions", pad);
	return add_point(rw, insn, switches ? FHOOK_STUB_SWITCH : FHOOK_STUB_LAND, NULL);
}

/* The index of the first landing pad at or after an address. */
static size_t pads_from(const struct rewrite *rw, u64 address)
{
	return first_index(rw->nr_pads, i, rw->pads[i] < address);
}

static int add_landings(struct rewrite *rw, size_t f)
{
	size_t r, i;
	int ret = 0;

	for (r = 0; r < rw->functions[f].nr_ranges; r++) {
		const struct range *range = rw->functions[f].ranges + r;

		for (i = pads_from(rw, range->start);
		     !ret && i < rw->nr_pads && rw->pads[i] < range->end; i++) {
			/* Several calls may share a landing pad. */
			if (!i || rw->pads[i] != rw->pads[i - 1])
				ret = add_landing(rw, f, rw->pads[i]);
		}
	}
	return ret;
}

/* Does a loop lead back to the entry? Each iteration would be counted as an entry. */
static bool is_looped_to(const struct rewrite *rw, size_t f, u64 entry)
{
	const struct function *function = rw->functions + f;
	const struct code *code = &rw->code;
	size_t r, i;

	for (r = 0; r < function->nr_ranges; r++) {
		for (i = code_find(code, function->ranges[r].start);
		     i < code->nr_insns && code->insns[i].address < function->ranges[r].end; i++) {
			if (code->insns[i].target == entry && code->insns[i].kind != INSN_CALL &&
			    code->insns[i].kind != INSN_PLAIN)
				return true;
		}
	}
	return false;
}

static int add_entry(struct rewrite *rw, size_t f)
{
	const struct function *function = rw->functions + f;
	size_t i = code_find(&rw->code, function->ranges[0].start);
	u64 address = function->ranges[0].start;
	size_t checked;

	if (i != NO_INSN && rw->code.insns[i].kind == INSN_LANDING)
		i++;
	if (i == NO_INSN || i >= rw->code.nr_insns ||
	    !function_has(function, rw->code.insns[i].address))
		return refuse(rw, f, "is no instruction that it begins with", address);
	checked = go_after_check(rw, function, i);
	if (checked != NO_INSN)
		return add_point(rw, checked, FHOOK_STUB_ENTRY, NULL);
	if (is_looped_to(rw, f, rw->code.insns[i].address))
		return refuse(rw, f,
			      "it jumps back to its own entry: each turn would look like a call",
			      rw->code.insns[i].address);
	return add_point(rw, i, FHOOK_STUB_ENTRY, NULL);
}

/* Undo the planning of a function that cannot be rewritten. */
static void forget(struct rewrite *rw, size_t points, size_t windows)
{
	size_t w, i;

	for (w = windows; w < rw->nr_windows; w++) {
		for (i = rw->windows[w].first; i <= rw->windows[w].last; i++)
			rw->code.insns[i].marks &= ~MARK_WINDOW;
	}
	rw->nr_points = points;
	rw->nr_windows = windows;
}

static int compare_indexes(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

/* Find the first instruction with two points from FIRST on, or NO_INSN. Returns 0 or -1. */
static int find_double(const struct rewrite *rw, size_t first, size_t *insn)
{
	const size_t count = rw->nr_points - first;
	size_t *insns = calloc(count + 1, sizeof(*insns)), i;

	*insn = NO_INSN;
	if (!insns)
		return -1;
	for (i = 0; i < count; i++)
		insns[i] = rw->points[first + i].insn;
	qsort(insns, count, sizeof(*insns), compare_indexes);
	for (i = 1; i < count && *insn == NO_INSN; i++) {
		if (insns[i] == insns[i - 1])
			*insn = insns[i];
	}
	free(insns);
	return 0;
}

/* The kernel needs no windows, but supports only one stub per instruction, and moves it. */
static int check_points(struct rewrite *rw, size_t f, size_t first)
{
	size_t i, twice;

	for (i = first; i < rw->nr_points; i++) {
		if (!can_move(&rw->code, rw->points[i].insn))
			return refuse(rw, f, "is an instruction that cannot run elsewhere",
				      rw->code.insns[rw->points[i].insn].address);
	}
	if (find_double(rw, first, &twice))
		return -1;
	if (twice != NO_INSN)
		return refuse(rw, f, "it is entered and left at once",
			      rw->code.insns[twice].address);
	return 0;
}

/* The exits of a leaf need no stubs. */
static void drop_exits(struct rewrite *rw, size_t f, size_t points)
{
	if (!leaves_is(rw, rw->functions + f, points))
		return;
	rw->functions[f].leaf = true;
	rw->points[points].kind = FHOOK_STUB_LEAF;
	rw->nr_points = points + 1;
}

int plan_function(struct rewrite *rw, size_t f)
{
	size_t points = rw->nr_points, windows = rw->nr_windows, i;
	struct inside inside = { };
	int ret;

	ret = look_inside(rw, f, &inside);
	ret = ret ?: add_entry(rw, f);
	if (!ret && switches_is(rw, rw->functions + f)) {
		/* It may return on the other stack, as a call that is not known. */
		rw->points[points].kind = FHOOK_STUB_SWITCH;
	} else {
		ret = ret ?: add_landings(rw, f);
		ret = ret ?: add_exits(rw, f, &inside);
		if (!ret)
			drop_exits(rw, f, points);
	}
	if (rw->at_run_time)
		ret = ret ?: check_points(rw, f, points);
	else
		for (i = points; !ret && i < rw->nr_points; i++)
			ret = cover(rw, f, rw->points + i);
	if (ret > 0)
		forget(rw, points, windows);
	return ret < 0 ? -1 : 0;
}

/* Padding that is long enough for a jump, within reach of a short one. */
static u64 find_hop(struct rewrite *rw, const struct window *window)
{
	const struct rewrite_arch *arch = rw->code.arch;
	u64 site = rw->code.insns[window->first].address + arch->short_size;
	size_t i, room;
	u64 at;

	for (i = window->first; i && rw->code.insns[i].address + arch->short_reach > site; i--)
		;
	for (; i < rw->code.nr_insns && rw->code.insns[i].address < site + arch->short_reach; i++) {
		if (rw->code.insns[i].marks & MARK_WINDOW)
			continue;
		room = padding_behind(&rw->code, i, arch->jump_size);
		if (room < arch->jump_size)
			continue;
		at = rw->code.insns[i].address + rw->code.insns[i].size;
		if (at > site + arch->short_reach || at + arch->short_reach < site)
			continue;
		use_padding(&rw->code, at, at + room);
		return at;
	}
	return 0;
}

static bool reaches(const struct rewrite *rw, const struct window *window, u64 hop)
{
	const struct rewrite_arch *arch = rw->code.arch;
	u64 from = rw->code.insns[window->first].address + arch->short_size;

	return hop <= from + arch->short_reach && hop + arch->short_reach >= from;
}

/* The last instruction of a window from FIRST with SIZE bytes; NO_INSN if impossible. */
static size_t end_of_room(const struct rewrite *rw, size_t f, size_t first, size_t last,
			  size_t size)
{
	const struct code *code = &rw->code;

	while (bytes_of(code, first, last) < size) {
		if (rewrite_ends(code->insns + last) || !may_join(code, last + 1) ||
		    !function_has(rw->functions + f, code->insns[last + 1].address) ||
		    !can_move(code, last + 1))
			return NO_INSN;
		last++;
	}
	return bytes_of(code, first, last) <= REWRITE_COPY_MAX ? last : NO_INSN;
}

/* The first instruction whose hop, REST bytes after it, is in reach of a short jump. */
static size_t first_in_reach(const struct rewrite *rw, const struct window *window, size_t rest)
{
	const struct rewrite_arch *arch = rw->code.arch;
	u64 from = rw->code.insns[window->first].address + arch->short_size;
	size_t i = window->first;

	while (i && rw->code.insns[i - 1].address + rest + arch->short_reach >= from)
		i--;
	return i;
}

static u64 end_of_reach(const struct rewrite *rw, const struct window *window)
{
	const struct rewrite_arch *arch = rw->code.arch;

	return rw->code.insns[window->first].address + arch->short_size + arch->short_reach;
}

/* Extend another window: after its jump, the bytes are unreachable, so a hop fits there. */
static u64 hop_in_window(struct rewrite *rw, const struct window *window)
{
	const size_t size = rw->code.arch->jump_size;
	const u64 end = end_of_reach(rw, window);
	size_t last, taken, i;
	struct window *host;
	u64 hop;

	/* The hop begins less than the size of a copy after the start of its host window. */
	for (i = first_in_reach(rw, window, REWRITE_COPY_MAX);
	     i < rw->code.nr_insns && rw->code.insns[i].address < end; i++) {
		host = window_of(rw, i);
		if (!host || host->first != i || host->function != window->function ||
		    host->hop || host->room < size)
			continue;
		taken = size * (1 + host->hops);
		hop = rw->code.insns[host->first].address + taken;
		if (!reaches(rw, window, hop))
			continue;
		last = end_of_room(rw, host->function, host->first, host->last, taken + size);
		if (last == NO_INSN)
			continue;
		host->last = last;
		host->hops++;
		mark_window(rw, host);
		return hop;
	}
	return 0;
}

/* Make a new window only for the hop. */
static u64 hop_in_new_window(struct rewrite *rw, size_t w)
{
	const size_t f = rw->windows[w].function, size = rw->code.arch->jump_size;
	const u64 end = end_of_reach(rw, rw->windows + w);
	struct window host = { .function = f, .hops = 1 };
	const struct code *code = &rw->code;
	size_t i;

	for (i = first_in_reach(rw, rw->windows + w, size);
	     i < code->nr_insns && code->insns[i].address < end; i++) {
		if (!reaches(rw, rw->windows + w, code->insns[i].address + size) ||
		    !function_has(rw->functions + f, code->insns[i].address) ||
		    (code->insns[i].marks & MARK_WINDOW) || !can_move(code, i) ||
		    code->insns[i].kind == INSN_LANDING)
			continue;
		host.first = i;
		host.last = end_of_room(rw, f, i, i, 2 * size);
		if (host.last == NO_INSN)
			continue;
		return keep_window(rw, &host) ? 0 : code->insns[i].address + size;
	}
	return 0;
}

static u64 find_any_hop(struct rewrite *rw, size_t w)
{
	u64 hop = find_hop(rw, rw->windows + w);

	hop = hop ?: hop_in_window(rw, rw->windows + w);
	return hop ?: hop_in_new_window(rw, w);
}

/* Hops use padding that remains after all windows have been planned. */
int plan_hops(struct rewrite *rw)
{
	size_t w, count = rw->nr_windows;
	struct window *window;
	const char *why;
	u64 hop;

	why = rw->code.finds_functions ?
	      "there is room for a short jump only, and Go needs one that stays in its function" :
	      "there is room for a short jump only, and none for a long one near";
	for (w = 0; w < count; w++) {
		window = rw->windows + w;
		if (window->room >= rw->code.arch->jump_size ||
		    rw->functions[window->function].refused)
			continue;
		/* Where a hop is, the function or its stack frame would be another one. */
		hop = rw->code.finds_functions ? 0 : find_any_hop(rw, w);
		window = rw->windows + w;
		window->hop = hop;
		if (!hop && refuse(rw, window->function, why,
				   rw->code.insns[window->first].address) < 0)
			return -1;
	}
	return 0;
}
