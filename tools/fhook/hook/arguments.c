// SPDX-License-Identifier: GPL-2.0
/* Arguments of events on programs; the header describes them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arguments.h"
#include "operand.h"
#include "parameters.h"
#include "type.h"
#include "usdt.h"

/* The kernel's limits. */
#define MOST_ELEMENTS	64u
#define LONGEST_LABEL	32u

/* The length of a name with members, as a->b.c; 0 if it is none. */
static size_t path_length(const char *text)
{
	const char *end = text + (isdigit((unsigned char)*text) ? 0 : name_length(text));
	size_t mark;

	while (end > text && (mark = *end == '.' ? 1 : !strncmp(end, "->", 2) ? 2 : 0) &&
	       name_length(end + mark))
		end += mark + name_length(end + mark);
	return end - text;
}

/* What newer kernels take at their functions: "(TYPE)NAME" and "this_cpu_read(NAME)" */
static bool is_kernels_own(const char *text)
{
	return *text == '(' || !strncmp(text, "this_cpu_", strlen("this_cpu_"));
}

const char *arguments_name(const char *text, size_t *length)
{
	const char *bracket = strrchr(text, '('), *at = bracket ? bracket + 1 : text;

	if (is_kernels_own(text))
		return NULL;
	*length = path_length(at);
	return *length ? at : NULL;
}

/* An expression without what reads memory around it: "%di" of +8(+0(%di)):u32. */
static const char *innermost(const char *text, size_t *length)
{
	const char *bracket;

	while (strchr("+-", *text) && (bracket = strchr(text, '(')))
		text = bracket + 1;
	*length = strcspn(text, ")[:");
	return text;
}

/* The number in a name, as 3 of arg3; 0 if it has none. */
static u64 number_after(const char *name, const char *word)
{
	const size_t length = strlen(word);
	u64 number;

	return strncmp(name, word, length) || word_number(name + length, 10, 9999, &number) ? 0 :
	       number;
}

/* Where a program's function finds an argument at its entry. */
static int say_place(const struct arguments_place *place, u64 number, struct fault *fault)
{
	static const char *const x86[] = { "di", "si", "dx", "cx", "r8", "r9" };
	const bool is_x86 = place->machine == EM_X86_64;
	const u64 in_registers = is_x86 ? ARRAY_SIZE(x86) : 8;

	if (number > in_registers)
		return fault_say(fault,
				 "$arg%llu is for functions of the kernel: write the name of a parameter, or $stack%llu",
				 number, number - in_registers - !is_x86);
	if (is_x86)
		return fault_say(fault,
				 "$arg%llu is for functions of the kernel: write the name of a parameter, or %%%s",
				 number, x86[number - 1]);
	return fault_say(fault,
			 "$arg%llu is for functions of the kernel: write the name of a parameter, or %%x%llu",
			 number, number - 1);
}

static int check_number(const struct arguments_place *place, const char *name,
			struct fault *fault)
{
	const u64 number = number_after(name, "arg");

	if (!number)
		return fault_say(fault, "$%s is no argument: the first one is $arg1", name);
	if (place->kind == PROGRAM_USDT)
		return fault_say(fault, "$%s is for functions of the kernel: write %s", name, name);
	if (place->kind == PROGRAM_LINE)
		return fault_say(fault,
				 "$%s is for functions of the kernel: at a line, name a register",
				 name);
	if (!place->is_kernel)
		return say_place(place, number, fault);
	if (place->machine == EM_AARCH64 && number > 8)
		return fault_say(fault,
				 "$%s is not in a register, but on the stack, where it cannot be fetched",
				 name);
	return 0;
}

/* NAME is what follows '$'. */
static int check_variable(const struct arguments_place *place, const char *name,
			  struct fault *fault)
{
	if (!strncmp(name, "arg", strlen("arg")))
		return check_number(place, name, fault);
	if (!strncmp(name, "retval", strlen("retval")) && strchr("-.", name[strlen("retval")]))
		return 0;
	if (place->is_kernel && !strncmp(name, "current", strlen("current")) &&
	    strchr("-", name[strlen("current")]))
		return 0;
	if (!strcmp(name, "comm") || !strcmp(name, "COMM") ||
	    !strcmp(name, "stack") || !strcmp(name, "stack0") || number_after(name, "stack"))
		return 0;
	return fault_say(fault, "$%s is not known: write %s$retval, $comm, $stack or $stack0", name,
			 place->is_kernel ? "$arg1, " : "");
}

/* NAME is what follows '%'. */
static int check_register(const struct arguments_place *place, const char *name,
			  struct fault *fault)
{
	char room[OPERAND_REGISTER];
	const char *known = operand_register(place->machine, name, room);

