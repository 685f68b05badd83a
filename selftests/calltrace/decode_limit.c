// SPDX-License-Identifier: GPL-2.0
/*
 * Measure how fast libipt's decoders read a stream when their results are discarded
 *
 * Usage: decode-limit query|packet FILE
 */
#include <fcntl.h>
#include <intel-pt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static unsigned long query(const struct pt_config *config)
{
	struct pt_query_decoder *decoder = pt_qry_alloc_decoder(config);
	unsigned long count = 0;
	struct pt_event event;
	unsigned long ip;
	int status;

	status = pt_qry_sync_forward(decoder, &ip);
	while (status >= 0 && status & pts_event_pending) {
		status = pt_qry_event(decoder, &event, sizeof(event));
		count += event.type == ptev_enabled;
	}
	pt_qry_free_decoder(decoder);
	return count;
}

static unsigned long packet(const struct pt_config *config)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
	unsigned long count = 0;
	struct pt_packet packet;
	int status;

	status = pt_pkt_sync_forward(decoder);
	while (status >= 0) {
		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		count += packet.type == ppt_tip_pge;
	}
	pt_pkt_free_decoder(decoder);
	return count;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[2], O_RDONLY) : -1;
	struct pt_config config;
	struct stat status;
	unsigned long count;
	double seconds;
	void *data;

	if (fd < 0 || fstat(fd, &status)) {
		fprintf(stderr, "Usage: decode-limit query|packet FILE\n");
		return 1;
	}
	data = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED) {
		perror(argv[2]);
		return 1;
	}
	pt_config_init(&config);
	config.begin = data;
	config.end = data + status.st_size;
	seconds = now();
	count = strcmp(argv[1], "packet") ? query(&config) : packet(&config);
	seconds = now() - seconds;
	printf("%s: %lu events, %.1f M events/s\n", argv[1], count, count / seconds / 1e6);
	return 0;
}
