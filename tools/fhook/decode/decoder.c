// SPDX-License-Identifier: GPL-2.0
/* Common code of the decoders of all formats: a mapped file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decoder.h"

int decoder_map(struct decoder *decoder, const char *path, struct fault *fault)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *data;

	decoder->data = NULL;
	decoder->size = 0;
	decoder->begin = 0;
	decoder->released = 0;
	if (fd < 0 || fstat(fd, &status)) {
		fault_say(fault, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (status.st_size) {
		data = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED) {
			close(fd);
			return fault_say(fault, "%s: %s", path, strerror(errno));
		}
		madvise(data, status.st_size, MADV_SEQUENTIAL);
		decoder->data = data;
		decoder->size = status.st_size;
	}
	close(fd);
	return 0;
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
	size_t end = decoder->size;

	while (end && !decoder->data[end - 1])
		end--;
	return decoder->size - end > most ? end : decoder->size;
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
