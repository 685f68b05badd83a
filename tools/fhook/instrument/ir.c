// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-instrument-ir: put the stubs of a call trace into LLVM IR
 *
 * Usage: fhook-instrument-ir -f LIST [-o OUT] IN.bc
 *
 * A stub is an assembler statement (fhook_calltrace_stub.h) without operands and clobbers.
 * Each function of the list gets one after its allocas, and one before each instruction that
 * leaves it: ret, resume, and a musttail call, which is of kind `tail'. After each landing
 * pad, and after calls that return twice, a stub marks that all calls made by the function
 * have ended.
 *
 * A call that is merely marked `tail' is no tail call any more, because the stub comes between
 * it and the ret. A function that does not return needs no exit. Functions that were inlined
 * before are not seen, so instrument before optimising, unless only the remaining functions
 * are of interest. Stubs are inlined, cloned and duplicated with their code; the copies have
 * the same meaning.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "instrument.h"
#define FHOOK_STUB_TEXT_ONLY
#include "fhook_calltrace_stub.h"

#define UID	"${:uid}"
#define STRING_(kind)	#kind
#define STRING(kind)	STRING_(kind)

/* Formats: the symbol, and the name. */
#define TEXT(arch, kind)							\
	FHOOK_STUB_TEXT(arch, UID, FHOOK_STUB_SYMBOL("%1$s"), "%2$s", STRING(kind))
#define TEXTS(arch) {								\
	[FHOOK_STUB_ENTRY] = TEXT(arch, FHOOK_STUB_ENTRY),			\
	[FHOOK_STUB_EXIT] = TEXT(arch, FHOOK_STUB_EXIT),			\
	[FHOOK_STUB_TAIL] = TEXT(arch, FHOOK_STUB_TAIL),			\
	[FHOOK_STUB_LAND] = TEXT(arch, FHOOK_STUB_LAND),			\
}

static const char *const texts_x86[] = TEXTS(X86);
static const char *const texts_arm64[] = TEXTS(ARM64);

/* Stubs are side effects: with these attributes, calls of a function could be moved or omitted. */
static const char *const pure_attributes[] = {
	"readnone", "readonly", "writeonly", "argmemonly", "inaccessiblememonly",
	"inaccessiblemem_or_argmemonly", "speculatable", "memory",
};

static struct {
	struct instrument run;
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef builder;
	LLVMTypeRef stub_type;
	const char *const *texts;
	unsigned int nounwind;
} ir;

static unsigned int attribute_kind(const char *name)
{
	return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static bool has_attribute(LLVMValueRef function, const char *name)
{
	return LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
					   attribute_kind(name));
}

/* LLVM begins a name with \01 when it must not get a prefix. */
static const char *symbol_of(LLVMValueRef value)
{
	size_t length;
	const char *name = LLVMGetValueName2(value, &length);

	return name[0] == '\1' ? name + 1 : name;
}

/* Escape the characters that are special in an assembler statement. */
static char *escape(const char *name)
{
	char *escaped = malloc(2 * strlen(name) + 1), *to = escaped;

	if (!escaped)
		abort();
	for (; *name; name++) {
		if (*name == '$')
			*to++ = '$';
		*to++ = *name;
	}
	*to = '\0';
	return escaped;
}

static LLVMValueRef build_stub(LLVMValueRef function, unsigned int kind, LLVMValueRef target)
{
	char *symbol = escape(symbol_of(function)), *to = NULL, *name = NULL, *text = NULL;
	LLVMValueRef statement, call;
	int length;

	if (kind == FHOOK_STUB_TAIL)
		to = escape(target && LLVMIsAFunction(target) ? symbol_of(target) : "-");
	if (asprintf(&name, to ? "%s %s" : "%s", symbol, to) < 0)
		abort();
	length = asprintf(&text, ir.texts[kind], symbol, name);
	if (length < 0)
		abort();
	statement = LLVMGetInlineAsm(ir.stub_type, text, length, "", 0, true, false,
				     LLVMInlineAsmDialectATT, false);
	call = LLVMBuildCall2(ir.builder, ir.stub_type, statement, NULL, 0, "");
	LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
				 LLVMCreateEnumAttribute(ir.context, ir.nounwind, 0));
	free(symbol);
	free(to);
	free(name);
	free(text);
	ir.run.stubs++;
	return call;
}

static void stub_before(LLVMValueRef function, unsigned int kind, LLVMValueRef insn)
{
	LLVMPositionBuilderBefore(ir.builder, insn);
	build_stub(function, kind, NULL);
}

/* The position in a block at which statements may begin. */
static LLVMValueRef first_of(LLVMBasicBlockRef block)
{
	LLVMValueRef insn = LLVMGetFirstInstruction(block);

	while (LLVMGetInstructionOpcode(insn) == LLVMPHI ||
	       LLVMGetInstructionOpcode(insn) == LLVMLandingPad)
		insn = LLVMGetNextInstruction(insn);
	return insn;
}

