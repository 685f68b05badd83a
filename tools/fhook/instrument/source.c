// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-instrument-source: put the stubs of a call trace into C and C++ source
 *
 * Usage: fhook-instrument-source -f LIST [-o OUT] FILE.c [-- CFLAGS...]
 *
 * Each function of the list gets one insertion, a variable at the start of its body, on
 * the same line: its initialiser is the entry, and the cleanup function that the
 * compiler calls at the end of the variable's life is the exit, on each way out of the
 * function (in C++ also when an exception passes). After the `{' of a catch, and around
 * a setjmp, a stub marks that all calls made by the function have ended. Macros of
 * fhook_calltrace_stub.h, before the first line of the file, define the functions that
 * the insertions call; compiler messages refer to the lines of FILE.c.
 *
 * Only code that is compiled with these CFLAGS, and is in FILE.c itself, is
 * instrumented: an inline function of a header has to be instrumented in that header. In
 * a constructor the entry comes after the initialisers, in a destructor the exit comes
 * before those of the members. Lambdas have no name that a list could contain, and are
 * not instrumented.
 */
#include <clang-c/Index.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "instrument.h"

/*
 * Text to insert at an offset of the file; insertions at the same offset keep their
 * order.
 */
struct insertion {
	size_t offset;
	size_t order;
	char *text;
};

/**
 * struct body - the insertions for a function of the list
 * @number: number of the function in this file; its identifiers contain the number and
 *	the file's tag
 * @start: offset after its `{'
 * @why: reason for refusing the function, or NULL
 */
struct body {
	unsigned int number;
	size_t start;
	const char *why;
};

static struct {
	struct instrument run;
	char tag[64];
	char *text;
	size_t length;
	CXTranslationUnit unit;
	struct insertion *insertions;
	size_t nr_insertions, room_insertions;
	char *head;
	size_t head_length;
	FILE *head_file;
	bool no_memory;
} src;

/* Copy a string of libclang, and release the original. */
static char *keep(CXString string)
{
	char *copy = strdup(clang_getCString(string) ?: "");

	clang_disposeString(string);
	if (!copy)
		src.no_memory = true;
	return copy ?: strdup("");
}

static bool in_main_file(CXSourceLocation location)
{
	return clang_Location_isFromMainFile(location);
}

/* Find the offset of a location in the file; false if it is in a macro or elsewhere. */
static bool offset_of(CXSourceLocation location, size_t *offset)
{
	CXFile spelled, expanded;
	unsigned int at, expanded_at;

	if (!in_main_file(location))
		return false;
	clang_getSpellingLocation(location, &spelled, NULL, NULL, &at);
	clang_getExpansionLocation(location, &expanded, NULL, NULL, &expanded_at);
	*offset = at;
	return clang_File_isEqual(spelled, expanded) && at == expanded_at && at <= src.length;
}

static void __printf(2, 3) insert(size_t offset, const char *format, ...)
{
	struct insertion insertion = { .offset = offset, .order = src.nr_insertions };
	va_list args;

	va_start(args, format);
	if (vasprintf(&insertion.text, format, args) < 0 ||
	    grow(&src.insertions, &src.room_insertions, src.nr_insertions, sizeof(insertion)))
		src.no_memory = true;
	else
		src.insertions[src.nr_insertions++] = insertion;
	va_end(args);
}

/* The offset after the `{' of a block, which must be in the file. */
static bool block_start(CXCursor block, size_t *offset)
{
	if (!offset_of(clang_getRangeStart(clang_getCursorExtent(block)), offset) ||
	    *offset >= src.length || src.text[*offset] != '{')
		return false;
	++*offset;
	return true;
}

static bool is_setjmp(CXCursor call)
{
	static const char *const names[] = { "setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp" };
	char *name = keep(clang_getCursorSpelling(call));
	bool found = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		found |= !strcmp(name, names[i]);
	free(name);
	return found;
}

/* The offset after a call "name(...)" in the file; 0 if there is none. */
static size_t end_of_call(size_t at)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
	size_t name = strspn(src.text + at, letters);
	int depth = 0;

	if (!memmem(src.text + at, name, "setjmp", 6))
		return 0;
	for (at += name + strspn(src.text + at + name, " \t"); at < src.length; at++) {
		depth += (src.text[at] == '(') - (src.text[at] == ')');
		if (depth <= 0)
			return src.text[at] == ')' ? at + 1 : 0;
	}
	return 0;
}

