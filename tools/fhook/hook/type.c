// SPDX-License-Identifier: GPL-2.0
/* Types of DWARF; the header describes them. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "debug.h"
#include "declarator.h"
#include "type.h"

#define CHAIN_MAX	32
/* Types of a declaration. */
#define TYPES_MAX	256

/* The type that an entry refers to; false for void, and in damaged files. */
static bool referred(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Die unit;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) ||
	    !dwarf_formref_die(&attribute, type))
		return false;
	/* It may be in a unit of its own, which its signature names. */
	if (dwarf_attr(type, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, &unit))
		*type = unit;
	return true;
}

static bool is_qualifier(int tag)
{
	return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

bool type_resolve(Dwarf_Die *die, Dwarf_Die *type)
{
	unsigned int i;

	if (!referred(die, type))
		return false;
	for (i = 0; i < CHAIN_MAX; i++) {
		Dwarf_Die from = *type;
		const int tag = dwarf_tag(type);

		if (tag != DW_TAG_typedef && !is_qualifier(tag))
			return true;
		if (!referred(&from, type))
			return false;
	}
	return false;
}

static void classify_base(Dwarf_Die *base, struct type *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	if (dwarf_formudata(dwarf_attr(base, DW_AT_encoding, &attribute), &encoding))
		return;
	switch (encoding) {
	case DW_ATE_signed:
	case DW_ATE_signed_char:
	case DW_ATE_boolean:
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		/* Only sizes that the kernel has types for; __int128 takes two registers. */
		if (type->size == 1 || type->size == 2 || type->size == 4 || type->size == 8)
			type->class = TYPE_INTEGER;
		type->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
		return;
	case DW_ATE_float:
	case DW_ATE_complex_float:
		type->class = TYPE_FLOAT;
	}
}

bool type_of(Dwarf_Die *die, struct type *type)
{
	Dwarf_Die resolved, base;
	int size;

	*type = (struct type) { .class = TYPE_OTHER };
	if (!type_resolve(die, &resolved))
		return false;
	size = dwarf_bytesize(&resolved);
	type->size = size > 0 ? size : 0;
	switch (dwarf_tag(&resolved)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		type->class = TYPE_POINTER;
		type->size = 8;
		break;
	case DW_TAG_base_type:
		classify_base(&resolved, type);
		break;
	case DW_TAG_enumeration_type:
		if (type_resolve(&resolved, &base))
			classify_base(&base, type);
		else if (type->size == 4)
			type->class = TYPE_INTEGER;
	}
	return true;
}

void type_name(const struct type *type, char name[16])
{
	if (type->class == TYPE_INTEGER)
		snprintf(name, 16, "%c%u", type->is_signed ? 's' : 'u', type->size * 8);
	else
		snprintf(name, 16, "x64");
}

/* The value of an enumerator, whose form says whether it is signed. */
static bool constant_of(Dwarf_Die *die, u64 *value)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword number;
	Dwarf_Word word;

	if (!dwarf_attr(die, DW_AT_const_value, &attribute))
		return false;
	if (dwarf_whatform(&attribute) == DW_FORM_sdata ||
	    dwarf_whatform(&attribute) == DW_FORM_implicit_const) {
		if (dwarf_formsdata(&attribute, &number))
			return false;
		*value = number;
		return true;
	}
	if (dwarf_formudata(&attribute, &word))
		return false;
	*value = word;
	return true;
}

int type_enumeration(Dwarf_Die *die, const char *name, struct enumeration *enumeration)
{
	Dwarf_Die type, enumerator;
	int result;
	u64 value;

	enumeration_begin(enumeration, name);
	if (!type_resolve(die, &type) || dwarf_tag(&type) != DW_TAG_enumeration_type)
		return 0;
	enumeration->scope = debug_type_name(&type);
	/* In a namespace without a name, or in a function. */
	if (!enumeration->scope && dwarf_diename(&type))
		enumeration->scope = strdup(dwarf_diename(&type));
	for (result = dwarf_child(&type, &enumerator); !result;
	     result = debug_sibling(&enumerator)) {
		const char *text = dwarf_diename(&enumerator);

		if (dwarf_tag(&enumerator) == DW_TAG_enumerator && text &&
		    constant_of(&enumerator, &value) &&
		    enumeration_add(enumeration, text, value))
			return -1;
	}
	return 0;
}

static const char *keyword(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	default:
		return "";
	}
}

