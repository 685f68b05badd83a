// SPDX-License-Identifier: GPL-2.0
/* Parameters of a program's functions; the header describes them. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "member.h"
#include "parameters.h"
#include "type.h"

/**
 * struct place_of_parameter - where the calling convention has a parameter
 * @nr: number of general-purpose registers that the parameters before it are in
 * @unsure: name of a parameter before it of which that is not known, or NULL
 */
struct place_of_parameter {
	unsigned int nr;
	const char *unsure;
};

int parameters_function(Dwarf_Die *die, struct program *program,
			const struct program_function *function, struct fault *fault)
{
	if (!debug_dwarf(&program->debug, program->path, fault))
		return -1;
	if (!debug_function(&program->debug, function->address, function->symbol, die)) {
		if (debug_has_parameters(&program->debug, die))
			return 0;
		return fault_say(fault,
				 "the debug information of %s has no parameters of %s: build its file with -g, or write %s",
				 program->path, function->name,
				 program->is_kernel ? "$arg1" : "registers");
	}
	return debug_say_missing(&program->debug, program->path, function->name,
				 function->address, fault);
}

/* Go's compiler describes results as parameters that vary. */
static bool is_result(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die unit;
	bool varies;

	return dwarf_attr(die, DW_AT_variable_parameter, &attribute) &&
	       !dwarf_formflag(&attribute, &varies) && varies &&
	       dwarf_diecu(die, &unit, NULL, NULL) && dwarf_srclang(&unit) == DW_LANG_Go;
}

int parameters_next(Dwarf_Die *function, Dwarf_Die *die, bool first)
{
	int result = first ? dwarf_child(function, die) : debug_sibling(die);

	while (!result && (dwarf_tag(die) != DW_TAG_formal_parameter || is_result(die)))
		result = debug_sibling(die);
	return result ? -1 : 0;
}

/* The names of registers, as the kernel has them, by their numbers in DWARF. */
static bool dwarf_register(u16 machine, unsigned int number, struct program_value *value)
{
	static const char *const names[] = { "ax", "dx", "cx", "bx", "si", "di", "bp", "sp" };

	if (machine == EM_X86_64 && number < ARRAY_SIZE(names))
		snprintf(value->text, sizeof(value->text), "%%%s", names[number]);
	else if (machine == EM_X86_64 && number < 16)
		snprintf(value->text, sizeof(value->text), "%%r%u", number);
	else if (machine == EM_AARCH64 && number < 31)
		snprintf(value->text, sizeof(value->text), "%%x%u", number);
	else
		return false;
	return true;
}

/*
 * The register that the parameter's location names for the first instruction, or -1. Only lists
 * tell it; a location for the whole function may be valid only after the parameter was moved
 * there. Without views, the list does not have the first place of a parameter that is changed
 * before the first instruction; then it is not SURE.
 */
static int by_location(const struct program_function *function, Dwarf_Die *die, bool *sure)
{
	Dwarf_Addr base, start, end;
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	Dwarf_Block block;
	ptrdiff_t at = 0;
	size_t nr;

	*sure = dwarf_hasattr(die, DW_AT_GNU_locviews);
	if (!dwarf_attr(die, DW_AT_location, &attribute) || !dwarf_formblock(&attribute, &block))
		return -1;
	do {
		at = dwarf_getlocations(&attribute, at, &base, &start, &end, &operations, &nr);
	} while (at > 0 && start != function->address);
	if (at <= 0 || nr != 1 || operations->atom < DW_OP_reg0 || operations->atom > DW_OP_reg31)
		return -1;
	return operations->atom - DW_OP_reg0;
}

/* A part of an entry that has a single operation. */
static bool is_operation(Dwarf_Die *die, unsigned int name, u8 atom, Dwarf_Op **operation)
{
	Dwarf_Attribute attribute;
	Dwarf_Block block;
	size_t nr;

	return dwarf_attr_integrate(die, name, &attribute) &&
	       !dwarf_formblock(&attribute, &block) &&
	       !dwarf_getlocation(&attribute, operation, &nr) && nr == 1 &&
	       (*operation)->atom == atom;
}

/*
 * Is a parameter in the frame of the caller? Functions of Microsoft's convention, which gcc does
 * not mark, move parameters from registers there.
 */
static bool is_in_callers_frame(Dwarf_Die *function, Dwarf_Die *die)
{
	Dwarf_Op *base, *place;

	return is_operation(function, DW_AT_frame_base, DW_OP_call_frame_cfa, &base) &&
	       is_operation(die, DW_AT_location, DW_OP_fbreg, &place) &&
	       (s64)place->number >= 0;
}

/* clang removes unused parameters of local functions, and does not say so. */
static bool may_lack_parameters(const struct program_function *function, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	const char *producer = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attribute));

	return function->is_local && producer && strstr(producer, "clang");
}

/* Does a function follow the calling convention of C? Compilers change it for copies. */
static bool is_conventional(const struct program_function *function, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention = DW_CC_normal;
	Dwarf_Die unit;

	if (strstr(function->symbol, ".isra") || strstr(function->symbol, ".constprop") ||
	    strstr(function->symbol, ".part") || strstr(function->symbol, ".cold") ||
	    !dwarf_diecu(die, &unit, NULL, NULL) || may_lack_parameters(function, &unit))
		return false;
	if (dwarf_attr_integrate(die, DW_AT_calling_convention, &attribute))
		dwarf_formudata(&attribute, &convention);
	if (convention != DW_CC_normal)
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return true;
	default:
		return false;
	}
}

