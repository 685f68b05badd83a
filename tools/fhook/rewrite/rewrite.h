/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the files of fhook-rewrite
 *
 * The code of a file is read once, from end to end, into an array of instructions, in which
 * possible targets of jumps are marked. Each selected function has points, which need a stub,
 * and each point has a window: instructions that are replaced by one jump and run elsewhere.
 * Nothing is changed until all windows have been found.
 */
#ifndef FHOOK_REWRITE_H
#define FHOOK_REWRITE_H

#include "arch.h"
#include "instrument/instrument.h"
#include "lib/elf_image.h"
#include "lib/elf_map.h"

#define NO_INSN		((size_t)-1)
#define NO_STUB		((size_t)-1)

/**
 * struct code - the instructions of a file
 * @insns: instructions sorted by address
 * @regions: sorted starts of functions, from symbols and unwind information, and of sections
 * @branches: indexes of the instructions that have a target, sorted by target
 * @finds_functions: the program looks for the function of an instruction, as Go's runtime does
 */
struct code {
	const struct elf_image *image;
	const struct rewrite_arch *arch;
	struct rewrite_insn *insns;
	size_t nr_insns, room_insns;
	u64 *regions;
	size_t nr_regions, room_regions;
	size_t *branches;
	size_t nr_branches;
	bool finds_functions;
};

struct relocation;

/* Relocations of one kind, sorted by the word that they change. */
struct relocations {
	struct relocation *array;
	size_t nr, room;
};

/* A range of addresses that is part of a function. */
struct range {
	u64 start;
	u64 end;
};

static inline bool range_has(const struct range *range, u64 address)
{
	return address >= range->start && address < range->end;
}

#define RANGES_MAX	8

/* The most instructions that linkers move into a veneer. */
#define VENEER_INSNS	2

/**
 * struct function - a selected function
 * @symbol: symbol of the function
 * @ranges: its code: the first range contains its symbol, others are its cold parts
 * @scattered: it has more ranges than @ranges
 * @by_name: the list names it
 * @refused: it cannot be rewritten
 * @leaf: its exits need no stubs
 */
struct function {
	const struct elf_symbol *symbol;
	struct range ranges[RANGES_MAX];
	size_t nr_ranges;
	bool scattered;
	bool by_name;
	bool refused;
	bool leaf;
};

/**
 * struct point - an instruction that needs a stub
 * @insn: index of the instruction
 * @kind: FHOOK_STUB_...
 * @target: target function of a tail, or NULL
 */
struct point {
	size_t insn;
	u32 kind;
	const struct elf_symbol *target;
};

/* Is an address in the code of a function? */
static inline bool function_has(const struct function *function, u64 address)
{
	size_t i;

	for (i = 0; i < function->nr_ranges; i++) {
		if (range_has(function->ranges + i, address))
			return true;
	}
	return false;
}

/**
 * struct window - instructions that run elsewhere
 * @function: index of the function
 * @first: index of the first instruction, where the jump is
 * @last: index of the last instruction
 * @room: number of bytes that may be overwritten, including padding after the last
 *	instruction
 * @hop: address of the longer jump to which a short jump leads, or 0
 * @hops: number of other windows whose hop is after this one's jump
 * @target: target of its jump, when known
 */
struct window {
	size_t function;
	size_t first, last;
	size_t room;
	u64 hop;
	size_t hops;
	u64 target;
};

/**
 * struct frame - unwind information of a part of the code
 * @start: start address of the code
 * @end: end address of the code
 * @entry: address of the FDE
 * @rules: address of its CIE
 * @program: instructions of the FDE, as bytes
 * @size: size of @program
 * @unit: code alignment factor
 * @has_data: its CIE has augmentation data
 * @lsda_size: size of the address of the table of landing pads in the augmentation data; 0:
 *	there is none
 * @usual: addresses are 32-bit offsets from their own location
 */
struct frame {
	u64 start, end;
	u64 entry, rules;
	const u8 *program;
	size_t size;
	u64 unit;
	bool has_data;
	u8 lsda_size;
	bool usual;
};

/* New code that runs in place of the instruction at FROM. */
struct place {
	u64 at;
	u64 from;
	u32 size;
};

/* Code or data that is replaced or added. */
struct patch {
	u64 address;
	u8 size;
	u8 bytes[REWRITE_COPY_MAX];
};

