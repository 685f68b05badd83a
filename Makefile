# SPDX-License-Identifier: GPL-2.0
#
# The front end.  The scripts in scripts/ do the work; each can be run by itself.
# Variables: BUILD (directory for everything that is built, default build), ARCH
# (x86_64 or arm64; by default tests run on both, everything else on x86_64), T (a
# case-insensitive regular expression that selects .tc files by description, and KUnit
# cases and host tests by name), FLAVOUR (for shell and build), JOBS, TRACE (directory
# for recordings of shell's guest), KVM=1 (QEMU uses KVM), V=1 (show compiler commands),
# CC (the compiler), CCACHE_DIR (the cache of compiled files, default BUILD/ccache), BASE (the
# kernel: 6.12 or 7.3), TOPIC (for test and series), TARBALL (of the kernel source), CONFIG
# (for deb).

BUILD ?= build
FLAVOUR ?= $(if $(filter arm64,$(ARCH)),arm64,x86)
T ?=
export BUILD ARCH JOBS KVM V
export BASE TOPIC CONFIG

.PHONY: help deps tree build tools tools-all deb-tools deb vm vm-possible vm-shell test-vm install \
	demo shell test test-brief test-topics test-all bench bench-native lint series check newest \
	baseline refresh clean
.NOTPARALLEL:

help:
	@echo "make demo      build, boot and show a session, from Debian's kernel source (ARCH=)"
	@echo "make shell     boot to a prompt, with modules and tools (ARCH=, FLAVOUR=);"
	@echo "               with TRACE=DIR, QEMU records calls to DIR when the guest asks for it"
	@echo "make test      run the host tests, and the guest tests of both architectures (T=, ARCH=)"
	@echo "make test-brief  run only KUnit and a few tests, on x86_64 (BASE=)"
	@echo "make test-topics  build and test a kernel of each topic, with those that it needs (T=,"
	@echo "               ARCH=, BASE=); takes hours"
	@echo "make test-all  test every flavour (except bench, check and bti), and on x86_64 compare"
	@echo "               mainline's own tests with the unpatched kernel, test the command there,"
	@echo "               and run test-vm, if make vm was run at this commit; takes hours (T=, ARCH=)"
	@echo "make tools     build the command fhook for this machine, in $(BUILD)/host/fhook;"
	@echo "               needs no kernel source"
	@echo "make deb-tools  build the Debian package fhook-tools in $(BUILD)/deb, without kernel source"
	@echo "make deb       build Debian packages of the patched kernel in $(BUILD)/deb, from Debian's"
	@echo "               configuration (CONFIG=cloud, generic or localmodconfig; ARCH=, BASE=)"
	@echo "make vm        make a virtual machine: Debian with these packages; calls sudo; with"
	@echo "               FLAVOUR=x86-vm with a small kernel that is built in a quarter of an hour"
	@echo "make vm-shell  boot it; its root needs no password"
	@echo "make test-vm   run services, compilers and containers in it, with and without hooks"
	@echo "make tools-all  build also the programs that put stubs into source and LLVM's IR"
	@echo "make install   build and install the command fhook, its manual pages and completions"
	@echo "               (PREFIX=/usr/local, DESTDIR=); needs no kernel source"
	@echo "make bench     measure the cost of hooks and call traces, beside alternatives (ARCH=)"
	@echo "make bench-native  only the times on this machine: hooked calls of the kernel, and on an"
	@echo "               x86_64 also its hooked returns, and hooks in programs (ARCH=)"
	@echo "make lint      run the static checks"
	@echo "make check     prove the series: same tree by both routes, every commit builds, lint; for"
	@echo "               each base, or for BASE=; takes hours on two cores the first time"
	@echo "make series    write the mailable series to $(BUILD)/series, a directory for each"
	@echo "               topic; with TOPIC= only that topic and those that it needs"
	@echo
	@echo "make deps      install the missing Debian packages for all commands"
	@echo "make tree      make the work tree: kernel source, patches, links to the overlay"
	@echo "make build     build a kernel (FLAVOUR=$(FLAVOUR))"
	@echo "make newest    try whether the patches apply to the newest source in each Debian suite"
	@echo "make refresh   write patches/ from the commits of the work tree"
	@echo "make baseline  run mainline's tests unpatched and write the list of results (ARCH=)"
	@echo "make clean     remove everything built, except work that is not in patches/"
	@echo
	@echo "T is a case-insensitive regular expression. Only .tc files whose description matches"
	@echo "run; all KUnit cases and host tests run, but only matching ones count."
	@echo "ARCH is x86_64 or arm64; FLAVOUR is a line of scripts/build/config/flavours; BUILD= sets the"
	@echo "build directory; JOBS= limits parallel compilers; V=1 shows commands; KVM=1 lets QEMU"
	@echo "use KVM; CC= selects a compiler; BASE=7.3 works on Linux 7.3 instead of 6.12;"
	@echo "TARBALL= selects its source. make test TOPIC=boost tests a kernel of that topic alone."

