// SPDX-License-Identifier: GPL-2.0
/* Operands of USDT probes; the header describes them. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "operand.h"

#define OPERAND_MAX	64

const char *operand_next(const char *text, size_t *length)
{
	const char *end;
	int depth = 0;

	text += strspn(text, " ");
	/* Those of arm64 have blanks between brackets. */
	for (end = text; *end && (*end != ' ' || depth > 0); end++)
		depth += (*end == '[') - (*end == ']');
	*length = end - text;
	return text;
}

/* Parse a number that ends with the text or before STOP. Returns the text after it, or NULL. */
static const char *parse_number(const char *text, char stop, long long *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 0);
	return end == text || errno || (*end && *end != stop) ? NULL : end;
}

/* The kernel's name of a register, or NULL. WHOLE: it must be the whole register. */
static const char *x86_register(const char *text, bool whole)
{
	static const char *const names[][4] = {
		{ "rax", "eax", "ax", "al" },		{ "rbx", "ebx", "bx", "bl" },
		{ "rcx", "ecx", "cx", "cl" },		{ "rdx", "edx", "dx", "dl" },
		{ "rsi", "esi", "si", "sil" },		{ "rdi", "edi", "di", "dil" },
		{ "rbp", "ebp", "bp", "bpl" },		{ "rsp", "esp", "sp", "spl" },
		{ "r8", "r8d", "r8w", "r8b" },		{ "r9", "r9d", "r9w", "r9b" },
		{ "r10", "r10d", "r10w", "r10b" },	{ "r11", "r11d", "r11w", "r11b" },
		{ "r12", "r12d", "r12w", "r12b" },	{ "r13", "r13d", "r13w", "r13b" },
		{ "r14", "r14d", "r14w", "r14b" },	{ "r15", "r15d", "r15w", "r15b" },
	};
	unsigned int i, part;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		for (part = 0; part < (whole ? 1 : 4); part++)
			if (!strcmp(text, names[i][part]))
				return isdigit((unsigned char)text[1]) ? names[i][0] : names[i][2];
	return NULL;
}

/* "$5", "%edi" or "-20(%rbp)". */
static int x86_operand(const char *text, struct program_value *value)
{
	char base[8] = "", rest;
	const char *name;
	long long number = 0;

	if (*text == '%') {
		name = x86_register(text + 1, false);
		snprintf(value->text, sizeof(value->text), "%%%s", name ? name : "");
		return name ? 0 : -1;
	}
	if (*text == '$') {
		text = parse_number(text + 1, '\0', &number);
		snprintf(value->text, sizeof(value->text), "\\%lld", number);
		return text ? 0 : -1;
	}
	if (*text != '(')
		text = parse_number(text, '(', &number);
	if (!text || sscanf(text, "(%%%7[a-z0-9]%c%c", base, &rest, &rest) != 2 || rest != ')')
		return -1;
	name = x86_register(base, true);
	snprintf(value->text, sizeof(value->text), "%+lld(%%%s)", number, name ? name : "");
	return name ? 0 : -1;
}

/* The same for arm64, of which names consist of a letter and a number. */
static const char *arm64_register(const char *text, bool whole, char name[OPERAND_REGISTER])
{
	u64 number;

	if (!strcmp(text, "sp"))
		return "sp";
	if ((*text != 'x' && (whole || *text != 'w')) || word_number(text + 1, 10, 30, &number))
		return NULL;
	snprintf(name, OPERAND_REGISTER, "x%u", (unsigned int)number);
	return name;
}

/* "5", "w0" or "[sp, 16]". */
static int arm64_operand(const char *text, struct program_value *value)
{
	char base[8] = "", room[OPERAND_REGISTER];
	const char *name;
	long long number = 0;

	if (*text != '[') {
		name = arm64_register(text, false, room);
		if (name)
			snprintf(value->text, sizeof(value->text), "%%%s", name);
		else if (parse_number(text + (*text == '#'), '\0', &number))
			snprintf(value->text, sizeof(value->text), "\\%lld", number);
		else
			return -1;
		return 0;
	}
	if (sscanf(text, "[%7[a-z0-9]", base) != 1)
		return -1;
	name = arm64_register(base, true, room);
	text += 1 + strlen(base);
	if (*text == ',') {
		text += 1 + strspn(text + 1, " ");
		text = parse_number(text + (*text == '#'), ']', &number);
	}
	if (!name || !text || strcmp(text, "]"))
		return -1;
	snprintf(value->text, sizeof(value->text), "%+lld(%%%s)", number, name);
	return 0;
}

/* The type that a size stands for; without a size it is a word. */
static const char *parse_size(const char *text, struct program_value *value)
{
	const char *at = strchr(text, '@');
	const bool is_signed = *text == '-';
	u64 bytes = 8;

	if (at) {
		text += is_signed;
		if (at != text + 1 || !strchr("1248", *text))
			return NULL;
		bytes = *text - '0';
		text = at + 1;
	}
	snprintf(value->type, sizeof(value->type), "%c%u", at && is_signed ? 's' : 'u',
		 (unsigned int)bytes * 8);
	return text;
}

int operand_value(u16 machine, const char *text, size_t length, struct program_value *value)
{
	char copy[OPERAND_MAX];
	const char *operand;

	if (length >= sizeof(copy))
		return -1;
	snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
	operand = parse_size(copy, value);
	if (!operand)
		return -1;
	return machine == EM_X86_64 ? x86_operand(operand, value) : arm64_operand(operand, value);
}

const char *operand_register(u16 machine, const char *text, char room[OPERAND_REGISTER])
{
	/* What the kernel calls registers that are in no operand, after other names for them. */
	static const char *const x86[][2] = {
		{ "rip", "ip" }, { "eip", "ip" }, { "ip", "ip" }, { "rflags", "flags" },
		{ "eflags", "flags" }, { "flags", "flags" }, { "cs", "cs" }, { "ss", "ss" },
		{ "orig_ax", "orig_ax" },
	};
	static const char *const arm64[][2] = {
		{ "fp", "x29" }, { "lr", "lr" }, { "pc", "pc" }, { "pstate", "pstate" },
	};
	const bool is_x86 = machine == EM_X86_64;
	const size_t nr = is_x86 ? ARRAY_SIZE(x86) : ARRAY_SIZE(arm64);
	const char *const (*names)[2] = is_x86 ? x86 : arm64;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(text, names[i][0]))
			return names[i][1];
	return is_x86 ? x86_register(text, false) : arm64_register(text, false, room);
}