/* setjmp is a macro, so only the text of the file shows the end of the call. */
static void around_call(CXCursor call, unsigned int number)
{
	CXSourceLocation location = clang_getRangeStart(clang_getCursorExtent(call));
	unsigned int start;
	CXFile file;
	size_t end;

	clang_getExpansionLocation(location, &file, NULL, NULL, &start);
	if (!file || !clang_File_isEqual(file, clang_getFile(src.unit, src.run.input)))
		return;
	end = start < src.length ? end_of_call(start) : 0;
	if (!end)
		return;
	insert(start, "__extension__({ int fhook_code = ");
	insert(end, "; FHOOK_LAND(%s_%u); fhook_code; })", src.tag, number);
}

static enum CXChildVisitResult in_body(CXCursor cursor, CXCursor parent, CXClientData data);

static enum CXChildVisitResult in_catch(CXCursor cursor, CXCursor parent, CXClientData data)
{
	const struct body *body = data;
	size_t offset;

	(void)parent;
	if (clang_getCursorKind(cursor) == CXCursor_CompoundStmt && block_start(cursor, &offset))
		insert(offset, " FHOOK_LAND(%s_%u);", src.tag, body->number);
	return CXChildVisit_Continue;
}

/* Visit everything in a body except parts that belong to other functions. */
static enum CXChildVisitResult in_body(CXCursor cursor, CXCursor parent, CXClientData data)
{
	const struct body *body = data;

	(void)parent;
	switch (clang_getCursorKind(cursor)) {
	case CXCursor_LambdaExpr:
	case CXCursor_ClassDecl:
	case CXCursor_StructDecl:
	case CXCursor_BlockExpr:
		return CXChildVisit_Continue;
	case CXCursor_CXXCatchStmt:
		clang_visitChildren(cursor, in_catch, data);
		return CXChildVisit_Recurse;
	case CXCursor_CallExpr:
		if (is_setjmp(cursor))
			around_call(cursor, body->number);
		return CXChildVisit_Recurse;
	default:
		return CXChildVisit_Recurse;
	}
}

/* The body is the last child of a function: a block, or a try with its blocks. */
static enum CXChildVisitResult find_block(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct body *body = data;

	(void)parent;
	if (clang_getCursorKind(cursor) == CXCursor_CXXTryStmt)
		body->why = "has a try for its body: put braces around that";
	if (clang_getCursorKind(cursor) != CXCursor_CompoundStmt)
		return CXChildVisit_Continue;
	body->why = block_start(cursor, &body->start) ? NULL :
		"has its body from a macro: there is no place in the file";
	return CXChildVisit_Break;
}

/* Does a declaration have a keyword that prevents instrumentation? */
static bool declared_with(const char *text, const char *word)
{
	const char *at = text;
	size_t length = strlen(word);

	while ((at = strstr(at, word))) {
		if ((at == text || !strchr("abcdefghijklmnopqrstuvwxyz", at[-1])) &&
		    !strchr("abcdefghijklmnopqrstuvwxyz", at[length]))
			return true;
		at += length;
	}
	return false;
}

static const char *refused_words(const char *declaration)
{
	if (declared_with(declaration, "constexpr") || declared_with(declaration, "consteval"))
		return "is constexpr: the compiler runs it, and there is no stub in a compiler";
	if (declared_with(declaration, "naked"))
		return "is naked: it is written in assembler";
	if (declared_with(declaration, "always_inline") || declared_with(declaration, "gnu_inline"))
		return "is always inlined: it has no calls that could be traced";
	return NULL;
}

