// SPDX-License-Identifier: GPL-2.0
/*
 * A perf.data file as perf would write it, and the recording that is made of it
 *
 * No processor with Intel PT is needed: the file is made here, by the documentation of
 * its layout, with a trace in two pieces, between events that are of no concern. So is a
 * program, in which two segments share a page of the file, as lld makes them.
 *
 * Usage: synth-perf DIRECTORY
 */
#include <elf.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/perf_data.h"
#include "synth.h"

#define BIAS		0x12340000ULL
#define CODE_OFFSET	0x1f00
#define CODE_ADDRESS	0x2f00
#define CODE_SIZE	0x200
#define CPUID_BIT	9

struct file_header {
	char magic[8];
	u64 size, attr_size;
	u64 attrs[2], data[2], event_types[2];
	u64 features[4];
};

static unsigned int failed;

static void put_event(FILE *file, u32 type, const void *data, u16 size)
{
	const struct perf_event_header header = {
		.type = type, .size = sizeof(header) + size,
	};

	fwrite(&header, sizeof(header), 1, file);
	fwrite(data, size, 1, file);
}

static void put_mmap(FILE *file, const char *path, u64 address, u64 offset, u32 protection)
{
	struct {
		u32 pid, tid;
		u64 address, size, offset;
		u8 device[24];
		u32 protection, flags;
		char name[4096];
	} mmap = {
		.address = address, .size = 0x1000, .offset = offset, .protection = protection,
	};

	snprintf(mmap.name, sizeof(mmap.name), "%s", path);
	put_event(file, PERF_RECORD_MMAP2, &mmap,
		  offsetof(typeof(mmap), name) + ((strlen(path) + 8) & ~7UL));
}

static void put_trace(FILE *file, const u8 *data, u64 size, u32 tid, u32 cpu)
{
	const struct {
		u64 size, offset, reference;
		u32 index, tid, cpu, reserved;
	} trace = { .size = size, .tid = tid, .cpu = cpu };

	put_event(file, 71, &trace, sizeof(trace));
	fwrite(data, size, 1, file);
}

/* Contents for which a file is refused. */
enum extra { EXTRA_NONE, EXTRA_TRUNCATED, EXTRA_COMPRESSED, EXTRA_PROCESSOR };

static void put_extra(FILE *file, enum extra extra, const u8 *trace)
{
	static const u64 aux[] = { 0, 4096, PERF_AUX_FLAG_TRUNCATED };

	if (extra == EXTRA_TRUNCATED)
		put_event(file, PERF_RECORD_AUX, aux, sizeof(aux));
	else if (extra == EXTRA_COMPRESSED)
		put_event(file, 81, aux, sizeof(aux));
	else if (extra == EXTRA_PROCESSOR)
		put_trace(file, trace, 8, 77, 3);
}

static void put_info(FILE *file)
{
	const struct {
		u32 type, reserved;
		u64 values[16];
	} info = {
		/* Half a nanosecond a cycle, as 1 / 2; bus ratio 20. */
		.type = 1, .values = { [1] = 1, [2] = 1, [15] = 20 },
	};

	put_event(file, 70, &info, sizeof(info));
}

/* Twice something is wrong with a piece of the trace, once nothing is. */
static void put_losses(FILE *file)
{
	const u64 aux[][3] = {
		{ 0, 4096, PERF_AUX_FLAG_COLLISION }, { 4096, 4096, PERF_AUX_FLAG_OVERWRITE },
		{ 8192, 4096, PERF_AUX_FLAG_PARTIAL },
	};
	const u64 lost[] = { 1, 5 }, samples = 7;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(aux); i++)
		put_event(file, PERF_RECORD_AUX, aux[i], sizeof(aux[i]));
	put_event(file, PERF_RECORD_LOST, lost, sizeof(lost));
	put_event(file, PERF_RECORD_LOST_SAMPLES, &samples, sizeof(samples));
}

