// SPDX-License-Identifier: GPL-2.0
/* The software recorder's settings, and the page for requests; the header describes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cyg_control.h"
#include "lib/clock.h"
#include "lib/recording.h"

#define LOOK_NS	1000000000ull

volatile struct control *cyg_control;

/*
 * The directory that the command locks, or NULL; children have that of their parent. It stays
 * allocated: another thread may be reading it when the next recording begins.
 */
static const char *watched;
/* When to look at its lock next. */
static atomic_ullong next_look;

static void __attribute__((constructor)) make_control(void)
{
	const int fd = memfd_create(CONTROL_NAME, MFD_CLOEXEC);
	struct control *control = MAP_FAILED;

	if (fd < 0)
		return;
	/* A private mapping: a child gets a copy. */
	if (!ftruncate(fd, sizeof(*control)))
		control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (control == MAP_FAILED)
		return;
	memcpy(control->magic, CONTROL_MAGIC, sizeof(CONTROL_MAGIC));
	cyg_control = control;
}

struct settings settings_of_environment(void)
{
	/* The caller of a setuid program must not choose where its owner creates files. */
	const char *snapshot = secure_getenv("FHOOK_SNAPSHOT");
	const char *session = secure_getenv(RECORDING_SESSION);

	return (struct settings){
		.directory = secure_getenv("FHOOK_RECORD"),
		.until = secure_getenv("FHOOK_UNTIL"),
		.snapshot_mb = snapshot ? strtoul(snapshot, NULL, 10) : 0,
		.session = session ? strtoull(session, NULL, 16) : 0,
	};
}

struct settings settings_of_request(void)
{
	const struct control *control = (const struct control *)cyg_control;
	const char *directory = strndup(control->directory, sizeof(control->directory) - 1);

	next_look = clock_ns(CLOCK_MONOTONIC) + WATCH_BEGINS_NS;
	__atomic_store_n(&watched, directory, __ATOMIC_RELEASE);
	return (struct settings){
		.directory = directory,
		.until = strndup(control->until, sizeof(control->until) - 1),
		.snapshot_mb = control->snapshot_mb,
	};
}

void control_note(bool recording)
{
	if (cyg_control)
		cyg_control->recording = recording;
}

void control_done(u32 request, bool recording, const struct fault *fault)
{
	struct control *control = (struct control *)cyg_control;

	memcpy(control->fault, fault ? fault->text : "", fault ? sizeof(control->fault) : 1);
	control_note(recording);
	/* A request that has been written in the meantime remains. */
	__atomic_compare_exchange_n(&control->request, &request, CONTROL_NONE, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

bool control_is_left(u64 now)
{
	const char *directory = __atomic_load_n(&watched, __ATOMIC_ACQUIRE);
	const int error = errno;
	bool left = false;
	int fd;

	if (!directory || now < next_look)
		return false;
	next_look = now + LOOK_NS;
	/* A program that cannot see the directory any more cannot tell. */
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		left = !flock(fd, LOCK_EX | LOCK_NB);
		close(fd);
	}
	errno = error;
	return left;
}
