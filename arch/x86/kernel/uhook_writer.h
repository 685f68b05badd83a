/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing x86_64 code for programs
 *
 * Shared by uhook_gate.c and uhook_record.c. Bytes are appended to a buffer; bytes that
 * do not fit are counted but not written, so that the caller has to check only once.
 */
#ifndef _X86_UHOOK_WRITER_H
#define _X86_UHOOK_WRITER_H

#include <linux/string.h>
#include <linux/types.h>

/**
 * struct uhook_writer - code that is being written
 * @code: the buffer
 * @size: size of the buffer, in bytes
 * @len: number of bytes appended, including those that did not fit
 */
struct uhook_writer {
	u8 *code;
	size_t size;
	size_t len;
};

/**
 * uhook_put - append bytes
 * @w: the code so far
 * @bytes: the bytes
 * @len: number of bytes
 */
static inline void uhook_put(struct uhook_writer *w, const void *bytes, size_t len)
{
	if (w->len + len <= w->size)
		memcpy(w->code + w->len, bytes, len);
	w->len += len;
}

#endif /* _X86_UHOOK_WRITER_H */