static void write_perf(const char *path, const u8 *trace, size_t size, const char *program,
		       bool threads, enum extra extra)
{
	static const char cpuid[] = "GenuineIntel,6,94,3";
	const u32 cpuid_size = sizeof(cpuid);
	struct file_header header = {
		.magic = "PERFILE2", .size = sizeof(header),
		.features = { 1 << CPUID_BIT | 1 << 3 },
	};
	const u32 cpu = threads ? 0xffffffff : 3;
	FILE *file = fopen(path, "w");
	u64 sections[4];

	fwrite(&header, sizeof(header), 1, file);
	header.data[0] = ftell(file);
	put_info(file);
	put_event(file, PERF_RECORD_COMM, "comm of no concern......", 24);
	put_mmap(file, program, BIAS + 0x7000, 0x1000, PROT_READ);	/* it reads its file */
	put_mmap(file, program, BIAS + 0x2000, 0x1000, PROT_READ | PROT_EXEC);
	put_trace(file, trace, size / 2, 77, cpu);
	put_extra(file, extra, trace);
	put_event(file, PERF_RECORD_EXIT, "exit of no concern......", 24);
	if (!threads)
		put_losses(file);
	put_trace(file, trace + size / 2, size - size / 2, 77, cpu);
	header.data[1] = ftell(file) - header.data[0];
	/* Two features: a name of no concern, and the processor. */
	sections[0] = 0;
	sections[1] = 0;
	sections[2] = ftell(file) + sizeof(sections);
	sections[3] = sizeof(cpuid_size) + cpuid_size;
	fwrite(sections, sizeof(sections), 1, file);
	fwrite(&cpuid_size, sizeof(cpuid_size), 1, file);
	fwrite(cpuid, sizeof(cpuid), 1, file);
	rewind(file);
	fwrite(&header, sizeof(header), 1, file);
	fclose(file);
}

static void expect(const char *what, const char *is, const char *wanted)
{
	if (!strcmp(is, wanted))
		return;
	printf("%s: '%s' instead of '%s'\n", what, is, wanted);
	failed++;
}

static size_t make_trace(const char *directory, u8 *trace, size_t size)
{
	const struct recording like = { .threads = true };
	struct synth synth;
	char path[4096];
	FILE *file;

	synth_begin(directory, &like);
	synth_open(&synth, directory, 0);
	synth_psb(&synth, 0);
	synth_event(&synth, 0, SYNTH_ENTRY);
	synth_event(&synth, 1, SYNTH_ENTRY);
	synth_event(&synth, 1, SYNTH_EXIT);
	synth_event(&synth, 0, SYNTH_EXIT);
	synth_close(&synth);
	snprintf(path, sizeof(path), "%s/0.trace", directory);
	file = fopen(path, "r");
	size = fread(trace, 1, size, file);
	fclose(file);
	return size;
}

static void write_program(const char *path)
{
	static const struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
	} program = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr), .e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = CODE_OFFSET,
			  .p_memsz = CODE_OFFSET, .p_align = 4096 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = CODE_OFFSET,
			  .p_vaddr = CODE_ADDRESS, .p_filesz = CODE_SIZE,
			  .p_memsz = CODE_SIZE, .p_align = 4096 },
		},
	};
	FILE *file = fopen(path, "w");

	fwrite(&program, sizeof(program), 1, file);
	fflush(file);
	if (ftruncate(fileno(file), CODE_OFFSET + CODE_SIZE))
		perror(path);
	fclose(file);
}

/* The map with an existing object, to check its load address. */
static void write_map(const char *path, const char *from, const char *program)
{
	FILE *in = fopen(from, "r"), *out = fopen(path, "w");
	char line[4096];

	while (fgets(line, sizeof(line), in)) {
		fputs(line, out);
		if (!strncmp(line, "object", 6))
			fprintf(out, "object 8 - %s\n", program);
	}
	fclose(in);
	fclose(out);
}

static void check_recording(const char *directory, bool threads)
{
	struct recording recording;
	struct fault fault;
	char text[200];

	if (recording_read(&recording, directory, &fault)) {
		expect("the recording", fault.text, "");
		return;
	}
	snprintf(text, sizeof(text), "%s, %u %u %u, %llu kHz, ratio %u, %u streams, load %u 0x%llx",
		 recording.threads ? "threads" : "cpus", recording.family, recording.model,
		 recording.stepping, recording.clock, recording.nominal, recording.nr_streams,
		 recording.nr_loads ? recording.loads[0].object : 0,
		 recording.nr_loads ? recording.loads[0].bias : 0);
	expect("the info", text, threads ?
	       "threads, 6 94 3, 2000000 kHz, ratio 20, 1 streams, load 8 0x12340000" :
	       "cpus, 6 94 3, 2000000 kHz, ratio 20, 1 streams, load 8 0x12340000");
	recording_free(&recording);
}