/* Look for words in the body that prevent instrumentation. */
static const char *refused_tokens(CXCursor function)
{
	const char *why = NULL;
	unsigned int count, i;
	CXToken *tokens;

	clang_tokenize(src.unit, clang_getCursorExtent(function), &tokens, &count);
	for (i = 0; i < count && !why; i++) {
		char *word = keep(clang_getTokenSpelling(src.unit, tokens[i]));

		if (!strcmp(word, "musttail"))
			why = "has a tail call that must be one: instrument its IR";
		else if (!strcmp(word, "co_await") || !strcmp(word, "co_yield") ||
			 !strcmp(word, "co_return"))
			why = "is a coroutine: it is left and entered in its midst";
		else if (!strcmp(word, "constexpr") && i < 8)
			why = refused_words("constexpr");
		free(word);
	}
	clang_disposeTokens(src.unit, tokens, count);
	return why;
}

static const char *why_not(CXCursor function, struct body *body)
{
	CXPrintingPolicy policy = clang_getCursorPrintingPolicy(function);
	const char *why;
	char *text;

	clang_PrintingPolicy_setProperty(policy, CXPrintingPolicy_TerseOutput, 1);
	text = keep(clang_getCursorPrettyPrinted(function, policy));
	clang_PrintingPolicy_dispose(policy);
	why = refused_words(text);
	free(text);
	why = why ?: refused_tokens(function);
	if (why)
		return why;
	body->why = "has no body of its own, the compiler makes it";
	clang_visitChildren(function, find_block, body);
	return body->why;
}

static bool is_template(CXCursor cursor)
{
	enum CXCursorKind kind;

	for (; !clang_Cursor_isNull(cursor); cursor = clang_getCursorSemanticParent(cursor)) {
		kind = clang_getCursorKind(cursor);
		if (kind == CXCursor_FunctionTemplate || kind == CXCursor_ClassTemplate ||
		    kind == CXCursor_ClassTemplatePartialSpecialization)
			return true;
		if (kind == CXCursor_TranslationUnit || clang_isInvalid(kind))
			break;
	}
	return false;
}

/* The name with namespaces and classes, as one word for the assembler and the map. */
static char *full_name(CXCursor cursor)
{
	char *name = keep(clang_getCursorSpelling(cursor)), *outer, *joined;
	CXCursor parent = clang_getCursorSemanticParent(cursor);
	size_t i;

	while (!clang_isInvalid(clang_getCursorKind(parent)) &&
	       clang_getCursorKind(parent) != CXCursor_TranslationUnit) {
		outer = keep(clang_getCursorSpelling(parent));
		if (*outer && asprintf(&joined, "%s::%s", outer, name) >= 0) {
			free(name);
			name = joined;
		}
		free(outer);
		parent = clang_getCursorSemanticParent(parent);
	}
	for (i = 0; name[i]; i++) {
		if (strchr(" %{|}\"\\$", name[i]))
			name[i] = '_';
	}
	return name;
}

static char *symbol_of(CXCursor cursor)
{
	CXStringSet *set;
	char *symbol;

	/* A constructor has several manglings; the first is that of the base class. */
	set = clang_Cursor_getCXXManglings(cursor);
	if (!set || !set->Count) {
		if (set)
			clang_disposeStringSet(set);
		return keep(clang_Cursor_getMangling(cursor));
	}
	symbol = strdup(clang_getCString(set->Strings[0]));
	clang_disposeStringSet(set);
	return symbol;
}

static void do_function(CXCursor cursor)
{
	struct body body = { .number = src.run.instrumented };
	bool template = is_template(cursor);
	char *name = template ? full_name(cursor) : symbol_of(cursor);
	enum list_answer answer = list_wants(&src.run.list, name);
	const char *why;

	if (answer == LIST_NO)
		goto out;
	why = why_not(cursor, &body);
	if (why) {
		if (instrument_cannot(&src.run, answer == LIST_BY_NAME, name, why, "%s %s.", name,
				      why))
			src.no_memory = true;
		goto out;
	}
	fprintf(src.head_file, "%s(%s_%u, \"%s\")\n", template ? "FHOOK_TEMPLATE" :
		"FHOOK_FUNCTION", src.tag, body.number, name);
	insert(body.start, " FHOOK_TRACE(%s_%u);", src.tag, body.number);
	clang_visitChildren(cursor, in_body, &body);
	src.run.instrumented++;
out:
	free(name);
}

