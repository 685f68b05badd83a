// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a file system in a program, with one file whose content is another's.
 *
 *	uhook_fuse DIR FILE	mount it at DIR and serve it there, as "text", until it
 *				is unmounted or the program killed
 *
 * From a SIGUSR1 on it does not answer reads, until a SIGUSR2 comes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "uhook_test.h"

#define TEXT_ID		2
#define MAX_DATA	0x20000
#define MAX_WAITING	64
#define FOREVER		1000000

struct request {
	struct fuse_in_header header;
	char data[MAX_DATA];
};

static int fuse, file;
static volatile sig_atomic_t stalled;

static struct waiting {
	uint64_t unique;
	struct fuse_read_in in;
} waiting[MAX_WAITING];
static unsigned int nr_waiting;

static void answer(uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header header = {
		.len = sizeof(header) + size,
		.error = -error,
		.unique = unique,
	};
	struct iovec parts[] = { { &header, sizeof(header) }, { (void *)data, size } };

	/* The reader may have been killed meanwhile. */
	check(writev(fuse, parts, 2) == (ssize_t)header.len || errno == ENOENT, "writev: %s",
	      strerror(errno));
}

static struct fuse_attr attr_of(uint64_t id)
{
	struct fuse_attr attr = { .ino = id, .nlink = 1, .blksize = 4096 };
	struct stat st;

	attr.mode = S_IFDIR | 0755;
	if (id == TEXT_ID) {
		check(!fstat(file, &st), "fstat: %s", strerror(errno));
		attr.mode = S_IFREG | 0755;
		attr.size = st.st_size;
		attr.blocks = (st.st_size + 511) / 512;
	}

	return attr;
}

static void init(const struct request *r)
{
	const struct fuse_init_in *in = (const void *)r->data;
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = in->max_readahead,
		.max_write = MAX_DATA - 0x1000,
		.max_background = 16,
		.congestion_threshold = 12,
		.time_gran = 1,
	};

	answer(r->header.unique, 0, &out, sizeof(out));
}

static void look_up(const struct request *r)
{
	struct fuse_entry_out out = {
		.nodeid = TEXT_ID,
		.entry_valid = FOREVER,
		.attr_valid = FOREVER,
		.attr = attr_of(TEXT_ID),
	};

	if (r->header.nodeid == FUSE_ROOT_ID && !strcmp(r->data, "text"))
		answer(r->header.unique, 0, &out, sizeof(out));
	else
		answer(r->header.unique, ENOENT, NULL, 0);
}

static void get_attr(const struct request *r)
{
	struct fuse_attr_out out = { .attr_valid = FOREVER, .attr = attr_of(r->header.nodeid) };

	answer(r->header.unique, 0, &out, sizeof(out));
}

static void answer_read(const struct waiting *w)
{
	static char buffer[MAX_DATA];
	ssize_t len;

	check(w->in.size <= sizeof(buffer), "a read of %u bytes", w->in.size);
	len = pread(file, buffer, w->in.size, w->in.offset);
	check(len >= 0, "pread: %s", strerror(errno));
	answer(w->unique, 0, buffer, len);
}

static void answer_waiting(void)
{
	while (nr_waiting)
		answer_read(&waiting[--nr_waiting]);
}

static void read_text(const struct request *r)
{
	check(nr_waiting < MAX_WAITING, "too many wait");
	waiting[nr_waiting].unique = r->header.unique;
	memcpy(&waiting[nr_waiting++].in, r->data, sizeof(waiting[0].in));
	if (!stalled)
		answer_waiting();
}

static void serve(const struct request *r)
{
	const struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };

	switch (r->header.opcode) {
	case FUSE_INIT:
		init(r);
		break;
	case FUSE_LOOKUP:
		look_up(r);
		break;
	case FUSE_GETATTR:
		get_attr(r);
		break;
	case FUSE_OPEN:
		answer(r->header.unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		read_text(r);
		break;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		answer(r->header.unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(r->header.unique, ENOSYS, NULL, 0);
	}
}

static void on_signal(int sig)
{
	stalled = sig == SIGUSR1;
}

static void mount_at(const char *dir)
{
	char options[128];

	fuse = open("/dev/fuse", O_RDWR);
	check(fuse >= 0, "/dev/fuse: %s", strerror(errno));
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions", fuse);
	check(!mount("uhook_fuse", dir, "fuse", 0, options), "mount at %s: %s", dir,
	      strerror(errno));
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	static struct request request;
	sigset_t signals, none;

	check(argc == 3, "usage: %s DIR FILE", argv[0]);
	file = open(argv[2], O_RDONLY);
	check(file >= 0, "%s: %s", argv[2], strerror(errno));

	/* They come only while there is nothing to do. */
	sigemptyset(&none);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	check(!sigaction(SIGUSR1, &sa, NULL) && !sigaction(SIGUSR2, &sa, NULL), "sigaction: %s",
	      strerror(errno));

	mount_at(argv[1]);
	for (;;) {
		struct pollfd ready = { .fd = fuse, .events = POLLIN };

		if (ppoll(&ready, 1, NULL, &none) < 0) {
			if (!stalled)
				answer_waiting();
			continue;
		}
		memset(&request, 0, sizeof(request));
		if (read(fuse, &request, sizeof(request)) < 0) {
			/* It has been unmounted, or there was nothing after all. */
			if (errno == ENODEV)
				return 0;
			check(errno == ENOENT || errno == EINTR || errno == EAGAIN, "read: %s",
			      strerror(errno));
			continue;
		}
		serve(&request);
	}
}
