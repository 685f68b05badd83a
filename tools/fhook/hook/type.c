// SPDX-License-Identifier: GPL-2.0
/* Types of DWARF; the header describes them. */
#include <dwarf.h>
#include "debug.h"
#include "type.h"

#define CHAIN_MAX	32

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

static const char *prefix_of(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	case DW_TAG_subroutine_type:
		return "function";
	case DW_TAG_array_type:
		return "array";
	default:
		return "";
	}
}

static const char *qualifier_of(int tag)
{
	switch (tag) {
	case DW_TAG_const_type:
		return "const";
	case DW_TAG_volatile_type:
		return "volatile";
	case DW_TAG_restrict_type:
		return "restrict";
	default:
		return "_Atomic";
	}
}

/* Does a name follow what was printed of a type without a blank? */
static bool print_depth(Dwarf_Die *die, FILE *out, unsigned int depth);

/* A qualifier is before a name, but after a pointer. */
static bool print_qualified(Dwarf_Die *type, FILE *out, unsigned int depth)
{
	const char *qualifier = qualifier_of(dwarf_tag(type));
	Dwarf_Die inner;

	if (referred(type, &inner) && dwarf_tag(&inner) == DW_TAG_pointer_type) {
		print_depth(type, out, depth);
		fputs(qualifier, out);
		return false;
	}
	fprintf(out, "%s ", qualifier);
	return print_depth(type, out, depth);
}

static bool print_pointer(Dwarf_Die *type, const char *mark, FILE *out, unsigned int depth)
{
	const bool joined = print_depth(type, out, depth);

	fprintf(out, "%s%s", joined ? "" : " ", mark);
	return true;
}

static bool print_depth(Dwarf_Die *die, FILE *out, unsigned int depth)
{
	const char *name;
	Dwarf_Die type;
	int tag;

	if (depth == CHAIN_MAX || !referred(die, &type)) {
		fputs(depth == CHAIN_MAX ? "..." : "void", out);
		return false;
	}
	tag = dwarf_tag(&type);
	if (tag == DW_TAG_pointer_type)
		return print_pointer(&type, "*", out, depth + 1);
	if (tag == DW_TAG_reference_type)
		return print_pointer(&type, "&", out, depth + 1);
	if (tag == DW_TAG_rvalue_reference_type)
		return print_pointer(&type, "&&", out, depth + 1);
	if (is_qualifier(tag))
		return print_qualified(&type, out, depth + 1);
	name = dwarf_diename(&type);
	fputs(prefix_of(tag), out);
	if (tag != DW_TAG_subroutine_type && tag != DW_TAG_array_type)
		fputs(name ? name : "{...}", out);
	return false;
}

void type_print(Dwarf_Die *die, const char *name, FILE *out)
{
	const bool joined = print_depth(die, out, 0);

	if (name)
		fprintf(out, "%s%s", joined ? "" : " ", name);
}
