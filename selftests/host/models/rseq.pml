/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of jumps and the registration for restartable sequences: jump.c of uhook
 *
 * A thread that has not registered writes jumps, unless another thread has: it does not know
 * the critical sections. A thread that registers takes all such jumps away. Each first writes
 * what the other reads, and stores wait in a buffer until a barrier, or for any time. Once
 * the registration has returned, there is no jump.
 *
 * BREAK=1 is without the barrier of uhook_jump_to(), 2 without that of uhook_rseq_begins().
 * With 3 the writer looks for registered threads before it sets before_rseq, with 4 it clears
 * before_rseq also when an earlier jump is still there.
 */
#ifndef BREAK
#define BREAK	0
#endif

#define JUMPS	2

bool before_rseq, registered, jump, mmap_locked;
/* The store buffers of the two processors: values that others do not see yet. */
bool buffered_before, buffered_registered;

inline flush_writer()
{
	atomic {
		if
		:: buffered_before -> before_rseq = true; buffered_before = false
		:: else
		fi
	}
}

inline flush_registrar()
{
	atomic {
		if
		:: buffered_registered -> registered = true; buffered_registered = false
		:: else
		fi
	}
}

/* Stores leave the buffers at any time. */
active proctype processors()
{
end:	do
	:: atomic { buffered_before -> flush_writer() }
	:: atomic { buffered_registered -> flush_registrar() }
	od
}

active proctype writer()
{
	bool before, blocked;
	byte i;

	for (i : 1 .. JUMPS) {
		atomic { !mmap_locked -> mmap_locked = true };
		before = before_rseq;
		if
		:: BREAK == 3 -> blocked = registered
		:: else
		fi;
		buffered_before = true;
		if
		:: BREAK != 1 -> flush_writer()
		:: else
		fi;
		if
		:: BREAK != 3 -> blocked = registered
		:: else
		fi;
		jump = jump || !blocked;
		/* A lock is released after all stores. */
		flush_writer();
		if
		:: blocked && (!before || BREAK == 4) -> before_rseq = false
		:: else
		fi;
		mmap_locked = false
	}
}

active proctype registrar()
{
	buffered_registered = true;
	if
	:: BREAK != 2 -> flush_registrar()
	:: else
	fi;
	if
	:: before_rseq ->
		atomic { !mmap_locked -> mmap_locked = true };
		jump = false;
		flush_registrar();
		mmap_locked = false;
		before_rseq = false
	:: else
	fi;
	flush_registrar();
	assert(!jump)
}
