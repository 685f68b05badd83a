// SPDX-License-Identifier: GPL-2.0
/* Members of structures, by DWARF; the header describes the function. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/list.h"
#include "member.h"
#include "type.h"

/* Structures without names in structures, and base classes. */
#define DEPTH_MAX	16
/* Members of these that are looked at; types of a damaged file may contain themselves. */
#define VISITS_MAX	100000
/* The largest offset that is believed; the kernel reads offsets as longs. */
#define OFFSET_MAX	0xffffffffffull

/**
 * struct place - a member while the path is followed
 * @die: entry that refers to its type
 * @address: expression of the address of the structure around it
 * @bits: offset in the structure, in bits
 * @width: width of a bit-field, or 0
 * @in_memory: it is a member, and not the parameter
 */
struct place {
	Dwarf_Die die;
	char address[PROGRAM_VALUE_TEXT];
	u64 bits, width;
	bool in_memory;
};

/* DWARF 2 has offsets of members as expressions. */
static bool number_of(Dwarf_Die *die, unsigned int name, u64 *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;
	Dwarf_Op *op;
	size_t nr;

	if (!dwarf_attr_integrate(die, name, &attribute))
		return false;
	if (!dwarf_formudata(&attribute, &word))
		*number = word;
	else if (!dwarf_getlocation(&attribute, &op, &nr) && nr == 1 &&
		 op->atom == DW_OP_plus_uconst)
		*number = op->number;
	else
		return false;
	return true;
}

/* An offset from the highest bit of a unit; it is negative if the bit-field ends after it. */
static bool offset_from_top(Dwarf_Die *die, s64 *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword word;

	if (!dwarf_attr_integrate(die, DW_AT_bit_offset, &attribute) ||
	    dwarf_formsdata(&attribute, &word))
		return false;
	*number = word;
	return true;
}

/*
 * The offset of a member in bits. Without a location it is at the start, as in a union; that
 * of a virtual base class is computed, and refused.
 */
static bool offset_of(Dwarf_Die *die, u64 *bits, u64 *width)
{
	u64 bytes = 0, at = 0, unit = 0;
	Dwarf_Die type;
	s64 top, first;

	if (dwarf_hasattr(die, DW_AT_data_member_location) &&
	    !number_of(die, DW_AT_data_member_location, &bytes))
		return false;
	*width = 0;
	number_of(die, DW_AT_bit_size, width);
	if (number_of(die, DW_AT_data_bit_offset, &at)) {
		*bits = at;
	} else if (*width && offset_from_top(die, &top)) {
		if (!number_of(die, DW_AT_byte_size, &unit) && type_resolve(die, &type))
			number_of(&type, DW_AT_byte_size, &unit);
		if (unit > 8 || top < -64 || top > 64 || *width > 64 || bytes > OFFSET_MAX)
			return false;
		first = (bytes + unit) * 8 - top - *width;
		if (first < 0)
			return false;
		*bits = first;
	} else {
		*bits = bytes * 8;
	}
	return bytes <= OFFSET_MAX && *bits <= OFFSET_MAX * 8 && *width <= 64;
}

static bool is_structure(Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type;
}

/* Members that all objects share are not in the object. */
static bool is_in_object(Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);

	return tag == DW_TAG_inheritance ||
	       (tag == DW_TAG_member && !dwarf_hasattr(die, DW_AT_declaration) &&
		!dwarf_hasattr(die, DW_AT_external));
}

/* Find the members of a structure, which may be declared here, and defined elsewhere. */
static bool complete(struct debug *debug, Dwarf_Die *die)
{
	return !dwarf_hasattr(die, DW_AT_declaration) || !debug_definition(debug, die);
}

/**
 * struct search - a search for a member
 * @name: name of the member
 * @length: length of @name
 * @names: names of all members, for suggestions
 * @left: number of members that may still be looked at
 */
struct search {
	const char *name;
	size_t length;
	struct list names;
	unsigned int left;
};

