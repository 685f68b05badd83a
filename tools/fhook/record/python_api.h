/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of CPython that fhook uses, found in the process when it runs. */
#ifndef FHOOK_RECORD_PYTHON_API_H
#define FHOOK_RECORD_PYTHON_API_H

#include <stddef.h>
#include "lib/base.h"

/**
 * struct python_allocator - an allocator of CPython, a PyMemAllocatorEx
 * @context: first argument of its functions
 * @allocate: allocates memory
 * @allocate_zeroes: allocates an array of zeroes
 * @resize: changes the size of allocated memory
 * @release: frees memory
 */
struct python_allocator {
	void *context;
	void *(*allocate)(void *context, size_t size);
	void *(*allocate_zeroes)(void *context, size_t count, size_t size);
	void *(*resize)(void *context, void *memory, size_t size);
	void (*release)(void *context, void *memory);
};

/**
 * struct python - functions of CPython, whose objects are pointers to void here
 * @minor: minor version: 11 of Python 3.11
 * @extra: index of the data that code objects keep for fhook
 * @name_attribute: attribute of code objects that has the name of the function
 * @get_version: Py_GetVersion()
 * @add_hook: PySys_AddAuditHook()
 * @get_allocator: PyMem_GetAllocator()
 * @set_allocator: PyMem_SetAllocator()
 * @is_initialized: Py_IsInitialized()
 * @get_thread: the current thread state, or NULL
 * @get_interpreter: PyThreadState_GetInterpreter()
 * @get_main: PyInterpreterState_Main()
 * @get_frame: PyEval_GetFrame()
 * @get_evaluate: function by which an interpreter evaluates frames
 * @set_evaluate: sets that function
 * @evaluate: the function of CPython for this
 * @frame_code: code object of a frame, a new reference; NULL in Python 3.11, which has none
 * @request_extra: reserves data that code objects keep
 * @get_extra: gets the data of a code object
 * @set_extra: sets the data of a code object
 * @get_attribute: PyObject_GetAttrString()
 * @encode: PyUnicode_AsEncodedString()
 * @size_of: PyBytes_Size()
 * @as_text: PyBytes_AsString()
 * @as_utf8: PyUnicode_AsUTF8()
 * @as_long: PyLong_AsLong()
 * @get_item: PyTuple_GetItem()
 * @dec_ref: Py_DecRef(), which also takes NULL
 * @fetch_error: PyErr_Fetch()
 * @restore_error: PyErr_Restore()
 * @set_error: PyErr_SetString()
 * @recursion_error: the exception RecursionError
 */
struct python {
	unsigned int minor;
	long extra;
	const char *name_attribute;
	const char *(*get_version)(void);
	int (*add_hook)(int (*hook)(const char *event, void *arguments, void *data), void *data);
	void (*get_allocator)(int domain, struct python_allocator *allocator);
	void (*set_allocator)(int domain, struct python_allocator *allocator);
	int (*is_initialized)(void);
	void *(*get_thread)(void);
	void *(*get_interpreter)(void *thread);
	void *(*get_main)(void);
	void *(*get_frame)(void);
	void *(*get_evaluate)(void *interpreter);
	void (*set_evaluate)(void *interpreter, void *evaluate);
	void *(*evaluate)(void *thread, void *frame, int throws);
	void *(*frame_code)(void *frame);
	long (*request_extra)(void *free);
	int (*get_extra)(void *code, long index, void **data);
	int (*set_extra)(void *code, long index, void *data);
	void *(*get_attribute)(void *object, const char *name);
	void *(*encode)(void *text, const char *encoding, const char *errors);
	long (*size_of)(void *bytes);
	const char *(*as_text)(void *bytes);
	const char *(*as_utf8)(void *text);
	long (*as_long)(void *number);
	void *(*get_item)(void *tuple, long index);
	void (*dec_ref)(void *object);
	void (*fetch_error)(void **type, void **value, void **trace);
	void (*restore_error)(void *type, void *value, void *trace);
	void (*set_error)(void *type, const char *text);
	void **recursion_error;
};

/* Is this process an interpreter of any version? */
bool python_is_there(void);

/* Find the functions. Returns 0, or -1 and a sentence if this is an unknown version. */
int python_find(struct python *python, struct fault *fault);

/* The code object of a frame, until python_drop_code(). */
void *python_code(const struct python *python, void *frame);
void python_drop_code(const struct python *python, void *code);

/*
 * Keep CPython 3.11 and 3.13 from replacing instructions of a code object: some of those that
 * they would put there call functions of Python and do not evaluate them as an interpreter was
 * told to. In 3.13, these are calls of classes that have __init__(). Returns 0, or -1 if the code
 * object does not have the known form.
 */
int python_keep_plain(const struct python *python, void *code);

#endif /* FHOOK_RECORD_PYTHON_API_H */