/**
 * struct rewrite - the rewriting of one file
 * @made_names: names of functions that have no symbol
 * @at_run_time: the file is not changed: the kernel puts stubs into processes
 * @words: relocations of words without a symbol
 * @imports: relocations of words with a symbol
 * @imported: sorted names of the symbols from libraries
 * @pads: sorted addresses at which exceptions and longjmp arrive
 * @tried: code whose exceptions arrive at a landing pad
 * @bases: addresses in the function being planned to which its switches add distances
 * @read_again: number of bytes, or of things as small, that were read once more for a function
 * @loud: for each symbol, whether stubs may be executed until its function returns; NULL: all
 *	functions get stubs at their exits
 * @frames: unwind information
 * @block: address of the first stub
 * @stubs: stubs of the block
 * @names: names for the records
 * @places: new code, for its unwind information
 * @moved: code that runs elsewhere, followed by its unwind information
 * @moved_at: address of @moved
 * @unwind_at: address of the first unwind information, where the code ends
 * @table_at: address of a table of all unwind information, or 0
 * @table_size: size of that table in bytes
 */
struct rewrite {
	struct instrument run;
	void *made_names;
	bool at_run_time;
	struct elf_image image, debug;
	struct code code;
	struct function *functions;
	size_t nr_functions, room_functions;
	struct point *points;
	size_t nr_points, room_points;
	struct window *windows;
	size_t nr_windows, room_windows;
	struct relocations words, imports;
	const char **imported;
	size_t nr_imported, room_imported;
	u64 *pads;
	size_t nr_pads, room_pads;
	struct range *tried;
	size_t nr_tried, room_tried;
	u64 *bases;
	size_t nr_bases, room_bases;
	u64 read_again;
	u8 *loud;
	struct frame *frames;
	size_t nr_frames, room_frames;
	struct elf_record *records;
	u64 *jumps;
	size_t nr_stubs, room_records, room_jumps;
	char *names;
	size_t names_size;
	struct place *places;
	size_t nr_places, room_places;
	u8 *moved;
	size_t moved_size, room_moved;
	u64 block, moved_at, unwind_at, table_at;
	size_t table_size;
	struct patch *patches;
	size_t nr_patches, room_patches;
};

/*
 * Instructions may share a table, and functions a name and code: these are read for each of them.
 * So much is read again only in a malicious file, which could take years.
 */
#define READ_AGAIN_MOST	64

/* Count what is about to be read once more. False if it is too much. */
static inline bool rewrite_may_read(struct rewrite *rw, u64 nr)
{
	rw->read_again += nr;
	return rw->read_again <= READ_AGAIN_MOST * rw->image.size;
}

/* choose.c: from a file and a list to functions, whose points are planned */
int choose_all(struct rewrite *rw, struct fault *fault);

/* names.c: names of functions of stripped files */
extern const struct argp names_argp;
int names_read(struct rewrite *rw, struct fault *fault);
/* Name the functions of .eh_frame, if that is wanted; targets must have been marked before. */
int names_of_frames(struct rewrite *rw, struct fault *fault);

/* code.c: reading code */
int code_read(struct rewrite *rw, struct fault *fault);
/* A function may begin at an address; must precede code_read(). */
int code_add_region(struct code *code, u64 start);
size_t code_find(const struct code *code, u64 address);
/*
 * The code around an instruction, from one element of @regions to the next. False if there is no
 * instruction at the address, or no code after this region.
 */
bool code_region(const struct code *code, u64 address, struct range *region);
bool code_is_code(const struct elf_image *image, u64 address);
void code_mark(struct code *code, u64 address, unsigned int mark);
/* Fix the instructions in any of the ranges that have these marks; sorts the ranges. */
void code_fix(struct code *code, struct range *ranges, size_t nr, unsigned int marks);
bool code_comes_back(const struct code *code, const struct rewrite_insn *jump);
const u8 *code_bytes(const struct code *code, const struct rewrite_insn *insn);

/* The index of the first branch whose target is at or after an address. */
size_t code_branches_to(const struct code *code, u64 address);

