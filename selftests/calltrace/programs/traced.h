/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Definitions shared by the traced programs
 *
 * The functions which are traced begin with t_, or are in namespace t: the list of
 * each program is "main", "t_*" and "t::*". They are not inlined, because
 * the rewriter only sees functions that are called. A program prints nothing but a result
 * that depends on all of its calls.
 *
 * In the independent record, the compiler calls a hook at each entry and exit. It does
 * not see the arrival of a longjmp, which the program records itself.
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
