/* SPDX-License-Identifier: GPL-2.0 */
/* See include/linux/hook_base.h. */
#ifndef _OBJTOOL_HOOK_BASE_H
#define _OBJTOOL_HOOK_BASE_H

#define hook_base_for_each_sec(file, sec)	for_each_sec(file, sec)

#endif /* _OBJTOOL_HOOK_BASE_H */
