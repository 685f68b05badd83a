/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of a process that ends while its hits are counted: sums.c and counting.c of uhook
 *
 * Readers add what a process has counted to a total: they find the process on a list, with a
 * reference, and add the increase since the last reading, under a lock of the process. The
 * process itself adds its last counts when it ends, and leaves the list. Each hit must be
 * counted once, in each total that is read after it, and no reader may use freed data.
 *
 * BREAK=1 leaves the list before the last counts are added, 2 does not look whether the data
 * were freed, 3 has no reference, 4 adds without the lock.
 */
#ifndef BREAK
#define BREAK	0
#endif

#define READERS	2
#define HITS	2

byte total, cell, seen, hits, ref = 1;
bool listed = true, gone, data_freed, state_freed;
bool list_locked, counts_locked;

inline lock(which)
{
	atomic { !which -> which = true }
}

inline add()
{
	byte now;

	assert(!data_freed);
	now = cell;
	total = total + now - seen;
	seen = now
}

inline put()
{
	atomic {
		ref--;
		state_freed = (ref == 0)
	}
}

active proctype process()
{
	byte i;

	for (i : 1 .. HITS) {
		cell++;
		hits++
	}
	if
	:: BREAK == 1 -> lock(list_locked); listed = false; list_locked = false
	:: else
	fi;
	lock(counts_locked);
	add();
	counts_locked = false;
	lock(counts_locked);
	gone = true;
	counts_locked = false;
	lock(list_locked);
	listed = false;
	list_locked = false;
	data_freed = true;
	put()
}

active [READERS] proctype reader()
{
	byte least;
	bool found;

	least = hits;
	lock(list_locked);
	found = listed;
	ref = ref + (found && BREAK != 3);
	list_locked = false;
	if
	:: found ->
		if
		:: BREAK != 4 -> lock(counts_locked)
		:: else
		fi;
		assert(!state_freed);
		if
		:: !gone || BREAK == 2 -> add()
		:: else
		fi;
		counts_locked = (BREAK == 4 && counts_locked);
		if
		:: BREAK != 3 -> put()
		:: else
		fi
	:: else
	fi;
	assert(total >= least && total <= HITS)
}