deps:
	@scripts/build/deps tests all lint bench

tree:
	@scripts/build/deps
	@scripts/series/tree

build:
	@scripts/build/deps $(FLAVOUR)
	@scripts/series/tree
	@scripts/build/build $(FLAVOUR)
	@scripts/guest/guest $(FLAVOUR)

tools:
	@scripts/build/deps tools
	@scripts/build/tools tools
	@echo "$(BUILD)/host/fhook/fhook --help"

tools-all:
	@scripts/build/deps tests
	@scripts/build/tools
	@echo "$(BUILD)/host/fhook/fhook calltrace --help"

deb-tools:
	@scripts/build/deps tools deb-tools
	@scripts/build/deb-tools

deb:
	@scripts/build/deps deb
	@scripts/build/deb

# A flavour is built instead of the packages of the kernel.
vm: vm-possible $(if $(filter file,$(origin FLAVOUR)),deb,deb-tools)
	@scripts/vm/vm

# Before anything is built, which takes hours.
vm-possible:
	@scripts/build/deps vm
	@scripts/vm/vm -n

vm-shell:
	@scripts/vm/vm-boot

test-vm:
	@scripts/vm/test-vm

install:
	@scripts/build/deps tools
	@PREFIX="$(or $(PREFIX),/usr/local)" DESTDIR="$(DESTDIR)" scripts/build/tools install

demo:
	@scripts/guest/demo

shell: $(if $(TRACE),tools) build
	@scripts/guest/boot $(FLAVOUR)

test:
	@scripts/build/deps tests
	@$(if $(TOPIC),scripts/test/test-topic $(TOPIC),scripts/test/test) "$(T)"

test-brief:
	@scripts/build/deps tests
	@scripts/test/test-brief

test-topics:
	@scripts/build/deps tests
	@scripts/test/test-topics "$(T)"

test-all:
	@scripts/build/deps tests all
	@scripts/test/test -a "$(T)"

bench:
	@scripts/build/deps bench
	@scripts/bench/bench

bench-native:
	@scripts/build/deps tests
	@scripts/series/tree
	@scripts/build/build $(if $(filter arm64,$(ARCH)),arm64,x86)-native
	@scripts/bench/bench-native

lint:
	@scripts/build/deps lint
	@scripts/series/lint

series: tree
	@scripts/series/series

check:
	@set -e; for base in $(or $(BASE),$(notdir $(wildcard bases/*))); do \
		echo "Linux $$base"; \
		export BASE=$$base; \
		scripts/build/deps tests lint; \
		scripts/series/check; \
	done

newest:
	@scripts/build/deps
	@scripts/series/newest

refresh:
	@scripts/series/refresh

baseline:
	@scripts/test/baseline

clean:
	@scripts/series/clean
