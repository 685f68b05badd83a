// SPDX-License-Identifier: GPL-2.0
/*
 * A module with a replacement that another module's patch uses. Where stack traces
 * are not reliable it stays loaded from then on, so that it is one that no other test
 * needs.
 *
 *	# insmod fhook_stays.ko
 *	# insmod fhook_patch.ko by=fhook_stays_instead
 */
#include <linux/export.h>
#include <linux/module.h>

noinline __noclone long fhook_stays_instead(void);

noinline __noclone long fhook_stays_instead(void)
{
	return 0;
}
EXPORT_SYMBOL_GPL(fhook_stays_instead);

MODULE_DESCRIPTION("Has a replacement, for the tests of fhook");
MODULE_LICENSE("GPL");
