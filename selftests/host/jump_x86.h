/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of x86_64's jumps share with their assembly
 */
#ifndef SELFTESTS_HOST_JUMP_X86_H
#define SELFTESTS_HOST_JUMP_X86_H

#include <linux/types.h>

/**
 * struct function - one of jump_functions_x86.S
 * @entry: where it begins, from the beginning of all
 * @site: where its probed instruction is, likewise
 * @next: where the next one is
 * @name: what it is called
 */
struct function {
	u32 entry;
	u32 site;
	u32 next;
	char name[36];
};

/* Of jump_functions_x86.S: code, then data, then the end; and what is where. */
extern const u8 jump_functions[], jump_functions_data[], jump_functions_end[];
extern const struct function jump_table[], jump_table_end[];

/* Registers as jump_enter_x86.S has them, in the order of their numbers. */
enum { RSP = 4, RFLAGS = 16, REGS };

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
