/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the files of the benchmark of fhook
 */
#ifndef _FHOOK_BENCH_H
#define _FHOOK_BENCH_H

#include <linux/moduleparam.h>
#include <linux/types.h>

/**
 * struct figures - costs of one case, 0 if there is none
 * @mainline: cost of mainline's hooks
 * @fhook: cost of fhook's
 */
struct figures {
	u64	mainline;
	u64	fhook;
};

/* The measured function */
int bench_target(int arg);

/* A parameter that is the result of the function which is its argument */
extern const struct kernel_param_ops fhook_bench_cost_ops;

int fhook_bench_clock_start(void);
void fhook_bench_clock_stop(void);
u64 fhook_bench_now(void);
u64 fhook_bench_units(u64 ticks);
const char *fhook_bench_unit(void);
u64 fhook_bench_calls(void);
u64 fhook_bench_kretprobe(bool entry);
u64 fhook_bench_fprobe(bool exit);
unsigned long fhook_bench_next_function(unsigned long addr);
void fhook_bench_scale_stop(void);
void fhook_bench_print(const char *name, const char *unit, struct figures f);

#endif /* _FHOOK_BENCH_H */