	if (place->is_kernel && !place->has_registers)
		return fault_say(fault,
				 "%%%s: at functions of the kernel, registers are not known: write the name of a parameter, or $arg1",
				 name);
	if (!known)
		return fault_say(fault, "no register is named %%%s: after %%, write %s", name,
				 place->machine == EM_X86_64 ?
				 "ax, bx, cx, dx, si, di, bp, sp, ip, or r8 to r15" :
				 "x0 to x30, sp, lr, or pc");
	if (strcmp(known, name))
		return fault_say(fault, "the register %%%s is called %%%s here: write %%%s", name,
				 known, known);
	return 0;
}

static bool is_integer_type(const char *type)
{
	return *type && strchr("usx", *type) &&
	       (!strcmp(type + 1, "8") || !strcmp(type + 1, "16") || !strcmp(type + 1, "32") ||
		!strcmp(type + 1, "64"));
}

/* "b3@4/8": 3 bits from bit 4 of 8 */
static bool is_bit_field(const char *type)
{
	unsigned int width, from, of;
	char rest;

	return sscanf(type, "b%u@%u/%u%c", &width, &from, &of, &rest) == 3 && width &&
	       (of == 8 || of == 16 || of == 32 || of == 64) && width <= of && from <= of - width;
}

/* Has the kernel this type? Symbols are those of the kernel. */
static bool is_type(const char *type, bool is_kernel)
{
	if (!strcmp(type, "symbol") || !strcmp(type, "symstr") || !strcmp(type, "%pd") ||
	    !strcmp(type, "%pD"))
		return is_kernel;
	return !strcmp(type, "string") || !strcmp(type, "ustring") || !strcmp(type, "char") ||
	       is_integer_type(type) || is_bit_field(type);
}

/* "u32" or "u32[4]", which follows ':' */
static int check_type(const char *type, bool is_kernel, struct fault *fault)
{
	const size_t length = strcspn(type, "[");
	char *name = strndup(type, length), rest;
	unsigned int elements;
	int result = 0;

	if (!name)
		return fault_say(fault, "there is not enough memory");
	if (!is_type(name, is_kernel))
		result = fault_say(fault,
				   "'%s' is no type: write u8, s16, x32, u64 and so on, char, string, ustring%s or b3@0/8",
				   name, is_kernel ? ", symbol" : "");
	else if (type[length] && (sscanf(type + length, "[%u]%c", &elements, &rest) != 1 ||
				  type[strlen(type) - 1] != ']' || !elements ||
				  elements > MOST_ELEMENTS))
		result = fault_say(fault, "'%s' is no array: write from %s[1] to %s[%u]", type,
				   name, name, MOST_ELEMENTS);
	free(name);
	return result;
}

/* Arrays are in memory. */
static int say_array(const char *text, size_t length, const char *type, struct fault *fault)
{
	return fault_say(fault,
			 "'%s' is no array, but one value: write +0(%.*s)%s for one in memory",
			 text, (int)length, text, type);
}

/* The offsets in "+8(-4(%di))" must be numbers. */
static int check_offsets(const char *text, const char *value, struct fault *fault)
{
	char *end;

	while (text < value) {
		strtoll(text + 1 + (text[1] == 'u'), &end, 0);
		if (*end != '(' || end == text + 1)
			return fault_say(fault,
					 "'%.*s' has no offset that is a number: write it as in +8(NAME)",
					 (int)(value - text), text);
		text = end + 1;
	}
	return 0;
}

/* A number or a text that is given, after a backslash */
static int check_given(const char *value, struct fault *fault)
{
	char *end;

	if (value[1] == '"')
		return 0;
	strtoll(value + 1, &end, 0);
	return end > value + 1 && (!*end || strchr(":)", *end)) ? 0 :
	       fault_say(fault, "'%s' is no number: write one, as in \\5", value);
}

