/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The benchmark of fhook: what its files share.
 */
#ifndef _FHOOK_BENCH_H
#define _FHOOK_BENCH_H

#include <linux/types.h>

/**
 * struct figures - of one case, 0 where there is none
 * @mainline: what mainline takes
 * @fhook: what fhook takes
 */
struct figures {
	u64	mainline;
	u64	fhook;
};

bool fhook_bench_calibrate(void);
u64 fhook_bench_instructions(u64 ticks);
void fhook_bench_print(const char *name, const char *unit, struct figures f);

#endif /* _FHOOK_BENCH_H */
