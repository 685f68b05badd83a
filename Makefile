# SPDX-License-Identifier: GPL-2.0
#
# The front door; the work is done by scripts/, each of which can be run by
# itself.  Variables: BUILD (where everything is built, default build), ARCH
# (x86_64 or arm64; without it tests are for both, everything else is x86_64's),
# T (a regular expression, in any case, that selects .tc files by their descriptions and
# cases of KUnit and the host by their names), FLAVOUR (for shell and build), JOBS,
# TRACE (a directory, for recordings of shell's guest), KVM=1 (QEMU uses KVM), V=1
# (show compiler commands), CC (the compiler), TARBALL (of the kernel source).

BUILD ?= build
FLAVOUR ?= $(if $(filter arm64,$(ARCH)),arm64,x86)
T ?=
export BUILD ARCH JOBS KVM V

.PHONY: help deps tree build tools demo shell test test-all bench lint series check \
	baseline refresh clean
.NOTPARALLEL:

help:
	@echo "make demo      from Debian's kernel source to hooked functions, in one go (ARCH=)"
	@echo "make shell     boot to a prompt, with modules and tools at hand (ARCH=, FLAVOUR=);"
	@echo "               with TRACE=DIR QEMU records calls there, when the guest says so"
	@echo "make test      host tests and the guest's, on both architectures (T=, ARCH=)"
	@echo "make test-all  every flavour that is tested (not bench, check and bti), and on x86_64"
	@echo "               mainline's own tests: nothing may be lost; hours (T=, ARCH=)"
	@echo "make tools     the host's tools of call tracing, in $(BUILD)/host/fhook"
	@echo "make bench     count what a hook and a call trace cost, with rivals side by side (ARCH=)"
	@echo "make lint      static checks"
	@echo "make check     prove the series: same tree by both routes, every commit builds, lint;"
	@echo "               hours of two cores, the first time"
	@echo "make series    write the complete mailable series to build/series"
	@echo
	@echo "make deps      install the Debian packages that are missing, for all of this"
	@echo "make tree      make the work tree: source, patches, links to the files here"
	@echo "make build     build a kernel (FLAVOUR=$(FLAVOUR))"
	@echo "make refresh   write patches/ from the commits of the work tree"
	@echo "make baseline  run mainline's tests unpatched and write the list of results (x86_64)"
	@echo "make clean     remove what was built, but no work that is not in patches/"
	@echo
	@echo "T is a regular expression, in any case: of .tc files those run whose description it"
	@echo "matches; KUnit's cases and the host's tests run all, and it says whose results count"
	@echo "ARCH is x86_64 or arm64, FLAVOUR a line of scripts/config/flavours; BUILD= builds"
	@echo "elsewhere, JOBS= with so many compilers, V=1 shows them, KVM=1 lets QEMU use KVM,"
	@echo "CC= is another compiler, TARBALL= another source of Linux 6.12"

deps:
	@scripts/deps tests all lint bench

tree:
	@scripts/deps
	@scripts/tree

build:
	@scripts/deps $(FLAVOUR)
	@scripts/tree
	@scripts/build $(FLAVOUR)
	@scripts/guest $(FLAVOUR)

tools:
	@scripts/deps tests
	@scripts/tree
	@scripts/tools
	@echo "$(BUILD)/host/fhook/fhook calltrace --help"

demo:
	@scripts/demo

shell: $(if $(TRACE),tools) build
	@scripts/boot $(FLAVOUR)

test:
	@scripts/deps tests
	@scripts/test "$(T)"

test-all:
	@scripts/deps tests all
	@scripts/test -a "$(T)"

bench:
	@scripts/deps bench
	@scripts/bench

lint:
	@scripts/deps lint
	@scripts/lint

series: tree
	@scripts/series

check:
	@scripts/deps tests lint
	@scripts/check

refresh:
	@scripts/refresh

baseline:
	@scripts/baseline

clean:
	@scripts/clean
