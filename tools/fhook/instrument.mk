# SPDX-License-Identifier: GPL-2.0
#
# Usage: make -f instrument.mk O=DIR [KERNEL=DIR] [OVERLAY=DIR]
#
# The programs that put the stubs of a call trace into user programs. The Makefile
# beside this file includes it; it also works alone.
O	?= .
instrument_dir := $(dir $(lastword $(MAKEFILE_LIST)))

instrument: $(addprefix $(O)/,fhook-instrument-ir fhook-instrument-source fhook-rewrite \
	fhook-attach)
attach: $(O)/fhook-attach
.PHONY: instrument attach

INSTRUMENT_CFLAGS = -O2 -g -Wall -Wextra -std=gnu11 -D_GNU_SOURCE -MD -I$(instrument_dir) \
	$(SANITIZE)
instrument_shared := $(addprefix $(O)/instrument/,instrument/instrument.o lib/list.o \
	lib/demangle.o lib/base.o)

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

# The relocators are those of the kernel, with the headers that its own host programs
# have. Both architectures are in one program: of each, one name is left.
KERNEL	?= $(instrument_dir)../..
OVERLAY	?= $(KERNEL)
rewrite_common := $(SANITIZE) -O2 -g -Wall -Wextra -Wno-sign-compare -Wno-unused-parameter \
	-std=gnu11 -MD \
	-I$(instrument_dir) -I$(KERNEL)/tools/include -idirafter $(OVERLAY)/include
rewrite_x86 := -I$(KERNEL)/tools/arch/x86/include $(rewrite_common) \
	-idirafter $(OVERLAY)/arch/x86/include
rewrite_arm64 := $(rewrite_common) -idirafter $(OVERLAY)/arch/arm64/include \
	-idirafter $(KERNEL)/arch/arm64/include
rewrite_code := rewrite/relocate.o uhook_relocate.o uhook_branch.o uhook_code.o
rewrite_shared := $(instrument_shared) $(addprefix $(O)/instrument/,rewrite/choose.o \
	rewrite/names.o rewrite/go.o rewrite/go_names.o rewrite/code.o rewrite/relocations.o \
	rewrite/targets.o rewrite/jumps.o rewrite/frames.o rewrite/plan.o lib/elf_image.o \
	lib/debug_file.o lib/debug_fetch.o lib/work.o x86.o arm64.o)
rewrite_objects := $(addprefix $(O)/instrument/,rewrite/rewrite.o rewrite/emit.o rewrite/unwind.o \
	rewrite/file.o)
attach_objects := $(addprefix $(O)/instrument/,rewrite/attach.o)

$(O)/fhook-rewrite: $(rewrite_objects) $(rewrite_shared)
	$(CC) $(SANITIZE) -o $@ $^ -lcapstone -ldw -liberty

$(O)/fhook-attach: $(attach_objects) $(rewrite_shared)
	$(CC) $(SANITIZE) -o $@ $^ -lcapstone -ldw -liberty

$(O)/instrument/x86.o: $(addprefix $(O)/instrument/x86/,rewrite/x86.o $(rewrite_code) insn.o inat.o)
	$(LD) -r -o $@ $^
	objcopy --keep-global-symbol=rewrite_x86 $@

$(O)/instrument/arm64.o: $(addprefix $(O)/instrument/arm64/,rewrite/arm64.o $(rewrite_code))
	$(LD) -r -o $@ $^
	objcopy --keep-global-symbol=rewrite_arm64 $@

$(O)/instrument/lib/debug_file.o: INSTRUMENT_CFLAGS += $(if $(wildcard \
	/usr/include/elfutils/libdwfl.h),,$(call need,fhook-rewrite,libdw-dev,))

capstone_header := $(wildcard /usr/include/capstone/capstone.h)
$(O)/instrument/x86/rewrite/%.o: $(instrument_dir)rewrite/%.c
	mkdir -p $(@D)
	$(if $(capstone_header),,$(call need,fhook-rewrite,libcapstone-dev,))
	$(CC) $(rewrite_x86) -c -o $@ $<

$(O)/instrument/arm64/rewrite/%.o: $(instrument_dir)rewrite/%.c
	mkdir -p $(@D)
	$(CC) $(rewrite_arm64) -c -o $@ $<

$(O)/instrument/x86/uhook_%.o: $(OVERLAY)/arch/x86/kernel/uhook_%.c
	mkdir -p $(@D)
	$(CC) $(rewrite_x86) -c -o $@ $<

$(O)/instrument/arm64/uhook_%.o: $(OVERLAY)/arch/arm64/kernel/uhook_%.c
	mkdir -p $(@D)
	$(CC) $(rewrite_arm64) -c -o $@ $<

# The decoder is the kernel's, and so is its table.
$(O)/instrument/x86/%.o: $(KERNEL)/tools/arch/x86/lib/%.c $(O)/instrument/x86/inat-tables.c
	$(CC) $(rewrite_x86) -w -I$(O)/instrument/x86 -c -o $@ $<

$(O)/instrument/x86/inat-tables.c: $(KERNEL)/arch/x86/lib/x86-opcode-map.txt
	mkdir -p $(@D)
	awk -f $(KERNEL)/arch/x86/tools/gen-insn-attr-x86.awk $< > $@.new
	mv $@.new $@

# What has moved since is among the headers that were noted.
%.h: ;
-include $(wildcard $(addprefix $(O)/instrument/,*.d */*.d */*/*.d))
