// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt calls with a hooked exit at every instruction, on x86_64
 *
 * Usage: frame-run-x86
 *
 * A call goes through a trampoline of the kernel's own pieces, which pushes a frame and takes
 * the return address; its function jumps to another one in the same way, which calls others.
 * All return through the kernel's own stub and frame.c. The test repeats this, stepped up to
 * each instruction in turn, where an interrupt makes hooked calls of its own, whose frames
 * have another size, and unwinds the task.
 *
 * Each exit callback must be called once, with the caller to which the function returns; at
 * each instruction an unwinder must find the callers of all functions that have not
 * returned; and the shadow stack is empty at the end.
 */
#include <linux/fhook.h>
#include <linux/fhook_arch.h>
#include <asm/fhook_pieces.h>
#include <kernel/fhook/exits.h>
#include <kernel/fhook/frame.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define DEPTH_MAX	2
#define FLAG_TF		0x100
#define TEXT		0x30000000UL
#define TEXT_SIZE	0x1000UL
#define RESULT		0x1234
#define complain(...)	do { complaints++; printf("  FAIL: " __VA_ARGS__); } while (0)

struct task_struct *current_task;
unsigned int __preempt_count;

static unsigned long complaints;
static struct task_struct task;
/* Trampolines would count calls here, and only returns are counted. */
static long pending[2];
static struct {
	struct fhook_exits exits;
	struct fhook_exit exit;
} exits[2];
/* The trampolines of the task and of the interrupt. */
static void *trampolines[2];

/**
 * struct call - a hooked call that has not returned
 * @key: location of its return address
 * @caller: the return address
 */
struct call {
	unsigned long key;
	unsigned long caller;
};

/* The calls of the task and of an interrupt, and the number of returns seen by the callback. */
static struct call calls[2 * DEPTH_MAX];
unsigned int depth;
static unsigned int returns;
/* Hooked calls in each other, and their returns: each is a call and a tail call. */
static unsigned int levels, expected;
/* Instructions to go until the interrupt. */
static unsigned long steps, all_steps;

unsigned long call_hooked(unsigned long level);
unsigned long function(unsigned long level);
void begin_call(unsigned long level, unsigned long key, unsigned long caller);

/*
 * call_hooked() calls a function in whose slot is the call of the trampoline, and which ends
 * in a tail call of another one. It notes the call before it makes it; until then there is 0
 * in place of the return address.
 */
asm("	.text\n"
	"call_hooked:\n"
	"	push	%rdi\n"
	"	lea	-8(%rsp), %rsi\n"
	"	lea	1f(%rip), %rdx\n"
	"	call	begin_call\n"
	"	mov	(%rsp), %rdi\n"
	"	movq	$0, -8(%rsp)\n"
	"	incl	depth(%rip)\n"
	"	call	hooked\n"
	"1:	decl	depth(%rip)\n"
	"	lea	8(%rsp), %rsp\n"
	"	ret\n"
	"hooked:\n"
	"	call	*trampoline(%rip)\n"
	"	jmp	tail\n"
	"tail:\n"
	"	call	*trampoline(%rip)\n"
	"	sub	$8, %rsp\n"
	"	call	function\n"
	"	add	$8, %rsp\n"
	"	ret\n");

void *trampoline;

static u8 *put_piece(u8 *at, enum fhook_piece_id id, unsigned long value, unsigned int size)
{
	const struct fhook_piece *piece = fhook_pieces + id;

	memcpy(at, (u8 *)fhook_caller + piece->offset, piece->len);
	at += piece->len;
	memcpy(at - size, &value, size);
	return at;
}

/* In the order of trampoline.c, without guard, entry callbacks and branches. */
static u8 *make_trampoline(u8 *at, unsigned int which, unsigned int size)
{
	trampolines[which] = at;
	at = put_piece(at, PIECE_SAVE, 0, 0);
	at = put_piece(at, PIECE_FUNC_FIRST, 0, 0);
	at = put_piece(at, PIECE_FUNC_KEEP, 0, 0);
	at = put_piece(at, PIECE_FRAME_STACK, offsetof(struct task_struct, fhook_stack), 4);
	at = put_piece(at, PIECE_FRAME_TAKE, size, 4);
	at = put_piece(at, PIECE_FRAME_SIZE, size, 4);
	at = put_piece(at, PIECE_FRAME_TOP, 0, 0);
	at = put_piece(at, PIECE_FRAME_SIZE, size, 4);
	at = put_piece(at, PIECE_FRAME_EXITS, (unsigned long)&exits[which], 8);
	at = put_piece(at, PIECE_FRAME_KEEP, 0, 0);
	at = put_piece(at, PIECE_FRAME_ENTER, 0, 0);
	at = put_piece(at, PIECE_FRAME_STUB, (unsigned long)fhook_return, 4);
	at = put_piece(at, PIECE_RESTORE, 0, 0);
	*at++ = 0xc3;
	return at;
}

/* The stub does not align the stack as the C library needs it. */
static void __attribute__((force_align_arg_pointer))
see_return(struct fhook_ops *ops, unsigned long ip, unsigned long caller,
	   struct fhook_regs *fregs, void *data)
{
	const struct call *call = calls + depth - 1;

