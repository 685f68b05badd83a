/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the ring into which programs record hits: uhook_ring.h
 *
 * Recorders take numbers, fill entries and complete them, or are killed in between; the
 * kernel reads them in order, and gives up those that are not completed when the ring is
 * full. Their recorders may go on later. Each record that is read must be that of the hit
 * that took its number, and each hit is read, lost or given up once.
 *
 * BREAK=1 completes an entry before it is filled, as stores do without an order. With 2 the
 * kernel returns an entry to the program before it has copied it, with 3 it copies an entry
 * before it looks whether that is complete. With 4 a recorder takes its number without
 * comparing, with 5 it takes one too many. With 6 an entry that was given up is free at
 * once.
 */
#ifndef BREAK
#define BREAK		0
#endif

#define ENTRIES		2
#define RECORDERS	2
#define HITS		2

byte head, tail;
byte seq[ENTRIES], first[ENTRIES], last[ENTRIES], turn[ENTRIES];
/* The hits that took the numbers. */
byte taker[RECORDERS * HITS + 1];
byte lost, read, given_up, ended;

inline take(hit)
{
	do
	:: number = head;
	   if
	   :: number - tail >= ENTRIES + (BREAK == 5) -> lost++; room = false; break
	   :: else ->
		atomic {
			if
			:: head == number || BREAK == 4 ->
				head = number + 1;
				taker[number] = hit;
				room = true;
				break
			:: else
			fi
		}
	   fi
	od
}

proctype recorder(byte who)
{
	byte number, i, hit;
	bool room;

	for (i : 1 .. HITS) {
		hit = who * HITS + i;
		take(hit);
		if
		:: room && turn[number % ENTRIES] != number / ENTRIES ->
			lost++;
			room = false
		:: else
		fi;
		if
		:: !room
		:: room ->
			if
			:: BREAK == 1 -> seq[number % ENTRIES] = number + 1
			:: else
			fi;
			first[number % ENTRIES] = hit;
			last[number % ENTRIES] = hit;
			seq[number % ENTRIES] = number + 1
		:: room -> break
		fi
	}
	/* Hits that do not happen any more. */
	lost = lost + HITS - (i > HITS -> HITS : i);
	ended++
}

active proctype kernel()
{
	byte next, one, two;

	run recorder(0);
	run recorder(1);
	do
	:: next < head && turn[next % ENTRIES] != next / ENTRIES ->
		if
		:: seq[next % ENTRIES] == turn[next % ENTRIES] * ENTRIES + next % ENTRIES + 1 ->
			turn[next % ENTRIES] = next / ENTRIES + 1
		:: else
		fi;
		next++;
		tail = next
	:: BREAK == 3 && next < head ->
		one = first[next % ENTRIES];
		two = last[next % ENTRIES];
		if
		:: seq[next % ENTRIES] == next + 1 ->
			assert(one == taker[next] && two == taker[next]);
			read++;
			turn[next % ENTRIES]++;
			next++;
			tail = next
		:: else
		fi
	:: BREAK != 3 && seq[next % ENTRIES] == next + 1 ->
		if
		:: BREAK == 2 -> tail = next + 1
		:: else
		fi;
		one = first[next % ENTRIES];
		two = last[next % ENTRIES];
		assert(one == taker[next] && two == taker[next]);
		read++;
		turn[next % ENTRIES]++;
		next++;
		tail = next
	:: turn[next % ENTRIES] == next / ENTRIES && seq[next % ENTRIES] != next + 1 &&
	   (head - next == ENTRIES || (ended == RECORDERS && next < head)) ->
		given_up++;
		turn[next % ENTRIES] = turn[next % ENTRIES] + (BREAK == 6);
		next++;
		tail = next
	:: ended == RECORDERS && next == head -> break
	od;
	assert(read + given_up + lost == RECORDERS * HITS)
}