/* Perf has said that something is missing, but not of any byte that it is. */
static void expect_no_bytes(const char *directory)
{
	char *text = NULL;
	size_t size;
	struct sink sink = { .ops = &sink_summary, .out = open_memstream(&text, &size) };

	synth_run(directory, &sink, -1);
	fclose(sink.out);
	if (!strstr(text, "bytes lost 0\n"))
		expect("the bytes lost", text, "bytes lost 0");
	free(text);
}

static void expect_fault(const char *path, const char *map, const char *directory,
			 const char *wanted)
{
	struct fault fault = { .text = "" };
	struct perf_losses losses;

	if (!perf_data_import(path, map, directory, &losses, &fault) ||
	    !strstr(fault.text, wanted))
		expect("what is no trace", fault.text, wanted);
	if (!access(directory, F_OK))
		expect("what is left of it", directory, "");
}

/* A directory that was there, with a stream that cannot be written, and nothing else. */
static void expect_full_disk(const char *path, const char *map, const char *directory)
{
	struct fault fault = { .text = "" };
	struct perf_losses losses;
	char stream[1200];

	snprintf(stream, sizeof(stream), "%s/0.trace", directory);
	if (mkdir(directory, 0777) || symlink("/dev/full", stream)) {
		perror(directory);
		failed++;
		return;
	}
	if (!perf_data_import(path, map, directory, &losses, &fault) ||
	    !strstr(fault.text, "cannot be written"))
		expect("a full disk", fault.text, "cannot be written");
	if (rmdir(directory))
		expect("what is left on a full disk", directory, "");
}

int main(int argc, char **argv)
{
	static const char *const extras[] = {
		[EXTRA_TRUNCATED] = "perf has lost trace", [EXTRA_COMPRESSED] = "is compressed",
		[EXTRA_PROCESSOR] = "traces of threads, and traces of processors",
	};
	char base[1000], perf[1100], map[1100], out[1100], program[PATH_MAX + 20];
	char events[1000], calls[1000], lost[100];
	struct fault fault = { .text = "" };
	struct perf_losses losses;
	u8 trace[1000];
	size_t size;
	int threads;
	unsigned int i;

	if (argc != 2 || !realpath(argv[1], program)) {
		fprintf(stderr, "Usage: synth-perf DIRECTORY\n");
		return 1;
	}
	strcat(program, "/perf.program");
	write_program(program);
	snprintf(base, sizeof(base), "%s/perf.trace", argv[1]);
	size = make_trace(base, trace, sizeof(trace));
	snprintf(out, sizeof(out), "%s/map", base);
	snprintf(map, sizeof(map), "%s/perf", argv[1]);
	mkdir(map, 0777);
	snprintf(map, sizeof(map), "%s/perf/map", argv[1]);
	write_map(map, out, program);
	for (threads = 0; threads < 2; threads++) {
		snprintf(perf, sizeof(perf), "%s/perf.data.%d", argv[1], threads);
		snprintf(out, sizeof(out), "%s/perf.%d", argv[1], threads);
		write_perf(perf, trace, size, program, threads, EXTRA_NONE);
		if (perf_data_import(perf, map, out, &losses, &fault)) {
			expect("the import", fault.text, "");
			continue;
		}
		snprintf(lost, sizeof(lost), "%llu of the trace, %llu records", losses.trace,
			 losses.records);
		expect("what is lost", lost, threads ? "0 of the trace, 0 records" :
						       "2 of the trace, 12 records");
		check_recording(out, threads);
		synth_decode(out, -1, events, calls, sizeof(events));
		expect_no_bytes(out);
		expect("the events", events, threads ? "E0 E1 X1 X0 " : "E0 E1 X1 X0 ! ");
	}
	snprintf(out, sizeof(out), "%s/perf.bad", argv[1]);
	expect_fault(map, map, out, "is no perf.data file");
	expect_full_disk(perf, map, out);
	for (i = EXTRA_NONE + 1; i < ARRAY_SIZE(extras); i++) {
		write_perf(perf, trace, size, program, true, i);
		expect_fault(perf, map, out, extras[i]);
	}
	if (truncate(perf, 400))
		return 1;
	expect_fault(perf, map, out, "is cut off, or not whole");
	/* For decode-fuzz. */
	snprintf(perf, sizeof(perf), "%s/perf/perf.data", argv[1]);
	write_perf(perf, trace, size, program, true, EXTRA_NONE);
	return failed ? 1 : 0;
}
