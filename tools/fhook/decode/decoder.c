// SPDX-License-Identifier: GPL-2.0
/* Common code of the decoders of all formats: a mapped file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decoder.h"
#include "software.h"

static int open_file(struct decoder *decoder, const char *path, struct fault *fault)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	decoder->data = NULL;
	decoder->size = 0;
	decoder->begin = 0;
	decoder->released = 0;
	if (fd >= 0 && !fstat(fd, &status)) {
		decoder->size = status.st_size;
		return fd;
	}
	fault_say(fault, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Map the file, and close it. */
static int map_file(struct decoder *decoder, const char *path, int fd, struct fault *fault)
{
	void *data = decoder->size ? mmap(NULL, decoder->size, PROT_READ, MAP_PRIVATE, fd, 0) :
				     NULL;

	close(fd);
	if (data == MAP_FAILED)
		return fault_say(fault, "%s: %s", path, strerror(errno));
	if (data)
		madvise(data, decoder->size, MADV_SEQUENTIAL);
	decoder->data = data;
	return 0;
}

int decoder_map(struct decoder *decoder, const char *path, struct fault *fault)
{
	int fd = open_file(decoder, path, fault);

	return fd < 0 ? -1 : map_file(decoder, path, fd, fault);
}

/* The end of the last byte that is not zero, of SIZE bytes or fewer; -1 on error. */
static off_t find_end(int fd, off_t size)
{
	u8 piece[65536];

	while (size) {
		const off_t start = (size - 1) / sizeof(piece) * sizeof(piece);
		ssize_t nr = pread(fd, piece, size - start, start);

		if (nr < 0)
			return -1;
		while (nr && !piece[nr - 1])
			nr--;
		if (nr)
			return start + nr;
		size = start;
	}
	return 0;
}

int decoder_map_stream(struct decoder *decoder, const char *path, struct fault *fault)
{
	const size_t record = sizeof(struct software_record);
	int fd = open_file(decoder, path, fault);
	off_t end;

	if (fd < 0)
		return -1;
	end = find_end(fd, decoder->size);
	if (end < 0) {
		fault_say(fault, "%s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	decoder->end = end;
	decoder->zeroes = decoder->size - end;
	/* The last record may end with zeroes, which are in the same page. */
	if (decoder->zeroes > DECODER_PADDING)
		decoder->size = (end + record - 1) / record * record;
	return map_file(decoder, path, fd, fault);
}

bool decoder_find_begin(struct decoder *decoder)
{
	const u64 *words = (const void *)decoder->data;
	const size_t nr = decoder->size / sizeof(*words);
	size_t first = 0;

	/* A hole has whole pages. */
	while (first < nr && !words[first])
		first++;
	decoder->begin = first * sizeof(*words);
	return decoder->begin;
}

size_t decoder_end(const struct decoder *decoder, size_t most)
{
	return decoder->zeroes > most ? decoder->end : decoder->size;
}

void decoder_release(struct decoder *decoder, size_t offset)
{
	const size_t piece = 4 << 20;

	if (offset < decoder->released + 2 * piece)
		return;
	/* Keep some data before the offset, because decoders may look back. */
	offset = (offset - piece) / piece * piece;
	madvise((void *)decoder->data + decoder->released, offset - decoder->released,
		MADV_DONTNEED);
	decoder->released = offset;
}

void decoder_unmap(struct decoder *decoder)
{
	if (decoder->data)
		munmap((void *)decoder->data, decoder->size);
}
