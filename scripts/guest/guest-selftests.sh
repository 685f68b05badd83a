# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154
#
# Copy the selftests to $root/selftests, with their programs, as guests and the package
# fhook-tests have them, and the check of hardware.  To be sourced, after lib.sh, set_flavour
# and guest-programs.sh.

# Those of the kernel's tracing, of this project, and of live patches.
add_selftests()
{
	mkdir -p "$root/selftests"
	cp -r "$src/tools/testing/selftests/ftrace" "$root/selftests/ftrace"
	cp -r "$top/selftests" "$root/selftests/fhook"
	# As it is when selftests are installed: tests read the transcripts in these.
	cp "$top"/samples/fhook/*.c "$top/Documentation/trace/calltrace.rst" \
		"$root/selftests/fhook/"
	for c in "$top"/selftests/uhook/uhook_*.c "$top"/selftests/programs/fhook_*.c; do
		[ ! -f "$c" ] || "${cross}gcc" -O2 -Wall -fno-pie -static -pthread \
			-isystem "$top/include/uapi" -o "$root/selftests/fhook/$(basename "$c" .c)" "$c"
	done
	if [ -d "$obj/klpmods" ]; then
		klp=$root/selftests/livepatch
		cp -r "$src/tools/testing/selftests/livepatch" "$klp"
		cp "$obj"/klpmods/*.ko "$klp/test_modules/"
		"${cross}gcc" -O2 -static -o "$klp/test_klp-call_getpid" \
			"$klp/test_klp-call_getpid.c"
	fi
}

# The BPF programs of the tests, and the program of libbpf's that attaches them.
add_bpf()
{
	[ -f /usr/include/bpf/libbpf.h ] && command -v clang > /dev/null || return 0
	to=$root/selftests/fhook
	headers=/usr/include/$(gcc -dumpmachine)
	[ -z "$cross" ] || headers=/usr/${cross%-}/include
	mkdir -p "$tools/include"
	ln -sfn /usr/include/bpf "$tools/include/bpf"
	clang -target bpf -g -O2 -Wall -I"$tools/include" "-D__TARGET_ARCH_${karch%_64}" \
		-idirafter "$headers" \
		-c -o "$to/fhook_events.bpf.o" "$top/selftests/bpf/fhook_events.bpf.c"
	lib=$(find "$sys"/usr/lib -name 'libbpf.so.[0-9]' | head -n 1)
	"${cross}gcc" -O2 -Wall -I"$tools/include" -Wl,--allow-shlib-undefined \
		-o "$to/fhook_bpf" "$top/selftests/bpf/fhook_bpf.c" "$lib"
	add_libraries "$to/fhook_bpf"
}

# Programs in other languages, whose functions are left in other ways.  Their compilers
# are installed for tests only.
add_languages()
{
	command -v "${cross}g++" > /dev/null && command -v go > /dev/null || return 0
	to=$root/selftests/fhook
	"${cross}g++" -O2 -Wall -static -o "$to/uhook_throw" "$top/selftests/languages/uhook_throw.cc"
	go=amd64
	[ -z "$cross" ] || go=$karch
	GOCACHE=$BUILD/go GOARCH=$go GOFLAGS=-trimpath CGO_ENABLED=0 \
		go build -o "$to/uhook_grow" "$top/selftests/languages/uhook_grow.go"
	add_rust
}

# By Debian's compiler: the foreign library is of the same version.
add_rust()
{
	[ -x /usr/bin/rustc ] || return 0
	set -- -O -C target-feature=+crt-static -C strip=debuginfo
	if [ -n "$cross" ]; then
		std=$("$top/scripts/build/foreign" -n rust "$karch" libstd-rust-dev)
		set -- "$@" --target aarch64-unknown-linux-gnu --sysroot "$std/usr" \
			-C linker="${cross}gcc"
	fi
	/usr/bin/rustc "$@" -o "$to/uhook_panic" "$top/selftests/languages/uhook_panic.rs"
}

# add_hwcheck DIR: the check of hardware, its parts, and the command in DIR
add_hwcheck()
{
	to=$root/usr/lib/fhook-tests
	mkdir -p "$to" "$1"
	install -m 755 "$top/scripts/hwcheck/fhook-hwcheck" "$top/scripts/guest/splat" "$to/"
	install -m 644 "$top"/scripts/hwcheck/*.sh "$top/scripts/test/same-calls.awk" "$to/"
	ln -s ../lib/fhook-tests/fhook-hwcheck "$1/"
}
