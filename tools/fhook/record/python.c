// SPDX-License-Identifier: GPL-2.0
/*
 * Recording functions of CPython
 *
 * Loaded into a process by LD_PRELOAD, together with the software recorder. If the process is
 * an interpreter, an audit hook has all functions evaluated by evaluate(), which records their
 * entries and exits around CPython's own evaluation (PEP 523) when the start-up is over. A
 * function that ends by an exception returns from it like any other, and a generator enters
 * it each time it is resumed. Profilers and debuggers of the program's own work as before.
 * Names are asked for by CPython's own functions, once for each code object, which then keeps
 * the result.
 *
 * CPython's functions are looked up when the program has been loaded, so this file needs none of
 * its headers and fits several versions.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "named.h"
#include "python_api.h"
#include "python_hook.h"
#include "python_stubs.h"

/* Without so much of its stack left, a thread gets a RecursionError. */
#define STACK_LEFT	(128 << 10)

static struct python python;
static atomic_bool off, installed, begun;
/* Functions have stubs, which others record, and are not recorded here. */
static bool has_stubs;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

/* Say a sentence, and record no more functions than now. */
static void end_with(const char *sentence)
{
	struct fault fault;

	if (atomic_exchange(&off, true))
		return;
	fault_say(&fault, "%s", sentence);
	fault_print("fhook-python", &fault);
}

/* A text attribute of a code object, as bytes, which are an object; or NULL. */
static void *bytes_of(void *code, const char *attribute)
{
	void *text = python.get_attribute(code, attribute);
	void *bytes = text ? python.encode(text, "utf-8", "replace") : NULL;

	python.dec_ref(text);
	return bytes;
}

static u32 line_of(void *code)
{
	void *number = python.get_attribute(code, "co_firstlineno");
	const long line = number ? python.as_long(number) : 0;

	python.dec_ref(number);
	return line > 0 && line <= 0x7fffffff ? line : 0;
}

/* Find the name of a code object, and keep the result in it. */
static struct named *name_code(void *code)
{
	void *name = bytes_of(code, python.name_attribute), *file = bytes_of(code, "co_filename");
	struct named *named = NULL;

	if (name && file) {
		pthread_mutex_lock(&names_lock);
		named = named_find(python.as_text(name), python.as_text(file), line_of(code));
		pthread_mutex_unlock(&names_lock);
	}
	python.dec_ref(name);
	python.dec_ref(file);
	if (named)
		python.set_extra(code, python.extra, named);
	if (python_keep_plain(&python, code))
		end_with("this Python's code objects are unknown: no function is recorded");
	return named;
}

static struct named *function_of(void *frame)
{
	void *type, *value, *trace, *code = python_code(&python, frame), *named = NULL;

	if (python.get_extra(code, python.extra, &named) || !named) {
		/* A generator may be resumed by an exception. */
		python.fetch_error(&type, &value, &trace);
		named = name_code(code);
		python.restore_error(type, value, trace);
	}
	python_drop_code(&python, code);
	return named;
}

/*
 * Is the stack nearly used up? CPython 3.11 calls Python functions without using the stack of C,
 * but not with evaluate().
 */
static bool is_deep(void)
{
	static __thread char *end;
	static __thread size_t left;
	char *frame = __builtin_frame_address(0);
	pthread_attr_t attributes;
	void *start;
	size_t size;

	/* The main thread's stack may get larger when its limit is raised. */
	if (!end || (size_t)(frame - end) < left) {
		end = frame;
		if (!pthread_getattr_np(pthread_self(), &attributes)) {
			pthread_attr_getstack(&attributes, &start, &size);
			pthread_attr_destroy(&attributes);
			left = size / 8 < STACK_LEFT ? size / 8 : STACK_LEFT;
			end = start;
		}
	}
	/* A program may also have stacks that are not those of threads. */
	return (size_t)(frame - end) < left;
}

static void record_call(struct named *named, u64 offset)
{
	if (has_stubs)
		python_stub_execute(named, offset);
	else
		record_named(named, offset);
}

static void *evaluate(void *thread, void *frame, int throws)
{
	struct named *named = off ? NULL : function_of(frame);
	void *result;

	if (!begun)
		named = NULL;
	if (!throws && is_deep()) {
		python.set_error(*python.recursion_error,
				 "the stack is used up, of which calls that fhook records need more");
		throws = 1;
	}
	if (named)
		record_call(named, 0);
	result = python.evaluate(thread, frame, throws);
	if (named)
		record_call(named, 1);
	return result;
}

static void install(void *interpreter)
{
	const bool is_main = interpreter == python.get_main();
	long extra;

	if (installed && is_main)
		return end_with("another tool evaluates functions now: no more calls are recorded");
	if (!is_main && python.minor == 12)
		return end_with("several interpreters of Python 3.12: no more calls are recorded");
	extra = python.request_extra(NULL);
	if (python.get_evaluate(interpreter) != (void *)python.evaluate)
		return end_with("another tool evaluates functions already: no call is recorded");
	if (extra < 0 || (installed && extra != python.extra))
		return end_with("code objects have no room for fhook: no call is recorded");
	python.extra = extra;
	installed = true;
	python.set_evaluate(interpreter, evaluate);
}

/* The module "site" is part of the start-up. */
static bool imports_site(const char *event, void *arguments)
{
	void *module = strcmp(event, "import") ? NULL : python.get_item(arguments, 0);
	const char *name = module ? python.as_utf8(module) : NULL;

	return name && !strcmp(name, "site");
}

/*
 * CPython says what it is about to do, in each interpreter. The first event after the start-up
 * that comes from no Python function precedes the program's own code.
 */
static void on_event(const char *event, void *arguments)
{
	void *thread = off ? NULL : python.get_thread(), *interpreter;

	/* Only Python 3.11 needs evaluate() during the start-up, in which -X perf is in its way. */
	if (!thread || (python.minor != 11 && !python.is_initialized()))
		return;
	interpreter = python.get_interpreter(thread);
	if (python.get_evaluate(interpreter) != (void *)evaluate)
		install(interpreter);
	if (!begun && !off && python.is_initialized() && !imports_site(event, arguments) &&
	    !python.get_frame())
		begun = true;
}

/* Two recorders in one process do not know of each other: one of them gets the recording's name. */
static void check_recorders(void)
{
	const void *enter = dlsym(RTLD_DEFAULT, "__cyg_profile_func_enter");
	Dl_info found, own;
	struct fault fault;

	/* The C library, which has a function of this name, follows this library. */
	if (!enter || !dladdr(enter, &found) || !dladdr(&python, &own) ||
	    found.dli_fbase == own.dli_fbase)
		return;
	fault_say(&fault,
		  "the program has its own __cyg_profile_func_enter(): if this is that of libfhook-record, link it without");
	fault_print("fhook-python", &fault);
}

static void __attribute__((constructor)) find_python(void)
{
	const char *directory = secure_getenv("FHOOK_RECORD");
	struct fault fault;

	if (!python_is_there())
		return;
	has_stubs = python_stubs_wanted();
	if (!has_stubs && (!directory || !*directory))
		return;
	if (!has_stubs)
		check_recorders();
	if (python_find(&python, &fault)) {
		fault_print("fhook-python", &fault);
		return;
	}
	record_may_move = true;
	if (python_add_hook(&python, on_event, &fault))
		fault_print("fhook-python", &fault);
}
