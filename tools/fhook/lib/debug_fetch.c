// SPDX-License-Identifier: GPL-2.0
/* Debug files from servers; the header describes the functions. */
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "debug_fetch.h"
#include "work.h"

#define LIBRARY	"libdebuginfod.so.1"

struct debuginfod_client;
typedef int progress_fn(struct debuginfod_client *client, long done, long all);
typedef void end_fn(struct debuginfod_client *client);
typedef int find_fn(struct debuginfod_client *client, const unsigned char *id, int length,
		    char **path);

/* Called while a file is fetched, which may take long; ends it after a signal. */
static int stop_fetching(struct debuginfod_client *client __unused, long done __unused,
			 long all __unused)
{
	static bool said;

	if (!said)
		fputs("fhook: debug symbols are being fetched; Ctrl-C ends that.\n", stderr);
	said = true;
	return work_stopped();
}

static void follow(void *library, struct debuginfod_client *client)
{
	void (*set)(struct debuginfod_client *client, progress_fn *progress);

	set = dlsym(library, "debuginfod_set_progressfn");
	if (set)
		set(client, stop_fetching);
}

/* libdw loads the library, if it is installed and DEBUGINFOD_URLS is set. */
void debug_fetch_follow(struct Dwfl *dwfl)
{
	struct debuginfod_client *client = getenv("DEBUGINFOD_URLS") ?
					   dwfl_get_debuginfod_client(dwfl) : NULL;
	void *library = client ? dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD) : NULL;

	if (!library)
		return;
	follow(library, client);
	dlclose(library);
}

static char *fetch(void *library, const char *id)
{
	struct debuginfod_client *(*begin)(void);
	end_fn *end = dlsym(library, "debuginfod_end");
	find_fn *find = dlsym(library, "debuginfod_find_debuginfo");
	struct debuginfod_client *client;
	char *path = NULL;
	int fd;

	begin = dlsym(library, "debuginfod_begin");
	client = begin && end && find ? begin() : NULL;
	if (!client)
		return NULL;
	follow(library, client);
	/* Without a length, the id is text. */
	fd = find(client, (const unsigned char *)id, 0, &path);
	end(client);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? path : NULL;
}

/* A file in the library's cache. */
static char *find_fetched(const char *id)
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *user = getenv("XDG_CACHE_HOME");
	struct stat status;
	char *path = NULL;
	int length = -1;

	if (cache)
		length = asprintf(&path, "%s/%s/debuginfo", cache, id);
	else if (user)
		length = asprintf(&path, "%s/debuginfod_client/%s/debuginfo", user, id);
	else if (home)
		length = asprintf(&path, "%s/.cache/debuginfod_client/%s/debuginfo", home, id);
	/* An empty one says that servers did not have the file. */
	if (length >= 0 && !access(path, R_OK) && !stat(path, &status) && status.st_size)
		return path;
	if (length >= 0)
		free(path);
	return NULL;
}

char *debug_fetch(const char *id)
{
	void *library;

	if (!getenv("DEBUGINFOD_URLS"))
		return find_fetched(id);
	/* The library stays loaded: it has threads of its own. */
	library = dlopen(LIBRARY, RTLD_LAZY);
	return library ? fetch(library, id) : NULL;
}

void debug_fetch_stop(void)
{
	/* libdwfl asks it as well. */
	unsetenv("DEBUGINFOD_URLS");
}
