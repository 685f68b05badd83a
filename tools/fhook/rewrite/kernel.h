/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Primitives of the kernel, for its relocators in a program
 *
 * The kernel's relocators are compiled unchanged. This header is included before each of their
 * files, and the kernel's headers that it stands for are empty, so that no kernel source is
 * needed. Headers of the same name that programs have, such as <linux/types.h>, are theirs.
 */
#ifndef FHOOK_REWRITE_KERNEL_H
#define FHOOK_REWRITE_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <endian.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define static_assert(...)	_Static_assert(__VA_ARGS__, #__VA_ARGS__)
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define BIT(n)			(1UL << (n))
#define min(a, b)		({ typeof(a) _a = (a); typeof(b) _b = (b); _a < _b ? _a : _b; })

#define SZ_4K			0x1000
#define SZ_1M			0x100000
#define SZ_128M			0x8000000

/* The lower bits of a number, up to and with bit SIGN, which is that of its sign. */
static inline s64 sign_extend64(u64 value, int sign)
{
	return (s64)(value << (63 - sign)) >> (63 - sign);
}

static inline u32 get_unaligned_le32(const void *p)
{
	u32 value;

	memcpy(&value, p, sizeof(value));
	return le32toh(value);
}

static inline void put_unaligned_le32(u32 value, void *p)
{
	value = htole32(value);
	memcpy(p, &value, sizeof(value));
}

static inline void put_unaligned_le64(u64 value, void *p)
{
	value = htole64(value);
	memcpy(p, &value, sizeof(value));
}

#ifdef FHOOK_REWRITE_X86
#include "insn_x86.h"
#else
#include "insn_arm64.h"
#endif

#endif /* FHOOK_REWRITE_KERNEL_H */
