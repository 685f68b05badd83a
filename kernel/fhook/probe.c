// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the number of CPUs that are being started or stopped.
 *
 * RCU does not wait for a CPU that is not online, so each hit of a carried probe checks its
 * CPU. Nearly always the number is 0, and the CPU needs no further check. Two states of CPU
 * hotplug change the number: a CPU enters the first before it runs, and leaves it when it is
 * dead; it enters the second when it is usable, and leaves it before it is stopped. Between
 * them it is counted. A CPU has executed the callbacks of the second state itself, and was
 * started after those of the first, so it reads the right number.
 *
 * The number is changed with the lock of CPU hotplug held, and once at boot, before other CPUs
 * are started.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/printk.h>

#include "probe.h"

/* 1 until both states are registered */
int fhook_cpus_changing __read_mostly = 1;

static int begin_change(unsigned int cpu)
{
	lockdep_assert_cpus_held();
	WRITE_ONCE(fhook_cpus_changing, fhook_cpus_changing + 1);

	return 0;
}

static int end_change(unsigned int cpu)
{
	lockdep_assert_cpus_held();
	WRITE_ONCE(fhook_cpus_changing, fhook_cpus_changing - 1);

	return 0;
}

static int __init fhook_cpus_init(void)
{
	int err;

	err = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "fhook/probes:prepare", begin_change,
					end_change);
	if (err >= 0)
		err = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "fhook/probes:online",
						end_change, begin_change);
	if (err < 0) {
		pr_warn("CPU hotplug cannot be watched (%d): each hit of a probe asks for its CPU\n",
			err);
		return err;
	}
	/* This CPU has arrived. */
	fhook_cpus_changing--;

	return 0;
}
early_initcall(fhook_cpus_init);
