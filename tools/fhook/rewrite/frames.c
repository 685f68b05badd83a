// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: unwind information
 *
 * Only .eh_frame has two kinds of data: the starts of functions without symbols, and
 * the landing pads of exceptions. If a part is not understood, this is an error,
 * because an undetected landing pad could be overwritten. All of it is kept for the
 * unwind information of moved code.
 */
#include <string.h>
#include "rewrite.h"

#define PE_OMIT		0xff
#define PE_FORMAT	0x0f
#define PE_RELATIVE	0x70
#define PE_PCREL	0x10
#define PE_SIGNED_4	0x0b
#define PE_INDIRECT	0x80

/*
 * Tables of landing pads do not overlap, and a CIE is hardly longer than an FDE. So the total
 * size of those that are read, a CIE perhaps once for each of its FDEs, exceeds that of the file
 * by this factor only in a malicious file.
 */
#define SHARED_MOST	4

/* Bytes that are read sequentially; after an error, all reads fail. */
struct reader {
	const u8 *at;
	const u8 *end;
	u64 address;		/* address of the data at the pointer */
	bool failed;
};

/**
 * struct rules - the part of a CIE that applies to its FDEs
 * @entry: address of the CIE
 * @unit: code alignment factor
 * @has_data: there is augmentation data
 * @address: encoding of addresses
 * @lsda: encoding of the address of the table of landing pads, or PE_OMIT
 */
struct rules {
	u64 entry;
	u64 unit;
	bool has_data;
	u8 address;
	u8 lsda;
};

/**
 * struct reading - the reading of all unwind information
 * @rw: the file
 * @rules: those of the CIE that was read last
 * @shared: total size of the tables and CIEs that have been read
 * @fault: receives a sentence
 */
struct reading {
	struct rewrite *rw;
	struct rules rules;
	u64 shared;
	struct fault *fault;
};

static int no_memory(const struct reading *reading)
{
	return fault_say(reading->fault, "There is no memory.");
}

static int not_understood(const struct reading *reading)
{
	return fault_say(reading->fault, "%s has unwind information that is not understood: %s.",
			 reading->rw->image.path, "where exceptions land is not known");
}

/* Count a table or a CIE. */
static int count_shared(struct reading *reading, size_t size)
{
	const struct elf_image *image = &reading->rw->image;

	reading->shared += size;
	if (reading->shared <= SHARED_MOST * image->size)
		return 0;
	return fault_say(reading->fault,
			 "%s is damaged: its functions share too much unwind information.",
			 image->path);
}

static u64 take(struct reader *reader, unsigned int size)
{
	u64 value = 0;

	if (reader->failed || (size_t)(reader->end - reader->at) < size) {
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	reader->address += size;
	return value;
}

static u64 take_leb(struct reader *reader, bool is_signed)
{
	unsigned int shift = 0;
	u64 value = 0;
	u8 byte;

	do {
		byte = take(reader, 1);
		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !reader->failed);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= -1ULL << shift;
	return value;
}

static u64 take_encoded(struct reader *reader, u8 encoding)
{
	u64 base = (encoding & PE_RELATIVE) == PE_PCREL ? reader->address : 0;
	u64 value;

	if ((encoding & PE_RELATIVE) > PE_PCREL) {
		reader->failed = true;
		return 0;
	}
	switch (encoding & PE_FORMAT) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = take(reader, 8);
		break;
	case 0x01:
		value = take_leb(reader, false);
		break;
	case 0x09:
		value = take_leb(reader, true);
		break;
	case 0x02:
		value = take(reader, 2);
		break;
	case 0x0a:
		value = (s64)(__s16)take(reader, 2);
		break;
	case 0x03:
		value = take(reader, 4);
		break;
	case 0x0b:
		value = (s64)(s32)take(reader, 4);
		break;
	default:
		reader->failed = true;
		return 0;
	}
	return value ? value + base : 0;
}

static void read_cie(struct reader *reader, struct rules *rules)
{
	const char *augmentation;

	memset(rules, 0, sizeof(*rules));
	rules->lsda = PE_OMIT;
	take(reader, 1);
	augmentation = (const char *)reader->at;
	while (take(reader, 1))
		;
	rules->unit = take_leb(reader, false);
	take_leb(reader, true);
	take_leb(reader, false);
	if (reader->failed || augmentation[0] != 'z')
		return;
	rules->has_data = true;
	take_leb(reader, false);
	for (augmentation++; *augmentation && !reader->failed; augmentation++) {
		if (*augmentation == 'L')
			rules->lsda = take(reader, 1);
		else if (*augmentation == 'R')
			rules->address = take(reader, 1);
		else if (*augmentation == 'P')
			take_encoded(reader, take(reader, 1) & 0x7f);
	}
}

static struct reader read_at(const struct elf_image *image, u64 address)
{
	const Elf64_Phdr *segment = elf_segment_of(image, address);
	struct reader reader = { .address = address, .failed = true };

	if (!segment || address - segment->p_vaddr >= segment->p_filesz)
		return reader;
	reader.at = image->data + segment->p_offset + (address - segment->p_vaddr);
	reader.end = image->data + segment->p_offset + segment->p_filesz;
	reader.failed = false;
	return reader;
}

