// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the relocator of x86_64 with capstone
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include "relocate.h"
#include "relocate_x86.h"

/* The name of UD1 in capstone 5. */
#if CS_API_MAJOR < 5
#define X86_INS_UD1 X86_INS_UD2B
#endif

#define JMP_SIZE	5

static bool is_segment(x86_reg reg)
{
	return reg == X86_REG_CS || reg == X86_REG_DS || reg == X86_REG_ES ||
	       reg == X86_REG_FS || reg == X86_REG_GS || reg == X86_REG_SS;
}

static bool is_control(x86_reg reg)
{
	return (reg >= X86_REG_CR0 && reg <= X86_REG_CR15) ||
	       (reg >= X86_REG_DR0 && reg <= X86_REG_DR15);
}

static const char *x86_immovable(csh capstone, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	const unsigned int ops = insn->detail->x86.op_count;

	switch (insn->id) {
	case X86_INS_RET:
	case X86_INS_RDTSCP:	/* capstone takes it for privileged */
		return NULL;
	case X86_INS_JMP:
		return op->type == X86_OP_IMM ? "jump" : NULL;
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_LJMP:
	case X86_INS_LCALL:
		return "far transfer";
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
		return "jump";
	case X86_INS_XBEGIN:
	case X86_INS_XEND:
	case X86_INS_XABORT:
		return "transaction";
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_SYSEXIT:
	case X86_INS_SYSRET:
	case X86_INS_INT1:
	case X86_INS_INT3:
	case X86_INS_UD0:
	case X86_INS_UD2:
	case X86_INS_UD1:
		return "trap";
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
		return "flags";
	case X86_INS_LSS:
	case X86_INS_LFS:
	case X86_INS_LGS:
		return "segment";
	case X86_INS_MOV:
	case X86_INS_POP:
		if (op->type == X86_OP_REG && is_segment(op->reg))
			return "segment";
		if ((op->type == X86_OP_REG && is_control(op->reg)) ||
		    (ops > 1 && op[1].type == X86_OP_REG && is_control(op[1].reg)))
			return "privileged";
		break;
	}
	if (cs_insn_group(capstone, insn, CS_GRP_CALL))
		return "call";
	if (cs_insn_group(capstone, insn, CS_GRP_JUMP) ||
	    cs_insn_group(capstone, insn, CS_GRP_BRANCH_RELATIVE))
		return "jump";
	if (cs_insn_group(capstone, insn, CS_GRP_INT) ||
	    cs_insn_group(capstone, insn, CS_GRP_IRET))
		return "trap";
	if (cs_insn_group(capstone, insn, CS_GRP_PRIVILEGE))
		return "privileged";
	return NULL;
}

/* Where the operand is that is relative to the instruction pointer, or NULL. */
static const x86_op_mem *rip_relative(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	unsigned int i;

	for (i = 0; i < x86->op_count; i++) {
		if (x86->operands[i].type == X86_OP_MEM &&
		    x86->operands[i].mem.base == X86_REG_RIP)
			return &x86->operands[i].mem;
	}
	return NULL;
}

