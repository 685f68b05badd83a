/* SPDX-License-Identifier: GPL-2.0 */
/* The kinds of branches that the trace hardware distinguishes. */
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
 * struct branch - effect of an instruction on the instruction pointer
 * @kind: enum branch_kind
 * @from_memory: the target of an indirect branch or return is the word that it reads
 * @target: target of a direct branch
 */
struct branch {
	enum branch_kind kind;
	bool from_memory;
	u64 target;
};

void branch_decode_x86(struct branch *branch, const u8 *code, size_t size, u64 ip);
void branch_decode_arm64(struct branch *branch, const u8 *code, size_t size, u64 ip);

#endif /* FHOOK_BRANCH_H */