static enum CXChildVisitResult find_functions(CXCursor cursor, CXCursor parent,
					      CXClientData data)
{
	(void)parent;
	(void)data;
	switch (clang_getCursorKind(cursor)) {
	case CXCursor_FunctionDecl:
	case CXCursor_CXXMethod:
	case CXCursor_Constructor:
	case CXCursor_Destructor:
	case CXCursor_ConversionFunction:
	case CXCursor_FunctionTemplate:
		if (clang_isCursorDefinition(cursor) &&
		    in_main_file(clang_getCursorLocation(cursor)))
			do_function(cursor);
		/* A class in a function has functions as well. */
		return CXChildVisit_Recurse;
	default:
		return CXChildVisit_Recurse;
	}
}

struct search {
	const char *name;
	const char *found;
};

static enum CXChildVisitResult find_declaration(CXCursor cursor, CXCursor parent,
						CXClientData data)
{
	struct search *search = data;
	char *name;

	(void)parent;
	if (clang_getCursorKind(cursor) != CXCursor_FunctionDecl &&
	    clang_getCursorKind(cursor) != CXCursor_CXXMethod)
		return CXChildVisit_Recurse;
	name = keep(clang_getCursorSpelling(cursor));
	if (!strcmp(name, search->name)) {
		if (!clang_isCursorDefinition(cursor))
			search->found = search->found ?:
				"is only declared here: it is defined in another file";
		else if (!in_main_file(clang_getCursorLocation(cursor)))
			search->found = "is defined in a header: instrument that file";
	}
	free(name);
	return CXChildVisit_Continue;
}

static const char *what_it_is(const char *name, void *unused)
{
	struct search search = { .name = name };

	(void)unused;
	clang_visitChildren(clang_getTranslationUnitCursor(src.unit), find_declaration, &search);
	return search.found;
}

static int read_text(struct fault *fault)
{
	FILE *file = fopen(src.run.input, "r");
	size_t room = 0;
	ssize_t length;
	int error;

	if (!file)
		return fault_say(fault, "%s cannot be read: %s.", src.run.input, strerror(errno));
	/* Read the whole file, because text has no zero bytes. */
	length = getdelim(&src.text, &room, '\0', file);
	error = ferror(file) ? errno : 0;
	fclose(file);
	if (error)
		return fault_say(fault, "%s cannot be read: %s.", src.run.input, strerror(error));
	if (length <= 0)
		return fault_say(fault, "%s is empty.", src.run.input);
	src.length = length;
	if (memchr(src.text, '\0', length))
		return fault_say(fault, "%s is not text.", src.run.input);
	if (strstr(src.text, "fhook_calltrace_stub.h"))
		return fault_say(fault, "%s is instrumented already.", src.run.input);
	return 0;
}

/* The first error message of the compiler, or NULL. */
static char *first_error(void)
{
	unsigned int i, count = clang_getNumDiagnostics(src.unit);
	char *text = NULL;

	for (i = 0; i < count && !text; i++) {
		CXDiagnostic diagnostic = clang_getDiagnostic(src.unit, i);
		unsigned int options = clang_defaultDiagnosticDisplayOptions();

		if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error)
			text = keep(clang_formatDiagnostic(diagnostic, options));
		clang_disposeDiagnostic(diagnostic);
	}
	return text;
}

/* clang names flags that only gcc has; they can be omitted. */
static bool drop_unknown(const char **flags, int *count, const char *error)
{
	const char *begin = strstr(error, "unknown argument: '");
	size_t length;
	int i, kept = 0;

	if (!begin)
		return false;
	begin = strchr(begin, '\'') + 1;
	length = strcspn(begin, "'");
	for (i = 0; i < *count; i++) {
		if (strncmp(flags[i], begin, length) || flags[i][length])
			flags[kept++] = flags[i];
	}
	if (kept == *count)
		return false;
	*count = kept;
	return true;
}

