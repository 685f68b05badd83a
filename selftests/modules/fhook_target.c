// SPDX-License-Identifier: GPL-2.0
/*
 * A module whose functions are hooked, that may come and go meanwhile.
 *
 *	# insmod fhook_target.ko		calls fhook_mod_hit() once in its init
 *	# echo 5 > /sys/module/fhook_target/parameters/call	and five times more
 *	# cat /sys/module/fhook_target/parameters/call		6
 *	# echo 5 > /sys/module/fhook_target/parameters/jump	five times by way of
 *								fhook_jump_to_hit()
 *	# echo 5 > /sys/module/fhook_target/parameters/fail	call fhook_may_fail() with
 *								0 to 4
 *	# cat /sys/module/fhook_target/parameters/fail		the results that were not 0
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/error-injection.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/objtool.h>

static atomic_t calls;

/* Their names are those written here, and there are no copies of them. */
static noinline __noclone __used int fhook_mod_hit(int arg)
{
	atomic_inc(&calls);
	return arg + 1;
}

/* Ends in a jump to the other, so that both have one return address. */
static noinline __noclone __used int fhook_jump_to_hit(int arg)
{
	return fhook_mod_hit(arg);
}

#ifdef CONFIG_X86
#define BRANCH	"jmp"
#else
#define BRANCH	"b"
#endif

/*
 * This function is never called. One of its instructions is in a veneer, as linkers put it
 * there for an erratum of Cortex-A53.
 */
static noinline __noclone __used int fhook_mod_idle(int arg)
{
	asm volatile(BRANCH " fhook_mod_moved\n"
		     "1:\n"
		     ".pushsection .text.moved, \"ax\"\n"
		     "fhook_mod_moved: nop\n"
		     BRANCH " 1b\n"
		     ".popsection\n");
	return arg + 2;
}

/*
 * These two jump to labels: one has a table of them in data, the other one has their
 * addresses in its code. They have no frame: it could be a call of another function.
 */
static noinline __noclone __used int fhook_goto_data(int arg)
{
	static const void *const labels[] = { &&twice, &&once, &&never };

	if (arg)
		goto *labels[(unsigned int)arg % 3];
twice:
	arg += 7;
once:
	arg ^= 5;
never:
	return arg;
}

/* KASAN gives it a frame, and objtool does not find the table. */
STACK_FRAME_NON_STANDARD(fhook_goto_data);

static noinline __noclone __used int fhook_goto_code(int arg)
{
	const void *label = &&once;

	if (arg < 100)
		label = &&twice;
	OPTIMIZER_HIDE_VAR(label);
	if (arg)
		goto *label;
twice:
	arg += 7;
once:
	arg ^= 5;
	return arg;
}

/* This one goes when the module has been initialized. */
static noinline __noclone __used int __init
fhook_mod_init_only(int arg)
{
	return arg + 3;
}

/* And this one cannot be hooked. */
static noinline __noclone __used notrace int
fhook_mod_notrace(int arg)
{
	return arg + 4;
}

/*
 * And this one may replace a function, which holds this module. It counts as a
 * call.
 */
noinline __noclone long fhook_stand_in(void);

noinline __noclone long fhook_stand_in(void)
{
	atomic_inc(&calls);
	return 0;
}
EXPORT_SYMBOL_GPL(fhook_stand_in);

/*
 * Behind this one there is the rest of a page, which kallsyms takes for its own. On
 * x86_64 that has an odd number of bytes, of which the last one is no instruction.
 */
static noinline __noclone __used __section(".text.last") int fhook_text_end(int arg)
{
	if (IS_ENABLED(CONFIG_X86))
		asm volatile(".pushsection .text.last_byte, \"ax\"\n"
			     ".balign 2\n"
			     ".byte 0xcc\n"
			     ".popsection\n");
	return arg + 5;
}

static int call_set(const char *text, const struct kernel_param *kp)
{
	unsigned int i, num;
	int err;

	err = kstrtouint(text, 0, &num);
	for (i = 0; !err && i < num; i++) {
		if (fhook_mod_hit(i) != i + 1)
			err = -EIO;
	}

	return err;
}

static int jump_set(const char *text, const struct kernel_param *kp)
{
	unsigned int i, num;
	int err;

	err = kstrtouint(text, 0, &num);
	for (i = 0; !err && i < num; i++) {
		if (fhook_jump_to_hit(i) != i + 1)
			err = -EIO;
	}

	return err;
}

/* An error may be injected into this one. */
static noinline __noclone __used int fhook_may_fail(int arg)
{
	atomic_inc(&calls);
	return 0;
}
ALLOW_ERROR_INJECTION(fhook_may_fail, ERRNO);

static char results[128];

static int fail_set(const char *text, const struct kernel_param *kp)
{
	unsigned int i, num;
	size_t len = 0;
	int err, ret;

	err = kstrtouint(text, 0, &num);
	results[0] = '\0';
	for (i = 0; !err && i < num; i++) {
		ret = fhook_may_fail(i);
		if (ret)
			len += scnprintf(results + len, sizeof(results) - len, "%u:%d ", i, ret);
	}

	return err;
}

static int fail_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", results);
}

static int call_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&calls));
}

static const struct kernel_param_ops call_ops = {
	.set	= call_set,
	.get	= call_get,
};

module_param_cb(call, &call_ops, NULL, 0600);
MODULE_PARM_DESC(call, "write: call fhook_mod_hit() this often; read: how often it was called");

static const struct kernel_param_ops jump_ops = {
	.set	= jump_set,
	.get	= call_get,
};

module_param_cb(jump, &jump_ops, NULL, 0600);
MODULE_PARM_DESC(jump, "write: call fhook_jump_to_hit() this often; read: as call");

static const struct kernel_param_ops fail_ops = {
	.set	= fail_set,
	.get	= fail_get,
};

module_param_cb(fail, &fail_ops, NULL, 0600);
MODULE_PARM_DESC(fail, "write: call fhook_may_fail() this often; read: its errors");

static int __init target_init(void)
{
	return fhook_mod_notrace(fhook_mod_init_only(fhook_mod_hit(1))) != 9 ?
	       -EIO : 0;
}

static void __exit target_exit(void)
{
	fhook_mod_hit(2);
}

module_init(target_init);
module_exit(target_exit);

MODULE_DESCRIPTION("Functions to be hooked by the tests of fhook");
MODULE_LICENSE("GPL");
