/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: reporting why a hook cannot be registered.
 */
#ifndef _KERNEL_UHOOK_REPORT_H
#define _KERNEL_UHOOK_REPORT_H

#include <linux/compiler_attributes.h>
#include <linux/uhook.h>

__printf(3, 4)
void uhook_fail(const struct uhook_ops *ops, enum uhook_error error, const char *format, ...);
void uhook_fail_point(const struct uhook_ops *ops, unsigned int nr,
		      const struct uhook_point *point, int err);

#endif /* _KERNEL_UHOOK_REPORT_H */
