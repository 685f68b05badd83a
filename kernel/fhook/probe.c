// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: whether CPUs are on their way to or from the state in which RCU waits for them.
 *
 * Each hit of a carried probe asks whether its CPU is online, and the answer is nearly always
 * yes. So it looks at a counter first, which is 0 while each CPU is either usable or dead. A
 * CPU is counted between two states of CPU hotplug: one is entered before the CPU runs, and
 * left after it is dead; the other is entered when it is usable, and left while it still is.
 * The CPU that reads the counter has seen the second state itself, or was started after the
 * first.
 *
 * The counter is written with the CPUs' hotplug lock held for writing.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/printk.h>

#include "probe.h"

/* Also while the states are not known. */
int fhook_cpus_changing __read_mostly = 1;

static int cpu_leaves(unsigned int cpu)
{
	lockdep_assert_cpus_held();
	WRITE_ONCE(fhook_cpus_changing, fhook_cpus_changing + 1);

	return 0;
}

static int cpu_arrives(unsigned int cpu)
{
	lockdep_assert_cpus_held();
	WRITE_ONCE(fhook_cpus_changing, fhook_cpus_changing - 1);

	return 0;
}

/* Before other CPUs are started. */
static int __init fhook_cpus_init(void)
{
	int err;

	err = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "fhook/probes:prepare", cpu_leaves,
					cpu_arrives);
	if (err >= 0)
		err = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "fhook/probes:online",
						cpu_arrives, cpu_leaves);
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
