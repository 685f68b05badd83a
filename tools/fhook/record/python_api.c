// SPDX-License-Identifier: GPL-2.0
/* The functions of CPython that fhook uses; the header describes them. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "python_api.h"

/* Versions of Python 3 whose frames are known. */
#define MINOR_FIRST	9
#define MINOR_LAST	13

/* A frame of Python 3.11 begins with five pointers, of which this one is its code object. */
#define FRAME_CODE	4

/*
 * The part of a code object of Python 3.11 that has its warm-up, a counter: when it becomes 0,
 * instructions are replaced, and 0 from the beginning means that this has been done.
 */
struct code_3_11 {
	char header[48];
	int flags;
	short warmup, entry_size;
	int argument_count;
};

/*
 * The instructions of a code object of Python 3.13 are at this offset. The cache after a CALL
 * begins with a counter: at this value, it never ends and the CALL is never replaced.
 */
#define CODE_BYTES	200
#define CALL		53
#define CALL_INIT	162	/* CALL_ALLOC_AND_ENTER_INIT: the only one in the way */
#define COUNTER_STOPPED	0xffff

/* Each function, and its name in other versions. */
static const struct {
	const char *name, *other;
	size_t offset;
} functions[] = {
	{ "PySys_AddAuditHook", NULL, offsetof(struct python, add_hook) },
	{ "PyMem_GetAllocator", NULL, offsetof(struct python, get_allocator) },
	{ "PyMem_SetAllocator", NULL, offsetof(struct python, set_allocator) },
	{ "Py_IsInitialized", NULL, offsetof(struct python, is_initialized) },
	{ "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet",
	  offsetof(struct python, get_thread) },
	{ "PyThreadState_GetInterpreter", NULL, offsetof(struct python, get_interpreter) },
	{ "PyInterpreterState_Main", NULL, offsetof(struct python, get_main) },
	{ "PyEval_GetFrame", NULL, offsetof(struct python, get_frame) },
	{ "_PyInterpreterState_GetEvalFrameFunc", NULL, offsetof(struct python, get_evaluate) },
	{ "_PyInterpreterState_SetEvalFrameFunc", NULL, offsetof(struct python, set_evaluate) },
	{ "_PyEval_EvalFrameDefault", NULL, offsetof(struct python, evaluate) },
	{ "PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex",
	  offsetof(struct python, request_extra) },
	{ "PyUnstable_Code_GetExtra", "_PyCode_GetExtra", offsetof(struct python, get_extra) },
	{ "PyUnstable_Code_SetExtra", "_PyCode_SetExtra", offsetof(struct python, set_extra) },
	{ "PyObject_GetAttrString", NULL, offsetof(struct python, get_attribute) },
	{ "PyUnicode_AsEncodedString", NULL, offsetof(struct python, encode) },
	{ "PyBytes_Size", NULL, offsetof(struct python, size_of) },
	{ "PyBytes_AsString", NULL, offsetof(struct python, as_text) },
	{ "PyUnicode_AsUTF8", NULL, offsetof(struct python, as_utf8) },
	{ "PyLong_AsLong", NULL, offsetof(struct python, as_long) },
	{ "PyTuple_GetItem", NULL, offsetof(struct python, get_item) },
	{ "Py_DecRef", NULL, offsetof(struct python, dec_ref) },
	{ "PyErr_Fetch", NULL, offsetof(struct python, fetch_error) },
	{ "PyErr_Restore", NULL, offsetof(struct python, restore_error) },
	{ "PyErr_SetString", NULL, offsetof(struct python, set_error) },
	{ "PyExc_RecursionError", NULL, offsetof(struct python, recursion_error) },
};

bool python_is_there(void)
{
	return dlsym(RTLD_DEFAULT, "Py_GetVersion");
}

static int check_version(struct python *python, struct fault *fault)
{
	const char *version;
	int length;

	python->get_version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
	version = python->get_version();
	length = strcspn(version, " +");
	if (sscanf(version, "3.%u", &python->minor) != 1 || python->minor < MINOR_FIRST ||
	    python->minor > MINOR_LAST)
		return fault_say(fault,
				 "this is Python %.*s, and those that can be recorded are 3.%u to 3.%u: its functions are not recorded",
				 length, version, MINOR_FIRST, MINOR_LAST);
	if (strstr(version, "free-threading"))
		return fault_say(fault,
				 "this is a free-threaded build of Python %.*s: its functions are not recorded",
				 length, version);
	return 0;
}

int python_find(struct python *python, struct fault *fault)
{
	const char *code;
	size_t i;

	if (check_version(python, fault))
		return -1;
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		void *function = dlsym(RTLD_DEFAULT, functions[i].name);

		if (!function && functions[i].other)
			function = dlsym(RTLD_DEFAULT, functions[i].other);
		if (!function)
			return fault_say(fault,
					 "this Python has no function %s: its functions are not recorded",
					 functions[i].name);
		memcpy((char *)python + functions[i].offset, &function, sizeof(function));
	}
	python->name_attribute = python->minor >= 11 ? "co_qualname" : "co_name";
	if (python->minor == 11)
		return 0;
	code = python->minor < 11 ? "PyFrame_GetCode" : "PyUnstable_InterpreterFrame_GetCode";
	python->frame_code = dlsym(RTLD_DEFAULT, code);
	return python->frame_code ? 0 :
	       fault_say(fault, "this Python has no function %s: its functions are not recorded",
			 code);
}

void *python_code(const struct python *python, void *frame)
{
	return python->frame_code ? python->frame_code(frame) : ((void **)frame)[FRAME_CODE];
}

void python_drop_code(const struct python *python, void *code)
{
	if (python->frame_code)
		python->dec_ref(code);
}

static bool has_value(const struct python *python, void *code, const char *attribute, int value)
{
	void *number = python->get_attribute(code, attribute);
	const bool has = number && python->as_long(number) == value;

	python->dec_ref(number);
	return has;
}

static int stop_warmup(const struct python *python, void *code)
{
	struct code_3_11 *fields = code;

	/* The fields before and after it are where they should be. */
	if (!has_value(python, code, "co_flags", fields->flags) ||
	    !has_value(python, code, "co_argcount", fields->argument_count))
		return -1;
	fields->warmup = 0;
	return 0;
}

/* PLAIN has the instructions as they were compiled, USED those of now, a copy of INSNS. */
static int keep_calls(u8 *insns, const u8 *plain, const u8 *used, size_t size)
{
	const u16 stopped = COUNTER_STOPPED;
	size_t i;

	if (memcmp(insns, used, size))
		return -1;
	/* The caches in PLAIN are 0. */
	for (i = 0; i + 4 <= size; i += 2) {
		if (plain[i] != CALL)
			continue;
		memcpy(insns + i + 2, &stopped, sizeof(stopped));
		if (insns[i] == CALL_INIT)
			insns[i] = CALL;
	}
	return 0;
}

static int stop_inits(const struct python *python, void *code)
{
	void *plain = python->get_attribute(code, "co_code");
	void *used = python->get_attribute(code, "_co_code_adaptive");
	int result = -1;

	if (plain && used && python->size_of(plain) == python->size_of(used))
		result = keep_calls((u8 *)code + CODE_BYTES, (const u8 *)python->as_text(plain),
				    (const u8 *)python->as_text(used), python->size_of(used));
	python->dec_ref(plain);
	python->dec_ref(used);
	return result;
}

int python_keep_plain(const struct python *python, void *code)
{
	if (python->minor == 11)
		return stop_warmup(python, code);
	return python->minor == 13 ? stop_inits(python, code) : 0;
}
