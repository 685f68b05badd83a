// SPDX-License-Identifier: GPL-2.0
/*
 * Decode a stream of the plugin with the upstream libraries' own decoders
 *
 * Intel PT is read by libipt's packet decoder, and the size of each packet is compared
 * with the manual's tables. ETMv4 is read by OpenCSD's full decoder,
 * which follows the instructions of the program: only a trace that fits them is
 * decoded. Either way, the addresses where execution came into the range are printed.
 *
 * Usage: plugin-upstream intel-pt FILE
 *	  plugin-upstream etmv4 FILE PROGRAM OFFSET ADDRESS SIZE
 *		(a part of the program that holds the stubs)
 */
#include <fcntl.h>
#include <intel-pt.h>
#include <opencsd/c_api/opencsd_c_api.h>
#include <opencsd/etmv4/trc_pkt_types_etmv4.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/base.h"

static unsigned long wrong;

static const u8 *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat status;
	void *data;

	if (fd < 0 || fstat(fd, &status)) {
		perror(path);
		exit(1);
	}
	*size = status.st_size;
	data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	return data;
}

/* The address of a packet, and its expected compressed form. */
static u64 address_of(const struct pt_packet_ip *packet, u64 last, unsigned int *size)
{
	u64 ip = packet->ip;

	switch (packet->ipc) {
	case pt_ipc_suppressed:
		*size = 1;
		return last;
	case pt_ipc_update_16:
		ip |= last & ~0xffffULL;
		break;
	case pt_ipc_update_32:
		ip |= last & ~0xffffffffULL;
		break;
	case pt_ipc_sext_48:
		ip = (int64_t)(ip << 16) >> 16;
		break;
	default:
		break;
	}
	if (ip >> 16 == last >> 16)
		*size = 3;
	else if (ip >> 32 == last >> 32)
		*size = 5;
	else
		*size = (int64_t)(ip << 16) >> 16 == (int64_t)ip ? 7 : 9;
	return ip;
}

static unsigned int cyc_size(u64 value)
{
	unsigned int size = 1;

	for (value >>= 5; value; value >>= 7)
		size++;
	return size;
}

/* Of packets without an address. */
static unsigned int size_of(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_psb:
		return 16;
	case ppt_tsc:
		return 8;
	case ppt_cbr:
		return 4;
	case ppt_psbend:
	case ppt_mode:
	case ppt_ovf:
		return 2;
	case ppt_tnt_8:
		return 1;
	case ppt_cyc:
		return cyc_size(packet->payload.cyc.value);
	default:
		/* The plugin writes no others. */
		return 0;
	}
}

static int read_pt(const char *path)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	struct pt_packet packet;
	unsigned int size;
	u64 last = 0;
	size_t length;
	int status;

	pt_config_init(&config);
	config.begin = (u8 *)map_file(path, &length);
	config.end = config.begin + length;
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		return -1;
	status = pt_pkt_sync_forward(decoder);
	while (status >= 0 && (status = pt_pkt_next(decoder, &packet, sizeof(packet))) >= 0) {
		switch (packet.type) {
		case ppt_tip_pge:
		case ppt_tip_pgd:
		case ppt_tip:
		case ppt_fup:
			last = address_of(&packet.payload.ip, last, &size);
			if (packet.type == ppt_tip_pge)
				printf("%llx\n", last);
			break;
		default:
			size = size_of(&packet);
			if (packet.type == ppt_psb)
				last = 0;
			break;
		}
		if (packet.size != size && wrong++ < 10)
			fprintf(stderr, "a packet of type %d has %u bytes instead of %u\n",
				packet.type, packet.size, size);
	}
	pt_pkt_free_decoder(decoder);
	if (status != -pte_eos)
		fprintf(stderr, "%s\n", pt_errstr(pt_errcode(status)));
	return status == -pte_eos && !wrong ? 0 : -1;
}

static ocsd_datapath_resp_t take_element(const void *context, const ocsd_trc_index_t index,
					 const u8 id, const ocsd_generic_trace_elem *element)
{
	static bool on;

	(void)context;
	(void)id;
	switch (element->elem_type) {
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
		on = true;
		break;
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		if (on)
			printf("%lx\n", (unsigned long)element->st_addr);
		on = false;
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
	case OCSD_GEN_TRC_ELEM_ADDR_UNKNOWN:
		if (wrong++ < 10)
			fprintf(stderr, "at byte %lu: there is no instruction at 0x%lx\n",
				(unsigned long)index, (unsigned long)element->st_addr);
		break;
	case OCSD_GEN_TRC_ELEM_NO_SYNC:
		wrong += index != 0;
		break;
	default:
		break;
	}
	return OCSD_RESP_CONT;
}

static int read_etm(char **argv)
{
	const ocsd_etmv4_cfg config = {
		.reg_idr0 = 0x28000ea1, .reg_idr1 = 0x4100f403, .reg_idr2 = 0x488,
		.reg_configr = 0x1, .reg_traceidr = 0x10,
		.arch_ver = ARCH_V8, .core_prof = profile_CortexA,
	};
	const unsigned long offset = strtoul(argv[4], NULL, 0), address = strtoul(argv[5], NULL, 0);
	size_t size, program_size, done = 0;
	const u8 *data = map_file(argv[2], &size), *program = map_file(argv[3], &program_size);
	dcd_tree_handle_t tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
	unsigned char id;
	u32 used;

	if (ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_FULL_DECODER,
				   &config, &id) ||
	    ocsd_dt_add_buffer_mem_acc(tree, address, OCSD_MEM_SPACE_ANY, program + offset,
				       strtoul(argv[6], NULL, 0)))
		return -1;
	ocsd_dt_set_gen_elem_outfn(tree, take_element, NULL);
	while (done < size) {
		ocsd_datapath_resp_t response;

		response = ocsd_dt_process_data(tree, OCSD_OP_DATA, done, size - done, data + done,
						&used);
		if (!used || OCSD_DATA_RESP_IS_FATAL(response)) {
			fprintf(stderr, "OpenCSD stops at byte %zu\n", done);
			return -1;
		}
		done += used;
	}
	ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, &used);
	ocsd_destroy_dcd_tree(tree);
	return wrong ? -1 : 0;
}

int main(int argc, char **argv)
{
	int result;

	if (argc == 3 && !strcmp(argv[1], "intel-pt")) {
		result = read_pt(argv[2]);
	} else if (argc == 7 && !strcmp(argv[1], "etmv4")) {
		result = read_etm(argv);
	} else {
		fprintf(stderr, "Usage: plugin-upstream intel-pt FILE\n"
			"       plugin-upstream etmv4 FILE PROGRAM OFFSET ADDRESS SIZE\n");
		result = -1;
	}
	return result ? 1 : 0;
}
