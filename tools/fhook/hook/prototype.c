// SPDX-License-Identifier: GPL-2.0
/* Prototypes of functions; the header describes them. */
#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>
#include "declarator.h"
#include "lib/json.h"
#include "prototype.h"

/* Damaged type data may be endless: types of a declaration, and characters of a name. */
#define MOST_TYPES	512
#define LONGEST_NAME	511

/**
 * struct declaring - a declaration while it is written
 * @btf: type data
 * @left: number of types that it may still have
 */
struct declaring {
	const struct btf *btf;
	unsigned int left;
};

static const char *name_at(const struct btf *btf, u32 offset)
{
	const char *name = btf__name_by_offset(btf, offset);

	return name && strlen(name) <= LONGEST_NAME ? name : NULL;
}

static const char *function_name(const struct btf *btf, u32 id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *name = type ? name_at(btf, type->name_off) : NULL;

	return name ? name : "";
}

static int compare_names(const void *a, const void *b, void *btf)
{
	return strcmp(function_name(btf, *(const u32 *)a), function_name(btf, *(const u32 *)b));
}

int prototypes_index(struct prototypes *prototypes, struct btf *btf)
{
	const struct btf *base = btf__base_btf(btf);
	u32 id;

	*prototypes = (struct prototypes){ .btf = btf };
	for (id = base ? btf__type_cnt(base) : 1; id < btf__type_cnt(btf); id++) {
		if (!btf_is_func(btf__type_by_id(btf, id)))
			continue;
		if (grow(&prototypes->functions, &prototypes->room, prototypes->nr, sizeof(id)))
			return -1;
		prototypes->functions[prototypes->nr++] = id;
	}
	if (prototypes->nr)
		qsort_r(prototypes->functions, prototypes->nr, sizeof(id), compare_names, btf);
	return 0;
}

void prototypes_free(struct prototypes *prototypes)
{
	free(prototypes->functions);
	btf__free(prototypes->btf);
	memset(prototypes, 0, sizeof(*prototypes));
}

u32 prototype_number(const struct prototypes *prototypes, const char *name)
{
	const struct btf *btf = prototypes->btf;
	const u32 *functions = prototypes->functions;
	size_t at = first_index(prototypes->nr, i,
				strcmp(function_name(btf, functions[i]), name) < 0);
	u32 number = 0;

	for (; at < prototypes->nr && !strcmp(function_name(btf, functions[at]), name); at++) {
		const struct btf_type *function = btf__type_by_id(btf, functions[at]);

		if (number && function->type != number)
			return 0;
		number = function->type;
	}
	return number;
}

static const struct btf_type *next_type(struct declaring *declaring, u32 id)
{
	if (!declaring->left)
		return NULL;
	declaring->left--;
	return btf__type_by_id(declaring->btf, id);
}

static char *declare(struct declaring *declaring, u32 id, const char *name);

/* A function with a variable number of arguments ends in a parameter without type and name. */
static bool is_variable(const struct btf_param *parameter)
{
	return !parameter->type && !parameter->name_off;
}

static char *declare_parameter(struct declaring *declaring, const struct btf_param *parameter)
{
	const char *name = name_at(declaring->btf, parameter->name_off);

	if (is_variable(parameter))
		return strdup("...");
	return name ? declare(declaring, parameter->type, name) : NULL;
}

/* The parameters of a function, to be freed; or NULL. */
static char *declare_parameters(struct declaring *declaring, const struct btf_type *type)
{
	unsigned int i, nr = btf_vlen(type);
	char *text = NULL, *parameter;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool failed = !out;

	if (out && !nr)
		fputs("void", out);
	for (i = 0; i < nr && !failed; i++) {
		parameter = declare_parameter(declaring, btf_params(type) + i);
		failed = !parameter;
		if (parameter)
			fprintf(out, "%s%s", i ? ", " : "", parameter);
		free(parameter);
	}
	if (out && fclose(out))
		failed = true;
	if (!failed)
		return text;
	free(text);
	return NULL;
}

/* "struct " and the like, or NULL if the type is none that has a name. */
static const char *keyword(const struct btf_type *type)
{
	switch (btf_kind(type)) {
	case BTF_KIND_STRUCT:
		return "struct ";
	case BTF_KIND_UNION:
		return "union ";
	case BTF_KIND_FWD:
		return btf_kflag(type) ? "union " : "struct ";
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return "enum ";
	case BTF_KIND_UNKN:
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPEDEF:
		return "";
	default:
		return NULL;
	}
}

