/* SPDX-License-Identifier: GPL-2.0 */
/* The newer name; see include/linux/hook_base.h. */
#include <asm/patching.h>
