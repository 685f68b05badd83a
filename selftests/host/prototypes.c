// SPDX-License-Identifier: GPL-2.0
/*
 * Print prototypes from a file of type data, in each form, as "fhook list" does from those of
 * the kernel; and names of values of parameters and members, as "fhook trace" finds them
 *
 * Usage: prototypes FILE [-b EXTENSION] NAME|NAME:PARAMETER->MEMBER...
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include "hook/kernel_enums.h"

static void print(const struct prototypes *prototypes, const char *name)
{
	const u32 number = prototype_number(prototypes, name);
	char *text = number ? prototype_text(prototypes, number, name) : NULL;
	char *json = number ? prototype_json(prototypes, number) : NULL;

	puts(text ? text : number ? "damaged" : "none");
	puts(json ? json : number ? "damaged" : "none");
	free(text);
	free(json);
}

static void print_names(const struct prototypes *prototypes, const char *text)
{
	const char *path = strchr(text, ':') + 1;
	char *function = strndup(text, path - 1 - text);
	struct enumeration names;
	struct fault fault;
	size_t i;

	if (kernel_enums_check(prototypes, function, path, &fault))
		printf("%s ", fault.text);
	if (kernel_enums_find(prototypes, function, path, &names))
		puts("too many");
	for (i = 0; i < names.nr; i++)
		printf("%s=%llu ", names.all[i].name, names.all[i].value);
	printf("(%u bits)\n", names.bits);
	enumeration_free(&names);
	free(function);
}

int main(int argc, char **argv)
{
	struct prototypes prototypes;
	struct btf *base, *btf;
	int i = 2;

	libbpf_set_print(NULL);
	base = argc > 1 ? btf__parse(argv[1], NULL) : NULL;
	btf = base;
	if (base && argc > 3 && !strcmp(argv[2], "-b")) {
		btf = btf__parse_split(argv[3], base);
		i = 4;
	}
	if (!btf || prototypes_index(&prototypes, btf)) {
		fprintf(stderr, "prototypes: the type data cannot be read\n");
		return 1;
	}
	for (; i < argc; i++) {
		if (strchr(argv[i], ':'))
			print_names(&prototypes, argv[i]);
		else
			print(&prototypes, argv[i]);
	}
	prototypes_free(&prototypes);
	if (btf != base)
		btf__free(base);
	return 0;
}
