/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access to registers and memory of a task for events of probes in programs: the
 * functions that trace_probe_tmpl.h, which must be included after this file, needs
 * from its users. May sleep. Shared by trace_uprobe.c and the events of uhook.
 */
#ifndef __TRACE_PROBE_USER_H_
#define __TRACE_PROBE_USER_H_

#ifdef CONFIG_STACK_GROWSUP
static unsigned long adjust_stack_addr(unsigned long addr, unsigned int n)
{
	return addr - (n * sizeof(long));
}
#else
static unsigned long adjust_stack_addr(unsigned long addr, unsigned int n)
{
	return addr + (n * sizeof(long));
}
#endif

static unsigned long get_user_stack_nth(struct pt_regs *regs, unsigned int n)
{
	unsigned long ret;
	unsigned long addr = user_stack_pointer(regs);

	addr = adjust_stack_addr(addr, n);

	if (copy_from_user(&ret, (void __force __user *)addr, sizeof(ret)))
		return 0;

	return ret;
}

static nokprobe_inline int
probe_mem_read(void *dest, void *src, size_t size)
{
	void __user *vaddr = (void __force __user *)src;

	return copy_from_user(dest, vaddr, size) ? -EFAULT : 0;
}

static nokprobe_inline int
probe_mem_read_user(void *dest, void *src, size_t size)
{
	return probe_mem_read(dest, src, size);
}

/*
 * Fetch a null-terminated string. Caller MUST set *(u32 *)dest with max
 * length and relative data location.
 */
static nokprobe_inline int
fetch_store_string(unsigned long addr, void *dest, void *base)
{
	long ret;
	u32 loc = *(u32 *)dest;
	int maxlen  = get_loc_len(loc);
	u8 *dst = get_loc_data(dest, base);
	void __user *src = (void __force __user *)addr;

	if (unlikely(!maxlen))
		return -ENOMEM;

	if (addr == FETCH_TOKEN_COMM)
		ret = strscpy(dst, current->comm, maxlen);
	else
		ret = strncpy_from_user(dst, src, maxlen);
	if (ret >= 0) {
		if (ret == maxlen)
			dst[ret - 1] = '\0';
		else
			/*
			 * Include the terminating null byte. In this case it
			 * was copied by strncpy_from_user but not accounted
			 * for in ret.
			 */
			ret++;
		*(u32 *)dest = make_data_loc(ret, (void *)dst - base);
	} else {
		*(u32 *)dest = make_data_loc(0, (void *)dst - base);
	}

	return ret;
}

static nokprobe_inline int
fetch_store_string_user(unsigned long addr, void *dest, void *base)
{
	return fetch_store_string(addr, dest, base);
}

/* The number of bytes to fetch of a string that is longer than MAX_STRING_SIZE */
#ifndef LONG_STRING_SIZE
#define LONG_STRING_SIZE	0
#endif

/* Return the length of string -- including null terminal byte */
static nokprobe_inline int
fetch_store_strlen(unsigned long addr)
{
	int len;
	void __user *vaddr = (void __force __user *)addr;

	if (addr == FETCH_TOKEN_COMM)
		len = strlen(current->comm) + 1;
	else
		len = strnlen_user(vaddr, MAX_STRING_SIZE);

	return (len > MAX_STRING_SIZE) ? LONG_STRING_SIZE : len;
}

static nokprobe_inline int
fetch_store_strlen_user(unsigned long addr)
{
	return fetch_store_strlen(addr);
}

/* Defined in trace_probe_tmpl.h */
static nokprobe_inline int
process_common_fetch_insn(struct fetch_insn *code, unsigned long *val);

/* The first stage, except for instructions that depend on the file's mapping */
static nokprobe_inline int
process_user_fetch_insn(struct fetch_insn *code, struct pt_regs *regs, unsigned long *val)
{
	switch (code->op) {
	case FETCH_OP_REG:
		*val = regs_get_register(regs, code->param);
		break;
	case FETCH_OP_STACK:
		*val = get_user_stack_nth(regs, code->param);
		break;
	case FETCH_OP_STACKP:
		*val = user_stack_pointer(regs);
		break;
	case FETCH_OP_RETVAL:
		*val = regs_return_value(regs);
		break;
	case FETCH_OP_COMM:
		*val = FETCH_TOKEN_COMM;
		break;
	default:
		return process_common_fetch_insn(code, val);
	}

	return 0;
}

#endif /* __TRACE_PROBE_USER_H_ */