/* The register that the calling convention assigns to a parameter, or -1 and a sentence. */
static int by_convention(const struct program *program, const struct program_function *function,
			 Dwarf_Die *die, const char *name, const struct place_of_parameter *place,
			 struct fault *fault)
{
	static const unsigned int x86[] = { 5, 4, 1, 2, 8, 9 };
	const bool is_x86 = program->machine == EM_X86_64;
	struct type returned;

	if (!is_conventional(function, die))
		return fault_say(fault, "the register of %s at the entry of %s is not known",
				 name, function->name);
	/* A hidden pointer to the returned structure may come first. */
	if (is_x86 && type_of(die, &returned) && returned.class == TYPE_OTHER)
		return fault_say(fault, "the register of %s is not known: %s returns a structure",
				 name, function->name);
	if (place->unsure)
		return fault_say(fault, "%s of %s comes after %s, which takes unknown registers",
				 name, function->name, place->unsure);
	if (place->nr >= (is_x86 ? ARRAY_SIZE(x86) : 8))
		return fault_say(fault, "%s of %s is not in a register, but on the stack", name,
				 function->name);
	return is_x86 ? x86[place->nr] : place->nr;
}

/* Count what a parameter takes from the registers of those after it. */
static void pass_by(Dwarf_Die *die, struct place_of_parameter *place)
{
	const char *name = dwarf_diename(die);
	struct type type;

	type_of(die, &type);
	if (type.class == TYPE_INTEGER || type.class == TYPE_POINTER)
		place->nr++;
	else if (type.class == TYPE_OTHER && !place->unsure)
		place->unsure = name ? name : "one without a name";
}

static void print_names(Dwarf_Die *die, FILE *out)
{
	Dwarf_Die parameter;
	bool first = true;
	const char *name;

	for (; !parameters_next(die, &parameter, first); first = false) {
		name = dwarf_diename(&parameter);
		fprintf(out, "%s%s", first ? "" : ", ", name ? name : "?");
	}
}

static int say_names(const struct program_function *function, Dwarf_Die *die, const char *name,
		     struct fault *fault)
{
	char *names = NULL;
	size_t size;
	FILE *out = open_memstream(&names, &size);

	if (out) {
		print_names(die, out);
		fclose(out);
	}
	fault_say(fault, names && *names ? "%s has no parameter %s: it has %s" :
		  "%s has no parameter %s: it has none", function->name, name, names);
	free(names);
	return -1;
}

/* The value of a parameter of which PLACE describes those before it. */
static int locate(const struct program *program, const struct program_function *function,
		  Dwarf_Die *die, Dwarf_Die *parameter, const struct place_of_parameter *place,
		  struct program_value *value, struct fault *fault)
{
	const char *name = dwarf_diename(parameter);
	int convention, location;
	struct type type;
	bool sure;

	type_of(parameter, &type);
	type_name(&type, value->type);
	if (type.class == TYPE_FLOAT || type.class == TYPE_OTHER)
		return fault_say(fault, "%s of %s is neither an integer nor a pointer", name,
				 function->name);
	convention = by_convention(program, function, die, name, place, fault);
	location = by_location(function, parameter, &sure);
	/* At entries of kernel functions, only arguments can be fetched. */
	if (convention < 0 && (location < 0 || program->is_kernel))
		return -1;
	if (convention >= 0 && location < 0 && is_in_callers_frame(die, parameter))
		return fault_say(fault,
				 "%s does not follow the platform's calling convention: name the register of %s",
				 function->name, name);
	if (convention >= 0 && location >= 0 && location != convention &&
	    (!sure || program->is_kernel))
		return fault_say(fault,
				 "%s of %s is in another register than the calling convention says: name the register",
				 name, function->name);
	if (program->is_kernel)
		snprintf(value->text, sizeof(value->text), "$arg%u", place->nr + 1);
	else if (!dwarf_register(program->machine, location >= 0 ? location : convention, value))
		return fault_say(fault, "%s of %s is not in a general-purpose register", name,
				 function->name);
	return 0;
}

static int find_parameter(struct program *program, const struct program_function *function,
			  const char *name, struct program_value *value, struct fault *fault)
{
	struct place_of_parameter place = { 0 };
	Dwarf_Die die, *parameter = &value->die;
	bool first = true;
	const char *found;

	if (parameters_function(&die, program, function, fault))
		return -1;
	for (; !parameters_next(&die, parameter, first); first = false) {
		found = dwarf_diename(parameter);
		if (found && !strcmp(found, name))
			return locate(program, function, &die, parameter, &place, value, fault);
		pass_by(parameter, &place);
	}
	return say_names(function, &die, name, fault);
}

int parameters_value(struct program *program, const struct program_function *function,
		     const char *name, struct program_value *value, struct fault *fault)
{
	const char *path = name + strcspn(name, "-.");
	char *parameter = strndup(name, path - name);
	int result;

	if (!parameter)
		return fault_say(fault, "there is not enough memory");
	result = find_parameter(program, function, parameter, value, fault);
	free(parameter);
	if (!result && *path)
		result = member_value(&program->debug, path, value, fault);
	return result;
}

void parameters_print(struct program *program, const struct program_function *function,
		      FILE *out)
{
	struct place_of_parameter place = { 0 };
	struct program_value value;
	Dwarf_Die die, parameter;
	bool first = true;
	struct fault fault;
	char *text;

	if (parameters_function(&die, program, function, &fault))
		return;
	fputc('(', out);
	for (; !parameters_next(&die, &parameter, first); first = false) {
		if (!first)
			fputs(", ", out);
		text = type_declare(&parameter, dwarf_diename(&parameter));
		fprintf(out, "%s=%s", text ? text : "?",
			locate(program, function, &die, &parameter, &place, &value, &fault) ?
			"?" : value.text);
		free(text);
		pass_by(&parameter, &place);
	}
	fputs(first ? "void)" : ")", out);
}
