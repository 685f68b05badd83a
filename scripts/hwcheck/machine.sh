# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154
#
# The machine and its kernel in the report of fhook-hwcheck.  Names, serial numbers, addresses and
# command lines stay out of it.  To be sourced.

# Features of processors that tests and figures depend on.
features="avx2 avx512f avx10 ibt user_shstk shstk intel_pt fsrm xsave lam la57 serialize
	atomics bti paca sve sme mte"
# Options of the kernel that they depend on.
options="FHOOK FHOOK_EVENTS FHOOK_REDIRECT FHOOK_TRACER FHOOK_CALLTRACE UHOOK UHOOK_EVENTS
	UHOOK_HANDLERS FUNCTION_TRACER FPROBE KPROBES LIVEPATCH BPF_SYSCALL X86_KERNEL_IBT
	X86_USER_SHADOW_STACK MITIGATION_RETHUNK MITIGATION_RETPOLINE CFI_CLANG
	ARM64_BTI_KERNEL ARM64_PTR_AUTH_KERNEL PREEMPT PREEMPT_VOLUNTARY PREEMPT_NONE
	PREEMPT_DYNAMIC PREEMPT_RT HZ KASAN PROVE_LOCKING DEBUG_PREEMPT"

# where the firmware describes the machine
firmware=/sys

# cpuinfo FIELD: of the first processor
cpuinfo()
{
	awk -F '\t*: *' -v field="$1" '$1 == field { print $2; exit }' /proc/cpuinfo
}

# has_feature NAME: whether the processor has it, and the kernel uses it
has_feature()
{
	case " $(cpuinfo flags) $(cpuinfo Features) " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

kernel_config()
{
	if [ -r /proc/config.gz ]; then
		zcat /proc/config.gz
	else
		cat "/boot/config-$(uname -r)" 2> /dev/null
	fi
}

has_option()
{
	grep -qx "CONFIG_$1=[ym]" "$work/config"
}

# whether a flag of the processor or the firmware says that this is a virtual machine
is_virtual()
{
	has_feature hypervisor ||
		grep -qsx QEMU "$firmware/class/dmi/id/sys_vendor" ||
		tr '\0' '\n' 2> /dev/null < "$firmware/firmware/devicetree/base/compatible" |
		grep -qx linux,dummy-virt
}

# Detect a virtual machine: set $virtual, and $emulated if instructions are, or may be, emulated.
# QEMU can give the processor that it emulates the name of a real one.
find_virtual()
{
	virtual=none emulated=
	case $(cpuinfo 'model name')$(cpuinfo 'CPU implementer') in
	*"QEMU TCG"* | *"QEMU Virtual CPU"* | 0x00) detected=qemu ;;
	*)
		detected=$(systemd-detect-virt --vm 2> /dev/null)
		[ "${detected:-none}" != none ] || ! is_virtual || detected=vm-other ;;
	esac
	case ${detected:-none} in
	none) ;;
	qemu)
		virtual="QEMU, emulated"
		emulated="QEMU emulates the processor" ;;
	vm-other)
		virtual="a hypervisor, perhaps emulated"
		emulated="the processor may be emulated" ;;
	*)	virtual="a hypervisor" ;;
	esac
}

say_processor()
{
	say machine.architecture "$(uname -m)"
	model=$(cpuinfo 'model name')
	[ -n "$model" ] ||
		model="implementer $(cpuinfo 'CPU implementer') part $(cpuinfo 'CPU part')"
	say machine.cpu "$model"
	[ ! -r /proc/device-tree/model ] ||
		say machine.board "$(tr -d '\0' < /proc/device-tree/model)"
	stepping="$(cpuinfo 'cpu family')/$(cpuinfo model)/$(cpuinfo stepping)"
	[ "$stepping" != // ] || stepping="$(cpuinfo 'CPU variant')/$(cpuinfo 'CPU revision')"
	say machine.cpu.stepping "$stepping"
	microcode=$(cpuinfo microcode)
	[ -z "$microcode" ] || say machine.cpu.microcode "$microcode"
	say machine.virtual "$virtual"
	say machine.cpus "$(grep -c '^processor' /proc/cpuinfo) CPUs"
	say machine.memory \
		"$(awk '/^MemTotal/ { printf "%d GiB\n", $2 / 1048576 + 0.5 }' /proc/meminfo)"
	present=
	for feature in $features; do
		! has_feature "$feature" || present="$present $feature"
	done
	present=${present# }
	say machine.features "${present:-none of those that matter here}"
	for file in /sys/devices/system/cpu/vulnerabilities/*; do
		[ ! -r "$file" ] || say "machine.vulnerability.${file##*/}" "$(cat "$file")"
	done
}

# Only those parts of the release that this project or Debian has chosen: the rest may be the name
# of a person or of a company.
say_kernel()
{
	release=$(uname -r)
	known=$(echo "$release" |
		sed -nE 's/^[0-9.]+(-rc[0-9]+)?(-fhook-[a-z]+-[a-z0-9]+|-[0-9]+-[a-z0-9]+)?$/&/p')
	say kernel.release "${known:-$(echo "$release" | sed -E 's/^([0-9.]+).*/\1/') and a name}"
	kernel_config > "$work/config"
	if [ -s "$work/config" ]; then
		text=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\(.*\)"$/\1/p' "$work/config")
		case $text in
		*clang*) say kernel.compiler "clang ${text##* }" ;;
		*)	say kernel.compiler "gcc ${text##* }" ;;
		esac
		for option in $options; do
			value=$(sed -n "s/^CONFIG_$option=//p" "$work/config")
			say "kernel.config.$option" "${value:-n}"
		done
	else
		not_seen kernel.config "neither /proc/config.gz nor /boot/config-RELEASE is there"
	fi
}

say_machine()
{
	progress "the machine"
	find_virtual
	say_processor
	say_kernel
}