static void add_tag(struct declaring *declaring, const struct btf_type *type,
		    struct declarator *declarator)
{
	const char *name = name_at(declaring->btf, type->name_off);
	char attribute[LONGEST_NAME + 3];

	snprintf(attribute, sizeof(attribute), "__%s", name ? name : "");
	/* Other attributes than tags have the flag. */
	if (!btf_kflag(type))
		declarator_attribute(declarator, attribute);
}

/*
 * Add a type without name to a declarator. Returns the number of the type that it refers to, or
 * -1.
 */
static s64 add_type(struct declaring *declaring, const struct btf_type *type,
		    struct declarator *declarator)
{
	char size[16];

	switch (btf_kind(type)) {
	case BTF_KIND_CONST:
		declarator->is_const = true;
		return type->type;
	case BTF_KIND_VOLATILE:
		declarator->is_volatile = true;
		return type->type;
	case BTF_KIND_RESTRICT:
		declarator->is_restrict = true;
		return type->type;
	case BTF_KIND_TYPE_TAG:
		add_tag(declaring, type, declarator);
		return type->type;
	case BTF_KIND_PTR:
		declarator_pointer(declarator, "*");
		return type->type;
	case BTF_KIND_ARRAY:
		snprintf(size, sizeof(size), "%u", btf_array(type)->nelems);
		declarator_array(declarator, size);
		return btf_array(type)->type;
	case BTF_KIND_FUNC_PROTO:
		declarator_function(declarator, declare_parameters(declaring, type));
		return type->type;
	default:
		return -1;
	}
}

/* The declaration of NAME, which may be empty, to be freed; or NULL. */
static char *declare(struct declaring *declaring, u32 id, const char *name)
{
	const struct btf_type *type = next_type(declaring, id);
	struct declarator declarator;
	s64 next = 0;

	declarator_begin(&declarator, name);
	while (declarator.text && type && !keyword(type)) {
		next = add_type(declaring, type, &declarator);
		type = next < 0 ? NULL : next_type(declaring, next);
	}
	name = !type ? NULL : btf_is_void(type) ? "void" :
	       type->name_off ? name_at(declaring->btf, type->name_off) : "{...}";
	if (name)
		return declarator_end(&declarator, keyword(type), name);
	declarator_fail(&declarator);
	return NULL;
}

char *prototype_text(const struct prototypes *prototypes, u32 number, const char *name)
{
	struct declaring declaring = { prototypes->btf, MOST_TYPES };
	const struct btf_type *type = btf__type_by_id(prototypes->btf, number);

	return type && btf_is_func_proto(type) ? declare(&declaring, number, name) : NULL;
}

/* Print a type as a JSON string. Returns 0 or -1. */
static int print_type(struct declaring *declaring, u32 id, FILE *out)
{
	char *text = declare(declaring, id, "");

	if (text)
		json_string(out, text);
	free(text);
	return text ? 0 : -1;
}

static int print_parameter(struct declaring *declaring, const struct btf_param *parameter,
			   FILE *out)
{
	const char *name = name_at(declaring->btf, parameter->name_off);

	if (!name)
		return -1;
	fputs("{\"type\":", out);
	if (is_variable(parameter))
		fputs("\"...\"", out);
	else if (print_type(declaring, parameter->type, out))
		return -1;
	fputs(",\"name\":", out);
	json_string(out, name);
	fputs("}", out);
	return 0;
}

static int print_prototype(struct declaring *declaring, const struct btf_type *type, FILE *out)
{
	unsigned int i;

	fputs(",\"returns\":", out);
	if (print_type(declaring, type->type, out))
		return -1;
	fputs(",\"parameters\":[", out);
	for (i = 0; i < btf_vlen(type); i++) {
		fputs(i ? "," : "", out);
		if (print_parameter(declaring, btf_params(type) + i, out))
			return -1;
	}
	fputs("]", out);
	return 0;
}

char *prototype_json(const struct prototypes *prototypes, u32 number)
{
	struct declaring declaring = { prototypes->btf, MOST_TYPES };
	const struct btf_type *type = btf__type_by_id(prototypes->btf, number);
	char *text = NULL;
	size_t size;
	FILE *out = type && btf_is_func_proto(type) ? open_memstream(&text, &size) : NULL;
	int result = out ? print_prototype(&declaring, type, out) : -1;

	if (out && fclose(out))
		result = -1;
	if (!result)
		return text;
	free(text);
	return NULL;
}
