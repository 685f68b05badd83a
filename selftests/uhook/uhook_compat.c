// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a 32-bit program, made here, with no library and no compiler for it.
 *
 *	uhook_compat make DIR	make it; prints NAME PATH OFFSET of its probe points
 *	uhook_compat run DIR	become it
 *
 * It exits with 0 if its functions return the right values.  The exit status is
 * 4 where there are no such programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/elf.h>
#include <stddef.h>
#include <string.h>

#include "uhook_test.h"

#define HITS		50
#define LOADED_AT	0x08048000
#define NR_POINTS	3

#if defined(__x86_64__)
/* Decoded as 64-bit code, inc is a REX prefix of the next instruction. */
asm(".pushsection .rodata\n"
	".code32\n"
	"compat_begin:\n"
	"	mov %esp, %ebp\n"	/* a frame pointer, by which stacks are walked */
	"	mov $50, %esi\n"
	"1:	mov %esi, %eax\n"
	"	call compat_lea\n"
	"	call compat_inc\n"
	"	call compat_push\n"
	"	sub %esi, %eax\n"
	"	cmp $3, %eax\n"
	"	jne 2f\n"
	"	dec %esi\n"
	"	jnz 1b\n"
	"	xor %ebx, %ebx\n"
	"	mov $1, %eax\n"
	"	int $0x80\n"
	"2:	mov $1, %ebx\n"
	"	mov $1, %eax\n"
	"	int $0x80\n"
	"compat_lea:\n"
	"	lea 2(%eax), %eax\n"
	"	ret\n"
	"compat_inc:\n"
	"	inc %eax\n"
	"	ret\n"
	"compat_push:\n"
	"	push %eax\n"
	"	xor %eax, %eax\n"
	"	pop %eax\n"
	"	ret\n"
	"compat_end:\n"
	".code64\n"
	".popsection\n");
#else
asm("compat_begin:\ncompat_lea:\ncompat_inc:\ncompat_push:\ncompat_end:\n");
#endif

UHOOK_LABEL(compat_begin);
UHOOK_LABEL(compat_end);
UHOOK_LABEL(compat_lea);
UHOOK_LABEL(compat_inc);
UHOOK_LABEL(compat_push);

static const struct {
	const char *name;
	const char *at;
} points[NR_POINTS] = {
	{ "lea", compat_lea },
	{ "inc", compat_inc },
	{ "push", compat_push },
};

struct program {
	struct elf32_hdr header;
	struct elf32_phdr segment;
	char code[256];
};

static void make(const char *path)
{
	const size_t size = compat_end - compat_begin;
	struct program p = {
		.header = {
			.e_ident = {
				ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				ELFCLASS32, ELFDATA2LSB, EV_CURRENT,
			},
			.e_type = ET_EXEC,
			.e_machine = EM_386,
			.e_version = EV_CURRENT,
			.e_entry = LOADED_AT + offsetof(struct program, code),
			.e_phoff = offsetof(struct program, segment),
			.e_ehsize = sizeof(struct elf32_hdr),
			.e_phentsize = sizeof(struct elf32_phdr),
			.e_phnum = 1,
		},
		.segment = {
			.p_type = PT_LOAD,
			.p_vaddr = LOADED_AT,
			.p_filesz = sizeof(p),
			.p_memsz = sizeof(p),
			.p_flags = PF_R | PF_X,
			.p_align = 4096,
		},
	};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	int i;

	check(size <= sizeof(p.code), "the code has %zu bytes", size);
	memcpy(p.code, compat_begin, size);
	check(fd >= 0 && write(fd, &p, sizeof(p)) == sizeof(p), "%s: %s", path, strerror(errno));
	close(fd);
	for (i = 0; i < NR_POINTS; i++)
		printf("%s %s 0x%lx\n", points[i].name, path,
		       offsetof(struct program, code) + (points[i].at - compat_begin));
}

int main(int argc, char **argv)
{
	char path[256];

	check(argc == 3, "usage: %s make | run DIR", argv[0]);
	snprintf(path, sizeof(path), "%s/compat", argv[2]);
	if (!strcmp(argv[1], "make")) {
		make(path);
		return 0;
	}
	printf("lea %d %d\ninc %d %d\npush %d %d\n", HITS, HITS, HITS, HITS, HITS, HITS);
	fflush(stdout);
	execl(path, path, NULL);

	return 4;
}
