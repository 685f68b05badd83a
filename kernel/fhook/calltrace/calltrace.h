/* SPDX-License-Identifier: GPL-2.0 */
/*
 * calltrace: declarations that its files share.
 *
 *	chosen.c	selecting the functions to trace
 *	scan.c		finding the exits of a function
 *	taken.c		addresses of code that data holds
 *	block.c		the trace block: memory of stubs, and their names
 *	switch.c	patching entries and exits, and restoring them
 *	context.c	stubs that announce the running task
 *	programs.c	tracing of programs, through uhook
 *	tracefs.c	the files in tracefs' fhook/calltrace/
 *	arch/		instructions that leave a function, stubs: see <linux/fhook_arch.h>
 *
 * A choice is made completely when functions are chosen: it has its functions, their
 * exits, and blocks with a stub for each. After that it only changes by patching and
 * when a module is unloaded, until another choice replaces it. All of it under
 * fhook_mutex, except look-ups by address, which run in any context: they walk the
 * choices without a lock. A replaced choice stays on the list until no task can be in
 * one of its stubs, and is freed when no look-up can refer to it any more.
 *
 * Restricting the trace to a block of jumps: steps S1 to S3 of "Method and device for
 * tracing the dynamic function call sequence of a program, based on hardware" (a
 * Chinese patent publication of 2023), for a running kernel.
 */
#ifndef _FHOOK_CALLTRACE_H
#define _FHOOK_CALLTRACE_H

#include <linux/fhook_arch.h>
#include <linux/fhook_calltrace.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <asm/fhook_calltrace.h>

#include "../retire.h"
#include "../sites.h"

/*
 * Packets omit the part of an address above this size that is equal to the previous
 * one.
 */
#define CALLTRACE_WINDOW	SZ_64K

/**
 * enum calltrace_kind - the meaning of a stub
 * @CALLTRACE_ENTRY: the function is entered
 * @CALLTRACE_EXIT: the function returns
 * @CALLTRACE_TAIL: the function continues in another one, which returns in its place
 */
enum calltrace_kind {
	CALLTRACE_ENTRY,
	CALLTRACE_EXIT,
	CALLTRACE_TAIL,
};

/**
 * struct calltrace_stub - location of a stub
 * @block: the block that contains it
 * @offset: offset in the block, in bytes
 */
struct calltrace_stub {
	struct calltrace_block	*block;
	u32			offset;
};

/**
 * struct calltrace_function - a chosen function
 * @table: table of the site, NULL after its module has been unloaded
 * @site: index of the site
 * @func: address of the function
 * @object: index of the object in &calltrace_choice.objects
 * @name: name of the function if it is in a module, which may be unloaded; else NULL
 * @stub: stub of the entry
 * @exits: number of exits
 * @placed: number of exits that have a stub
 * @reason: reason why the function is not traced
 * @where: offset from the entry to the code that caused @reason, in bytes
 */
struct calltrace_function {
	struct fhook_table	*table;
	u32			site;
	unsigned long		func;
	unsigned int		object;
	char			*name;
	struct calltrace_stub	stub;
	unsigned int		exits;
	unsigned int		placed;
	enum calltrace_reason	reason;
	u32			where;
};

/**
 * struct calltrace_exit - an instruction that leaves a function
 * @addr: address of the instruction
 * @target: address to which it leads, 0 for the caller or an address in a register
 * @function: index of the function
 * @kind: kind of the stub
 * @leaves: whether the instruction leads to an address in a register
 * @prefixed: whether it has a prefix, in the byte before @addr
 * @name: name of @target if that is in a module, which may be unloaded; else NULL
 * @stub: stub that replaces the instruction
 * @original: original bytes
 */
struct calltrace_exit {
	unsigned long		addr;
	unsigned long		target;
	unsigned int		function;
	enum calltrace_kind	kind;
	bool			leaves;
	bool			prefixed;
	char			*name;
	struct calltrace_stub	stub;
	u8			original[CALLTRACE_EXIT_SIZE];
};

