/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs that are traced share
 *
 * The functions which are traced begin with t_, or are in namespace t: the list of
 * each program is "main", "t_*" and "t::*". They are not inlined, for the rewriter
 * only knows what has a call. A program prints nothing but a result that depends on
 * all that it did.
 *
 * In the independent record, the compiler calls a hook at each entry and exit; what it
 * does not see, the arrival of a longjmp, the program says itself.
 */
#ifndef TRACED_H
#define TRACED_H

#ifdef __clang__
#define TARGET	__attribute__((noinline))
#else
#define TARGET	__attribute__((noinline, noclone))
#endif

#ifdef RECORD_CALLS
#ifdef __cplusplus
extern "C"
#endif
void record_landed(const char *function);
#else
#define record_landed(function)	((void)(function))
#endif

#endif /* TRACED_H */