	(void)ops;
	(void)ip;
	(void)data;
	returns++;
	if (caller != call->caller)
		complain("a return to %lx is seen as one to %lx\n", call->caller, caller);
	if (fhook_regs_get_retval(fregs) != RESULT)
		complain("the result is %lx\n", fhook_regs_get_retval(fregs));
}

void begin_call(unsigned long level, unsigned long key, unsigned long caller)
{
	(void)level;
	calls[depth].key = key;
	calls[depth].caller = caller;
}

unsigned long function(unsigned long level)
{
	if (level)
		call_hooked(level - 1);
	return RESULT;
}

/* Unwind the interrupted task. */
static void unwind(void)
{
	struct fhook_frame *cursor = NULL;
	unsigned int i = depth;

	while (i--) {
		const unsigned long addr = *(unsigned long *)calls[i].key;
		unsigned long found;

		if (!addr)
			continue;
		found = fhook_ret_addr(&task, &cursor, addr, calls[i].key);
		if (found != calls[i].caller)
			complain("the caller of call %u is %lx, and found is %lx\n", i,
				 calls[i].caller, found);
	}
}

static void interrupt(void)
{
	const unsigned int before = depth, seen = returns;

	unwind();
	trampoline = trampolines[1];
	__preempt_count |= FHOOK_HARDIRQ_MASK;
	if (call_hooked(levels - 1) != RESULT)
		complain("a nested call has another result\n");
	__preempt_count &= ~FHOOK_HARDIRQ_MASK;
	trampoline = trampolines[0];
	if (depth != before || returns != seen + expected)
		complain("the returns of nested calls are not seen\n");
	unwind();
}

static void handle_step(int signal, siginfo_t *info, void *data)
{
	greg_t *regs = ((ucontext_t *)data)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	all_steps++;
	if (--steps)
		return;
	interrupt();
	regs[REG_EFL] &= ~FLAG_TF;
}

static void step(void)
{
	asm volatile("pushfq; orl %0, (%%rsp); popfq" : : "i"(FLAG_TF) : "memory", "cc");
}

static void stop_steps(void)
{
	asm volatile("pushfq; andl %0, (%%rsp); popfq" : : "i"(~FLAG_TF) : "memory", "cc");
}

/*
 * Interrupt a call after some instructions. The unused part of the shadow stack is full of
 * a word. Returns false if the call has ended before.
 */
static bool run(unsigned long first, unsigned long word)
{
	struct fhook_frame *none = fhook_stack_end(task.fhook_stack);
	unsigned long result, *unused;

	for (unused = (void *)(task.fhook_stack + 1); (void *)unused < (void *)none; unused++)
		*unused = word;
	memset(calls, 0, sizeof(calls));
	memset(pending, 0, sizeof(pending));
	steps = first;
	returns = 0;
	depth = 0;
	step();
	result = call_hooked(levels - 1);
	stop_steps();
	if (result != RESULT)
		complain("interrupted after %lu instructions, the result is %lx\n", first, result);
	if (depth || task.fhook_stack->top != none || fhook_guard)
		complain("interrupted after %lu instructions, something remains\n", first);
	if (pending[0] != -(long)expected || (!steps && pending[1] != -(long)expected))
		complain("interrupted after %lu instructions, %ld and %ld returns are counted\n",
			 first, -pending[0], -pending[1]);
	if (!steps && returns != 2 * expected)
		complain("interrupted after %lu instructions, %u returns are seen\n", first,
			 returns);
	return !steps;
}

static void set_up(void)
{
	static u8 alternate[1 << 16];
	static u8 stack[FHOOK_STACK_SIZE] __attribute__((aligned(16)));
	stack_t other = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = {
		.sa_sigaction = handle_step, .sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	static struct fhook_hook hook = { .exit = see_return };
	struct fhook_frame *none;
	unsigned int i;
	u8 *at;

	sigaltstack(&other, NULL);
	sigaction(SIGTRAP, &action, NULL);
	task.fhook_stack = (void *)stack;
	none = fhook_stack_end(task.fhook_stack);
	none->key = FHOOK_NO_KEY;
	task.fhook_stack->top = none;
	current_task = &task;
	for (i = 0; i < 2; i++) {
		exits[i].exits.pending = &pending[i];
		exits[i].exits.num = 1;
		exits[i].exits.exits[0].call = &hook.exit;
	}
	at = mmap((void *)TEXT, TEXT_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at == MAP_FAILED)
		exit(2);
	at = make_trampoline(at, 0, sizeof(*none) + 3 * sizeof(u64));
	make_trampoline(at, 1, sizeof(*none) + sizeof(u64));
	trampoline = trampolines[0];
}

int main(void)
{
	unsigned long first, key = 0;
	unsigned int i;

	set_up();
	/* Once with words that are no frames, and once as if each were one of the first call. */
	for (i = 0; i < 2; i++) {
		levels = DEPTH_MAX - i;
		expected = 2 * levels;
		for (first = 1; run(first, i ? key : 0xa5a5a5a5a5a5a5a5); first++)
			;
		key = calls[0].key;
		printf("%lu instructions were interrupted, %lu stepped\n", first - 1, all_steps);
		if (first < 250)
			complain("too few instructions\n");
	}
	printf("%lu complaints\n", complaints);
	return complaints ? 1 : 0;
}