/* After a compiler error, the meaning of the rest of the file is uncertain. */
static int parse_unit(const char **flags, int count, struct fault *fault)
{
	CXIndex index = clang_createIndex(0, 0);
	char *error;

	for (;;) {
		src.unit = clang_parseTranslationUnit(index, src.run.input, flags, count, NULL, 0,
						      CXTranslationUnit_None);
		if (!src.unit)
			return fault_say(fault, "libclang does not read %s: is it C or C++?",
					 src.run.input);
		error = first_error();
		if (!error)
			return 0;
		if (!drop_unknown(flags, &count, error))
			return fault_say(fault, "%s does not compile with these flags: %s.",
					 src.run.input, error);
		free(error);
		clang_disposeTranslationUnit(src.unit);
	}
}

/* Make a tag, so that files that are compiled together have different identifiers. */
static void make_tag(void)
{
	const char *slash = strrchr(src.run.input, '/'), *at;
	u32 hash = 2166136261u;
	char *to = src.tag;

	for (at = src.run.input; *at; at++)
		hash = (hash ^ (u8)*at) * 16777619u;
	for (at = slash ? slash + 1 : src.run.input; *at && to < src.tag + 48; at++)
		*to++ = isalnum(*at) ? *at : '_';
	sprintf(to, "_%08x", hash);
}

static int do_functions(struct fault *fault)
{
	make_tag();
	src.head_file = open_memstream(&src.head, &src.head_length);
	if (!src.head_file)
		return fault_say(fault, "There is no memory.");
	/* A header may be included several times. */
	fprintf(src.head_file, "#ifndef FHOOK_IN_%s\n#define FHOOK_IN_%s\n", src.tag, src.tag);
	fprintf(src.head_file, "#include \"fhook_calltrace_stub.h\"\n");
	clang_visitChildren(clang_getTranslationUnitCursor(src.unit), find_functions, NULL);
	fprintf(src.head_file, "#endif\n#line 1 \"%s\"\n", src.run.input);
	if (fclose(src.head_file) || src.no_memory ||
	    instrument_unmatched(&src.run, what_it_is, NULL))
		return fault_say(fault, "There is no memory.");
	src.run.stubs = src.run.instrumented * 2;
	return instrument_may_write(&src.run, fault);
}

static int compare_insertions(const void *a, const void *b)
{
	const struct insertion *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static int write_source(struct fault *fault)
{
	size_t size, i, at = 0;
	char *result = NULL;
	FILE *file = open_memstream(&result, &size);
	int ret;

	if (!file)
		return fault_say(fault, "There is no memory.");
	qsort(src.insertions, src.nr_insertions, sizeof(*src.insertions), compare_insertions);
	fputs(src.head, file);
	for (i = 0; i < src.nr_insertions; i++) {
		fwrite(src.text + at, 1, src.insertions[i].offset - at, file);
		fputs(src.insertions[i].text, file);
		at = src.insertions[i].offset;
	}
	fwrite(src.text + at, 1, src.length - at, file);
	if (fclose(file))
		return fault_say(fault, "There is no memory.");
	ret = instrument_write(src.run.output, result, size, 0644, fault);
	free(result);
	return ret;
}

int main(int argc, char **argv)
{
	struct fault fault;
	int own, ret;

	for (own = 1; own < argc && strcmp(argv[own], "--"); own++)
		;
	instrument_parse(&src.run, own, argv, "FILE.c [-- CFLAGS...]",
			 "Put stubs for a call trace into C or C++ source.", NULL);
	own += own < argc;
	ret = list_check(&src.run.list, &fault);
	ret = ret ?: read_text(&fault);
	ret = ret ?: parse_unit((const char **)argv + own, argc - own, &fault);
	ret = ret ?: do_functions(&fault);
	ret = ret ?: write_source(&fault);
	return instrument_finish(&src.run, ret, &fault);
}
