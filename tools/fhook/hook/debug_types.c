// SPDX-License-Identifier: GPL-2.0
/*
 * Definitions of types that a unit of the debug information only declares
 *
 * They are looked for in all units, by their names with namespaces: types of several namespaces
 * may have the same short name.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "debug.h"

/* Namespaces and types around a type. */
#define DEPTH_MAX	16

/**
 * struct search - a search for a definition
 * @name: name of the type, with namespaces
 * @tag: kind of the type
 * @found: the definition, or zeros
 * @differs: there are different definitions
 */
struct search {
	const char *name;
	int tag;
	Dwarf_Die found;
	bool differs;
};

static bool is_structure(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type;
}

/* May a type with a name of its own be in an entry of this kind? */
static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || is_structure(tag);
}

/* The child of PARENT that contains or is DIE: entries are in order. */
static bool find_around(Dwarf_Die *parent, Dwarf_Die *die, Dwarf_Die *found)
{
	Dwarf_Die child;
	bool any = false;
	int result;

	for (result = dwarf_child(parent, &child);
	     !result && dwarf_dieoffset(&child) <= dwarf_dieoffset(die);
	     result = debug_sibling(&child)) {
		*found = child;
		any = true;
	}
	return any;
}

/* The entry that declares in a namespace or class what is defined outside of it. */
static bool specification_of(Dwarf_Die *die, Dwarf_Die *declaration)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, DW_AT_specification, &attribute) &&
	       dwarf_formref_die(&attribute, declaration);
}

char *debug_type_name(Dwarf_Die *die)
{
	char *text = NULL, *longer;
	Dwarf_Die at, child, type;
	unsigned int depth;
	const char *name;

	if (!specification_of(die, &type))
		type = *die;
	if (!dwarf_diecu(&type, &at, NULL, NULL))
		return NULL;
	for (depth = 0; depth < DEPTH_MAX && find_around(&at, &type, &child); depth++) {
		name = dwarf_diename(&child) ?: child.addr == type.addr ? "" : NULL;
		if (!name || (child.addr != type.addr && !is_scope(dwarf_tag(&child))) ||
		    asprintf(&longer, "%s%s%s", text ? text : "", text ? "::" : "", name) < 0)
			break;
		free(text);
		text = longer;
		if (child.addr == type.addr)
			return text;
		at = child;
	}
	free(text);
	return NULL;
}

/* May a type be declared with one of these tags, and defined with the other? */
static bool same_kind(int tag, int other)
{
	return tag == other ||
	       (tag == DW_TAG_class_type && other == DW_TAG_structure_type) ||
	       (tag == DW_TAG_structure_type && other == DW_TAG_class_type);
}

bool debug_same_source(Dwarf_Die *one, Dwarf_Die *two)
{
	int lines[] = { 0, 0 }, i;
	const char *files[2];

	files[0] = dwarf_decl_file(one);
	files[1] = dwarf_decl_file(two);
	dwarf_decl_line(one, &lines[0]);
	dwarf_decl_line(two, &lines[1]);
	for (i = 0; i < 2; i++)
		if (files[i] && strrchr(files[i], '/'))
			files[i] = strrchr(files[i], '/') + 1;
	return dwarf_bytesize(one) == dwarf_bytesize(two) && lines[0] == lines[1] &&
	       (files[0] && files[1] ? !strcmp(files[0], files[1]) : files[0] == files[1]);
}

/* Is an entry at whose place REST of the name is expected the type? */
static bool is_type(const struct search *search, Dwarf_Die *die, const char *rest)
{
	const char *name = dwarf_diename(die);
	Dwarf_Die declaration;
	char *whole;
	bool same;

	if (!name || dwarf_hasattr(die, DW_AT_declaration))
		return false;
	if (!specification_of(die, &declaration))
		return !strcmp(name, rest);
	if (!strstr(search->name, name))
		return false;
	whole = debug_type_name(die);
	same = whole && !strcmp(whole, search->name);
	free(whole);
	return same;
}

/* The part of a name after that of an entry and "::"; NULL if it begins otherwise. */
static const char *name_after(const char *rest, const char *name)
{
	const size_t length = name ? strlen(name) : 0;

	return length && !strncmp(rest, name, length) && !strncmp(rest + length, "::", 2) ?
	       rest + length + 2 : NULL;
}

static void search_among(struct search *search, Dwarf_Die *parent, const char *rest,
			 unsigned int depth)
{
	const bool deep = depth < DEPTH_MAX && strstr(rest, "::");
	const char *after;
	Dwarf_Die child;
	int result, tag;

	for (result = dwarf_child(parent, &child); !result; result = debug_sibling(&child)) {
		tag = dwarf_tag(&child);
		if (same_kind(tag, search->tag) && is_type(search, &child, rest)) {
			search->differs |= search->found.addr &&
					   !debug_same_source(&search->found, &child);
			search->found = child;
		}
		after = deep && is_scope(tag) ? name_after(rest, dwarf_diename(&child)) : NULL;
		if (after)
			search_among(search, &child, after, depth + 1);
	}
}

/* The definition of a type, or zeros. */
static Dwarf_Die search_all(struct debug *debug, const char *name, int tag)
{
	struct search search = { .name = name, .tag = tag };
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(debug->file.module, &bias);

	while (dwarf && !search.differs &&
	       !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, &split))
		search_among(&search, debug_entries(&die, &split), name, 0);
	return search.differs ? (Dwarf_Die) { } : search.found;
}

/* Look for a type, or take what was found before. NAME is freed, or kept. */
static Dwarf_Die find_type(struct debug *debug, char *name, int tag)
{
	Dwarf_Die die;
	size_t i;

	for (i = 0; i < debug->nr_types; i++) {
		if (debug->types[i].tag != tag || strcmp(debug->types[i].name, name))
			continue;
		free(name);
		return debug->types[i].die;
	}
	die = search_all(debug, name, tag);
	if (grow(&debug->types, &debug->room_types, debug->nr_types, sizeof(*debug->types)))
		free(name);
	else
		debug->types[debug->nr_types++] = (struct debug_type) { name, tag, die };
	return die;
}

int debug_definition(struct debug *debug, Dwarf_Die *die)
{
	char *name = debug_type_name(die);
	Dwarf_Die found;

	if (!name)
		return -1;
	found = find_type(debug, name, dwarf_tag(die));
	if (!found.addr)
		return -1;
	*die = found;
	return 0;
}

void debug_free_types(struct debug *debug)
{
	size_t i;

	for (i = 0; i < debug->nr_types; i++)
		free(debug->types[i].name);
	free(debug->types);
}
