// SPDX-License-Identifier: GPL-2.0
/*
 * record-stubs: write down which stubs a program runs through
 *
 * Usage: record-stubs [-s] MAP RECORD PROGRAM [ARG...]
 *
 * Each stub of the map gets a breakpoint when the program and its libraries are
 * loaded. At a hit, the line "THREAD KIND FUNCTION [TARGET]" is written, and the
 * program goes on where the jump would have led it: nothing is stepped, so threads
 * do not disturb each other. For x86_64. Exits as the program does.
 *
 * With -s, PROGRAM is the one that has been rewritten, before that: each instruction is
 * stepped, a function is entered when its first one comes, and left when the stack
 * pointer is above its return address.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BREAKPOINT	0xcc
#define JUMP		0xe9
#define JUMP_SIZE	5
#define THREADS_MAX	64
#define DEPTH_MAX	1000

struct stub {
	unsigned long address;
	unsigned long target;
	char text[480];
};

/* The function of a thread, and the stack pointer at its entry. */
struct frame {
	unsigned long slot;
	const char *name;
};

struct thread {
	pid_t pid;
	size_t depth;
	struct frame frames[DEPTH_MAX];
};

struct function {
	unsigned long entry;
	char name[400];
};

static struct function *functions;
static size_t nr_functions;
static struct stub *stubs;
static size_t nr_stubs;
static char object[4096];
static struct thread threads[THREADS_MAX];
static FILE *record;

static void __attribute__((noreturn)) give_up(const char *what)
{
	fprintf(stderr, "record-stubs: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void add_function(unsigned long entry, const char *name)
{
	size_t i;

	for (i = 0; i < nr_functions; i++) {
		if (functions[i].entry == entry)
			return;
	}
	functions = reallocarray(functions, nr_functions + 1, sizeof(*functions));
	if (!functions)
		give_up("functions");
	functions[nr_functions].entry = entry;
	snprintf(functions[nr_functions++].name, sizeof(functions->name), "%s", name);
}

static void read_map(const char *path)
{
	char line[4096], kind[16], function[400], target[400];
	unsigned long entry;
	FILE *file = fopen(path, "r");
	struct stub stub = { };
	int words;

	if (!file)
		give_up(path);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "object %*s %*s %4095s", object) == 1)
			continue;
		words = sscanf(line, "stub %lx %*s %15s %*s %399s %lx %399s", &stub.address, kind,
			       function, &entry, target);
		if (words < 4)
			continue;
		add_function(entry, function);
		snprintf(stub.text, sizeof(stub.text), "%s %.200s %.200s", kind, function,
			 words == 5 ? target : "");
		stubs = reallocarray(stubs, nr_stubs + 1, sizeof(stub));
		if (!stubs)
			give_up("stubs");
		stubs[nr_stubs++] = stub;
	}
	fclose(file);
}

/* How far from the addresses of its file is the object? */
static unsigned long find_bias(pid_t pid)
{
	char path[64], line[8192], name[4096], *real = realpath(object, NULL);
	unsigned long start, offset, bias = -1UL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "r");
	if (!file || !real)
		give_up(object);
	while (bias == -1UL && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %4095s", &start, &offset, name) == 3 &&
		    !strcmp(name, real) && !offset)
			bias = start;
	}
	fclose(file);
	if (bias == -1UL)
		give_up("the object is not mapped");
	file = fopen(real, "r");
	if (file) {
		Elf64_Ehdr header;

		if (fread(&header, sizeof(header), 1, file) == 1 && header.e_type == ET_EXEC)
			bias = 0;
		fclose(file);
	}
	free(real);
	return bias;
}

static unsigned char swap_byte(pid_t pid, unsigned long address, unsigned char byte)
{
	unsigned long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, address, NULL);
	if (errno || ptrace(PTRACE_POKETEXT, pid, address, (word & ~0xffUL) | byte))
		give_up("text");
	return word;
}

