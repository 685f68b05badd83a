/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of functions as Go's linker makes it for its runtime, of one function: a small file
 * with such a table is a program of C with this.
 */
	.section .gopclntab, "aw"
table:
	.long	0xfffffff0
	.byte	0, 0, 1, 8
	.quad	1, 0, _start, name - table, 0, 0, 0, functions - table
name:
	.asciz	"_start"
	.balign	8
functions:
	.long	0, description - functions, 16
description:
	.long	0, 0

	.section .note.GNU-stack, "", @progbits