/* A value and the text after it, which begins with TYPE. */
static int check_value(const struct arguments_place *place, const char *text, const char *value,
		       size_t length, struct fault *fault)
{
	const char *colon = strrchr(text, ':');
	char *name = strndup(value + (length > 0), length - (length > 0));
	int result = 0;

	if (!name)
		return fault_say(fault, "there is not enough memory");
	if (value[length] == '[')
		result = fault_say(fault,
				   "'%s' is not understood: values have no indices; write +OFFSET(%.*s):TYPE",
				   text, (int)length, value);
	else if (*value == '$')
		result = check_variable(place, name, fault);
	else if (*value == '%')
		result = check_register(place, name, fault);
	else if (*value == '@' && !place->is_kernel && !strchr("+0123456789", value[1]))
		result = fault_say(fault,
				   "%s is a symbol, which is known in the kernel only: write @+OFFSET, an offset in the file",
				   value);
	else if (*value == '*')
		result = fault_say(fault,
				   "'%s' is not understood: write +0(%s):u32 for a number there, or %s:string for text",
				   text, name, name);
	else if (*value != '@' && (!length || path_length(value) != length))
		result = fault_say(fault,
				   "'%s' is not understood: write the name of a parameter, a member, %s, or +8(NAME):u32",
				   text, place->is_kernel ? "$arg1" : "a register");
	else if (place->kind == PROGRAM_USDT && length > name_length(value))
		result = fault_say(fault,
				   "'%s': types of USDT arguments are not known: write NAME, NAME:TYPE or +OFFSET(NAME):TYPE",
				   text);
	free(name);
	if (!result && colon)
		result = check_type(colon + 1, place->is_kernel, fault);
	if (!result && colon && text == value && strchr("$%", *value) && strchr(colon, '['))
		result = say_array(text, length, colon, fault);
	return result;
}

/* Has uhook_events an option of this name? */
static bool is_option(const char *label)
{
	return !strcmp(label, "user") || !strcmp(label, "pid") || !strcmp(label, "vectors") ||
	       !strcmp(label, "stack");
}

/* Has each event a field of this name? */
static bool is_common(const char *label)
{
	return !strncmp(label, "common_", strlen("common_")) ||
	       !strncmp(label, "__probe_", strlen("__probe_"));
}

static int check_label(const struct spec *spec, unsigned int nr, bool is_kernel,
		       struct fault *fault)
{
	const char *label = spec->labels[nr];
	unsigned int i;

	if (strlen(label) > LONGEST_LABEL)
		return fault_say(fault,
				 "the label %s is longer than %u letters: write a shorter one, as in x=%s",
				 label, LONGEST_LABEL, spec->values[nr]);
	if (is_common(label) || (!is_kernel && is_option(label)))
		return fault_say(fault, "no field can be named %s: write a label, as in the_%s=%s",
				 label, label, spec->values[nr]);
	for (i = 0; i < nr; i++)
		if (!strcmp(label, spec->labels[i]))
			return fault_say(fault,
					 "two arguments are named %s: write another label, as in %s_2=%s",
					 label, label, spec->values[nr]);
	return 0;
}

int arguments_check(const struct spec *spec, const struct arguments_place *place,
		    struct fault *fault)
{
	const char *text, *value;
	size_t length;
	unsigned int i;

	for (i = 0; i < spec->nr; i++) {
		text = spec->values[i];
		value = innermost(text, &length);
		if (check_label(spec, i, place->is_kernel, fault) ||
		    check_offsets(text, value, fault))
			return -1;
		if (place->is_kernel && is_kernels_own(value))
			continue;
		if (*value == '\\' ? check_given(value, fault) :
				     check_value(place, text, value, length, fault))
			return -1;
	}
	return 0;
}

bool arguments_named(const struct spec *spec)
{
	unsigned int i;
	size_t length;

	for (i = 0; i < spec->nr; i++)
		if (arguments_name(spec->values[i], &length))
			return true;
	return false;
}

static int value_of(struct program *program, const struct program_function *place,
		    const char *name, struct program_value *value, struct fault *fault)
{
	if (place->kind == PROGRAM_USDT)
		return usdt_value(program, place, name, value, fault);
	if (place->kind == PROGRAM_FUNCTION)
		return parameters_value(program, place, name, value, fault);
	return fault_say(fault, "%s: names are known at entries of functions: name a register",
			 place->name);
}

/* A string is at the address that its argument is. */
static bool is_string(const char *type)
{
	return !strcmp(type, ":string") || !strcmp(type, ":ustring");
}

static bool is_text(struct program *program, const struct program_function *place,
		    const char *value)
{
	static const char *const types[] = { "string", "ustring", "symstr", "%pd", "%pD" };
	const char *type = strrchr(value, ':');
	struct program_value named = { };
	struct fault ignored;
	unsigned int i;

	for (i = 0; type && i < ARRAY_SIZE(types); i++)
		if (!strncmp(type + 1, types[i], strlen(types[i])))
			return true;
	if (type || !place || path_length(value) != strlen(value))
		return !strcasecmp(value, "$comm");
	return !value_of(program, place, value, &named, &ignored) && !strcmp(named.type, "string");
}

void arguments_texts_last(struct program *program, const struct program_function *place,
			  struct spec *spec)
{
	unsigned int i = 0, tried, last = spec->nr - 1;

