/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operands of USDT probes
 *
 * A probe's note describes its arguments as the assembler writes operands, each after its size
 * in bytes, which is negative for signed types: "-4@%edi", "8@-16(%rbp)", "8@[sp, 16]".
 */
#ifndef FHOOK_HOOK_OPERAND_H
#define FHOOK_HOOK_OPERAND_H

#include "program.h"

/* Room for the name of a register. */
#define OPERAND_REGISTER	8

/* The next operand: its start, and its length, which is 0 after the last one. */
const char *operand_next(const char *text, size_t *length);

/*
 * Translate an operand for definitions of events. Returns 0, or -1 if the kernel cannot fetch
 * it: a floating-point value, a sum of registers, or a symbol.
 */
int operand_value(u16 machine, const char *text, size_t length, struct program_value *value);

/*
 * What the kernel calls a register of which TEXT is the assembler's name, or the kernel's, without
 * '%'; NULL if there is none. ROOM is for the answer.
 */
const char *operand_register(u16 machine, const char *text, char room[OPERAND_REGISTER]);

#endif /* FHOOK_HOOK_OPERAND_H */
