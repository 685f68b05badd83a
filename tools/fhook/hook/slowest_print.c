// SPDX-License-Identifier: GPL-2.0
/* Printing the slowest call of each function */
#include <stdio.h>
#include <stdlib.h>
#include "lib/clock.h"
#include "lib/json.h"
#include "live.h"
#include "slowest.h"

static int compare(const void *a, const void *b)
{
	const struct slow_call *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* The time of day in nanoseconds at a time of CLOCK_BOOTTIME, which goes on during a suspend. */
static u64 wall_ns(u64 boot)
{
	return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + boot;
}

static void print_when(u64 boot)
{
	const u64 ns = wall_ns(boot);
	const time_t seconds = ns / NS_PER_S;
	struct tm local;
	char text[16];

	localtime_r(&seconds, &local);
	strftime(text, sizeof(text), "%H:%M:%S", &local);
	printf("%s.%06llu", text, ns / 1000 % 1000000);
}

/* Strings have quotation marks, and no control characters, which would go to the terminal. */
static void print_value(const struct slow_call *call, unsigned int number)
{
	const char *text = call->values[number];

	if (call->kinds[number] == VALUE_STRING)
		json_string(stdout, text);
	else if (call->kinds[number] == VALUE_HEX)
		printf("0x%llx", strtoull(text, NULL, 10));
	else if (call->kinds[number] == VALUE_SIGNED)
		printf("%lld", (s64)strtoull(text, NULL, 10));
	else
		fputs(text, stdout);
}

void slowest_print(struct slowest *slowest, unsigned int lines)
{
	unsigned int argument;
	size_t i;

	if (!slowest->nr)
		return;
	qsort(slowest->calls, slowest->nr, sizeof(*slowest->calls), compare);
	live_header("%10s %15s  SLOWEST CALL", "TIME", "ENDED");
	for (i = 0; i < slowest->nr && i < lines; i++) {
		const struct slow_call *call = slowest->calls + i;
		char time[16];

		printf("%10s ", live_time(call->ns, time));
		print_when(call->ended);
		printf("  %s(", call->function);
		for (argument = 0; argument < call->spec->nr; argument++) {
			printf("%s%s=", argument ? ", " : "", call->spec->labels[argument]);
			print_value(call, argument);
		}
		printf(") by %d ", call->pid);
		json_string(stdout, call->comm);
		putchar('\n');
	}
}

static void print_json(const struct slow_call *call)
{
	const u64 ended = wall_ns(call->ended);
	unsigned int i;

	fputs("{\"function\":", stdout);
	json_string(stdout, call->function);
	printf(",\"slowest\":{\"ns\":%llu,\"ended\":%llu.%06llu,\"pid\":%d,\"comm\":", call->ns,
	       ended / 1000000000, ended / 1000 % 1000000, call->pid);
	json_string(stdout, call->comm);
	fputs(",\"args\":{", stdout);
	for (i = 0; i < call->spec->nr; i++) {
		fputs(i ? "," : "", stdout);
		json_string(stdout, call->spec->labels[i]);
		putchar(':');
		if (call->kinds[i] == VALUE_STRING)
			json_string(stdout, call->values[i]);
		else
			json_number(stdout, strtoull(call->values[i], NULL, 10),
				    call->kinds[i] == VALUE_SIGNED);
	}
	puts("}}}");
}

void slowest_print_json(struct slowest *slowest)
{
	size_t i;

	for (i = 0; i < slowest->nr; i++)
		print_json(slowest->calls + i);
}
