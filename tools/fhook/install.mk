# SPDX-License-Identifier: GPL-2.0
#
# "make install" installs fhook, its manual pages and completions, the programs that put stubs
# into files, the plugin of QEMU and the software recorder's libraries below $(DESTDIR)$(PREFIX).
# ZSHDIR is where zsh looks for completions, which differs between distributions.
# The pages are made from the help, which is their only source.

PREFIX	?= /usr/local
ZSHDIR	?= $(PREFIX)/share/zsh/site-functions
words	:= list count trace record report time top stacks fail patch stat off on \
	   doctor
pages	:= $(O)/man/fhook.1 $(words:%=$(O)/man/fhook-%.1)

man: $(pages)
.PHONY: man install
.DELETE_ON_ERROR:

# The description of a word, as the help of the whole command has it.
brief = $(shell $(O)/fhook --help | sed -n 's/^  $(1)  *//p')

$(O)/man/fhook.1: $(O)/fhook
	mkdir -p $(@D)
	help2man -N -s 1 -n 'hook functions of the kernel and of programs' $< > $@

$(O)/man/fhook-%.1: $(O)/fhook
	mkdir -p $(@D)
	help2man -N -s 1 -n '$(call brief,$*)' '$< $*' > $@.tmp
	sed 's/^fhook \\- /fhook-$* \\- /; s/^[.]TH FHOOK /.TH FHOOK-$* /' $@.tmp > $@
	rm $@.tmp

install: tools man
	install -D $(O)/fhook $(DESTDIR)$(PREFIX)/bin/fhook
	install -m 644 -D -t $(DESTDIR)$(PREFIX)/lib/fhook $(O)/fhook-trace.so $(O)/fhook-python.so
	$(if $(kernel_missing),,install -t $(DESTDIR)$(PREFIX)/lib/fhook \
		$(O)/fhook-rewrite $(O)/fhook-attach)
	install -m 644 -D $(O)/libfhook-record.a $(DESTDIR)$(PREFIX)/lib/libfhook-record.a
	install -m 644 -D -t $(DESTDIR)$(PREFIX)/share/man/man1 $(pages)
	install -m 644 -D completion/fhook.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/fhook
	install -m 644 -D completion/_fhook $(DESTDIR)$(ZSHDIR)/_fhook

# This directory and the files of the kernel's part of fhook that it needs, which are enough to
# build everything here.
source:
	$(if $(filter $(CURDIR)/% $(CURDIR),$(O)),$(error give another directory: make source O=DIR))
	rm -rf $(O)/fhook-tools
	mkdir -p $(O)/fhook-tools/kernel
	cp -rL $(wildcard *) $(O)/fhook-tools
	cd $(overlay) && cp -L --parents $(kernel_files) $(O)/fhook-tools/kernel
.PHONY: source
