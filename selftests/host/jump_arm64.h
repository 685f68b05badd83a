/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What jump_patch_arm64.c patches
 */
#ifndef SELFTESTS_HOST_JUMP_ARM64_H
#define SELFTESTS_HOST_JUMP_ARM64_H

#include <stdint.h>

typedef uint64_t function(uint64_t a, uint64_t b);

/**
 * struct probed - a function with a site
 * @call: the function
 * @site: an instruction of it that is run once in each call
 * @name: what it is called
 */
struct probed {
	function *call;
	uint32_t *site;
	char name[16];
};

/* Those of jump_functions_arm64.S. */
extern const struct probed probed[], probed_end[];

/* A loop with exclusives, and sites between and behind them. */
extern uint32_t exclusives[], between[], behind[];

/* The text of what the compiler made, from the linker. */
extern uint32_t __start_compiled_text[], __stop_compiled_text[];

#endif /* SELFTESTS_HOST_JUMP_ARM64_H */
