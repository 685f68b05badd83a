/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: where a program is that is in code of uhook.
 */
#ifndef _KERNEL_UHOOK_TRANSLATE_H
#define _KERNEL_UHOOK_TRANSLATE_H

#include "mm.h"

/**
 * enum uhook_place - where a task is that is in code of uhook
 * @UHOOK_ELSEWHERE: it is not
 * @UHOOK_BEFORE: it came from the site, and nothing has happened yet
 * @UHOOK_INSIDE: in a handler, which nobody else can finish
 * @UHOOK_AT_COPY: the handlers have run, and the instruction has not
 * @UHOOK_BEHIND: the instruction has run
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
