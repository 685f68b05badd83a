// SPDX-License-Identifier: GPL-2.0
/* The kinds of branches on x86_64; the size of the instruction is known. */
#include <string.h>
#include "branch.h"

static size_t skip_prefixes(const u8 *code, size_t size)
{
	size_t i = 0;

	while (i < size && strchr("\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65\x66\x67", code[i]) &&
	       code[i])
		i++;
	if (i < size && (code[i] & 0xf0) == 0x40)
		i++;
	return i;
}

/* A displacement of one or four bytes is the last thing in an instruction. */
static void set_direct(struct branch *branch, enum branch_kind kind, const u8 *code,
		       size_t size, u64 ip, unsigned int bytes)
{
	s32 displacement = 0;

	if (size <= bytes)
		return;
	if (bytes == 1)
		displacement = (signed char)code[size - 1];
	else
		memcpy(&displacement, code + size - 4, sizeof(displacement));
	branch->kind = kind;
	branch->target = ip + size + (s64)displacement;
}

static void set_indirect(struct branch *branch, u8 modrm)
{
	const unsigned int operation = modrm >> 3 & 7;

	switch (operation) {
	case 2:
	case 3:
		branch->kind = BRANCH_INDIRECT_CALL;
		break;
	case 4:
	case 5:
		branch->kind = BRANCH_INDIRECT;
		break;
	default:
		return;
	}
	branch->from_memory = modrm < 0xc0 && operation % 2 == 0;
}

static void decode_two_bytes(struct branch *branch, u8 opcode, const u8 *code, size_t size,
			     u64 ip)
{
	if ((opcode & 0xf0) == 0x80)
		set_direct(branch, BRANCH_CONDITIONAL, code, size, ip, 4);
	else if (opcode == 0x05 || opcode == 0x07 || opcode == 0x34 || opcode == 0x35)
		branch->kind = BRANCH_FAR;
}

void branch_decode_x86(struct branch *branch, const u8 *code, size_t size, u64 ip)
{
	const size_t i = skip_prefixes(code, size);
	const u8 opcode = i < size ? code[i] : 0, next = i + 1 < size ? code[i + 1] : 0;

	*branch = (struct branch){ .kind = BRANCH_NONE };
	switch (opcode) {
	case 0x0f:
		decode_two_bytes(branch, next, code, size, ip);
		break;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		set_direct(branch, BRANCH_CONDITIONAL, code, size, ip, 1);
		break;
	case 0xeb:
		set_direct(branch, BRANCH_DIRECT, code, size, ip, 1);
		break;
	case 0xe9:
		set_direct(branch, BRANCH_DIRECT, code, size, ip, 4);
		break;
	case 0xe8:
		set_direct(branch, BRANCH_CALL, code, size, ip, 4);
		break;
	case 0xc2:
	case 0xc3:
		branch->kind = BRANCH_RETURN;
		branch->from_memory = true;
		break;
	case 0xff:
		set_indirect(branch, next);
		break;
	case 0xca ... 0xcd:
	case 0xcf:
		branch->kind = BRANCH_FAR;
		break;
	default:
		break;
	}
}
