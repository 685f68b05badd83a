// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of x86_64, for the kernel's relocators: decoded by Zydis
 *
 * The relocators know which instructions they accept, and by which parts they recognize them.
 * An instruction whose parts are not in their usual places, such as one with a REX prefix before
 * another prefix, is refused: it may be one that they would take for another.
 */
#include <errno.h>
#include <string.h>
#include <Zydis/Zydis.h>
#include "insn_x86.h"

#define ESCAPE		0x0f
#define ADDRESS_SIZE	0x67

static bool is_legacy_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:				/* segments */
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64 ... 0x67:			/* and sizes */
	case 0xf0:				/* lock */
	case 0xf2 ... 0xf3:			/* repetitions */
		return true;
	default:
		return false;
	}
}

static void set_field(struct insn_field *field, const uint8_t *bytes, size_t size)
{
	field->nbytes = size;
	memcpy(field->bytes, bytes, size < sizeof(field->bytes) ? size : sizeof(field->bytes));
}

/* The number of bytes with which the opcode begins in its map; negative if it has another map. */
static int size_of_escape(const ZydisDecodedInstruction *decoded)
{
	switch (decoded->opcode_map) {
	case ZYDIS_OPCODE_MAP_DEFAULT:
		return 0;
	case ZYDIS_OPCODE_MAP_0F:
		return 1;
	case ZYDIS_OPCODE_MAP_0F38:
	case ZYDIS_OPCODE_MAP_0F3A:
		return 2;
	default:
		return -1;
	}
}

/* The opcode, after the prefixes. Returns 0 or a negative error. */
static int set_opcode(struct insn *insn, const ZydisDecodedInstruction *decoded, const uint8_t *at)
{
	int escape = size_of_escape(decoded);

	if (escape < 0 || at[escape] != decoded->opcode || (escape && at[0] != ESCAPE))
		return -EINVAL;
	set_field(&insn->opcode, at, escape + 1);
	return 0;
}

/* The prefixes and the opcode. Returns 0 or a negative error. */
static int set_beginning(struct insn *insn, const ZydisDecodedInstruction *decoded)
{
	const uint8_t *at = insn->kaddr;

	while (is_legacy_prefix(*at))
		at++;
	set_field(&insn->prefixes, insn->kaddr, at - (const uint8_t *)insn->kaddr);
	/* Zydis has 8 for those of MPX, which processors without it take for no-ops. */
	insn->addr_bytes = memchr(insn->kaddr, ADDRESS_SIZE, insn->prefixes.nbytes) ? 4 : 8;
	switch (decoded->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_LEGACY:
		if ((*at & 0xf0) == 0x40)
			set_field(&insn->rex_prefix, at++, 1);
		return set_opcode(insn, decoded, at);
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		set_field(&insn->vex_prefix, at, *at == 0xc5 ? 2 : 3);
		break;
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		set_field(&insn->vex_prefix, at, 4);
		break;
	default:
		return -EINVAL;
	}
	at += insn->vex_prefix.nbytes;
	set_field(&insn->opcode, at, 1);
	return *at == decoded->opcode ? 0 : -EINVAL;
}

int insn_decode(struct insn *insn, const void *bytes, int size, enum insn_mode mode)
{
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;

	if (mode != INSN_MODE_64 || size < 0 ||
	    ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					 ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, &decoded)))
		return -EINVAL;
	memset(insn, 0, sizeof(*insn));
	insn->kaddr = bytes;
	insn->length = decoded.length;
	if (set_beginning(insn, &decoded))
		return -EINVAL;
	if (decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM)
		set_field(&insn->modrm, (const uint8_t *)bytes + decoded.raw.modrm.offset, 1);
	insn->displacement.nbytes = decoded.raw.disp.size / 8;
	insn->displacement.value = decoded.raw.disp.value;
	insn->displacement_at = decoded.raw.disp.offset;
	insn->immediate.nbytes = decoded.raw.imm[0].size / 8;
	insn->immediate.value = decoded.raw.imm[0].value.s;
	return 0;
}
