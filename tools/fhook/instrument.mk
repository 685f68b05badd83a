# SPDX-License-Identifier: GPL-2.0
#
# Usage: make -f instrument.mk O=DIR
#
# The programs that put the stubs of a call trace into user programs. The Makefile
# beside this file includes it; it also works alone.
O	?= .
instrument_dir := $(dir $(lastword $(MAKEFILE_LIST)))

instrument: $(addprefix $(O)/,fhook-instrument-ir fhook-instrument-source fhook-rewrite \
	fhook-attach)
attach: $(O)/fhook-attach
.PHONY: instrument attach

INSTRUMENT_CFLAGS = $(or $(CFLAGS),-O2 -g) -Wall -Wextra -std=gnu11 -D_GNU_SOURCE -MD \
	-I$(instrument_dir) $(SANITIZE)
instrument_shared := $(addprefix $(O)/instrument/,instrument/instrument.o lib/list.o \
	lib/demangle.o lib/symbol_part.o lib/base.o lib/command.o)

# need NAME PACKAGE HAVE: a sentence instead of what a compiler says.
need = $(if $(3),,$(error $(1) needs the Debian package $(2)))

LLVM_CONFIG ?= llvm-config
llvm_dir = $(shell $(LLVM_CONFIG) --includedir 2>/dev/null)

$(O)/instrument/lib/demangle.o: $(if $(wildcard /usr/include/libiberty/demangle.h),,$(call \
	need,fhook calltrace,libiberty-dev,))

$(O)/instrument/%.o: $(instrument_dir)%.c
	mkdir -p $(@D)
	$(CC) $(INSTRUMENT_CFLAGS) -c -o $@ $<

$(O)/instrument/instrument/ir.o: INSTRUMENT_CFLAGS += -isystem \
	$(or $(llvm_dir),$(call need,fhook-instrument-ir,llvm-dev,))

$(O)/fhook-instrument-ir: $(O)/instrument/instrument/ir.o $(instrument_shared)
	$(CC) -o $@ $^ $$($(LLVM_CONFIG) --ldflags --libs core irreader bitwriter analysis) \
		-lstdc++ -liberty

LIBCLANG_DIR ?= $(shell $(LLVM_CONFIG) --prefix 2>/dev/null)
$(O)/instrument/instrument/source.o: INSTRUMENT_CFLAGS += -isystem $(if $(wildcard \
	$(LIBCLANG_DIR)/include/clang-c/Index.h),$(LIBCLANG_DIR)/include,$(call \
	need,fhook-instrument-source,libclang-dev,))

$(O)/fhook-instrument-source: $(O)/instrument/instrument/source.o $(instrument_shared)
	$(CC) -o $@ $^ -L$(LIBCLANG_DIR)/lib -lclang -lstdc++ -liberty

# The relocators are files of the kernel's part of fhook, which "make source" puts into "kernel".
# rewrite/kernel.h takes the place of the kernel's own headers. Both architectures are in one
# program: of each, one name is left.
overlay := $(firstword $(wildcard $(instrument_dir)kernel) $(instrument_dir)../..)
kernel_files := $(addprefix include/linux/,uhook_code.h uhook_relocate.h) \
	$(foreach arch,x86 arm64,$(addprefix arch/$(arch)/,include/asm/uhook.h \
		kernel/uhook_relocate.c kernel/uhook_branch.c kernel/uhook_code.c)) \
	arch/arm64/kernel/uhook_code.h
kernel_missing := $(filter-out $(wildcard $(kernel_files:%=$(overlay)/%)), \
	$(kernel_files:%=$(overlay)/%))
kernel_headers := $(addprefix $(O)/instrument/kernel/,linux/bitops.h linux/bits.h \
	linux/build_bug.h linux/kernel.h linux/sizes.h linux/unaligned.h asm/insn.h)
rewrite_common := $(or $(CFLAGS),-O2 -g) $(SANITIZE) -Wall -Wextra -Wno-sign-compare \
	-Wno-unused-parameter -std=gnu11 -D_GNU_SOURCE -MD -include rewrite/kernel.h \
	-I$(instrument_dir) -I$(O)/instrument/kernel -idirafter $(overlay)/include
