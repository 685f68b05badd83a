/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stubs of a call trace in C and C++ source, and the assembler text of stubs
 *
 * A stub is one jump in section .entry_exit_stub: the site jumps to the stub, which
 * jumps back to the instruction after the site. It changes no registers, flags or
 * memory, so the assembler statement has no clobbers. Each copy of the statement that a
 * compiler makes gets new labels, and thus a stub and a record of its own.
 *
 * The record of a stub is in section .entry_exit_map, which is not loaded. Linkers
 * resolve its relocations, and strip keeps it:
 *
 *	u64 stub	its address
 *	u64 entry	address of its function, or 0 if that has no code of its own
 *	u64 name	offset of the name in section .entry_exit_str
 *	u32 kind	one of FHOOK_STUB_...
 *	u32 size	size of the stub, in bytes
 *
 * The name of a tail consists of the function's name, a blank, and the name of the
 * target, or `-'; if the target's address is known, a blank and the address follow. The
 * flag `?' puts a record into the COMDAT group of its code, so that both are discarded
 * together.
 *
 * This file includes no other, and is meant to be included by instrumented sources: all
 * names that it defines begin with fhook.
 */
#ifndef FHOOK_CALLTRACE_STUB_H
#define FHOOK_CALLTRACE_STUB_H

#define FHOOK_STUB_ENTRY	0
#define FHOOK_STUB_EXIT		1
#define FHOOK_STUB_TAIL		2
#define FHOOK_STUB_LAND		3
#define FHOOK_STUB_LEAF		4
#define FHOOK_STUB_SWITCH	5

/*
 * On x86_64, five bytes at a multiple of eight do not cross a boundary that slows
 * processors down.
 */
#define FHOOK_STUB_JUMP_X86	"jmp"
#define FHOOK_STUB_ALIGN_X86	".balign 8, 0xcc\n"
#define FHOOK_STUB_SIZE_X86	"5"
#define FHOOK_STUB_JUMP_ARM64	"b"
#define FHOOK_STUB_ALIGN_ARM64	".balign 4\n"
#define FHOOK_STUB_SIZE_ARM64	"4"

/*
 * The entry of a function that has a symbol, and of one that has none. In the
 * function's own code, the symbol has been defined when the assembler reaches the stub;
 * in a copy elsewhere it may never be defined, and a reference would not link.
 */
#define FHOOK_STUB_SYMBOL(symbol)						\
	".ifdef \"" symbol "\"\n"						\
	".quad \"" symbol "\"\n"						\
	".else\n"								\
	".quad 0\n"								\
	".endif\n"
#define FHOOK_STUB_NO_SYMBOL	".quad 0\n"

/* ARCH is X86 or ARM64, UID makes labels unique, the others are strings. */
#define FHOOK_STUB_TEXT(arch, uid, entry, name, kind)				\
	FHOOK_STUB_JUMP_##arch " .Lfhook_stub" uid "\n"				\
	".Lfhook_back" uid ":\n"						\
	".pushsection .entry_exit_stub,\"ax?\",@progbits\n"			\
	FHOOK_STUB_ALIGN_##arch							\
	".Lfhook_stub" uid ":\n"						\
	FHOOK_STUB_JUMP_##arch " .Lfhook_back" uid "\n"				\
	FHOOK_STUB_ALIGN_##arch							\
	".popsection\n"								\
	".pushsection .entry_exit_str,\"MS\",@progbits,1\n"			\
	".Lfhook_name" uid ": .asciz \"" name "\"\n"				\
	".popsection\n"								\
	".pushsection .entry_exit_map,\"?\",@progbits\n"			\
	".quad .Lfhook_stub" uid "\n"						\
	entry									\
	".quad .Lfhook_name" uid "\n"						\
	".long " kind ", " FHOOK_STUB_SIZE_##arch "\n"				\
	".popsection"

/*
 * Used by the output of fhook-instrument-source. The functions are inlined even without
 * optimisation. The compiler calls the exit function at the end of the scope of a
 * variable, on every way out of the scope, in C++ also when an exception passes.
 */
#ifndef FHOOK_STUB_TEXT_ONLY

#if defined(__x86_64__)
#define FHOOK_STUB_ARCH	X86
#elif defined(__aarch64__)
#define FHOOK_STUB_ARCH	ARM64
#else
#error "calltrace: there are stubs for x86_64 and aarch64 only"
#endif

#define FHOOK_STUB_EXPAND(arch, entry, name, kind)				\
	FHOOK_STUB_TEXT(arch, "%=", entry, name, kind)
#define FHOOK_STUB_STRING(kind)		#kind
#define FHOOK_STUB_NUMBER(kind)		FHOOK_STUB_STRING(kind)
#define FHOOK_STUB_ASM(entry, name, kind)					\
	__asm__ __volatile__(FHOOK_STUB_EXPAND(FHOOK_STUB_ARCH, entry, name,	\
					       FHOOK_STUB_NUMBER(kind)) ::)

/* Also for languages older than the keyword. */
#define FHOOK_STUB_INLINE							\
	static __inline __attribute__((__always_inline__, __unused__, __nothrow__))

/* Definitions for one function, whose number is unique in its file. */
#define FHOOK_STUB_FUNCTION(number, entry, name)				\
	FHOOK_STUB_INLINE char fhook_enter_##number(void)			\
	{									\
		FHOOK_STUB_ASM(entry, name, FHOOK_STUB_ENTRY);			\
		return 0;							\
	}									\
	FHOOK_STUB_INLINE void fhook_leave_##number(char *fhook_guard)		\
	{									\
		(void)fhook_guard;						\
		FHOOK_STUB_ASM(entry, name, FHOOK_STUB_EXIT);			\
	}									\
	FHOOK_STUB_INLINE void fhook_land_##number(void)			\
	{									\
		FHOOK_STUB_ASM(entry, name, FHOOK_STUB_LAND);			\
	}

/* SYMBOL is the function's name for the assembler, NAME its name in the map. */
#define FHOOK_FUNCTION(number, symbol)						\
	FHOOK_STUB_FUNCTION(number, FHOOK_STUB_SYMBOL(symbol), symbol)
#define FHOOK_TEMPLATE(number, name)						\
	FHOOK_STUB_FUNCTION(number, FHOOK_STUB_NO_SYMBOL, name)

/* The first declaration in a function's body. */
#define FHOOK_TRACE(number)							\
	__extension__ __attribute__((__cleanup__(fhook_leave_##number), __unused__)) \
	char fhook_guard_##number = fhook_enter_##number()

#define FHOOK_LAND(number)	fhook_land_##number()

#endif /* FHOOK_STUB_TEXT_ONLY */

#endif /* FHOOK_CALLTRACE_STUB_H */