static bool find(Dwarf_Die *structure, struct search *search, struct place *place,
		 unsigned int depth);

/*
 * Find a member, also in structures without names, and then in base classes, whose members of
 * the same name it hides; adds to PLACE->bits.
 */
static bool find_among(Dwarf_Die *structure, bool bases, struct search *search,
		       struct place *place, unsigned int depth)
{
	Dwarf_Die die, inner;
	const char *name;
	u64 bits, width;
	int result;

	for (result = dwarf_child(structure, &die); !result && search->left;
	     result = debug_sibling(&die)) {
		search->left--;
		if ((dwarf_tag(&die) == DW_TAG_inheritance) != bases || !is_in_object(&die) ||
		    !offset_of(&die, &bits, &width))
			continue;
		name = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;
		if (name && strlen(name) == search->length &&
		    !strncmp(name, search->name, search->length)) {
			place->die = die;
			place->width = width;
			place->bits += bits;
			return true;
		}
		if (name) {
			list_remember(&search->names, name);
			continue;
		}
		place->bits += bits;
		if (type_resolve(&die, &inner) && is_structure(&inner) &&
		    find(&inner, search, place, depth + 1))
			return true;
		place->bits -= bits;
	}
	return false;
}

static bool find(Dwarf_Die *structure, struct search *search, struct place *place,
		 unsigned int depth)
{
	if (depth == DEPTH_MAX)
		return false;
	return find_among(structure, false, search, place, depth) ||
	       find_among(structure, true, search, place, depth);
}

static int say_type(Dwarf_Die *die, const char *format, const char *path, struct fault *fault)
{
	char *text = type_declare(die, NULL);

	if (text)
		text_clean(text);
	fault_say(fault, format, path, text ? text : "another one");
	free(text);
	return -1;
}

/* The expression that reads the member. */
static int read_place(struct place *place, char text[PROGRAM_VALUE_TEXT], struct fault *fault)
{
	if (snprintf(text, PROGRAM_VALUE_TEXT, "+%llu(%s)", place->bits / 8, place->address) <
	    PROGRAM_VALUE_TEXT)
		return 0;
	fault_say(fault, "%s is reached by too many pointers", dwarf_diename(&place->die));
	text_clean(fault->text);
	return -1;
}

/* Go to the structure that the member, which is a pointer, leads to. */
static int follow(struct place *place, struct fault *fault)
{
	char text[PROGRAM_VALUE_TEXT];

	if (!place->in_memory)
		return 0;
	if (read_place(place, text, fault))
		return -1;
	memcpy(place->address, text, sizeof(text));
	place->bits = 0;
	return 0;
}

/* Go to the structure of which a member follows, after "->" (POINTER) or a dot. */
static int enter(struct place *place, bool pointer, const char *path, Dwarf_Die *structure,
		 struct fault *fault)
{
	int tag = 0;

	if (!place->width && type_resolve(&place->die, structure))
		tag = dwarf_tag(structure);
	if (!pointer && tag == DW_TAG_pointer_type)
		return fault_say(fault, "'%s' follows a pointer: write -> in place of the dot",
				 path);
	if (tag && is_structure(structure))
		return !pointer ? 0 :
		       fault_say(fault, "'%s' follows a structure: write a dot in place of ->",
				 path);
	/* A reference is a pointer, although it is written like the structure. */
	if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	    tag == DW_TAG_rvalue_reference_type) {
		Dwarf_Die target = *structure;

		if (type_resolve(&target, structure) && is_structure(structure))
			return !pointer || tag == DW_TAG_pointer_type ? follow(place, fault) :
			       fault_say(fault,
					 "'%s' follows a reference: write a dot in place of ->",
					 path);
	}
	return say_type(&place->die, "'%s' follows a value of type %s, which has no members", path,
			fault);
}

static int say_missing(const struct search *search, Dwarf_Die *structure, struct fault *fault)
{
	const char *type = dwarf_diename(structure), *near;
	char *name = strndup(search->name, search->length);

	near = name ? list_near(&search->names, name) : NULL;
	fault_say(fault, "%s has no member %s that can be read%s%s", type ? type : "the structure",
		  name ? name : "", near ? "; the nearest name is " : "", near ? near : "");
	text_clean(fault->text);
	free(name);
	return -1;
}