/* relocations.c: words that the loader changes */
int relocations_read(struct rewrite *rw);
/* The value of a word of data after loading. */
u64 relocations_word(const struct rewrite *rw, u64 address);
/* The name of the function whose address a word of data will have, or NULL. */
const char *relocations_import(const struct rewrite *rw, u64 slot);

/* targets.c: possible targets of jumps */
/* Mark the targets of branches; must precede marking the addresses in data. */
void targets_mark_branches(struct code *code);
/* Mark the targets of jumps into the middle of other functions, when all have their names. */
void targets_mark_shared(struct code *code);
int targets_mark(struct rewrite *rw, struct fault *fault);
/* The name of the function, perhaps in a library, that an instruction calls; or NULL. */
const char *targets_callee(const struct rewrite *rw, const struct rewrite_insn *call);
size_t targets_of_tables(struct rewrite *rw, const struct function *function);
bool targets_has_table(struct rewrite *rw, const struct function *function, u64 address);
/* Does a part of the function end at an address? */
bool targets_is_end(const struct function *function, u64 address);

/* known.c: addresses that are known to others than the code itself */
/* Mark instructions at which others enter the program, when all functions have their names. */
void known_mark_entries(struct rewrite *rw);
/* Mark instructions whose address others know. */
void known_fix(struct rewrite *rw);

/* The target of a jump through a register or memory. */
enum jump_way {
	JUMP_ANYWHERE,		/* unknown */
	JUMP_WORD,		/* a word of memory */
	JUMP_SUM,		/* an unknown sum */
	JUMP_CASE,		/* a target in a table of distances */
};

/* jumps.c: jumps through registers */
u32 jumps_tables(struct rewrite *rw, const struct function *function);
/*
 * The target of the jump with index JUMP; *BASE is an address that it is known to need, or 0.
 */
enum jump_way jumps_way(struct rewrite *rw, const struct function *function, size_t jump,
			u32 tables, u64 *base);
/* Jumps and calls of retpolines get their kinds; branches must have been marked before. */
void jumps_find_thunks(struct code *code);

/* go.c: programs in Go */
bool go_is(const struct elf_image *image);
/*
 * The index of the instruction after the stack check that a function begins with at ENTRY, or
 * NO_INSN.
 */
size_t go_after_check(const struct rewrite *rw, const struct function *function, size_t entry);

/* go_names.c: names of functions of a stripped file, from the table of Go's runtime */
int go_names(struct rewrite *rw, struct fault *fault);

/* frames.c: unwind information */
int frames_read(struct rewrite *rw, struct fault *fault);

/* leaves.c: functions whose exit follows from their entry */
extern const struct argp leaves_argp;
/* Find the functions that a leaf must not call, when all functions have been chosen. */
int leaves_find(struct rewrite *rw, struct fault *fault);
/* Is a function a leaf? Its points, from index POINTS, begin with its entry. */
bool leaves_is(const struct rewrite *rw, const struct function *function, size_t points);

/* switches.c: functions that change the stack */
/* Does a function load the stack pointer with that of another stack? */
bool switches_is(const struct rewrite *rw, const struct function *function);
/* Is it the name of a function that may return when the stack has been changed? */
bool switches_name(const char *name);
/* Is an instruction a call of such a function? */
bool switches_calls(const struct rewrite *rw, const struct rewrite_insn *insn);
/* Say which functions change the stack without a stub. */
int switches_note(struct rewrite *rw, struct fault *fault);

/* plan.c: from functions to points and windows */
int plan_function(struct rewrite *rw, size_t function);
int plan_hops(struct rewrite *rw);

/* emit.c: from windows to code */
int emit_all(struct rewrite *rw, struct fault *fault);
int emit_bytes(struct rewrite *rw, const void *bytes, size_t size);
/* Say that the new code is too far away from a function, and why; returns -1. */
int emit_too_far(const struct rewrite *rw, const char *function, struct fault *fault);

/* unwind.c: unwind information for the new code */
int unwind_emit(struct rewrite *rw, struct fault *fault);

/* file.c: from code to a file */
u64 file_new_address(const struct rewrite *rw);
size_t file_head_size(const struct rewrite *rw);
/* Is there room for another program header? Returns 0, or -1 and a sentence. */
int file_check(const struct elf_image *image, struct fault *fault);
int file_write(struct rewrite *rw, struct fault *fault);

#endif /* FHOOK_REWRITE_H */
