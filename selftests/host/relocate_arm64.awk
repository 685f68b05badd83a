# SPDX-License-Identifier: GPL-2.0
#
# What arm64's relocator takes, as binutils read it: no instruction that they
# know may branch, name an address, make an exception, be exclusive, or be one of
# several that belong together.  It is what they know beyond capstone that
# counts, so they have to know a fair number.
#
# Usage: objdump -D -z -b binary -m aarch64 SAMPLE | awk -f relocate_arm64.awk

BEGIN {
	# Branches and returns, also the authenticated ones.
	bad["^(b|bl|br|blr|ret|eret|drps)$"]
	bad["^(b|bc)[.]"]
	bad["^(bra|blra|reta|ereta)"]
	bad["^(cb|tb)n?z$"]
	bad["^adrp$"]
	# Exceptions
	bad["^(svc|hvc|smc|brk|hlt|udf|dcps.)$"]
	# Exclusives, and transactions
	bad["^(ldx|ldax|stx|stlx|casp)"]
	bad["^(clrex|tstart|tcommit|tcancel|ttest)$"]
	# Memory copy and set, of which three are one
	bad["^(cpy|set)f?[gpme]"]
	bad["^movprfx$"]
	# System registers, and the hints that mainline does not step
	bad["^(msr|msrr|smstart|smstop|cfinv|axflag|xaflag)$"]
	bad["^(hint|yield|wf[ei]t?|sevl?|esb|psb|tsb|csdb|dgh|clearbhb|aut.*sp|aut.*z|auti.1716)$"]
}

$1 ~ /^[0-9a-f]+:$/ {
	words++
	if ($3 == ".inst")
		next
	known++
	if (!($3 in mnemonics)) {
		mnemonics[$3]
		distinct++
		for (pattern in bad)
			if ($3 ~ pattern)
				refuse[$3]
	}
	# Immediates have a #, addresses have none.
	if (($3 in refuse) || /[ \t]0x/) {
		wrong++
		if (wrong <= 20)
			print
	}
}

END {
	printf "binutils know %d of %d, with %d mnemonics; %d are wrong\n",
		known, words, distinct, wrong
	exit wrong || distinct < 500
}
