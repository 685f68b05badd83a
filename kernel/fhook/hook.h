/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: detaching the hooks of modules that are being unloaded.
 */
#ifndef _FHOOK_HOOK_H
#define _FHOOK_HOOK_H

#include "core.h"

void fhook_hook_detach(struct fhook_hook *hook);

#endif /* _FHOOK_HOOK_H */
