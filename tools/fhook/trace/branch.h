/* SPDX-License-Identifier: GPL-2.0 */
/* What kind of branch an instruction is, as the trace hardware distinguishes them. */
#ifndef FHOOK_BRANCH_H
#define FHOOK_BRANCH_H

#include "lib/base.h"

enum branch_kind {
	BRANCH_NONE,
	BRANCH_DIRECT,
	BRANCH_CONDITIONAL,
	BRANCH_CALL,
	BRANCH_INDIRECT,
	BRANCH_INDIRECT_CALL,
	BRANCH_RETURN,
	BRANCH_FAR,	/* into another privilege level, or back */
};

/**
 * struct branch - what an instruction does with the instruction pointer
 * @kind: enum branch_kind
 * @from_memory: of an indirect one or a return: the target is what it reads
 * @target: of a direct one
 */
struct branch {
	enum branch_kind kind;
	bool from_memory;
	u64 target;
};

void branch_decode_x86(struct branch *branch, const u8 *code, size_t size, u64 ip);
void branch_decode_arm64(struct branch *branch, const u8 *code, size_t size, u64 ip);

#endif /* FHOOK_BRANCH_H */
