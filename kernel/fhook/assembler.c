// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: assembling code into a buffer, or measuring code without one.
 *
 * The generic sequence of a trampoline (trampoline.c) and the instructions of the
 * architecture are both appended here. Nothing is written outside the buffer, or without a
 * buffer, but the positions advance: that is how a trampoline is measured. No locks; a
 * buffer belongs to the function that allocated it.
 */
#include <linux/fhook_arch.h>
#include <linux/string.h>

/* Write to the buffer, if there is one and if the code is inside. */
static void write_code(struct fhook_asm *as, unsigned int pos,
		       const void *bytes, unsigned int len)
{
	if (as->code && pos + len <= as->room)
		memcpy(as->code + pos, bytes, len);
}

/**
 * fhook_asm_put() - append code
 * @as: the trampoline
 * @bytes: the code
 * @len: its length in bytes
 */
void fhook_asm_put(struct fhook_asm *as, const void *bytes, unsigned int len)
{
	write_code(as, as->pos, bytes, len);
	as->pos += len;
}

/**
 * fhook_asm_fill() - set an operand in code that has been appended
 * @as: the trampoline
 * @pos: position of the operand in bytes
 * @bytes: value of the operand, as it is in memory
 * @len: its length in bytes
 */
void fhook_asm_fill(struct fhook_asm *as, unsigned int pos, const void *bytes,
		    unsigned int len)
{
	write_code(as, pos, bytes, len);
}

/**
 * fhook_asm_piece() - append a piece of the templates
 * @as: the trampoline
 * @id: the piece
 */
void fhook_asm_piece(struct fhook_asm *as, enum fhook_piece_id id)
{
	fhook_asm_put(as, (void *)fhook_caller + fhook_pieces[id].offset,
		      fhook_pieces[id].len);
}

/**
 * fhook_asm_literal() - append a literal after the code
 * @as: the trampoline
 * @value: its value
 *
 * Return: the position of the literal in bytes.
 */
unsigned int fhook_asm_literal(struct fhook_asm *as, unsigned long value)
{
	unsigned int pos = as->room + as->literals * sizeof(value);

	if (as->code && as->literals < as->max_literals)
		memcpy(as->code + pos, &value, sizeof(value));
	as->literals++;

	return pos;
}

/**
 * fhook_asm_aim() - let a branch lead to a position
 * @as: the trampoline
 * @branch: the position in bytes at which the branch ends
 * @target: the position of its target
 */
void fhook_asm_aim(struct fhook_asm *as, unsigned int branch, unsigned int target)
{
	if (as->code && branch <= as->room)
		fhook_arch_aim(as->code + branch, target - branch);
}

/**
 * fhook_asm_land() - let a branch lead to the end of the code so far
 * @as: the trampoline
 * @branch: the position in bytes at which the branch ends
 */
void fhook_asm_land(struct fhook_asm *as, unsigned int branch)
{
	fhook_asm_aim(as, branch, as->pos);
}
