/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: what the hooks that carry mainline's kprobes and fprobes have in common.
 *
 * Their users free a probe after an RCU grace period. It does not wait for trampolines, nor
 * for CPUs that are idle, have gone offline or come online.
 */
#ifndef _FHOOK_PROBE_H
#define _FHOOK_PROBE_H

#include <linux/context_tracking.h>
#include <linux/cpumask.h>
#include <linux/fhook.h>
#include <linux/smp.h>

extern int fhook_cpus_changing;

/*
 * Does RCU wait for this CPU? Otherwise the probe, and what its handler finds by RCU, may be
 * freed meanwhile.
 */
static __always_inline bool fhook_rcu_waits(void)
{
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
	if (unlikely(!rcu_is_watching_curr_cpu()))
		return false;
#endif

	return likely(!READ_ONCE(fhook_cpus_changing)) || cpu_online(raw_smp_processor_id());
}

/*
 * A handler may continue at the return address instead of at a function that returns.
 * Exits of other hooks see a return only if there is one.
 */
static __always_inline unsigned long fhook_chosen_ip(const struct fhook_regs *fregs,
						     unsigned long ip)
{
	if (IS_ENABLED(CONFIG_ARM64) && ip == fhook_regs_ret_addr(fregs))
		return (unsigned long)fhook_just_return;

	return ip;
}

#endif /* _FHOOK_PROBE_H */
