// SPDX-License-Identifier: GPL-2.0
/*
 * The independent record: functions that the compiler's own hooks see
 *
 * Linked to a program that is built with -finstrument-functions. Writes a line for
 * each entry and exit of main and the functions that are traced to the file that
 * CALLS names: the number of the thread, the kind, and the symbol.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_HOOKED	__attribute__((no_instrument_function))

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);
void record_landed(const char *function);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threads;
static __thread int me;
static FILE *file;

NOT_HOOKED static void write_line(const char *kind, const char *name)
{
	pthread_mutex_lock(&lock);
	if (!file)
		file = fopen(getenv("CALLS") ?: "/dev/null", "w");
	if (!me)
		me = ++threads;
	if (file)
		fprintf(file, "%d %s %s\n", me, kind, name);
	pthread_mutex_unlock(&lock);
}

NOT_HOOKED static void write_call(const char *kind, void *function)
{
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_sname)
		return;
	if (!strcmp(info.dli_sname, "main") || !strncmp(info.dli_sname, "t_", 2) ||
	    !strncmp(info.dli_sname, "_ZN1t", 5) || !strncmp(info.dli_sname, "_ZNK1t", 6))
		write_line(kind, info.dli_sname);
}

NOT_HOOKED void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	write_call("entry", function);
}

NOT_HOOKED void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	write_call("exit", function);
}

NOT_HOOKED void record_landed(const char *function)
{
	write_line("land", function);
}
