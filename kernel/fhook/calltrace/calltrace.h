/* SPDX-License-Identifier: GPL-2.0 */
/*
 * calltrace: what its files share.
 *
 *	chosen.c	which functions are traced, and which cannot be
 *	scan.c		where a function is left
 *	block.c		the trace block: memory of stubs, and their names
 *	switch.c	patching entries and exits, and taking it back
 *	context.c	stubs that say which task runs
 *	programs.c	what is traced of programs, through uhook
 *	tracefs.c	the files in tracefs' fhook/calltrace/
 *	arch/		instructions that leave a function, stubs
 *
 * A choice is made whole when functions are chosen: it has its functions, their
 * exits, and blocks with a stub for each. Then it does not change until the next
 * one takes its place, but for what is patched and what has gone with a module. All
 * of it under fhook_mutex, except look-ups by address, which run anywhere: they walk
 * the choices without a lock. One that was given up stays among them until no task can
 * be in a stub of it, and is freed when no look-up can have it any more.
 *
 * A trace that is restricted to a block of jumps: steps S1 to S3 of "Method and device
 * for tracing the dynamic function call sequence of a program, based on hardware" (a
 * Chinese patent publication of 2023), in a kernel that runs.
 */
#ifndef _FHOOK_CALLTRACE_H
#define _FHOOK_CALLTRACE_H

#include <linux/fhook_calltrace.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <asm/fhook_calltrace.h>

#include "../retire.h"
#include "../sites.h"

/* Processors leave out of a packet what addresses have in common above this. */
#define CALLTRACE_WINDOW	SZ_64K

/**
 * enum calltrace_kind - what a stub stands for
 * @CALLTRACE_ENTRY: its function is entered
 * @CALLTRACE_EXIT: its function returns
 * @CALLTRACE_TAIL: its function goes on in another one, which returns for it
 */
enum calltrace_kind {
	CALLTRACE_ENTRY,
	CALLTRACE_EXIT,
	CALLTRACE_TAIL,
};

/**
 * enum calltrace_reason - why a function cannot be traced
 * @CALLTRACE_OK: it can
 * @CALLTRACE_INIT: its code is freed after init
 * @CALLTRACE_NAMELESS: kallsyms does not know where it ends
 * @CALLTRACE_UNKNOWN: it has an instruction that cannot be decoded, or returns in
 *	a way of its own
 * @CALLTRACE_INDIRECT: it jumps through a register or memory
 * @CALLTRACE_CONDITIONAL: it goes on in another function by a conditional jump
 * @CALLTRACE_NO_ROOM: there is no room for a jump where it is left
 * @CALLTRACE_OWNED: somebody else patches the instruction by which it is left
 * @CALLTRACE_KPROBE: a kprobe is in it
 * @CALLTRACE_ASIDE: a static branch or an exception leads out of it
 * @CALLTRACE_SHARED: it is left by code that another function has too
 * @CALLTRACE_FAR: a stub does not reach what it goes on in
 * @CALLTRACE_REDIRECTED: another function runs in its place
 * @CALLTRACE_REASONS: how many there are
 */
enum calltrace_reason {
	CALLTRACE_OK,
	CALLTRACE_INIT,
	CALLTRACE_NAMELESS,
	CALLTRACE_UNKNOWN,
	CALLTRACE_INDIRECT,
	CALLTRACE_CONDITIONAL,
	CALLTRACE_NO_ROOM,
	CALLTRACE_OWNED,
	CALLTRACE_KPROBE,
	CALLTRACE_ASIDE,
	CALLTRACE_SHARED,
	CALLTRACE_FAR,
	CALLTRACE_REDIRECTED,
	CALLTRACE_REASONS,
};

/**
 * enum calltrace_flow - where an instruction leads
 * @CALLTRACE_ON: to the next one, maybe after a call
 * @CALLTRACE_RETURN: to the caller
 * @CALLTRACE_JUMP: to its target
 * @CALLTRACE_BRANCH: to its target, or to the next one
 * @CALLTRACE_LEAVE: to a function that a register holds
 * @CALLTRACE_REFUSED: nobody can tell
 */
enum calltrace_flow {
	CALLTRACE_ON,
	CALLTRACE_RETURN,
	CALLTRACE_JUMP,
	CALLTRACE_BRANCH,
	CALLTRACE_LEAVE,
	CALLTRACE_REFUSED,
};

/**
 * struct calltrace_insn - an instruction
 * @flow: where it leads
 * @target: of a jump or branch
 * @len: its length in bytes
 * @room: how many bytes a jump may take in its place
 * @reason: why, if it is refused
 */
struct calltrace_insn {
	enum calltrace_flow	flow;
	unsigned long		target;
	unsigned int		len;
	unsigned int		room;
	enum calltrace_reason	reason;
};

