// SPDX-License-Identifier: GPL-2.0
/* Names of the values of the kernel's arguments; the header describes the functions. */
#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>
#include "kernel_enums.h"

/* Damaged type data may be endless: types that name others, and members without names. */
#define CHAIN_MAX	32
#define VISITS_MAX	100000

/* Room for the name of a function. */
#define FUNCTION_ROOM	512

/* A type without its names and qualifiers, or NULL. */
static const struct btf_type *resolve(const struct btf *btf, u32 id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	unsigned int i;

	for (i = 0; type && i < CHAIN_MAX; i++) {
		if (!btf_is_mod(type) && !btf_is_typedef(type))
			return type;
		type = btf__type_by_id(btf, type->type);
	}
	return NULL;
}

static bool has_name(const struct btf *btf, u32 offset, const char *name, size_t length)
{
	const char *found = btf__name_by_offset(btf, offset);

	return found && strlen(found) == length && !strncmp(found, name, length);
}

/*
 * The type of a member, also of one of a structure without name; NULL if there is none. WIDTH
 * receives that of a bit-field, or 0.
 */
static const struct btf_type *find_member(const struct btf *btf, const struct btf_type *type,
					  const char *name, size_t length, unsigned int depth,
					  unsigned int *left, u32 *width)
{
	const struct btf_type *found = NULL, *inner;
	unsigned int i;

	if (depth == CHAIN_MAX || !type || !btf_is_composite(type))
		return NULL;
	for (i = 0; i < btf_vlen(type) && !found && *left; i++) {
		const struct btf_member *member = btf_members(type) + i;

		--*left;
		inner = resolve(btf, member->type);
		if (has_name(btf, member->name_off, name, length)) {
			*width = btf_member_bitfield_size(type, i);
			return inner;
		}
		if (!member->name_off)
			found = find_member(btf, inner, name, length, depth + 1, left, width);
	}
	return found;
}

static const struct btf_type *find_parameter(const struct btf *btf, const struct btf_type *function,
					     const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < btf_vlen(function); i++) {
		const struct btf_param *parameter = btf_params(function) + i;

		if (has_name(btf, parameter->name_off, name, length))
			return resolve(btf, parameter->type);
	}
	return NULL;
}

/* The type at the end of a path, or NULL; and the width of a bit-field, or 0. */
static const struct btf_type *follow(const struct btf *btf, const struct btf_type *function,
				     const char *path, u32 *width)
{
	size_t length = strcspn(path, "-.");
	const struct btf_type *type = find_parameter(btf, function, path, length);
	unsigned int left = VISITS_MAX;

	for (path += length; type && *path; path += length) {
		if (*path == '-')
			type = btf_is_ptr(type) && path[1] ? resolve(btf, type->type) : NULL;
		path += *path == '-' && path[1] ? 2 : 1;
		length = strcspn(path, "-.");
		type = find_member(btf, type, path, length, 0, &left, width);
	}
	return type;
}

static int add_all(const struct btf *btf, const struct btf_type *type,
		   struct enumeration *enumeration)
{
	unsigned int i;
	int result = 0;

	for (i = 0; i < btf_vlen(type) && !result; i++) {
		const bool large = btf_is_enum64(type);
		const u32 offset = large ? btf_enum64(type)[i].name_off :
				   btf_enum(type)[i].name_off;
		const char *name = btf__name_by_offset(btf, offset);

		if (name)
			result = enumeration_add(enumeration, name,
						 large ? btf_enum64_value(btf_enum64(type) + i) :
						 (u64)btf_enum(type)[i].val);
	}
	return result;
}

int kernel_enums_find(const struct prototypes *prototypes, const char *name, const char *path,
		      struct enumeration *enumeration)
{
	const u32 number = prototype_number(prototypes, name);
	const struct btf_type *type = number ? btf__type_by_id(prototypes->btf, number) : NULL;
	char bits[16];
	u32 width = 0;

	*enumeration = (struct enumeration) { };
	if (type && btf_is_func_proto(type))
		type = follow(prototypes->btf, type, path, &width);
	if (!type || (!btf_is_enum(type) && !btf_is_enum64(type)))
		return 0;
	snprintf(bits, sizeof(bits), "b%u", width);
	/* The kernel records them as these types, whatever their size and sign. */
	enumeration_begin(enumeration, width ? bits : btf_is_enum(type) ? "s32" : "s64");
	return add_all(prototypes->btf, type, enumeration);
}

static bool has_parameter(const struct btf *btf, const struct btf_type *function,
			  const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < btf_vlen(function); i++)
		if (has_name(btf, btf_params(function)[i].name_off, name, length))
			return true;
	return false;
}