static void add_entry(LLVMValueRef function)
{
	LLVMValueRef insn = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));

	while (LLVMGetInstructionOpcode(insn) == LLVMAlloca)
		insn = LLVMGetNextInstruction(insn);
	stub_before(function, FHOOK_STUB_ENTRY, insn);
}

/* The musttail call that precedes a ret, or NULL. */
static LLVMValueRef must_tail(LLVMValueRef ret)
{
	LLVMValueRef insn = LLVMGetPreviousInstruction(ret);
	char *text;
	bool must;

	if (insn && LLVMGetInstructionOpcode(insn) == LLVMBitCast)
		insn = LLVMGetPreviousInstruction(insn);
	if (!insn || LLVMGetInstructionOpcode(insn) != LLVMCall || !LLVMIsTailCall(insn))
		return NULL;
	/* This version of LLVM shows musttail only in the text of the instruction. */
	text = LLVMPrintValueToString(insn);
	must = strstr(text, "musttail call ");
	LLVMDisposeMessage(text);
	return must ? insn : NULL;
}

static void add_exit(LLVMValueRef function, LLVMValueRef terminator)
{
	LLVMValueRef call = NULL;

	if (LLVMGetInstructionOpcode(terminator) == LLVMRet)
		call = must_tail(terminator);
	LLVMPositionBuilderBefore(ir.builder, call ? call : terminator);
	if (call)
		build_stub(function, FHOOK_STUB_TAIL, LLVMGetCalledValue(call));
	else
		build_stub(function, FHOOK_STUB_EXIT, NULL);
}

static bool returns_twice(LLVMValueRef call)
{
	unsigned int kind = attribute_kind("returns_twice");
	LLVMValueRef callee = LLVMGetCalledValue(call);

	if (LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind))
		return true;
	return LLVMIsAFunction(callee) && has_attribute(callee, "returns_twice");
}

/* The position of a landing stub that belongs to an instruction, or NULL. */
static LLVMValueRef landing_of(LLVMValueRef insn)
{
	switch (LLVMGetInstructionOpcode(insn)) {
	case LLVMLandingPad:
		return first_of(LLVMGetInstructionParent(insn));
	case LLVMCall:
		return returns_twice(insn) ? LLVMGetNextInstruction(insn) : NULL;
	case LLVMInvoke:
		return returns_twice(insn) ? first_of(LLVMGetNormalDest(insn)) : NULL;
	default:
		return NULL;
	}
}

static void add_landings(LLVMValueRef function, LLVMBasicBlockRef block)
{
	LLVMValueRef insn, next, landing;

	for (insn = LLVMGetFirstInstruction(block); insn; insn = next) {
		next = LLVMGetNextInstruction(insn);
		landing = landing_of(insn);
		if (landing)
			stub_before(function, FHOOK_STUB_LAND, landing);
	}
}

static void forget_purity(LLVMValueRef function)
{
	const LLVMAttributeIndex at = LLVMAttributeFunctionIndex;
	LLVMUseRef use;
	unsigned int kind;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pure_attributes); i++) {
		kind = attribute_kind(pure_attributes[i]);
		LLVMRemoveEnumAttributeAtIndex(function, at, kind);
		for (use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use)) {
			LLVMValueRef user = LLVMGetUser(use);

			if ((LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) &&
			    LLVMGetCalledValue(user) == function)
				LLVMRemoveCallSiteEnumAttribute(user, at, kind);
		}
	}
}

static void instrument(LLVMValueRef function)
{
	LLVMBasicBlockRef block;
	LLVMValueRef terminator;

	/* Add landings before exits and entry, because a stub is placed before existing ones. */
	for (block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
		add_landings(function, block);
	add_entry(function);
	for (block = LLVMGetFirstBasicBlock(function); block;
	     block = LLVMGetNextBasicBlock(block)) {
		terminator = LLVMGetBasicBlockTerminator(block);
		if (LLVMGetInstructionOpcode(terminator) == LLVMRet ||
		    LLVMGetInstructionOpcode(terminator) == LLVMResume)
			add_exit(function, terminator);
	}
	forget_purity(function);
	ir.run.instrumented++;
}

/* The reason why a function of the list cannot be instrumented, or NULL. */
static const char *why_not(LLVMValueRef function)
{
	if (has_attribute(function, "naked"))
		return "is naked: it is written in assembler";
	if (has_attribute(function, "alwaysinline"))
		return "is always inlined: it has no calls that could be traced";
	/* Before LLVM 15, the attribute was a string. */
	if (has_attribute(function, "presplitcoroutine") ||
	    LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex,
					  "coroutine.presplit", strlen("coroutine.presplit")))
		return "is a coroutine: it is left and entered in its midst";
	if (LLVMGetLinkage(function) == LLVMAvailableExternallyLinkage)
		return "is only a copy for inlining: it is defined in another file";
	return NULL;
}

static int do_function(LLVMValueRef function)
{
	enum list_answer answer = list_wants(&ir.run.list, symbol_of(function));
	const char *why;

	if (answer == LIST_NO)
		return 0;
	why = why_not(function);
	if (why)
		return instrument_cannot(&ir.run, answer == LIST_BY_NAME, symbol_of(function), why,
					 "%s %s.", symbol_of(function), why);
	instrument(function);
	return 0;
}

