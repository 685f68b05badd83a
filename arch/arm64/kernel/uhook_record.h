/* SPDX-License-Identifier: GPL-2.0 */
/* The recorder of arm64 in both of its forms, for the host's tests */
#ifndef _ARM64_UHOOK_RECORD_H
#define _ARM64_UHOOK_RECORD_H

#include <linux/types.h>

struct uhook_recorder;

/**
 * uhook_make_record - generate the handler that records, with or without LSE atomics
 * @code: same as for uhook_record_code()
 * @size: same as for uhook_record_code()
 * @at: same as for uhook_record_code()
 * @recorder: same as for uhook_record_code()
 * @lse: whether programs may use the atomic instructions of ARMv8.1
 *
 * Return: same as for uhook_record_code().
 */
int uhook_make_record(u8 *code, size_t size, unsigned long at,
		      const struct uhook_recorder *recorder, bool lse);

#endif /* _ARM64_UHOOK_RECORD_H */