	for (tried = 0; tried < spec->nr; tried++) {
		char *label = spec->labels[i], *value = spec->values[i];

		if (!is_text(program, place, value)) {
			i++;
			continue;
		}
		memmove(spec->labels + i, spec->labels + i + 1, (last - i) * sizeof(label));
		memmove(spec->values + i, spec->values + i + 1, (last - i) * sizeof(value));
		spec->labels[last] = label;
		spec->values[last] = value;
	}
}

/* Can the text around a name, which begins at NAME and ends at REST, be applied to its value? */
static int check_use(const char *text, const char *name, const char *rest,
		     const struct program_value *value, struct fault *fault)
{
	const bool alone = name == text;

	if (!alone && (value->is_memory || *value->type == 'b' || !strstr(value->type, "64")))
		return fault_say(fault, "'%s' reads from an address, which %.*s is not", text,
				 (int)(rest - name), name);
	if (alone && *rest && *value->type == 'b')
		return fault_say(fault, "%.*s is a bit-field: leave out its type",
				 (int)(rest - name), name);
	if (alone && strchr(rest, '[') && !value->is_memory)
		return say_array(text, rest - name, rest, fault);
	if (alone && !*rest && !*value->type)
		return fault_say(fault,
				 "%s is neither a number, a pointer nor text: write a member or a type, as in %s:x8[4]",
				 text, text);
	return 0;
}

/* Write an argument, of which the name at NAME, with LENGTH letters, has a value. */
static int write_named(const char *text, const char *name, size_t length,
		       const struct program_value *value, FILE *out, struct fault *fault)
{
	const char *rest = name + length;

	if (check_use(text, name, rest, value, fault))
		return -1;
	if (name == text && is_string(rest) && !value->is_memory)
		fprintf(out, "+0(%s)%s", value->text, rest);
	else
		fprintf(out, "%.*s%s%s", (int)(name - text), text, value->text, rest);
	if (name == text && !*rest)
		fprintf(out, ":%s", value->type);
	return 0;
}

/* As with parameters, a string is at the address in a register or in $retval. */
static void write_unnamed(const char *text, FILE *out)
{
	const char *type = strchr(text, ':');

	if (type && is_string(type) && strchr("$%", *text) && strncmp(text, "$comm:", 6))
		fprintf(out, "+0(%.*s)%s", (int)(type - text), text, type);
	else
		fputs(text, out);
}

/* With a type that the user has given, and in brackets, a value has no name. */
static void take_names(struct call_event *event, unsigned int nr, const char *text,
		       size_t length, struct program_value *value)
{
	struct enumeration names = { };

	if (value->die.addr && !text[length] &&
	    type_enumeration(&value->die, value->type, &names))
		enumeration_free(&names);
	call_event_take(event, nr, &names);
}

static int write_argument(struct program *program, const struct program_function *place,
			  const struct spec *spec, unsigned int nr, struct call_event *event,
			  FILE *out, struct fault *fault)
{
	const char *text = spec->values[nr], *label = spec->labels[nr], *name;
	struct program_value value = { };
	size_t length;
	char *copy;
	int result;

	fprintf(out, " %s=", label);
	name = arguments_name(text, &length);
	if (!name) {
		write_unnamed(text, out);
		return 0;
	}
	/* Only parameters have types with members. */
	if (place->kind != PROGRAM_FUNCTION)
		length = name_length(name);
	copy = strndup(name, length);
	if (!copy)
		return fault_say(fault, "there is not enough memory");
	result = value_of(program, place, copy, &value, fault);
	free(copy);
	if (result || write_named(text, name, length, &value, out, fault))
		return -1;
	if (event)
		take_names(event, nr, text, length, &value);
	return 0;
}

char *arguments_at(struct program *program, const struct program_function *place,
		   const struct spec *spec, struct call_event *event, struct fault *fault)
{
	char *text = NULL;
	unsigned int i;
	int result = 0;
	size_t size;
	const struct arguments_place where = {
		.machine = program->machine, .is_kernel = program->is_kernel, .kind = place->kind,
	};
	FILE *out;

	/* Those of the kernel are checked, whether names are replaced or not. */
	if (!program->is_kernel && arguments_check(spec, &where, fault))
		return NULL;
	out = open_memstream(&text, &size);
	for (i = 0; out && i < spec->nr && !result; i++)
		result = write_argument(program, place, spec, i, event, out, fault);
	if (!out || fclose(out)) {
		fault_say(fault, "there is not enough memory");
		result = -1;
	}
	if (!result)
		return text;
	free(text);
	return NULL;
}