/**
 * struct calltrace_stub - one jump of a block
 * @block: the block
 * @offset: where in it, in bytes
 */
struct calltrace_stub {
	struct calltrace_block	*block;
	u32			offset;
};

/**
 * struct calltrace_function - a function that was chosen
 * @table: the table of its site, NULL once its module has gone
 * @site: the index of its site
 * @func: its address
 * @object: index of what it belongs to, in &calltrace_choice.objects
 * @name: of a function of a module, which may outlive it; else NULL
 * @stub: of its entry
 * @exits: how many exits it has
 * @placed: how many of them have a stub
 * @reason: why it is not traced
 * @where: how far behind its entry the reason is, in bytes
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
 * @addr: its address
 * @target: where it leads, 0 for to the caller or where a register says
 * @function: index of its function
 * @kind: what its stub stands for
 * @leaves: it leads where a register says
 * @name: of @target, if that is in a module, which may go; else NULL
 * @stub: its stub
 * @original: what was there before
 */
struct calltrace_exit {
	unsigned long		addr;
	unsigned long		target;
	unsigned int		function;
	enum calltrace_kind	kind;
	bool			leaves;
	char			*name;
	struct calltrace_stub	stub;
	u8			original[CALLTRACE_EXIT_SIZE];
};

/**
 * struct calltrace_block - a range of stubs
 * @list: in &calltrace_choice.blocks
 * @base: its begin, at a multiple of %CALLTRACE_WINDOW
 * @size: in bytes
 * @memory: what was allocated for it
 * @memory_size: how much that is, in bytes
 * @context: where the stubs that say which task runs begin, and how long they are
 *	together; 0 if there are none
 * @code: while it is filled: what is to be there, else NULL
 * @owners: of each piece of %CALLTRACE_STUB_SIZE bytes: 1 + twice the index of a
 *	function, or 2 + twice that of an exit, or 0
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
 * @name: its name
 * @build_id: by which its files are known
 * @build_id_size: how much of it there is, in bytes
 */
struct calltrace_object {
	char			name[MODULE_NAME_LEN];
	u8			build_id[20];
	unsigned int		build_id_size;
};

/**
 * struct calltrace_choice - what is traced
 * @list: among the choices that have stubs which somebody may be in
 * @text: what the user wrote
 * @objects: what the functions are in
 * @num_objects: how many
 * @functions: them, by their addresses, module by module
 * @num_functions: how many
 * @exits: of those that can be traced, by their addresses
 * @num_exits: how many
 * @max_exits: how many there is room for
 * @blocks: their stubs
 * @pinned: something that could not be put back still leads there
 * @retired: for the grace periods
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

/* By the linker. */
extern const char __start_notes[];
extern const char __stop_notes[];
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
extern struct static_call_site __start_static_call_sites[];
extern struct static_call_site __stop_static_call_sites[];
#endif

/* Not a module that is just coming, of which others prepare what is patched. */
static inline bool calltrace_is_live(const struct fhook_table *table)
{
	return !table->mod || table->mod->state == MODULE_STATE_LIVE;
}

static inline unsigned long calltrace_stub_addr(const struct calltrace_stub *stub)
{
	return (unsigned long)stub->block->base + stub->offset;
}

/* chosen.c */
int calltrace_choose(const char *text, struct fhook_report *report);
const char *calltrace_reason_text(enum calltrace_reason reason);

/* scan.c */
int calltrace_labels_begin(void);
void calltrace_labels_end(void);
int calltrace_scan(struct calltrace_choice *choice, unsigned int function);
bool calltrace_has_kprobe(unsigned long addr);
void calltrace_exits_sort(struct calltrace_choice *choice);
void calltrace_exits_drop(struct calltrace_choice *choice);

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
#ifdef CONFIG_UHOOK
void calltrace_programs_init(struct dentry *dir);
#else
static inline void calltrace_programs_init(struct dentry *dir) { }
#endif

/* arch/.../kernel/fhook_calltrace.c */
void calltrace_arch_decode(unsigned long addr, unsigned long end,
			   struct calltrace_insn *insn);
bool calltrace_arch_stub(void *code, unsigned long at, unsigned long target);
bool calltrace_arch_exit_stub(void *code, unsigned long at,
			      const struct calltrace_exit *exit);
void calltrace_arch_context_stub(void *code, unsigned long at);
bool calltrace_arch_can_leave(unsigned long addr);
bool calltrace_arch_exit_is(const struct calltrace_exit *exit, bool traced);
void calltrace_arch_queue(const struct calltrace_exit *exit, bool trace);
void calltrace_arch_flush(void);

#endif /* _FHOOK_CALLTRACE_H */
