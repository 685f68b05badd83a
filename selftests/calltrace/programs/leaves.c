// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that call no other one with stubs, and functions that seem so
 *
 * Each t_ function has stubs. Those named t_leaf are leaves; each of the others lets another
 * t_ function run before it returns, or may do so as far as the file shows. u_ functions have
 * no stubs.
 */
#include <setjmp.h>
#include <stdlib.h>

#define KEPT	__attribute__((noinline))

static volatile int sum;
static jmp_buf buffer;

KEPT void t_leaf(int n)
{
	sum += n;
}

KEPT static void u_quiet(int n)
{
	if (n)
		u_quiet(n - 1);
	sum++;
}

KEPT void t_leaf_with_callee(int n)
{
	u_quiet(n);
	sum += n;
}

KEPT static void u_loud(int n)
{
	t_leaf(n);
	sum++;
}

KEPT static void u_louder(int n)
{
	u_loud(n);
	sum++;
}

KEPT void t_indirectly(int n)
{
	u_louder(n);
	sum++;
}

KEPT void t_recursive(int n)
{
	if (n > 0)
		t_recursive(n - 1);
	sum++;
}

static void (*volatile pointer)(int n) = t_leaf;

KEPT void t_pointer(int n)
{
	pointer(n);
	sum++;
}

KEPT static void u_pointer(int n)
{
	pointer(n);
	sum++;
}

KEPT void t_pointer_below(int n)
{
	u_pointer(n);
	sum++;
}

KEPT int t_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* A function of another file may call back. */
KEPT void t_sort(void)
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof(*numbers), t_compare);
	sum += numbers[0];
}

KEPT void t_tail(int n)
{
	sum++;
	t_recursive(n);
}

KEPT void t_jump(int n)
{
	if (n)
		longjmp(buffer, n);
	sum++;
}

KEPT int t_landing(int n)
{
	if (!setjmp(buffer))
		t_jump(n);
	t_leaf(n);
	return sum;
}

#ifdef __x86_64__
#define EXIT_GROUP	"mov $231, %eax\n\tsyscall"
#define SWITCH		"mov %rsp, %rax\n\tmov %rax, %rsp"
#else
#define EXIT_GROUP	"mov x8, #94\n\tsvc #0"
#define SWITCH		"mov x9, sp\n\tmov sp, x9"
#endif

#define ASSEMBLER(name, text)						\
	__asm__(".text\n\t.globl " name "\n\t.type " name ", %function\n"	\
		name ":\n\t" text "\n\t.size " name ", . - " name "\n\t.balign 16\n")

/* These are not called. */
ASSEMBLER("t_system_call", "nop\n\tnop\n\t" EXIT_GROUP "\n\tnop\n\tret");
ASSEMBLER("t_switch", "nop\n\tnop\n\t" SWITCH "\n\tnop\n\tret");
/* The stack is replaced in a function without stubs. */
ASSEMBLER("u_switch", SWITCH "\n\tret");
void u_switch(void);

KEPT void t_switches(int n)
{
	u_switch();
	sum += n;
}

int main(void)
{
	volatile int i;

	for (i = 0; i < 5; i++) {
		t_leaf(i);
		t_leaf_with_callee(i);
		t_indirectly(i);
		t_recursive(i);
		t_pointer(i);
		t_pointer_below(i);
		t_sort();
		t_tail(i);
		t_switches(i);
		t_landing(i);
	}
	return sum == 0;
}
