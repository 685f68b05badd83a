// SPDX-License-Identifier: GPL-2.0
/*
 * Run code of a module in programs whenever they reach an instruction.
 *
 * The code counts the hits and adds up the first argument of the function that begins
 * there, for example the sizes requested from malloc(). Only the first hit in each
 * process takes an exception.
 *
 *	# readelf --dyn-syms -W /lib/x86_64-linux-gnu/libc.so.6 | grep -w malloc
 *	... 0000000000097440 ... malloc
 *	# modprobe uhook-sample path=/lib/x86_64-linux-gnu/libc.so.6 offset=0x97440
 *	# ls / > /dev/null
 *	# cat /sys/module/uhook_sample/parameters/{called,sum}
 *	163
 *	86124
 *	# rmmod uhook-sample
 *	# dmesg -t | grep uhook_sample | tail -n 1
 *	uhook_sample: 163 calls, their arguments make 86124; 1 exceptions, 0 missed
 *
 * form= selects one of three forms of user trampolines. With 1, the instruction becomes a
 * breakpoint, and each hit calls a handler in the kernel. With 2, the instruction becomes
 * a jump to the trampoline, which has a breakpoint that calls the handler in the kernel.
 * With 3, the default, there is no handler in the kernel. code=0 omits the code above.
 */
#define pr_fmt(fmt) "uhook_sample: " fmt

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/uhook.h>

static char *path;
module_param(path, charp, 0444);
MODULE_PARM_DESC(path, "the program or library");

static unsigned long offset;
module_param(offset, ulong, 0444);
MODULE_PARM_DESC(offset, "the offset of the instruction in its file");

static int form = 3;
module_param(form, int, 0444);
MODULE_PARM_DESC(form, "1, 2 or 3, see above");

static bool code = true;
module_param(code, bool, 0444);
MODULE_PARM_DESC(code, "run code in the programs (default: yes)");

/*
 * void handler(struct uhook_user_regs *regs, u64 *data): this code is copied into the
 * processes, so it must not refer to anything in the module. Several threads may run it
 * at the same time.
 */
extern const char sample_code[], sample_code_end[];

#ifdef CONFIG_X86_64
static_assert(offsetof(struct uhook_user_regs, rdi) == 64);
asm(".pushsection .rodata, \"a\"\n"
	"sample_code:\n"
	"	mov 64(%rdi), %rax\n"
	"	lock incq (%rsi)\n"
	"	lock add %rax, 8(%rsi)\n"
	"	ret\n"
	"sample_code_end:\n"
	".popsection\n");
#elif defined(CONFIG_ARM64)
static_assert(offsetof(struct uhook_user_regs, x[0]) == 0);
asm(".pushsection .rodata, \"a\"\n"
	"	.balign 4\n"
	"sample_code:\n"
	"	ldr x2, [x0]\n"
	"1:	ldxr x3, [x1]\n"
	"	add x3, x3, #1\n"
	"	stxr w4, x3, [x1]\n"
	"	cbnz w4, 1b\n"
	"	add x1, x1, #8\n"
	"2:	ldxr x3, [x1]\n"
	"	add x3, x3, x2\n"
	"	stxr w4, x3, [x1]\n"
	"	cbnz w4, 2b\n"
	"	ret\n"
	"sample_code_end:\n"
	".popsection\n");
#endif

static struct uhook_ops sample_ops = {
	.user		= UHOOK_USER_CODE,
	.code		= sample_code,
	.flags		= UHOOK_FL_NO_VECTORS,
	.name		= "uhook-sample",
};

static struct path sample_path;

static atomic_long_t in_kernel;

static int sample_handler(struct uhook_ops *ops, struct pt_regs *regs)
{
	atomic_long_inc(&in_kernel);

	return 0;
}

/* Read one of the words that the code has counted, summed over all processes. */
static int get_word(char *buf, const struct kernel_param *kp)
{
	u64 words[UHOOK_DATA_WORDS];

	uhook_get_words(&sample_ops, words);

	return sysfs_emit(buf, "%llu\n", words[(unsigned long)kp->arg]);
}

static const struct kernel_param_ops word_ops = {
	.get = get_word,
};

module_param_cb(called, &word_ops, (void *)0, 0444);
MODULE_PARM_DESC(called, "how often the code has run");
module_param_cb(sum, &word_ops, (void *)1, 0444);
MODULE_PARM_DESC(sum, "the sum of the first arguments");

static int __init sample_init(void)
{
	struct uhook_point point = { .offset = offset };
	int err;

	if (!path || form < 1 || form > 3) {
		pr_err("path= and offset= say where, form= is 1, 2 or 3\n");
		return -EINVAL;
	}
	err = kern_path(path, LOOKUP_FOLLOW, &sample_path);
	if (err)
		return err;

	point.inode = d_real_inode(sample_path.dentry);
	sample_ops.code_size = sample_code_end - sample_code;
	sample_ops.handler = form == 3 ? NULL : sample_handler;
	if (form == 2)
		sample_ops.flags |= UHOOK_FL_IN_BODY;
	if (!code)
		sample_ops.user = UHOOK_USER_NONE;
	err = uhook_register(&sample_ops, &point, 1);
	if (err)
		path_put(&sample_path);

	return err;
}

static void __exit sample_exit(void)
{
	u64 words[UHOOK_DATA_WORDS];
	struct uhook_hits hits;

	uhook_get_words(&sample_ops, words);
	uhook_unregister(&sample_ops, &hits);
	path_put(&sample_path);
	pr_info("%llu calls, their arguments make %llu; %llu exceptions, %llu missed\n",
		words[0], words[1], hits.kernel + hits.user, hits.missed);
	if (form != 3)
		pr_info("%ld calls of the handler in the kernel\n",
			atomic_long_read(&in_kernel));
}

module_init(sample_init);
module_exit(sample_exit);

MODULE_DESCRIPTION("Sample: run code of a module in programs");
MODULE_LICENSE("GPL");