/* Describe a name of the list that has no code in this file. */
static const char *what_it_is(const char *name, void *unused)
{
	LLVMValueRef value;
	size_t length;
	const char *text;

	(void)unused;
	if (LLVMGetNamedFunction(ir.module, name))
		return "is only declared here: it is defined in another file";
	value = LLVMGetNamedGlobalAlias(ir.module, name, strlen(name));
	if (value)
		return "is another name of a function: the list must have the function's own";
	if (LLVMGetNamedGlobalIFunc(ir.module, name, strlen(name)))
		return "is chosen among others when the program is loaded: name those";
	if (LLVMGetNamedGlobal(ir.module, name))
		return "is data and no function";
	text = LLVMGetModuleInlineAsm(ir.module, &length);
	if (memmem(text, length, name, strlen(name)))
		return "is written in assembler";
	return NULL;
}

static int do_functions(struct fault *fault)
{
	LLVMValueRef function;

	for (function = LLVMGetFirstFunction(ir.module); function;
	     function = LLVMGetNextFunction(function)) {
		if (!LLVMIsDeclaration(function) && do_function(function))
			return fault_say(fault, "There is no memory.");
	}
	if (instrument_unmatched(&ir.run, what_it_is, NULL))
		return fault_say(fault, "There is no memory.");
	return instrument_may_write(&ir.run, fault);
}

/* The first stub of a function is in its first block. */
static bool has_stub(LLVMValueRef function)
{
	LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
	LLVMValueRef insn = block ? LLVMGetFirstInstruction(block) : NULL;
	bool found = false;
	char *text;

	for (; insn && !found; insn = LLVMGetNextInstruction(insn)) {
		if (LLVMGetInstructionOpcode(insn) != LLVMCall ||
		    !LLVMIsAInlineAsm(LLVMGetCalledValue(insn)))
			continue;
		text = LLVMPrintValueToString(LLVMGetCalledValue(insn));
		found = strstr(text, ".entry_exit_stub");
		LLVMDisposeMessage(text);
	}
	return found;
}

static int check_module(struct fault *fault)
{
	const char *triple = LLVMGetTarget(ir.module);
	LLVMValueRef function;

	if (!strncmp(triple, "x86_64", 6))
		ir.texts = texts_x86;
	else if (!strncmp(triple, "aarch64", 7) && strncmp(triple, "aarch64_be", 10))
		ir.texts = texts_arm64;
	else
		return fault_say(fault, "%s is for %s: stubs are made for x86_64 and aarch64.",
				 ir.run.input, *triple ? triple : "no processor that it names");
	for (function = LLVMGetFirstFunction(ir.module); function;
	     function = LLVMGetNextFunction(function)) {
		if (has_stub(function))
			return fault_say(fault, "%s is instrumented already.", ir.run.input);
	}
	return 0;
}

static int read_module(struct fault *fault)
{
	LLVMMemoryBufferRef buffer;
	char *why = NULL;

	ir.context = LLVMContextCreate();
	if (LLVMCreateMemoryBufferWithContentsOfFile(ir.run.input, &buffer, &why))
		return fault_say(fault, "%s cannot be read: %s.", ir.run.input, why);
	if (LLVMParseIRInContext(ir.context, buffer, &ir.module, &why))
		return fault_say(fault, "%s is neither bitcode nor LLVM IR: %s", ir.run.input, why);
	ir.builder = LLVMCreateBuilderInContext(ir.context);
	ir.stub_type = LLVMFunctionType(LLVMVoidTypeInContext(ir.context), NULL, 0, false);
	ir.nounwind = attribute_kind("nounwind");
	return check_module(fault);
}

static int write_module(struct fault *fault)
{
	const char *path = ir.run.output;
	const char *dot = path ? strrchr(path, '.') : NULL;
	LLVMMemoryBufferRef buffer;
	char *text;

	if (LLVMVerifyModule(ir.module, LLVMReturnStatusAction, &text))
		return fault_say(fault, "LLVM does not accept the result: %s", text);
	if (dot && !strcmp(dot, ".ll")) {
		text = LLVMPrintModuleToString(ir.module);
		return instrument_write(path, text, strlen(text), 0644, fault);
	}
	buffer = LLVMWriteBitcodeToMemoryBuffer(ir.module);
	return instrument_write(path, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer),
				0644, fault);
}

int main(int argc, char **argv)
{
	struct fault fault;
	int ret;

	ir.run.binary = true;
	instrument_parse(&ir.run, argc, argv, "IN.bc",
			 "Put stubs for a call trace into LLVM bitcode, or IR as text.", NULL);
	ret = list_check(&ir.run.list, &fault);
	ret = ret ?: read_module(&fault);
	ret = ret ?: do_functions(&fault);
	ret = ret ?: write_module(&fault);
	return instrument_finish(&ir.run, ret, &fault);
}
