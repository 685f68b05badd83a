#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Usage: reload_software.sh TOOLS DIR
#
# The software recorder and libraries that are loaded and unloaded: a library that is loaded
# again, at the same address or another one, is the same; one at the address of another
# library is not that. A library whose file was replaced is left out, which is reported.
set -eu

. "$(dirname "$0")/test_lib.sh"

write_libraries
cat > main.c <<-'END'
	#include <dlfcn.h>
	#include <pthread.h>
	#include <stdio.h>
	#include <string.h>
	#include <sys/mman.h>
	#define QUIET __attribute__((no_instrument_function))
	static void *last;
	/* NAME[-]: "-" takes the last one's place before. */
	QUIET static void load(char *word)
	{
		int elsewhere = word[strlen(word) - 1] == '-';
		char path[64], *at = (char *)((long)last & -4096);
		void *library;

		word[strlen(word) - elsewhere] = 0;
		if (elsewhere)
			mmap(at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		snprintf(path, sizeof(path), "./%s.so", word);
		library = dlopen(path, RTLD_NOW);
		if (!library) {
			puts(dlerror());
			return;
		}
		last = dlsym(library, word);
		printf("%p %d\n", last, ((int (*)(int))last)(3));
		dlclose(library);
	}
	QUIET static void *run(void *words)
	{
		for (char **word = words; *word; word++)
			load(*word);
		return NULL;
	}
	int main(int argc, char **argv)
	{
		pthread_t thread;

		if (strcmp(argv[1], "thread"))
			return run(argv + 1), 0;
		run(argv + 2);
		pthread_create(&thread, NULL, run, argv + 2);
		pthread_join(thread, NULL);
		return argc < 2;
	}
END

# build LINKER-OPTION: both libraries have the same sizes.
build()
{
	for name in one two; do
		gcc -O0 -g0 -shared -fPIC -finstrument-functions "$1" -o $name.so $name.c
	done
}
gcc -O1 -finstrument-functions -o main main.c "$tools/libfhook-record.a" -rdynamic

# entries FUNCTION
entries()
{
	grep -c "	entry	$1	" events || :
}

# record ONE TWO WORD...: so many calls of one() and of two() are recorded
record()
{
	ones=$1 twos=$2
	shift 2
	rm -rf recording
	$fhook record --software -o recording ./main "$@" > values 2> said
	$fhook print --events recording > events 2>> said
	if [ "$(entries one)/$(entries inner_one)" != "$ones/$((ones * 4))" ] ||
	   [ "$(entries two)/$(entries inner_two)" != "$twos/$((twos * 4))" ] ||
	   grep 'no stubs of its map' said; then
		echo "$*: $(entries one) of $ones, $(entries two) of $twos"
		cat values said recording/info
		status=1
	fi
}

for option in -Wl,--build-id -Wl,--build-id=none; do
	build $option
	record 3 0 one one one
	record 3 0 one one- one-
	record 2 1 one two one
	# It is at the address of the other one.
	[ "$(cut -d ' ' -f 1 values | sort -u | wc -l)" -eq 1 ]
	record 2 3 one two two- one- two
	record 4 4 thread one two one- two
	if grep unplaced recording/info; then status=1; fi
done

# Another file takes the place of a file that is loaded.
build -Wl,--build-id
cat > replaced.c <<-'END'
	#include <dlfcn.h>
	#include <stdio.h>
	int main(void)
	{
		void *one = dlopen("./one.so", RTLD_NOW);

		rename("two.so", "one.so");
		return ((int (*)(int))dlsym(one, "one"))(3) != 7;
	}
END
gcc -O1 -finstrument-functions -o replaced replaced.c "$tools/libfhook-record.a" -rdynamic
rm -rf recording
FHOOK_RECORD=recording ./replaced 2> said
grep -q 'one.so is not the file that was loaded' said
grep -qx 'unplaced 1' recording/info
$fhook print --events recording > events 2> said
[ "$(entries main)/$(entries one)/$(entries two)" = 1/0/0 ]
grep -q '1 times something was loaded whose calls' said

# Code that the loader does not know, at an address where one.so has been.
build -Wl,--build-id
cat > unknown.c <<-'END'
	#include <dlfcn.h>
	#include <sys/mman.h>
	void __cyg_profile_func_enter(void *function, void *caller);
	int main(void)
	{
		void *one = dlopen("./one.so", RTLD_NOW);
		int (*call)(int) = (int (*)(int))dlsym(one, "one");
		char *at = (char *)((long)call & -4096);

		call(3);
		dlclose(one);
		mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		__cyg_profile_func_enter((void *)call, 0);
		return 0;
	}
END
gcc -O1 -finstrument-functions -o unknown unknown.c "$tools/libfhook-record.a" -rdynamic
rm -rf recording
FHOOK_RECORD=recording ./unknown
$fhook print --events recording > events 2> said
[ "$(entries main)/$(entries one)" = 1/1 ]
grep -q '1 addresses of recording are no stubs of its map' said
exit $status