static void insert(pid_t pid, bool steps)
{
	unsigned long bias = find_bias(pid);
	unsigned long word;
	size_t i;

	for (i = 0; i < nr_functions; i++)
		functions[i].entry += bias;
	if (steps)
		return;
	for (i = 0; i < nr_stubs; i++) {
		stubs[i].address += bias;
		word = ptrace(PTRACE_PEEKTEXT, pid, stubs[i].address, NULL);
		if ((unsigned char)word != JUMP) {
			fprintf(stderr, "record-stubs: no jump at 0x%lx\n", stubs[i].address);
			exit(125);
		}
		stubs[i].target = stubs[i].address + JUMP_SIZE + (int)(word >> 8);
		swap_byte(pid, stubs[i].address, BREAKPOINT);
	}
}

/* Libraries are there when the program itself begins. */
static void run_to_entry(pid_t pid)
{
	unsigned long pair[2], entry = 0;
	struct user_regs_struct regs;
	unsigned char before;
	char path[64];
	FILE *file;
	int status;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	file = fopen(path, "r");
	while (file && fread(pair, sizeof(pair), 1, file) == 1) {
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	}
	if (!entry)
		give_up("entry");
	fclose(file);
	before = swap_byte(pid, entry, BREAKPOINT);
	if (ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		give_up("the program does not reach its entry");
	swap_byte(pid, entry, before);
	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	regs.rip = entry;
	ptrace(PTRACE_SETREGS, pid, NULL, &regs);
}

static struct thread *thread_of(pid_t pid)
{
	int i;

	for (i = 0; i < THREADS_MAX; i++) {
		if (!threads[i].pid)
			threads[i].pid = pid;
		if (threads[i].pid == pid)
			return threads + i;
	}
	errno = E2BIG;
	give_up("threads");
}

/* After each instruction: was a function left or entered? */
static void look(pid_t pid)
{
	struct thread *thread = thread_of(pid);
	struct user_regs_struct regs;
	int number = thread - threads + 1;
	size_t i;

	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	while (thread->depth && regs.rsp > thread->frames[thread->depth - 1].slot)
		fprintf(record, "%d exit %s\n", number, thread->frames[--thread->depth].name);
	for (i = 0; i < nr_functions; i++) {
		if (functions[i].entry != regs.rip)
			continue;
		if (thread->depth == DEPTH_MAX)
			give_up("too deep");
		thread->frames[thread->depth].slot = regs.rsp;
		thread->frames[thread->depth++].name = functions[i].name;
		fprintf(record, "%d entry %s\n", number, functions[i].name);
	}
}

/* Returns the signal that the program is to get. */
static int breakpoint_hit(pid_t pid)
{
	struct user_regs_struct regs;
	size_t i;

	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	for (i = 0; i < nr_stubs; i++) {
		if (stubs[i].address != regs.rip - 1)
			continue;
		fprintf(record, "%d %s\n", (int)(thread_of(pid) - threads) + 1,
			stubs[i].text);
		regs.rip = stubs[i].target;
		ptrace(PTRACE_SETREGS, pid, NULL, &regs);
		return 0;
	}
	return SIGTRAP;
}

static int watch(pid_t program, bool steps)
{
	const int go_on = steps ? PTRACE_SINGLESTEP : PTRACE_CONT;
	int status, result = 0, signal;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (pid == program)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 126;
			continue;
		}
		signal = WSTOPSIG(status);
		if (status >> 16 || signal == SIGSTOP)
			signal = 0;
		else if (signal == SIGTRAP && steps)
			signal = 0;
		else if (signal == SIGTRAP)
			signal = breakpoint_hit(pid);
		if (steps)
			look(pid);
		ptrace(go_on, pid, NULL, signal);
	}
	return result;
}

int main(int argc, char **argv)
{
	bool steps = argc > 1 && !strcmp(argv[1], "-s");
	int status, result;
	pid_t pid;

	argc -= steps;
	argv += steps;
	if (argc < 4) {
		fprintf(stderr, "Usage: record-stubs [-s] MAP RECORD PROGRAM [ARG...]\n");
		return 125;
	}
	read_map(argv[1]);
	record = fopen(argv[2], "w");
	if (!record)
		give_up(argv[2]);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[3], argv + 3);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		give_up(argv[3]);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
	run_to_entry(pid);
	insert(pid, steps);
	ptrace(steps ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, NULL);
	result = watch(pid, steps);
	return fclose(record) ? 125 : result;
}
