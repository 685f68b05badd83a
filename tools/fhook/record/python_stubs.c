// SPDX-License-Identifier: GPL-2.0
/* Stubs of Python's functions; the header describes them. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "python_stubs.h"

#define TEXT_OF(number)		TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number)	#number

/* A stub is the instruction "ret". */
#ifdef __aarch64__
#define RETURN	0xd65f03c0
#else
#define RETURN	0xc3
#endif

asm(".pushsection " PYTHON_STUB_SECTION ", \"ax\", @progbits\n"
	".globl fhook_python_stubs\n"
	".hidden fhook_python_stubs\n"
	".type fhook_python_stubs, @object\n"
	".balign " TEXT_OF(PYTHON_STUB_SIZE) "\n"
	"fhook_python_stubs: .fill 2 * " TEXT_OF(PYTHON_STUB_FUNCTIONS) ", "
	TEXT_OF(PYTHON_STUB_SIZE) ", " TEXT_OF(RETURN) "\n"
	".popsection\n");

extern const char fhook_python_stubs[] __attribute__((visibility("hidden")));

static char *map;
/* Number of functions that have stubs, in this process and those that it has forked. */
static atomic_uint *nr_functions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool python_stubs_wanted(void)
{
	const char *wanted = secure_getenv(PYTHON_STUB_MAP);

	if (!wanted || !strchr(wanted, ':'))
		return false;
	map = strdup(wanted);
	nr_functions = mmap(NULL, sizeof(*nr_functions), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsetenv(PYTHON_STUB_MAP);
	return map && nr_functions != MAP_FAILED;
}

/* Another process may give the same function other stubs: this identifies it in both. */
static u64 identity_of(const struct named *named)
{
	const char *const texts[] = { named->name, named->file };
	u64 hash = 0xcbf29ce484222325ULL ^ named->line;
	unsigned int i;
	const char *at;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		for (at = texts[i]; at == texts[i] || at[-1]; at++)
			hash = (hash ^ (u8)*at) * 0x100000001b3ULL;
	return hash;
}

/* The lines of a function in the map. Addresses are those in the file of this library. */
static char *lines_of(const struct named *named, size_t *size)
{
	char *text = NULL;
	Dl_info own;
	FILE *file;

	if (!dladdr(fhook_python_stubs, &own))
		return NULL;
	file = open_memstream(&text, size);
	if (!file)
		return NULL;
	named_print(named, atoi(map), named->address - (unsigned long)own.dli_fbase,
		    PYTHON_STUB_SIZE, identity_of(named), file);
	if (!fclose(file))
		return text;
	free(text);
	return NULL;
}

/* Other processes append lines, too: these are written by one call. */
static bool append(const struct named *named)
{
	size_t size;
	char *text = lines_of(named, &size);
	const int fd = text ? open(strchr(map, ':') + 1, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	const bool done = fd >= 0 && write(fd, text, size) == (ssize_t)size;

	if (fd >= 0)
		close(fd);
	free(text);
	return done;
}

/* Say once that calls are left out. */
static void say(const char *why)
{
	static bool said;
	struct fault fault;

	if (said)
		return;
	said = true;
	fault_say(&fault, "%s: their calls are left out", why);
	fault_print("fhook-python", &fault);
}

static void add_stubs(struct named *named)
{
	const unsigned int number = atomic_fetch_add(nr_functions, 1);

	named->failed = true;
	if (number >= PYTHON_STUB_FUNCTIONS) {
		/* Do not overflow. */
		atomic_fetch_sub(nr_functions, 1);
		say("there are stubs for " TEXT_OF(PYTHON_STUB_FUNCTIONS)
		    " functions of Python, but not for the others");
		return;
	}
	named->address = (unsigned long)fhook_python_stubs + 2 * PYTHON_STUB_SIZE * number;
	if (append(named))
		named->failed = false;
	else
		say("the map of the recording has no room for more functions of Python");
}

void python_stub_execute(struct named *named, u64 offset)
{
	if (!named->address && !named->failed) {
		pthread_mutex_lock(&lock);
		if (!named->address && !named->failed)
			add_stubs(named);
		pthread_mutex_unlock(&lock);
	}
	if (!named->failed)
		((void (*)(void))(unsigned long)(named->address + offset * PYTHON_STUB_SIZE))();
}
