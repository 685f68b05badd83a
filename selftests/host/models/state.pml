/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the change of a site between breakpoint and jump: bodies.c and jump.c of uhook
 *
 * Threads hit a site. A hit of its breakpoint runs the consumers in the kernel, makes the
 * body and writes the jump, unless a consumer needs the kernel. Meanwhile such a consumer
 * is registered and unregistered. It must be called for each hit that begins while it is
 * registered, and no thread may enter a body that has not been written.
 *
 * BREAK=1 asks for consumers before the mmap lock is taken. With 2 the jump is taken away
 * before the consumer can be found, with 3 the jump is written before the body, with 4 a
 * body is published before its code, with 5 the jump is not taken away.
 */
#ifndef BREAK
#define BREAK	0
#endif

#define THREADS	2
#define HITS	2

mtype = { BREAKPOINT, JUMP };
mtype text = BREAKPOINT;

/* &uhook_site.body, and whether the code is there. */
bool body, written;
bool mmap_locked;
/* The consumer is in the list, and its registration has returned. */
bool consumer, registered;

inline lock()
{
	atomic { !mmap_locked -> mmap_locked = true }
}

inline unlock()
{
	mmap_locked = false
}

inline write_body()
{
	if
	:: BREAK != 3 -> written = true
	:: else
	fi;
	if
	:: !needed -> text = JUMP
	:: else
	fi;
	written = true
}

inline make_body()
{
	if
	:: BREAK == 1 -> needed = consumer
	:: else
	fi;
	lock();
	if
	:: !body ->
		if
		:: BREAK != 1 -> needed = consumer
		:: else
		fi;
		if
		:: BREAK == 4 -> body = true
		:: else
		fi;
		write_body();
		body = true
	:: else
	fi;
	unlock()
}

active [THREADS] proctype thread()
{
	byte i;
	bool must_call, needed, called;

	for (i : 1 .. HITS) {
		must_call = registered;
		if
		:: text == JUMP ->
			assert(written);
			assert(!must_call || !registered)
		:: text == BREAKPOINT ->
			called = consumer;
			assert(called || !must_call || !registered);
			if
			:: body -> assert(written)
			:: else -> make_body()
			fi
		fi
	}
}

inline hooks_change()
{
	lock();
	body = false;
	if
	:: BREAK != 5 -> text = BREAKPOINT
	:: else
	fi;
	unlock()
}

active proctype user()
{
	if
	:: BREAK == 2 -> hooks_change(); consumer = true
	:: else -> consumer = true; hooks_change()
	fi;
	registered = true;
	registered = false;
	consumer = false;
	hooks_change()
}
