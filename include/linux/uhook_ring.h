/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring into which programs record their hits
 *
 * Behind the counters of an area of bodies that record there is a ring: a header
 * at the beginning of a page, and entries from the next page on. The program
 * writes, the kernel reads, and neither waits for the other:
 *
 *  - a recorder takes the number in uhook_ring::head, unless that is
 *    UHOOK_RING_ENTRIES or more ahead of uhook_ring::tail: then there is no room,
 *    it adds one to a counter of its own and is done;
 *  - it fills the entry of that number, modulo UHOOK_RING_ENTRIES, and at last
 *    writes the number plus one to uhook_ring_entry::seq;
 *  - the kernel reads the entries in order, up to the first one that is not
 *    complete, and then writes to uhook_ring::tail. It keeps its own copy of what
 *    it has written.
 *
 * A task that is interrupted between the first and the last step holds up those
 * behind it; the kernel gives it up when the ring is full or the program ends,
 * and says so as it does of what was lost.
 *
 * Nothing here is trusted: a program that writes nonsense has nonsense recorded
 * of itself.
 */
#ifndef _LINUX_UHOOK_RING_H
#define _LINUX_UHOOK_RING_H

#include <linux/types.h>

#define UHOOK_RING_ENTRIES	4096
#define UHOOK_RECORD_ARGS	6
#define UHOOK_RECORD_STACK	4

/**
 * struct uhook_ring - the header of a ring
 * @head: the number of the next entry
 * @tail: that of the first one that has not been read
 */
struct uhook_ring {
	u64 head;
	u64 tail;
};

/**
 * struct uhook_ring_entry - one hit
 * @seq: its number plus one, when all else is written
 * @time: of the processor's time stamp counter: TSC, CNTVCT
 * @thread: what the processor's register for thread-local storage has: the base of
 *	FS, TPIDR_EL0
 * @id: says which hook of which body it is
 * @unused: zero
 * @sp: the stack pointer at the site
 * @args: registers at the site, those that were chosen
 * @stack: the words at the stack pointer, if they were asked for; 0 for those that
 *	are not in the page of the byte below it
 * @pad: not written
 */
struct uhook_ring_entry {
	u64 seq;
	u64 time;
	u64 thread;
	u32 id;
	u32 unused;
	u64 sp;
	u64 args[UHOOK_RECORD_ARGS];
	u64 stack[UHOOK_RECORD_STACK];
	u64 pad;
};

/**
 * struct uhook_recorder - what the code of a recorder depends on
 * @ring: the address of the header; the entries follow UHOOK_LANE_SIZE behind it
 * @lost: the address of a counter, 64 bits, for hits without a record
 * @id: for the entries
 * @nr_regs: how many registers it records
 * @regs: which, as numbered by uhook_register_number()
 * @stack: whether it records the words at the stack pointer
 */
struct uhook_recorder {
	unsigned long ring;
	unsigned long lost;
	u32 id;
	u8 nr_regs;
	u8 regs[UHOOK_RECORD_ARGS];
	bool stack;
};

/**
 * uhook_record_code - the handler that records
 * @code: receives it
 * @size: how many bytes it may have
 * @at: where it is to run
 * @recorder: what it records
 *
 * The code records one hit, or counts it as lost. It leaves registers, flags, and
 * everything above what the stack pointer protects as they are, and goes on
 * behind its end. It reads the time stamp counter, and the register for
 * thread-local storage.
 *
 * Context: any.
 * Return: its length in bytes; -ERANGE when the ring is out of reach, -ENOSPC when
 * it is too long, -EINVAL for a register that does not exist.
 */
int uhook_record_code(u8 *code, size_t size, unsigned long at,
		      const struct uhook_recorder *recorder);

#ifdef __KERNEL__

/**
 * uhook_register_number - what recorders call a register
 * @offset: its offset in struct pt_regs, in bytes
 *
 * Context: any.
 * Return: the number, or -EINVAL if it cannot be recorded.
 */
int uhook_register_number(unsigned int offset);

struct task_struct;

/**
 * uhook_can_record - may a task run recorders?
 * @task: it
 *
 * Context: any, while the task stays.
 * Return: false if the processor does not let programs read the base of FS, or
 * the task may not read the time stamp counter.
 */
bool uhook_can_record(const struct task_struct *task);

/**
 * uhook_stamp_age - how long ago a time stamp was taken
 * @stamp: from the processor's time stamp counter
 * @now: what sched_clock() has just said, in nanoseconds
 *
 * Context: any, with interrupts disabled since @now.
 * Return: nanoseconds; 0 for one of the future.
 */
u64 uhook_stamp_age(u64 stamp, u64 now);

/* What is in the register for thread-local storage of a task. */
unsigned long uhook_thread_of(struct task_struct *task);

#endif /* __KERNEL__ */

#endif /* _LINUX_UHOOK_RING_H */
