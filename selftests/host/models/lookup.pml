/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the sites of a process, which remember probes: sites.c of uhook
 *
 * A hit takes the probe that a site remembers if nothing was removed or unmapped since, and
 * otherwise looks it up and remembers it. Meanwhile the probe is removed and, after a grace
 * period, freed; and another file is mapped, which has another probe at the address. No hit
 * may use a probe that has been freed, or one of a file that was not mapped during the hit.
 *
 * BREAK=1 reads the count of removals after the probe was found to be in use, as without
 * smp_rmb(), and 2 the count of unmappings after the look-up. With 3 removals are counted
 * only after the grace period, with 4 before the probe is marked as removed. With 5
 * unmappings are counted before the file is unmapped.
 */
#ifndef BREAK
#define BREAK	0
#endif

#define THREADS	2
#define HITS	2
#define FILES	3
#define NOTHING	0

/* Probe N is that of file N; probe 1 is removed. */
byte mapped = 1;
bool removed[FILES], erased[FILES], freed[FILES];
byte gone, unmapped;
/* The site. */
byte probe, site_gone, site_unmapped;
bool lock;
/* Odd while a thread is in a section that grace periods wait for. */
byte section[THREADS];

inline look_up()
{
	if
	:: BREAK != 2 -> seen_unmapped = unmapped
	:: else
	fi;
	found = mapped;
	found = (erased[found] -> NOTHING : found);
	seen_unmapped = (BREAK == 2 -> unmapped : seen_unmapped);
	if
	:: found == NOTHING
	:: else ->
		if
		:: BREAK != 1 -> seen_gone = gone
		:: else
		fi;
		in_use = !removed[found];
		seen_gone = (BREAK == 1 -> gone : seen_gone);
		if
		:: in_use ->
			atomic { !lock -> lock = true };
			atomic {
				probe = found;
				site_gone = seen_gone;
				site_unmapped = seen_unmapped
			};
			lock = false
		:: else
		fi
	fi
}

active [THREADS] proctype thread()
{
	byte i, before, found, known_gone, known_unmapped, seen_gone, seen_unmapped;
	bool in_use, current;

	for (i : 1 .. HITS) {
		atomic {
			section[_pid]++;
			before = mapped
		};
		/* A site is replaced as a whole, and never changes its probe. */
		atomic {
			found = probe;
			known_gone = site_gone;
			known_unmapped = site_unmapped
		};
		current = found != NOTHING && known_gone == gone;
		current = current && known_unmapped == unmapped;
		if
		:: current
		:: else -> look_up()
		fi;
		assert(!freed[found]);
		assert(found == NOTHING || before == NOTHING || mapped != before ||
		       found == before);
		atomic {
			section[_pid]++;
			found = 0;
			before = 0;
			known_gone = 0;
			known_unmapped = 0;
			seen_gone = 0;
			seen_unmapped = 0;
			in_use = false;
			current = false
		}
	}
}

active proctype remover()
{
	byte i, was;

	if
	:: BREAK == 4 -> gone++; removed[1] = true
	:: else -> removed[1] = true; gone = gone + (BREAK != 3)
	fi;
	erased[1] = true;
	for (i : 0 .. THREADS - 1) {
		was = section[i];
		(was % 2 == 0 || section[i] != was)
	}
	gone = gone + (BREAK == 3);
	freed[1] = true
}

active proctype mapper()
{
	if
	:: BREAK == 5 -> unmapped++; mapped = NOTHING
	:: else -> mapped = NOTHING; unmapped++
	fi;
	mapped = 2
}
