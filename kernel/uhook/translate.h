/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: translating addresses in uhook's code to addresses of the program.
 */
#ifndef _KERNEL_UHOOK_TRANSLATE_H
#define _KERNEL_UHOOK_TRANSLATE_H

#include "mm.h"

/**
 * enum uhook_place - place of an address in uhook's code
 * @UHOOK_ELSEWHERE: not in uhook's code
 * @UHOOK_BEFORE: before the handlers: nothing of the hit has been done
 * @UHOOK_INSIDE: in a handler or stub, which only the task itself can finish
 * @UHOOK_AT_COPY: after the handlers, before the copied instruction
 * @UHOOK_BEHIND: after the copied instruction
 */
enum uhook_place {
	UHOOK_ELSEWHERE,
	UHOOK_BEFORE,
	UHOOK_INSIDE,
	UHOOK_AT_COPY,
	UHOOK_BEHIND,
};

enum uhook_place uhook_translate(const struct uhook_mm *um, unsigned long ip,
				 unsigned long *addr);

#endif /* _KERNEL_UHOOK_TRANSLATE_H */
