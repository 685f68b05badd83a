/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing arm64 instructions for programs
 *
 * What uhook_code.c and uhook_branch.c share.  Words go one behind the other
 * into a buffer, and each knows where it is to run.
 */
#ifndef _ARM64_UHOOK_CODE_H
#define _ARM64_UHOOK_CODE_H

#include <linux/types.h>

/**
 * struct uhook_words - instructions that are being written
 * @bytes: where to
 * @size: how many bytes fit there
 * @len: how many there are
 * @at: where the first is to run
 */
struct uhook_words {
	u8 *bytes;
	size_t size;
	size_t len;
	unsigned long at;
};

/**
 * uhook_add_word - write an instruction
 * @words: what there is
 * @word: the instruction
 *
 * Return: 0 or -ENOSPC.
 */
int uhook_add_word(struct uhook_words *words, u32 word);

/**
 * uhook_add_jump - write a B
 * @words: what there is
 * @target: where it leads to
 *
 * Return: 0, -ENOSPC, or -ERANGE when a B does not get there.
 */
int uhook_add_jump(struct uhook_words *words, unsigned long target);

/**
 * uhook_add_address - have a register hold an address that is not far away
 * @words: what there is
 * @reg: the register, not 31
 * @address: what it is to hold
 *
 * One instruction when that is enough, else two.  No other register changes, and
 * that one is not read before it is written.
 *
 * Return: 0, -ENOSPC, or -ERANGE when the address is 4 GiB away or more.
 */
int uhook_add_address(struct uhook_words *words, unsigned int reg, unsigned long address);

/**
 * uhook_make_count - the handler that counts, in one of its forms
 * @code: as for uhook_count_code()
 * @size: likewise
 * @at: likewise
 * @cell: likewise
 * @lse: whether programs may use the atomic instructions of ARMv8.1
 *
 * Return: as uhook_count_code().
 */
int uhook_make_count(u8 *code, size_t size, unsigned long at, unsigned long cell, bool lse);

/**
 * uhook_has_lse - may programs use the atomic instructions of ARMv8.1?
 *
 * Return: whether all processors have them. For the host, that is so.
 */
#ifdef __KERNEL__
#include <asm/alternative-macros.h>
#include <asm/cpucaps.h>

static inline bool uhook_has_lse(void)
{
	return alternative_has_cap_likely(ARM64_HAS_LSE_ATOMICS);
}
#else
static inline bool uhook_has_lse(void)
{
	return true;
}
#endif

#endif /* _ARM64_UHOOK_CODE_H */