/* The number of elements in a dimension; empty if it is not constant. */
static void print_size(Dwarf_Die *range, char size[24])
{
	Dwarf_Attribute attribute;
	Dwarf_Word count;
	Dwarf_Sword last;

	size[0] = '\0';
	if (!dwarf_formudata(dwarf_attr(range, DW_AT_count, &attribute), &count))
		snprintf(size, 24, "%llu", (u64)count);
	else if (!dwarf_formsdata(dwarf_attr(range, DW_AT_upper_bound, &attribute), &last))
		snprintf(size, 24, "%llu", (u64)last + 1);
}

/* Dimensions are in the order of the brackets. */
static void add_dimensions(Dwarf_Die *array, struct declarator *declarator)
{
	Dwarf_Die range;
	char size[24];
	int result;

	for (result = dwarf_child(array, &range); !result && declarator->text;
	     result = debug_sibling(&range)) {
		if (dwarf_tag(&range) != DW_TAG_subrange_type)
			continue;
		print_size(&range, size);
		declarator_array(declarator, size);
	}
}

static char *declare(Dwarf_Die *die, struct declarator *declarator, unsigned int *left);

/* The parameters of a function or of a type of functions, to be freed; or NULL. */
static char *declare_parameters(Dwarf_Die *function, unsigned int *left)
{
	char *text = NULL, *parameter;
	struct declarator declarator;
	const char *between = "", *name;
	Dwarf_Die die;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result;

	for (result = out ? dwarf_child(function, &die) : -1; !result && *left;
	     result = debug_sibling(&die)) {
		if (dwarf_tag(&die) == DW_TAG_unspecified_parameters) {
			fprintf(out, "%s...", between);
		} else if (dwarf_tag(&die) == DW_TAG_formal_parameter) {
			name = dwarf_diename(&die);
			declarator_begin(&declarator, name ? name : "");
			parameter = declare(&die, &declarator, left);
			fprintf(out, "%s%s", between, parameter ? parameter : "...");
			free(parameter);
		} else {
			continue;
		}
		between = ", ";
	}
	if (out && !*between)
		fputs("void", out);
	if (!out || !fclose(out))
		return text;
	free(text);
	return NULL;
}

/* Add a type without name to a declarator; returns false if it has one. */
static bool add_type(Dwarf_Die *type, struct declarator *declarator, unsigned int *left)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_const_type:
		declarator->is_const = true;
		return true;
	case DW_TAG_volatile_type:
		declarator->is_volatile = true;
		return true;
	case DW_TAG_restrict_type:
		declarator->is_restrict = true;
		return true;
	case DW_TAG_atomic_type:
		declarator->is_atomic = true;
		return true;
	case DW_TAG_pointer_type:
		declarator_pointer(declarator, "*");
		return true;
	case DW_TAG_reference_type:
		declarator_pointer(declarator, "&");
		return true;
	case DW_TAG_rvalue_reference_type:
		declarator_pointer(declarator, "&&");
		return true;
	case DW_TAG_array_type:
		add_dimensions(type, declarator);
		return true;
	case DW_TAG_subroutine_type:
		declarator_function(declarator, declare_parameters(type, left));
		return true;
	default:
		return false;
	}
}

/* Complete a declaration by the type that an entry refers to; at most LEFT types are added. */
static char *declare(Dwarf_Die *die, struct declarator *declarator, unsigned int *left)
{
	Dwarf_Die from = *die, type;
	const char *name;

	while (referred(&from, &type)) {
		if (!*left)
			return declarator_end(declarator, "", "...");
		--*left;
		if (!add_type(&type, declarator, left)) {
			name = dwarf_diename(&type);
			return declarator_end(declarator, keyword(dwarf_tag(&type)),
					      name ? name : "{...}");
		}
		from = type;
	}
	return declarator_end(declarator, "", "void");
}

char *type_declare(Dwarf_Die *die, const char *name)
{
	unsigned int left = TYPES_MAX;
	struct declarator declarator;

	declarator_begin(&declarator, name ? name : "");
	return declare(die, &declarator, &left);
}

char *type_declare_function(Dwarf_Die *function, const char *name)
{
	unsigned int left = TYPES_MAX;
	struct declarator declarator;

	declarator_begin(&declarator, name);
	declarator_function(&declarator, declare_parameters(function, &left));
	return declare(function, &declarator, &left);
}
