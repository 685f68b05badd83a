/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing x86_64 code for programs
 *
 * What uhook_gate.c and uhook_record.c share. Bytes go one behind the other into a
 * buffer; what does not fit is counted and not written, so that the caller has to
 * look only once.
 */
#ifndef _X86_UHOOK_WRITER_H
#define _X86_UHOOK_WRITER_H

#include <linux/string.h>
#include <linux/types.h>

/**
 * struct uhook_writer - code that is being written
 * @code: where to
 * @size: how many bytes fit there
 * @len: how many there are, or would be
 */
struct uhook_writer {
	u8 *code;
	size_t size;
	size_t len;
};

/**
 * uhook_put - write some bytes
 * @w: what there is
 * @bytes: what is added
 * @len: how many they are
 */
static inline void uhook_put(struct uhook_writer *w, const void *bytes, size_t len)
{
	if (w->len + len <= w->size)
		memcpy(w->code + w->len, bytes, len);
	w->len += len;
}

#endif /* _X86_UHOOK_WRITER_H */
