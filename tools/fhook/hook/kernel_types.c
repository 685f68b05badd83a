// SPDX-License-Identifier: GPL-2.0
/* Type data of the running kernel; the header describes the functions. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "kernel_types.h"

#define KERNEL_TYPES	"/sys/kernel/btf/vmlinux"

static int read_types(struct kernel_types *types, struct fault *fault)
{
	struct btf *btf;

	libbpf_set_print(NULL);
	btf = btf__load_vmlinux_btf();
	if (!btf && access(KERNEL_TYPES, F_OK))
		return fault_say(fault,
				 "prototypes need CONFIG_DEBUG_INFO_BTF, which this kernel lacks");
	if (!btf)
		return fault_say(fault, "there are no prototypes: libbpf cannot read %s: %s",
				 KERNEL_TYPES, strerror(errno));
	if (prototypes_index(&types->kernel, btf))
		return fault_say(fault, "there is not enough memory");
	return 0;
}

int kernel_types_open(struct kernel_types *types, struct fault *fault)
{
	if (!types->opened && read_types(types, &types->why))
		prototypes_free(&types->kernel);
	types->opened = true;
	if (types->kernel.btf)
		return 0;
	*fault = types->why;
	return -1;
}

void kernel_types_close(struct kernel_types *types)
{
	prototypes_free(&types->module);
	prototypes_free(&types->kernel);
}

const struct prototypes *kernel_types_of(struct kernel_types *types, const char *module)
{
	struct btf *btf;

	if (!types->kernel.btf)
		return NULL;
	if (!*module)
		return &types->kernel;
	if (strcmp(types->name, module)) {
		prototypes_free(&types->module);
		snprintf(types->name, sizeof(types->name), "%s", module);
		btf = btf__load_module_btf(module, types->kernel.btf);
		if (btf && prototypes_index(&types->module, btf))
			prototypes_free(&types->module);
	}
	return types->module.btf ? &types->module : NULL;
}
