/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring into which programs record their hits
 *
 * An area of bodies that record has a ring after its counters: a header at the
 * beginning of a page, and entries from the next page on. The program writes, the
 * kernel reads, and neither waits for the other:
 *
 *   - a recorder takes the number in uhook_ring::head, unless that is
 *     UHOOK_RING_ENTRIES or more ahead of uhook_ring::tail: then there is no room,
 *     and it only increments a counter of its own;
 *   - it looks up the entry of that number, modulo UHOOK_RING_ENTRIES. If it is not the
 *     turn of the number, which is divided by UHOOK_RING_ENTRIES for that, it leaves
 *     the entry alone and increments its counter;
 *   - it fills the entry, and finally writes the number plus one to
 *     uhook_ring_entry::seq;
 *   - the kernel reads the entries in order, up to the first one that is not
 *     complete, increments uhook_ring_entry::turn of each, and then writes to
 *     uhook_ring::tail. It keeps its own copy of the tail.
 *
 * A task that is interrupted between the first and the last step blocks the
 * entries after its own. The kernel skips such an entry when the ring is full or
 * the program ends, and counts it as lost. The task may go on later, so it remains the
 * turn of its number until it has completed the entry, or the ring was filled several times.
 *
 * Nothing here is trusted: a program that writes nonsense only corrupts its own
 * records.
 */
#ifndef _LINUX_UHOOK_RING_H
#define _LINUX_UHOOK_RING_H

#include <linux/types.h>

#define UHOOK_RING_ENTRIES	4096
#define UHOOK_RECORD_ARGS	6
#define UHOOK_RECORD_STACK	4

/**
 * struct uhook_ring - the header of a ring
 * @head: number of the next entry
 * @tail: number of the first unread entry
 */
struct uhook_ring {
	u64 head;
	u64 tail;
};

/**
 * struct uhook_ring_entry - one hit
 * @seq: number of the entry plus one, written after all other members
 * @time: value of the processor's time stamp counter: TSC, CNTVCT
 * @thread: thread-local storage register of the processor: base of FS, TPIDR_EL0
 * @id: identifier of the hook and the body
 * @unused: zero
 * @sp: stack pointer at the site
 * @args: values of the selected registers at the site
 * @stack: words at the stack pointer, if requested; 0 for words outside of the
 *	page of the byte below it
 * @turn: quotient of the numbers that may use the entry now, written by the kernel
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
	u64 turn;
};

/**
 * struct uhook_recorder - parameters of a recorder
 * @ring: address of the header; the entries follow, UHOOK_LANE_SIZE after it
 * @lost: address of a 64-bit counter of hits without a record
 * @id: identifier for the entries
 * @nr_regs: number of registers to record
 * @regs: registers to record, as numbered by uhook_register_number()
 * @stack: whether to record the words at the stack pointer
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
 * uhook_record_code - make the handler that records
 * @code: receives the code
 * @size: size of @code in bytes
 * @at: address at which it will run
 * @recorder: parameters of the recorder
 *
 * The code records one hit, or counts it as lost. It does not change registers,
 * flags, or the memory that the stack pointer protects, and continues after its
 * end. It reads the time stamp counter, and the register for thread-local storage.
 *
 * Context: any.
 * Return: length of the code in bytes; -ERANGE if the ring is out of reach,
 * -ENOSPC if the code is longer than @size, -EINVAL for a register that does not
 * exist.
 */
int uhook_record_code(u8 *code, size_t size, unsigned long at,
		      const struct uhook_recorder *recorder);

#ifdef __KERNEL__

/**
 * uhook_register_number - number of a register for recorders
 * @offset: offset of the register in struct pt_regs, in bytes
 *
 * Context: any.
 * Return: the number, or -EINVAL if it cannot be recorded.
 */
int uhook_register_number(unsigned int offset);

struct task_struct;

/**
 * uhook_can_record - check whether a task may run recorders
 * @task: the task
 *
 * Context: any, while the task exists.
 * Return: false if the processor does not let programs read the base of FS, or the
 * task may not read the time stamp counter.
 */
bool uhook_can_record(const struct task_struct *task);

/**
 * uhook_stamp_age - age of a time stamp
 * @stamp: value of the processor's time stamp counter
 * @now: result of a sched_clock() call just before, in nanoseconds
 *
 * Context: any, with interrupts disabled since @now.
 * Return: age in nanoseconds; 0 for a time stamp in the future.
 */
u64 uhook_stamp_age(u64 stamp, u64 now);

/* The value of a task's thread-local storage register. */
unsigned long uhook_thread_of(struct task_struct *task);

#endif /* __KERNEL__ */

#endif /* _LINUX_UHOOK_RING_H */