/**
 * struct calltrace_block - a range of stubs
 * @list: link in &calltrace_choice.blocks
 * @base: start address, a multiple of %CALLTRACE_WINDOW
 * @size: size in bytes
 * @memory: the allocation that contains it
 * @memory_size: size of @memory in bytes
 * @context: start and total size of the stubs that announce tasks; 0 if there are none
 * @code: future contents, while the block is being filled; else NULL
 * @owners: for each piece of %CALLTRACE_STUB_SIZE bytes: 1 + twice the index of a
 *	function, 2 + twice the index of an exit, or 0
 */
struct calltrace_block {
	struct list_head	list;
	void			*base;
	u32			size;
	void			*memory;
	u32			memory_size;
	u32			context;
	u8			*code;
	u32			*owners;
};

/**
 * struct calltrace_object - vmlinux, or a module
 * @name: name of the object
 * @build_id: build ID
 * @build_id_size: length of @build_id in bytes
 */
struct calltrace_object {
	char			name[MODULE_NAME_LEN];
	u8			build_id[20];
	unsigned int		build_id_size;
};

/**
 * struct calltrace_choice - a choice of functions to trace
 * @list: link in calltrace_choices, as long as a task may be in one of its stubs
 * @text: patterns as written by the user
 * @objects: objects that contain the functions
 * @num_objects: number of objects
 * @functions: chosen functions, sorted by address, module by module
 * @num_functions: number of functions
 * @exits: exits of the functions that can be traced, sorted by address
 * @num_exits: number of exits
 * @max_exits: allocated size of @exits
 * @blocks: list of the blocks with their stubs
 * @pinned: whether a slot or exit that could not be restored still leads to a stub
 * @retired: queue entry for the grace periods
 */
struct calltrace_choice {
	struct list_head		list;
	char				*text;
	struct calltrace_object		*objects;
	unsigned int			num_objects;
	struct calltrace_function	*functions;
	unsigned int			num_functions;
	struct calltrace_exit		*exits;
	unsigned int			num_exits;
	unsigned int			max_exits;
	struct list_head		blocks;
	bool				pinned;
	struct fhook_retired		retired;
};

extern struct list_head calltrace_choices;
extern struct calltrace_choice *calltrace_chosen;
extern bool calltrace_enabled;

/* Defined by the linker. */
extern const char __start_notes[];
extern const char __stop_notes[];
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
extern struct static_call_site __start_static_call_sites[];
extern struct static_call_site __stop_static_call_sites[];
#endif

static inline unsigned long calltrace_stub_addr(const struct calltrace_stub *stub)
{
	return (unsigned long)stub->block->base + stub->offset;
}

/* chosen.c */
int calltrace_choose(const char *text, struct fhook_report *report);
const char *calltrace_reason_text(enum calltrace_reason reason);

/* scan.c */
int calltrace_labels_begin(const struct fhook_table *table);
void calltrace_labels_end(void);
int calltrace_scan(struct calltrace_choice *choice, unsigned int function);
bool calltrace_has_kprobe(unsigned long addr);
void calltrace_exits_sort(struct calltrace_choice *choice);
void calltrace_exits_drop(struct calltrace_choice *choice);

/* taken.c */
int calltrace_taken(const struct fhook_table *table, unsigned long start, unsigned long end);
void calltrace_taken_end(void);

/* block.c */
int calltrace_blocks_make(struct calltrace_choice *choice,
			  struct fhook_report *report);
void calltrace_blocks_free(struct calltrace_choice *choice);
void calltrace_blocks_announce(const struct calltrace_choice *choice, bool gone);
int calltrace_address_lookup(unsigned long addr, unsigned long *size,
			     unsigned long *offset, char *name);
bool calltrace_get_kallsym(unsigned int *num, unsigned long *value, char *name);

/* switch.c */
int calltrace_switch(bool on, struct fhook_report *report);

/* context.c */
u32 calltrace_context_size(void);
void calltrace_context_write(struct calltrace_block *block);
void calltrace_context_pause(void);
int calltrace_context_begin(struct calltrace_choice *choice,
			    struct fhook_report *report);
void calltrace_context_end(void);
void calltrace_context_show(struct seq_file *m,
			    const struct calltrace_block *block);

/* programs.c */
#ifdef CONFIG_UHOOK_HANDLERS
void calltrace_programs_init(struct dentry *dir);
#else
static inline void calltrace_programs_init(struct dentry *dir) { }
#endif

#endif /* _FHOOK_CALLTRACE_H */
