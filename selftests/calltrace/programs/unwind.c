// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the functions of shapes.c one instruction at a time, and unwinds at each
 *
 * At each instruction, unwinding must lead to main(), the outermost function. Prints how
 * many instructions failed, and how many were after the end of the program's data, where
 * new code is.
 */
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unwind.h>

#define TRAP_FLAG	0x100

int shapes_main(int argc, char **argv);
int main(int argc, char **argv);

extern char __executable_start[], _end[];
static volatile int done;
static unsigned long steps, in_new_code, lost;

/*
 * Its end has room for a short jump only. Within reach of that, a long jump fits only
 * where the stack differs: after the jump over the padding.
 */
long t_padded(long count);
asm(".text\n"
	".type t_padded, @function\n"
	"t_padded:\n"
	".cfi_startproc\n"
	".rept 32\n\tmov $1, %eax\n.endr\n"
	"\ttest %rdi, %rdi\n"
	"\tjz 2f\n"
	"\tpush %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"\tmov %rdi, %rbx\n"
	"\tjmp 1f\n"
	"\t.byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"1:\tdec %rbx\n"
	"\tjne 1b\n"
	"\tpop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	".cfi_restore %rbx\n"
	"2:\tinc %eax\n"
	"\tret\n"
	".cfi_endproc\n"
	".size t_padded, . - t_padded\n"
	".type behind, @function\n"
	"behind:\n"
	".rept 32\n\tmov $1, %eax\n.endr\n"
	"\tret\n"
	".size behind, . - behind\n");

/* After each of the first two returns, the state is one of those that were remembered. */
long t_returns(long count);
asm(".type t_returns, @function\n"
	"t_returns:\n"
	".cfi_startproc\n"
	"\tpush %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbx, -16\n"
	"\tpush %rdi\n"
	".cfi_def_cfa_offset 24\n"
	"\tcmp $1, %rdi\n"
	"\tja 2f\n"
	".cfi_remember_state\n"
	"\tpop %rdi\n"
	".cfi_def_cfa_offset 16\n"
	"\tjz 1f\n"
	".cfi_remember_state\n"
	"\tmov $1, %eax\n"
	"\tpop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"\tret\n"
	".cfi_restore_state\n"
	"1:\tmov $2, %eax\n"
	"\tpop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"\tret\n"
	".cfi_restore_state\n"
	"2:\tmov $3, %eax\n"
	"\tpop %rdi\n"
	".cfi_def_cfa_offset 16\n"
	"\tpop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"\tret\n"
	".cfi_endproc\n"
	".size t_returns, . - t_returns\n");

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *data)
{
	void *at = (void *)(_Unwind_GetIP(context) - 1);

	if (_Unwind_FindEnclosingFunction(at) != (void *)main)
		return _URC_NO_REASON;
	*(int *)data = 1;
	return _URC_END_OF_STACK;
}

static void stepped(int number, siginfo_t *info, void *data)
{
	greg_t *registers = ((ucontext_t *)data)->uc_mcontext.gregs;
	const char *at = (const char *)registers[REG_RIP];
	int found = 0;

	(void)number;
	(void)info;
	registers[REG_EFL] |= TRAP_FLAG;
	if (done)
		registers[REG_EFL] &= ~TRAP_FLAG;
	/* Instructions of libraries are not checked. */
	if (at < __executable_start || at > _end + (1 << 20))
		return;
	_Unwind_Backtrace(look, &found);
	steps++;
	lost += !found;
	in_new_code += at > _end;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO };
	int count;

	sigaction(SIGTRAP, &action, NULL);
	raise(SIGTRAP);
	shapes_main(argc, argv);
	t_padded(3);
	t_padded(0);
	for (count = 0; count < 3; count++)
		t_returns(count);
	done = 1;
	fprintf(stderr, "%lu of %lu in new code, %lu lost\n", in_new_code, steps, lost);
	return lost != 0;
}
