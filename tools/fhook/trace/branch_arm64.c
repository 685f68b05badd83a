// SPDX-License-Identifier: GPL-2.0
/* The kinds of branches on arm64. */
#include <string.h>
#include "branch.h"

/* BITS bits of a word from bit FIRST on, as a signed number of words. */
static s64 offset_of(u32 word, unsigned int first, unsigned int bits)
{
	return ((s64)((u64)word << (64 - first - bits)) >> (64 - bits)) * 4;
}

static bool is(u32 word, u32 mask, u32 value)
{
	return (word & mask) == value;
}

static void decode_register(struct branch *branch, u32 word)
{
	switch (word >> 21 & 0xf) {
	case 0x0:
	case 0x8:
		branch->kind = BRANCH_INDIRECT;
		break;
	case 0x1:
	case 0x9:
		branch->kind = BRANCH_INDIRECT_CALL;
		break;
	case 0x2:
		branch->kind = BRANCH_RETURN;
		break;
	case 0x4:
		branch->kind = BRANCH_FAR;
		break;
	default:
		break;
	}
}

void branch_decode_arm64(struct branch *branch, const u8 *code, size_t size, u64 ip)
{
	u32 word = 0;

	*branch = (struct branch){ .kind = BRANCH_NONE };
	if (size != sizeof(word))
		return;
	memcpy(&word, code, sizeof(word));
	if (is(word, 0x7c000000, 0x14000000)) {
		branch->kind = word >> 31 ? BRANCH_CALL : BRANCH_DIRECT;
		branch->target = ip + offset_of(word, 0, 26);
	} else if (is(word, 0xff000000, 0x54000000) || is(word, 0x7e000000, 0x34000000)) {
		branch->kind = BRANCH_CONDITIONAL;
		branch->target = ip + offset_of(word, 5, 19);
	} else if (is(word, 0x7e000000, 0x36000000)) {
		branch->kind = BRANCH_CONDITIONAL;
		branch->target = ip + offset_of(word, 5, 14);
	} else if (is(word, 0xfe000000, 0xd6000000)) {
		decode_register(branch, word);
	} else if (is(word, 0xff000000, 0xd4000000)) {
		branch->kind = BRANCH_FAR;
	}
}