/* Read the table of a function, which lists calls and their landing pads. */
static int read_lsda(struct reading *reading, u64 address, u64 function)
{
	struct rewrite *rw = reading->rw;
	struct reader reader = read_at(&rw->image, address);
	u64 landing_base = function, length, start, size, pad;
	const u8 *first = reader.at;
	u8 encoding = take(&reader, 1);

	if (encoding != PE_OMIT)
		landing_base = take_encoded(&reader, encoding);
	if (take(&reader, 1) != PE_OMIT)
		take_leb(&reader, false);
	encoding = take(&reader, 1);
	length = take_leb(&reader, false);
	if (reader.failed || length > (size_t)(reader.end - reader.at))
		return not_understood(reading);
	reader.end = reader.at + length;
	if (count_shared(reading, reader.end - first))
		return -1;
	while (reader.at < reader.end && !reader.failed) {
		start = function + take_encoded(&reader, encoding);
		size = take_encoded(&reader, encoding);
		pad = take_encoded(&reader, encoding);
		take_leb(&reader, false);
		if (!pad)
			continue;
		if (grow(&rw->pads, &rw->room_pads, rw->nr_pads, sizeof(pad)) ||
		    grow(&rw->tried, &rw->room_tried, rw->nr_tried, sizeof(*rw->tried)))
			return no_memory(reading);
		rw->pads[rw->nr_pads++] = landing_base + pad;
		rw->tried[rw->nr_tried++] = (struct range){ start, start + size };
	}
	return reader.failed ? not_understood(reading) : 0;
}

static u8 size_of(u8 encoding)
{
	static const u8 sizes[16] = {
		[0x0] = 8, [0x2] = 2, [0x3] = 4, [0x4] = 8,
		[0xa] = 2, [0xb] = 4, [0xc] = 8,
	};

	return encoding == PE_OMIT ? 0 : sizes[encoding & PE_FORMAT];
}

/* Keep the FDE at AT, of code from START to END. */
static int keep_frame(struct reading *reading, u64 start, u64 end, u64 at, struct reader program)
{
	const struct rules *rules = &reading->rules;
	struct rewrite *rw = reading->rw;
	const u8 lsda_size = rules->has_data ? size_of(rules->lsda) : 0;
	const struct frame frame = {
		.start = start, .end = end, .entry = at, .rules = rules->entry,
		.program = program.at, .size = program.end - program.at, .unit = rules->unit,
		.has_data = rules->has_data, .lsda_size = lsda_size,
		.usual = rules->address == (PE_PCREL | PE_SIGNED_4) &&
			 (lsda_size || rules->lsda == PE_OMIT),
	};

	if (grow(&rw->frames, &rw->room_frames, rw->nr_frames, sizeof(frame)))
		return no_memory(reading);
	rw->frames[rw->nr_frames++] = frame;
	return 0;
}

/* Read the FDE at AT; ENTRY begins after its length and CIE pointer. */
static int read_fde(struct reading *reading, struct reader entry, u64 at)
{
	const struct rules *rules = &reading->rules;
	u64 function = take_encoded(&entry, rules->address), lsda = 0;
	u64 size = take_encoded(&entry, rules->address & PE_FORMAT);
	struct reader data = entry;

	if (entry.failed || (rules->address & PE_INDIRECT))
		return not_understood(reading);
	if (code_add_region(&reading->rw->code, function))
		return no_memory(reading);
	if (rules->has_data) {
		u64 length = take_leb(&entry, false);

		data = entry;
		if (entry.failed || length > (size_t)(entry.end - entry.at))
			return not_understood(reading);
		entry.at += length;
		if (rules->lsda != PE_OMIT)
			lsda = take_encoded(&data, rules->lsda);
	}
	if (data.failed)
		return not_understood(reading);
	if (keep_frame(reading, function, function + size, at, entry))
		return -1;
	return lsda ? read_lsda(reading, lsda, function) : 0;
}

/* Read the rules of the CIE that START is at, unless they are known from the FDE before. */
static int read_rules(struct reading *reading, struct reader start)
{
	const u64 entry = start.address;
	const u8 *first = start.at;

	if (reading->rules.entry == entry)
		return 0;
	take(&start, 8);
	if (start.failed)
		return not_understood(reading);
	read_cie(&start, &reading->rules);
	reading->rules.entry = entry;
	return count_shared(reading, start.at - first);
}

static int read_entries(struct reading *reading, struct reader reader)
{
	const u8 *first = reader.at;
	struct reader entry, start;
	u64 length, id, at;

	while (reader.at < reader.end) {
		at = reader.address;
		length = take(&reader, 4);
		if (!length)
			break;
		if (reader.failed || length == 0xffffffff ||
		    length > (size_t)(reader.end - reader.at))
			return not_understood(reading);
		entry = reader;
		entry.end = entry.at + length;
		reader.at += length;
		reader.address += length;
		start = entry;
		id = take(&entry, 4);
		if (!id)
			continue;
		/* The CIE pointer is a distance backward from itself. */
		if (id > (size_t)(start.at - first))
			return not_understood(reading);
		start.at -= id;
		start.address -= id;
		if (read_rules(reading, start) || read_fde(reading, entry, at))
			return -1;
	}
	return 0;
}

int frames_read(struct rewrite *rw, struct fault *fault)
{
	const Elf64_Shdr *section = elf_section(&rw->image, ".eh_frame");
	/* No CIE is at the last address. */
	struct reading reading = { .rw = rw, .rules.entry = -1, .fault = fault };
	struct reader reader;

	if (!section || !elf_section_data(&rw->image, section))
		return 0;
	reader.at = elf_section_data(&rw->image, section);
	reader.end = reader.at + section->sh_size;
	reader.address = section->sh_addr;
	reader.failed = false;
	return read_entries(&reading, reader);
}