rewrite_x86 := -DFHOOK_REWRITE_X86 $(rewrite_common) -idirafter $(overlay)/arch/x86/include
rewrite_arm64 := $(rewrite_common) -idirafter $(overlay)/arch/arm64/include
rewrite_code := rewrite/relocate.o uhook_relocate.o uhook_branch.o uhook_code.o
rewrite_shared := $(instrument_shared) $(addprefix $(O)/instrument/,rewrite/choose.o \
	rewrite/names.o rewrite/go.o rewrite/go_names.o rewrite/code.o rewrite/relocations.o \
	rewrite/targets.o rewrite/known.o rewrite/leaves.o rewrite/switches.o \
	rewrite/jumps.o rewrite/frames.o rewrite/plan.o \
	lib/elf_image.o \
	lib/debug_file.o lib/debug_fetch.o lib/work.o x86.o arm64.o)
rewrite_objects := $(addprefix $(O)/instrument/,rewrite/rewrite.o rewrite/emit.o rewrite/unwind.o \
	rewrite/file.o)
attach_objects := $(addprefix $(O)/instrument/,rewrite/attach.o)

$(O)/fhook-rewrite: $(rewrite_objects) $(rewrite_shared)
	$(CC) $(SANITIZE) -o $@ $^ $(LDFLAGS) -lcapstone -lZydis -ldw -liberty

$(O)/fhook-attach: $(attach_objects) $(rewrite_shared)
	$(CC) $(SANITIZE) -o $@ $^ $(LDFLAGS) -lcapstone -lZydis -ldw -liberty

$(O)/instrument/x86.o: $(addprefix $(O)/instrument/x86/,rewrite/x86.o rewrite/insn_x86.o \
	$(rewrite_code))
	$(LD) -r -o $@ $^
	objcopy --keep-global-symbol=rewrite_x86 $@

$(O)/instrument/arm64.o: $(addprefix $(O)/instrument/arm64/,rewrite/arm64.o $(rewrite_code))
	$(LD) -r -o $@ $^
	objcopy --keep-global-symbol=rewrite_arm64 $@

$(O)/instrument/lib/debug_file.o: INSTRUMENT_CFLAGS += $(if $(wildcard \
	/usr/include/elfutils/libdwfl.h),,$(call need,fhook-rewrite,libdw-dev,))

# The kernel's files include headers of these names.
$(kernel_headers):
	mkdir -p $(@D)
	: > $@

$(addprefix $(O)/instrument/x86/,rewrite/x86.o rewrite/insn_x86.o $(rewrite_code)) \
$(addprefix $(O)/instrument/arm64/,rewrite/arm64.o $(rewrite_code)): \
	$(instrument_dir)instrument.mk | $(kernel_missing) $(kernel_headers)

capstone_header := $(wildcard /usr/include/capstone/capstone.h)
zydis_header := $(wildcard /usr/include/Zydis/Zydis.h)
$(O)/instrument/x86/rewrite/%.o: $(instrument_dir)rewrite/%.c
	mkdir -p $(@D)
	$(if $(capstone_header),,$(call need,fhook-rewrite,libcapstone-dev,))
	$(if $(zydis_header),,$(call need,fhook-rewrite,libzydis-dev,))
	$(CC) $(rewrite_x86) -c -o $@ $<

$(O)/instrument/arm64/rewrite/%.o: $(instrument_dir)rewrite/%.c
	mkdir -p $(@D)
	$(CC) $(rewrite_arm64) -c -o $@ $<

$(O)/instrument/x86/uhook_%.o: $(overlay)/arch/x86/kernel/uhook_%.c
	mkdir -p $(@D)
	$(CC) $(rewrite_x86) -c -o $@ $<

$(O)/instrument/arm64/uhook_%.o: $(overlay)/arch/arm64/kernel/uhook_%.c
	mkdir -p $(@D)
	$(CC) $(rewrite_arm64) -c -o $@ $<

# A copy of this directory alone does not have them.
$(kernel_missing): ; $(error fhook-rewrite and fhook-attach need files of the kernel\'s part of \
	fhook: copy this directory by "make source", which adds them)

# What has moved since is among the headers that were noted.
%.h: ;
-include $(wildcard $(addprefix $(O)/instrument/,*.d */*.d */*/*.d))
