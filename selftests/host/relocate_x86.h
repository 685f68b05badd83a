/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the tests of x86_64's relocator */
#ifndef SELFTESTS_HOST_RELOCATE_X86_H
#define SELFTESTS_HOST_RELOCATE_X86_H

#include <string.h>
#include <linux/types.h>

static inline bool is_legacy_prefix(u8 byte)
{
	return byte && strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", byte);
}

#endif /* SELFTESTS_HOST_RELOCATE_X86_H */
