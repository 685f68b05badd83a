/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing arm64 instructions for programs
 *
 * Shared by uhook_code.c, uhook_branch.c, uhook_gate.c and uhook_record.c. Words are
 * appended to a buffer, and the address at which they will run is known.
 */
#ifndef _ARM64_UHOOK_CODE_H
#define _ARM64_UHOOK_CODE_H

#include <linux/types.h>

/**
 * struct uhook_words - instructions that are being written
 * @bytes: the buffer
 * @size: size of the buffer, in bytes
 * @len: number of bytes written
 * @at: address at which the first instruction will run
 */
struct uhook_words {
	u8 *bytes;
	size_t size;
	size_t len;
	unsigned long at;
};

/**
 * uhook_add_word - append an instruction
 * @words: the instructions so far
 * @word: the instruction
 *
 * Return: 0 or -ENOSPC.
 */
int uhook_add_word(struct uhook_words *words, u32 word);

/**
 * uhook_add_jump - append a B
 * @words: the instructions so far
 * @target: target of the B
 *
 * Return: 0, -ENOSPC, or -ERANGE if the target is out of reach.
 */
int uhook_add_jump(struct uhook_words *words, unsigned long target);

/**
 * uhook_add_address - append instructions that set a register to a nearby address
 * @words: the instructions so far
 * @reg: the register, not 31
 * @address: the address
 *
 * Appends one instruction if possible, otherwise two. No other register changes, and @reg
 * is not read before it is written.
 *
 * Return: 0, -ENOSPC, or -ERANGE if the address is 4 GiB away or more.
 */
int uhook_add_address(struct uhook_words *words, unsigned int reg, unsigned long address);

/**
 * uhook_make_count - generate the handler that counts, with or without LSE atomics
 * @code: same as for uhook_count_code()
 * @size: same as for uhook_count_code()
 * @at: same as for uhook_count_code()
 * @cell: same as for uhook_count_code()
 * @lse: whether programs may use the atomic instructions of ARMv8.1
 *
 * Return: same as for uhook_count_code().
 */
int uhook_make_count(u8 *code, size_t size, unsigned long at, unsigned long cell, bool lse);

/**
 * uhook_has_lse - check whether programs may use the atomic instructions of ARMv8.1
 *
 * Return: whether all processors have them; true in the host's tests.
 */
static inline bool uhook_has_lse(void);

/**
 * uhook_has_gcs - check whether programs may have a guarded control stack
 *
 * Only calls push on it: code that stores the return address and jumps does not.
 *
 * Return: whether the processors have it; false in the host's tests.
 */
static inline bool uhook_has_gcs(void);

#ifdef __KERNEL__
#include <asm/alternative-macros.h>
#include <asm/cpucaps.h>

static inline bool uhook_has_lse(void)
{
	return alternative_has_cap_likely(ARM64_HAS_LSE_ATOMICS);
}

static inline bool uhook_has_gcs(void)
{
#ifdef ARM64_HAS_GCS
	return alternative_has_cap_unlikely(ARM64_HAS_GCS);
#else
	return false;
#endif
}
#else
static inline bool uhook_has_lse(void)
{
	return true;
}

static inline bool uhook_has_gcs(void)
{
	return false;
}
#endif

#endif /* _ARM64_UHOOK_CODE_H */
