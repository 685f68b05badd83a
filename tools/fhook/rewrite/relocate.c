// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: copies and jumps, made by the kernel's relocators
 *
 * Built once for each architecture, with uhook's relocators for it; both are in one
 * program, and neither sees the symbols of the other.
 */
#include <string.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include "arch.h"

int rewrite_copy(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to, uint8_t *to_bytes)
{
	struct uhook_copy copy;
	int ret = uhook_relocate_branch(bytes, size, from, to, &copy);

	if (ret)
		return ret;
	memcpy(to_bytes, copy.bytes, copy.copy_len);
	return copy.copy_len;
}

int rewrite_jump(uint64_t at, uint64_t target, uint8_t *bytes)
{
	return uhook_make_hop(at, target, bytes);
}
