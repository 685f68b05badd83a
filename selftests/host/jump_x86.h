/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the tests of x86_64's jumps and their assembly */
#ifndef SELFTESTS_HOST_JUMP_X86_H
#define SELFTESTS_HOST_JUMP_X86_H

#include <linux/types.h>

/**
 * struct function - a function of jump_functions_x86.S
 * @entry: offset of its entry from the start of all functions
 * @site: offset of its probed instruction
 * @next: offset of the next instruction
 * @name: name of the function
 */
struct function {
	u32 entry;
	u32 site;
	u32 next;
	char name[36];
};

/* Of jump_functions_x86.S: code, data, the end, and a table of the functions. */
extern const u8 jump_functions[], jump_functions_data[], jump_functions_end[];
extern const struct function jump_table[], jump_table_end[];

/* Registers as jump_enter_x86.S has them, in the order of their numbers. */
enum { RSP = 4, RFLAGS = 16, REGS };

#define FLAG_TF		0x100UL
#define FLAG_DF		0x400UL
#define FLAG_AC		0x40000UL

/* So many flags does jump_flags() choose. */
#define FLAGS_COUNT	9

/*
 * The flags that are chosen by the lowest bits of @which, of all that a program can
 * set: not TF, which the tests of stepping set, and not NT, which some machines lose
 * whenever an interrupt or a signal comes.
 */
static inline u64 jump_flags(u64 which)
{
	/* CF PF AF ZF SF DF OF AC ID */
	static const u32 flags[FLAGS_COUNT] = {
		0x1, 0x4, 0x10, 0x40, 0x80, FLAG_DF, 0x800, FLAG_AC, 0x200000
	};
	u64 value = 0x202;	/* the bit that is always set, and IF */
	unsigned int i;

	for (i = 0; i < FLAGS_COUNT; i++) {
		if (which >> i & 1)
			value |= flags[i];
	}
	return value;
}

/*
 * jump_enter() takes the wanted registers and goes to jump_start; where that ends
 * by a jump to jump_leave() or jump_leave_far(), it returns, with the registers
 * in jump_outcome and which of the two it was in jump_ended: 0 or 1.
 */
extern u64 jump_wanted[REGS], jump_outcome[REGS], jump_ended, jump_start;
void jump_enter(void);
void jump_leave(void);
void jump_leave_far(void);

#endif /* SELFTESTS_HOST_JUMP_X86_H */