static void say_incomplete(Dwarf_Die *structure, const char *path, struct fault *fault)
{
	char *name = debug_type_name(structure);

	fault_say(fault,
		  "'%s' needs the members of %s, which the debug information lacks or defines differently",
		  path, name ? name : "a structure without a name, or of a function");
	text_clean(fault->text);
	free(name);
}

/* Go to the member that PATH begins with; returns the text after it, or NULL. */
static const char *step(struct debug *debug, struct place *place, const char *path,
			struct fault *fault)
{
	const bool pointer = *path == '-';
	struct search search = { .name = path + (pointer ? 2 : 1), .left = VISITS_MAX };
	Dwarf_Die structure;
	int result;

	search.length = strcspn(search.name, "-.");
	if (enter(place, pointer, path, &structure, fault))
		return NULL;
	if (!complete(debug, &structure)) {
		say_incomplete(&structure, path, fault);
		return NULL;
	}
	result = find(&structure, &search, place, 0) ? 0 :
		 say_missing(&search, &structure, fault);
	list_free(&search.names);
	place->in_memory = true;
	return result ? NULL : search.name + search.length;
}

/* Is a type an array with one dimension of the type char? */
static bool is_text(Dwarf_Die *array)
{
	Dwarf_Die element, die;
	const char *name;
	unsigned int dimensions = 0;
	int result;

	if (!type_resolve(array, &element) || dwarf_tag(&element) != DW_TAG_base_type)
		return false;
	for (result = dwarf_child(array, &die); !result; result = debug_sibling(&die))
		dimensions += dwarf_tag(&die) == DW_TAG_subrange_type;
	name = dwarf_diename(&element);
	/* That of Rust has four bytes. */
	return dimensions == 1 && name && !strcmp(name, "char") && dwarf_bytesize(&element) == 1;
}

/* A bit-field is read by the least bytes that have it. */
static int set_bits(struct place *place, struct program_value *value, struct fault *fault)
{
	const unsigned int first = place->bits % 8, width = place->width;
	unsigned int size = 8;

	while (size < first + width)
		size *= 2;
	if (size <= 64) {
		snprintf(value->type, sizeof(value->type), "b%u@%u/%u", width, first, size);
		return 0;
	}
	fault_say(fault, "the bit-field %s is in more than eight bytes",
		  dwarf_diename(&place->die));
	text_clean(fault->text);
	return -1;
}

/* Set the expression and type that read the member. */
static int set_value(struct place *place, struct program_value *value, struct fault *fault)
{
	Dwarf_Die resolved;
	struct type type;

	if (!type_resolve(&place->die, &resolved) || dwarf_hasattr(&resolved, DW_AT_signature)) {
		fault_say(fault, "the debug information lacks the type of %s",
			  dwarf_diename(&place->die));
		text_clean(fault->text);
		return -1;
	}
	if (read_place(place, value->text, fault))
		return -1;
	if (place->width)
		return set_bits(place, value, fault);
	type_of(&place->die, &type);
	if (type.class == TYPE_INTEGER || type.class == TYPE_POINTER) {
		type_name(&type, value->type);
		return 0;
	}
	value->is_memory = true;
	value->type[0] = '\0';
	if (dwarf_tag(&resolved) == DW_TAG_array_type && is_text(&resolved))
		snprintf(value->type, sizeof(value->type), "string");
	return 0;
}

int member_value(struct debug *debug, const char *path, struct program_value *value,
		 struct fault *fault)
{
	struct place place = { .die = value->die };

	memcpy(place.address, value->text, sizeof(place.address));
	do {
		path = step(debug, &place, path, fault);
	} while (path && *path);
	if (!path || set_value(&place, value, fault))
		return -1;
	value->die = place.die;
	return 0;
}