static int say_parameters(const struct btf *btf, const struct btf_type *function,
			  const char *name, const char *path, struct fault *fault)
{
	char *names = NULL;
	unsigned int i;
	size_t size;
	FILE *out = open_memstream(&names, &size);

	for (i = 0; out && i < btf_vlen(function); i++) {
		const char *found = btf__name_by_offset(btf, btf_params(function)[i].name_off);

		fprintf(out, "%s%s", i ? ", " : "", found && *found ? found : "...");
	}
	if (out)
		fclose(out);
	fault_say(fault, "%s has no parameter %.*s: it has %s", name, (int)strcspn(path, "-."),
		  path, names && *names ? names : "none");
	free(names);
	return -1;
}

/* The type of the first LENGTH letters of a path, or NULL. */
static const struct btf_type *type_at(const struct btf *btf, const struct btf_type *function,
				      const char *path, size_t length)
{
	char *part = strndup(path, length);
	const struct btf_type *type;
	u32 width;

	type = part ? follow(btf, function, part, &width) : NULL;
	free(part);
	return type;
}

/* The member of a path after LENGTH letters, which have this type, is not found. */
static int say_member(const struct btf_type *type, const char *path, size_t length,
		      struct fault *fault)
{
	const bool arrow = path[length] == '-';
	const char *member = path + length + 1 + arrow;
	const int letters = strcspn(member, "-.");

	if (!arrow && type && btf_is_ptr(type))
		return fault_say(fault, "'.%.*s' follows a pointer: write -> in place of the dot",
				 letters, member);
	if (arrow && type && btf_is_composite(type))
		return fault_say(fault, "'->%.*s' follows a structure: write a dot in place of ->",
				 letters, member);
	return fault_say(fault, "%.*s has no member %.*s", (int)length, path, letters, member);
}

int kernel_enums_check(const struct prototypes *prototypes, const char *name, const char *path,
		       struct fault *fault)
{
	const u32 number = prototype_number(prototypes, name);
	const struct btf *btf = prototypes->btf;
	const struct btf_type *function = number ? btf__type_by_id(btf, number) : NULL;
	const struct btf_type *type, *next;
	size_t length = strcspn(path, "-."), end;

	if (!function || !btf_is_func_proto(function))
		return 0;
	if (!has_parameter(btf, function, path, length))
		return say_parameters(btf, function, name, path, fault);
	for (type = type_at(btf, function, path, length); path[length]; type = next) {
		end = length + (path[length] == '-' ? 2 : 1);
		end += strcspn(path + end, "-.");
		next = type_at(btf, function, path, end);
		if (!next)
			return say_member(type, path, length, fault);
		length = end;
	}
	return 0;
}

/* A name without a type, and no register or address? */
static bool is_path(const char *value)
{
	return !strpbrk(value, ":$%+@(\\") && !strchr("-0123456789", *value);
}

static bool may_have_names(const struct spec *spec)
{
	unsigned int i;

	for (i = 0; i < spec->nr; i++)
		if (is_path(spec->values[i]))
			return true;
	return false;
}

/* The functions among which one is, and its name without the module. */
static const struct prototypes *split(struct kernel_types *types, const char *pattern,
				      char name[FUNCTION_ROOM])
{
	const char *colon = strstr(pattern, ":mod:");

	snprintf(name, FUNCTION_ROOM, "%.*s", (int)strcspn(pattern, ":"), pattern);
	return kernel_types_of(types, colon ? colon + strlen(":mod:") : "");
}

static void take(struct call_event *event, struct kernel_types *types)
{
	const struct spec *spec = &event->spec;
	const struct prototypes *prototypes;
	char function[FUNCTION_ROOM];
	struct enumeration names;
	unsigned int i;

	prototypes = split(types, spec->pattern, function);
	for (i = 0; prototypes && i < spec->nr; i++) {
		if (!is_path(spec->values[i]))
			continue;
		if (kernel_enums_find(prototypes, function, spec->values[i], &names))
			enumeration_free(&names);
		call_event_take(event, i, &names);
	}
}

void kernel_enums_take(struct kernel_types *types, struct call_event *event)
{
	struct fault ignored;

	if (strpbrk(event->spec.pattern, "*?[") || !may_have_names(&event->spec))
		return;
	if (!kernel_types_open(types, &ignored))
		take(event, types);
}

int kernel_enums_check_name(struct kernel_types *types, const char *pattern, const char *path,
			    struct fault *fault)
{
	const struct prototypes *prototypes;
	char function[FUNCTION_ROOM];
	struct fault ignored;

	if (strpbrk(pattern, "*?[") || kernel_types_open(types, &ignored))
		return 0;
	prototypes = split(types, pattern, function);
	return prototypes ? kernel_enums_check(prototypes, function, path, fault) : 0;
}