static bool fits_s32(long value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

static bool x86_reaches(const cs_insn *insn, unsigned long to)
{
	const long moved = insn->address - to;
	const x86_op_mem *mem = rip_relative(insn);

	return fits_s32(moved - JMP_SIZE) && (!mem || fits_s32(mem->disp + moved));
}

/* Byte for byte the same, but for a displacement that leads to the same place. */
static const char *copy_differs(const cs_insn *insn, const cs_insn *copy)
{
	const x86_op_mem *mem = rip_relative(insn), *copy_mem = rip_relative(copy);
	const unsigned int at = insn->detail->x86.encoding.disp_offset;
	u8 expected[INSN_MAX];

	if (!mem != !copy_mem)
		return "the copy has another kind of operand";
	memcpy(expected, insn->bytes, insn->size);
	if (mem) {
		if (copy->address + copy->size + copy_mem->disp !=
		    insn->address + insn->size + mem->disp)
			return "the copy addresses something else";
		memcpy(expected + at, copy->bytes + at, sizeof(s32));
	}
	return memcmp(expected, copy->bytes, insn->size) ? "the copy has other bytes" : NULL;
}

static const char *x86_differs(csh capstone, const cs_insn *insn,
			       const struct uhook_copy *copy, unsigned long to)
{
	const char *wrong = NULL;
	cs_insn *slot;
	size_t n;

	if (copy->insn_len != insn->size || copy->copy_len != insn->size ||
	    copy->len != insn->size + JMP_SIZE)
		return "the length is wrong";

	n = cs_disasm(capstone, copy->bytes, copy->len, to, 0, &slot);
	if (n != 2 || slot[0].size != insn->size || slot[1].size != JMP_SIZE)
		wrong = "the slot is not a copy and a jump";
	else if (slot[1].id != X86_INS_JMP ||
		 slot[1].detail->x86.operands[0].type != X86_OP_IMM ||
		 slot[1].detail->x86.operands[0].imm != insn->address + insn->size)
		wrong = "the jump leads elsewhere";
	else
		wrong = copy_differs(insn, slot);
	cs_free(slot, n);
	return wrong;
}

/* Of capstone 4.0.2; execute-x86 has the processor itself confirm the lengths. */
static bool x86_misread(const u8 *bytes, const cs_insn *insn)
{
	bool small = false, repeat = false;

	/* The rounding mode in EVEX is decoded from a byte after it. */
	if (insn->detail->x86.avx_rm != X86_AVX_RM_INVALID)
		return true;

	/* 66 with F2 or F3: the immediate is read as one of 32 bits. */
	for (; is_legacy_prefix(*bytes); bytes++) {
		small |= *bytes == 0x66;
		repeat |= *bytes == 0xf2 || *bytes == 0xf3;
	}
	return small && repeat && insn->detail->x86.encoding.imm_size == 4;
}

static size_t make_prefixes(u8 *bytes)
{
	static const u8 prefixes[] = {
		0x66, 0xf2, 0xf3, 0x66, 0xf2, 0xf3, 0x67, 0xf0, 0x2e, 0x3e, 0x64, 0x65,
	};
	u64 r = random_next();
	size_t n = 0;

	/* Three in eight have one, and a few have many. */
	while ((r & 7) < 3 && n < 5) {
		r >>= 3;
		bytes[n++] = prefixes[(r & 0xff) % sizeof(prefixes)];
		r >>= 8;
	}
	if (random_next() & 1)
		bytes[n++] = 0x40 | (random_next() & 15);
	return n;
}

/* VEX and EVEX with the bits that are fixed as they must be, as a rule. */
static size_t make_vector(u8 *bytes)
{
	const u64 r = random_next();
	const u8 map = 1 + (r >> 56) % 3, kind = (r >> 48) % 3;

	if (kind == 0) {
		bytes[0] = 0xc5;
		bytes[1] = r;
		return 2;
	}
	if (kind == 1) {
		bytes[0] = 0xc4;
		bytes[1] = (r & 0xe0) | map;
		bytes[2] = r >> 8;
		return 3;
	}
	bytes[0] = 0x62;
	bytes[1] = (r & 0xf0) | map;
	bytes[2] = (r >> 8) | 0x04;
	bytes[3] = r >> 16;
	return 4;
}

static void x86_make(u8 *bytes)
{
	const u64 r = random_next();
	size_t n = 0, i;

	for (i = 0; i < INSN_MAX; i++)
		bytes[i] = random_next() >> 24;
	/* Five in eight have no VEX, and one of 128 has a prefix before it. */
	if ((r & 7) < 5 || (r & 0x3f8) == 0)
		n = make_prefixes(bytes);
	if ((r & 7) >= 5)
		n += make_vector(bytes + n);
	else if ((r & 7) >= 1)
		bytes[n++] = 0x0f;
	if ((r & 7) == 3)
		bytes[n++] = 0x38;
	else if ((r & 7) == 4)
		bytes[n++] = 0x3a;
	/* A ModRM that says relative to the instruction pointer, often. */
	if ((r >> 10 & 3) == 0)
		bytes[n + 1] = (bytes[n + 1] & 0x38) | 0x05;
}

#define CASE(name, bytes, ret)	{ name, bytes, sizeof(bytes) - 1, ret }
#define MOVES(name, bytes)	CASE(name, bytes, 0)
#define STAYS(name, bytes)	CASE(name, bytes, -EOPNOTSUPP)

/* Instructions that the kernel's decoder does not know, but Zydis does. */
#ifdef RELOCATE_ZYDIS
#define NOT_IN_KERNEL(name, bytes)	MOVES(name, bytes)
#else
#define NOT_IN_KERNEL(name, bytes)	STAYS(name, bytes)
#endif

static const struct relocate_case x86_cases[] = {
	MOVES("endbr64", "\xf3\x0f\x1e\xfa"),
	MOVES("rdsspq", "\xf3\x48\x0f\x1e\xc8"),
	MOVES("one-byte nop", "\x90"),
	MOVES("pause", "\xf3\x90"),
	MOVES("nop of three bytes", "\x0f\x1f\x00"),
	MOVES("nop of nine bytes", "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"),
	MOVES("nop of eleven bytes", "\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),
	MOVES("nop of fifteen bytes",
	      "\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),
	MOVES("ret", "\xc3"),
	MOVES("rep ret", "\xf3\xc3"),
	MOVES("bnd ret", "\xf2\xc3"),
	MOVES("ret with an immediate", "\xc2\x08\x00"),
	MOVES("jmp *%rax", "\xff\xe0"),
	MOVES("notrack jmp *%rdx", "\x3e\xff\xe2"),
	MOVES("jmp *(%rip)", "\xff\x25\x00\x00\x00\x00"),
	MOVES("push (%rip)", "\xff\x35\x00\x00\x00\x00"),
	MOVES("lea (%rip)", "\x48\x8d\x05\x00\x00\x00\x00"),
	MOVES("mov %fs:0x28,%rax", "\x64\x48\x8b\x04\x25\x28\x00\x00\x00"),
	MOVES("lock cmpxchg of 16 bits", "\x66\xf0\x0f\xb1\x0f"),
	MOVES("movabs with an immediate", "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"),
	MOVES("movabs from an address", "\x48\xa1\x01\x02\x03\x04\x05\x06\x07\x08"),
	MOVES("movabs from an address of 32 bits", "\x67\x48\xa1\x01\x02\x03\x04"),
	MOVES("push of 16 bits", "\x66\x68\x34\x12"),
	MOVES("pushf", "\x9c"),
	MOVES("enter", "\xc8\x10\x00\x00"),
	MOVES("vzeroupper", "\xc5\xf8\x77"),
	MOVES("tzcnt of 16 bits", "\x66\xf3\x0f\xbc\xc1"),
	MOVES("rdrand", "\x0f\xc7\xf0"),
	MOVES("xgetbv", "\x0f\x01\xd0"),
	MOVES("test with an immediate, F6 /1", "\xf6\xc8\x01"),
	STAYS("call", "\xe8\x00\x00\x00\x00"),
	STAYS("call with 66", "\x66\xe8\x00\x00"),
	STAYS("jmp", "\xe9\x00\x00\x00\x00"),
	STAYS("short jmp", "\xeb\x00"),
	STAYS("jne", "\x75\x00"),
	STAYS("near jne", "\x0f\x85\x00\x00\x00\x00"),
	STAYS("loop", "\xe2\x00"),
	STAYS("jrcxz", "\xe3\x00"),
	STAYS("xbegin", "\xc7\xf8\x00\x00\x00\x00"),
	STAYS("xabort", "\xc6\xf8\x00"),
	STAYS("xend", "\x0f\x01\xd5"),
	STAYS("call *%rax", "\xff\xd0"),
	STAYS("call *(%rip)", "\xff\x15\x00\x00\x00\x00"),
	STAYS("far call", "\xff\x18"),
	STAYS("far jmp", "\xff\x28"),
	STAYS("far ret", "\xcb"),
	STAYS("int3", "\xcc"),
	STAYS("int $0x80", "\xcd\x80"),
	STAYS("int1", "\xf1"),
	STAYS("iret", "\x48\xcf"),
	STAYS("uiret", "\xf3\x0f\x01\xec"),
	STAYS("syscall", "\x0f\x05"),
	STAYS("sysenter", "\x0f\x34"),
	STAYS("sysret", "\x48\x0f\x07"),
	STAYS("hlt", "\xf4"),
	STAYS("in", "\xec"),
	STAYS("cli", "\xfa"),
	STAYS("ud2", "\x0f\x0b"),
	STAYS("ud1", "\x0f\xb9\xc0"),
	STAYS("popf", "\x9d"),
	STAYS("mov to ss", "\x8e\xd0"),
	STAYS("pop fs", "\x0f\xa1"),
	STAYS("lss", "\x0f\xb2\x00"),
	STAYS("ret with 66", "\x66\xc3"),
	STAYS("ret with 67", "\x67\xc3"),
	STAYS("jmp *%ax", "\x66\xff\xe0"),
	STAYS("mov (%eip)", "\x67\x8b\x05\x00\x00\x00\x00"),
	STAYS("XOP", "\x8f\xe8\x78\xc0\xc0\x01"),
	STAYS("3DNow!", "\x0f\x0f\xc0\xb4"),
	STAYS("REX2", "\xd5\x48\x90"),
	STAYS("REX before a prefix", "\x48\x66\x90"),
	STAYS("two REX", "\x48\x48\x90"),
	NOT_IN_KERNEL("five prefixes", "\x2e\x36\x26\x64\x65\x90"),
	STAYS("VEX behind REX", "\x48\xc5\xf8\x77"),
	STAYS("VEX behind 66", "\x66\xc5\xf8\x77"),
	STAYS("movsb with F2 and F3", "\xf2\xf3\xa4"),
	STAYS("EVEX with APX's bit of the base", "\x62\xf9\x7c\x48\x58\xc0"),
	STAYS("EVEX with APX's bit of the index", "\x62\xf1\x78\x48\x58\xc0"),
	MOVES("EVEX without them", "\x62\xf1\x7c\x48\x58\xc0"),
	STAYS("EVEX of APX's map", "\x62\xf4\x7c\x08\x01\xc0"),
	NOT_IN_KERNEL("F3 0F 42", "\xf3\x0f\x42\xc0"),
	NOT_IN_KERNEL("67 0F 19", "\x67\x0f\x19\xc0"),
	STAYS("F2 0F 72, not in the table", "\xf2\x0f\x72\xd0\x01"),
	STAYS("extrq", "\x66\x0f\x78\xc0\x01\x02"),
	STAYS("mov %cr0 with what would be SIB", "\x0f\x20\x04"),
	STAYS("the name of Xen's emulation", "\x0f\x0b\x78\x65\x6e\x0f\xa2"),
	{}
};

const struct relocate_arch relocate_arch = {
	.name = "x86_64",
	.machine = EM_X86_64,
	.arch = CS_ARCH_X86,
	.mode = CS_MODE_64,
	.step = 1,
	.reach = 0x80000000UL,
	.share = 98,		/* libm has FMA4, which the decoder does not know */
	.cases = x86_cases,
	.immovable = x86_immovable,
	.reaches = x86_reaches,
	.differs = x86_differs,
	.misread = x86_misread,
	.make = x86_make,
};
