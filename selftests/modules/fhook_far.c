// SPDX-License-Identifier: GPL-2.0
/*
 * A module that takes the addresses which others would be near, while it is
 * there: modules loaded meanwhile are further than a branch of arm64 reaches,
 * and trampolines find no room.
 *
 *	# modprobe fhook_far			near the functions that it calls
 *	# modprobe fhook_target
 *	# echo ADDRESS > /sys/module/fhook_far/parameters/near
 *	# rmmod fhook_far			gives all of them back
 *
 * Only addresses are taken, no memory. The function that does it is not for
 * modules; a probe tells where it is.
 */
#include <linux/kprobes.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

/*
 * A branch reaches 128 MiB, and a trampoline may be as far from the kernel: an address that
 * is out of reach of the trampoline, too, must be further away than two branches. The kernel
 * and its modules add to the distance.
 */
#define REACH		(2 * SZ_128M + SZ_64M)

#define MAX_AREAS	4096

static struct vm_struct *areas[MAX_AREAS];
static unsigned int num_areas;

static typeof(__get_vm_area_caller) *get_area;

static int find_get_area(void)
{
	struct kprobe probe = { .symbol_name = "__get_vm_area_caller" };
	int err = register_kprobe(&probe);

	if (err)
		return err;
	get_area = (void *)probe.addr;
	unregister_kprobe(&probe);

	return 0;
}

/* Take every hole, from the largest down to a page. */
static void take(unsigned long around)
{
	unsigned long start = max(PAGE_ALIGN(around) - REACH, MODULES_VADDR);
	unsigned long end = min(PAGE_ALIGN(around) + REACH, VMALLOC_END);
	unsigned long size;

	for (size = SZ_64M; size >= PAGE_SIZE; size /= 2) {
		while (num_areas < MAX_AREAS) {
			areas[num_areas] = get_area(size, VM_ALLOC | VM_NO_GUARD,
						    start, end, take);
			if (!areas[num_areas])
				break;
			num_areas++;
		}
	}
	pr_info("%u areas between %lx and %lx\n", num_areas, start, end);
}

static int near_set(const char *text, const struct kernel_param *kp)
{
	unsigned long addr;
	int err = kstrtoul(text, 16, &addr);

	if (!err)
		take(addr);

	return err;
}

static const struct kernel_param_ops near_ops = {
	.set	= near_set,
};

module_param_cb(near, &near_ops, NULL, 0200);
MODULE_PARM_DESC(near, "take what is near this address (hexadecimal), too");

static int __init far_init(void)
{
	int err = find_get_area();

	if (!err)
		take((unsigned long)_printk);

	return err;
}

static void __exit far_exit(void)
{
	while (num_areas)
		free_vm_area(areas[--num_areas]);
}

module_init(far_init);
module_exit(far_exit);

MODULE_DESCRIPTION("Keep modules and trampolines away, for the tests of fhook");
MODULE_LICENSE("GPL");
