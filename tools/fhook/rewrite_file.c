// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: from code to a file
 *
 * What the file has stays where it is. Behind everything comes a new segment, with the
 * program headers (there is one more), a build id if the file has none, the block, and
 * the code that runs elsewhere with its unwind information; and behind that, what is
 * not loaded: records, names of sections, and their headers. The segment is as far from
 * the beginning of the file as its address is from that of the program, for that is how
 * loaders find the headers.
 *
 * The file gets a build id of its own: a map of what it was made of is not its map.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "rewrite.h"

#define MOVED_SECTION	".fhook_moved"
#define UNWIND_SECTION	".fhook_frames"
#define NEW_SECTIONS	6
#define NEW_SEGMENTS	2
#define ID_SIZE		20

/* A note as the linker makes it: header, "GNU", the id. */
struct id_note {
	Elf64_Nhdr header;
	char name[4];
	u8 id[ID_SIZE];
};

/**
 * struct output - the new file
 * @data: its bytes
 * @size: how many there are
 * @room: how many there may be
 * @base: the address of the beginning of the file
 * @names: offset of the names of sections
 * @sections: the headers of sections, which come last
 */
struct output {
	u8 *data;
	size_t size, room;
	u64 base;
	size_t names, names_size;
	Elf64_Shdr *sections;
	size_t nr_sections;
};

static u64 align(u64 value, u64 to)
{
	return (value + to - 1) / to * to;
}

static u64 base_of(const struct elf_image *image)
{
	size_t i;

	for (i = 0; i < image->header->e_phnum; i++) {
		if (image->segments[i].p_type == PT_LOAD)
			return image->segments[i].p_vaddr - image->segments[i].p_offset;
	}
	return 0;
}

u64 file_new_address(const struct rewrite *rw)
{
	const struct elf_image *image = &rw->image;
	u64 base = base_of(image), end = base + image->size;
	size_t i;

	for (i = 0; i < image->header->e_phnum; i++) {
		const Elf64_Phdr *segment = image->segments + i;

		if (segment->p_type == PT_LOAD && segment->p_vaddr + segment->p_memsz > end)
			end = segment->p_vaddr + segment->p_memsz;
	}
	return align(end, rw->code.arch->page);
}

size_t file_head_size(const struct rewrite *rw)
{
	size_t headers = (rw->image.header->e_phnum + NEW_SEGMENTS) * sizeof(Elf64_Phdr);

	return align(headers + sizeof(struct id_note), 64);
}

/* Where the new segment ends. */
static u64 end_of(const struct rewrite *rw)
{
	return rw->moved_at + rw->moved_size;
}

static void *put(struct output *out, size_t offset, const void *data, size_t size)
{
	if (offset + size > out->room)
		abort();
	if (data)
		memcpy(out->data + offset, data, size);
	if (offset + size > out->size)
		out->size = offset + size;
	return out->data + offset;
}

static size_t append(struct output *out, const void *data, size_t size)
{
	size_t offset = align(out->size, 8);

	put(out, offset, data, size);
	return offset;
}

static Elf64_Shdr *add_section(struct output *out, const char *name, u32 type, u64 flags)
{
	Elf64_Shdr *section = out->sections + out->nr_sections++;

	memset(section, 0, sizeof(*section));
	section->sh_name = out->names_size;
	section->sh_type = type;
	section->sh_flags = flags;
	section->sh_addralign = 8;
	put(out, out->names + out->names_size, name, strlen(name) + 1);
	out->names_size += strlen(name) + 1;
	return section;
}

static void place(Elf64_Shdr *section, const struct output *out, u64 address, u64 size)
{
	section->sh_addr = address;
	section->sh_offset = address - out->base;
	section->sh_size = size;
}

static void move_segment(Elf64_Phdr *segment, const struct output *out, u64 address, u64 size)
{
	segment->p_offset = address - out->base;
	segment->p_vaddr = address;
	segment->p_paddr = address;
	segment->p_filesz = size;
	segment->p_memsz = size;
}

static void add_segment(struct rewrite *rw, struct output *out, Elf64_Phdr *to, u64 address,
			u64 size, bool has_id)
{
	const Elf64_Ehdr *header = rw->image.header;
	size_t i, last = 0, count = 0;
	Elf64_Phdr load = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = rw->code.arch->page,
	}, note = load;

	move_segment(&load, out, address, size);
	note.p_type = PT_NOTE;
	note.p_flags = PF_R;
	note.p_align = 4;
	move_segment(&note, out, rw->block - sizeof(struct id_note), sizeof(struct id_note));
	for (i = 0; i < header->e_phnum; i++) {
		if (rw->image.segments[i].p_type == PT_LOAD)
			last = i;
	}
	for (i = 0; i < header->e_phnum; i++) {
		to[count++] = rw->image.segments[i];
		if (i == last)
			to[count++] = load;
	}
	if (!has_id)
		to[count++] = note;
	for (i = 0; i < count; i++) {
		if (to[i].p_type == PT_PHDR)
			move_segment(to + i, out, address, count * sizeof(*to));
		else if (to[i].p_type == PT_GNU_EH_FRAME && rw->table_at)
			move_segment(to + i, out, rw->table_at, rw->table_size);
	}
	((Elf64_Ehdr *)out->data)->e_phoff = load.p_offset;
	((Elf64_Ehdr *)out->data)->e_phnum = count;
}

/* A number that depends on each byte and its place. */
static u64 digest(const u8 *data, size_t size, u64 seed)
{
	u64 value = 0xcbf29ce484222325ULL ^ seed * 0x9e3779b97f4a7c15ULL;
	size_t i;

	for (i = 0; i < size; i++) {
		value = (value ^ data[i]) * 0x100000001b3ULL;
		value ^= value >> 29;
	}
	return value;
}

static void make_id(struct output *out, u8 *id, size_t size)
{
	u64 value = 0;
	size_t i;

	for (i = 0; i < size; i++) {
		if (i % sizeof(value) == 0)
			value = digest(out->data, out->size, i + 1);
		/* Not over what it depends on before all of it is known. */
		out->data[out->size + i] = value >> 8 * (i % sizeof(value));
	}
	memcpy(id, out->data + out->size, size);
}

static int put_patches(struct rewrite *rw, struct output *out, struct fault *fault)
{
	const struct patch *patch = rw->patches, *end = patch + rw->nr_patches;
	const u8 *at;

	for (; patch < end; patch++) {
		at = elf_at(&rw->image, patch->address, patch->size);
		if (!at)
			return fault_say(fault, "%s: a jump at 0x%llx would leave its segment.",
					 rw->image.path, patch->address);
		put(out, at - rw->image.data, patch->bytes, patch->size);
	}
	return 0;
}

static int put_block(struct rewrite *rw, struct output *out, struct fault *fault)
{
	const struct rewrite_arch *arch = rw->code.arch;
	u8 bytes[REWRITE_COPY_MAX];
	size_t i;

	memset(put(out, rw->block - out->base, NULL, rw->moved_at - rw->block), arch->fill,
	       rw->moved_at - rw->block);
	for (i = 0; i < rw->nr_stubs; i++) {
		if (arch->jump(rw->records[i].stub, rw->jumps[i], bytes))
			return fault_say(fault, "%s: the new code is too far away.",
					 rw->image.path);
		put(out, rw->records[i].stub - out->base, bytes, arch->jump_size);
	}
	put(out, rw->moved_at - out->base, rw->moved, rw->moved_size);
	return 0;
}

/* The names of the sections, with room for more, and the old headers. */
static void begin_sections(struct rewrite *rw, struct output *out)
{
	const struct elf_image *image = &rw->image;
	Elf64_Shdr *names;

	memcpy(out->sections, image->sections, image->nr_sections * sizeof(*out->sections));
	out->nr_sections = image->nr_sections;
	names = out->sections + image->header->e_shstrndx;
	out->names = append(out, image->data + names->sh_offset, names->sh_size);
	out->names_size = names->sh_size;
	names->sh_offset = out->names;
}

/* The old table is where it was, and nobody looks at it. */
static void put_unwind_sections(struct rewrite *rw, struct output *out)
{
	const Elf64_Shdr *table = elf_section(&rw->image, ".eh_frame_hdr");

	if (!rw->table_at)
		return;
	place(add_section(out, UNWIND_SECTION, SHT_PROGBITS, SHF_ALLOC), out, rw->unwind_at,
	      rw->table_at - rw->unwind_at);
	if (table)
		place(out->sections + (table - rw->image.sections), out, rw->table_at,
		      rw->table_size);
}

static void put_sections(struct rewrite *rw, struct output *out, bool has_id)
{
	const u64 code = SHF_ALLOC | SHF_EXECINSTR;
	Elf64_Shdr *map, *names, *note;

	begin_sections(rw, out);
	place(add_section(out, ELF_STUB_SECTION, SHT_PROGBITS, code), out, rw->block,
	      rw->nr_stubs * rw->code.arch->stride);
	place(add_section(out, MOVED_SECTION, SHT_PROGBITS, code), out, rw->moved_at,
	      rw->unwind_at - rw->moved_at);
	put_unwind_sections(rw, out);
	if (!has_id) {
		note = add_section(out, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC);
		place(note, out, rw->block - sizeof(struct id_note), sizeof(struct id_note));
	}
	map = add_section(out, ELF_MAP_SECTION, SHT_PROGBITS, 0);
	names = add_section(out, ELF_NAME_SECTION, SHT_PROGBITS, 0);
	out->sections[rw->image.header->e_shstrndx].sh_size = out->names_size;
	map->sh_size = rw->nr_stubs * sizeof(*rw->records);
	map->sh_offset = append(out, rw->records, map->sh_size);
	names->sh_size = rw->names_size;
	names->sh_offset = append(out, rw->names, names->sh_size);
	((Elf64_Ehdr *)out->data)->e_shoff =
		append(out, out->sections, out->nr_sections * sizeof(*out->sections));
	((Elf64_Ehdr *)out->data)->e_shnum = out->nr_sections;
}

static int make_file(struct rewrite *rw, struct output *out, struct fault *fault)
{
	u64 address = file_new_address(rw), size = end_of(rw) - address;
	size_t id_size, id_offset;
	u8 *id = elf_build_id(&rw->image, &id_size);
	struct id_note note = {
		.header = { .n_namesz = 4, .n_descsz = ID_SIZE, .n_type = NT_GNU_BUILD_ID },
		.name = "GNU",
	};

	put(out, 0, rw->image.data, rw->image.size);
	if (put_patches(rw, out, fault) || put_block(rw, out, fault))
		return -1;
	add_segment(rw, out, (void *)(out->data + (address - out->base)), address, size, id);
	if (id) {
		id_offset = id - rw->image.data;
	} else {
		id_offset = rw->block - sizeof(note) - out->base;
		put(out, id_offset, &note, sizeof(note));
		id_offset += offsetof(struct id_note, id);
		id_size = ID_SIZE;
	}
	put_sections(rw, out, id);
	make_id(out, out->data + id_offset, id_size);
	return 0;
}

int file_write(struct rewrite *rw, struct fault *fault)
{
	struct output out = { .base = base_of(&rw->image) };
	struct stat stat_buffer;
	int ret = -1;

	out.room = end_of(rw) - out.base + rw->names_size + rw->nr_stubs * sizeof(*rw->records) +
		   (rw->image.nr_sections + NEW_SECTIONS) * sizeof(*out.sections) +
		   rw->image.size + 4096;
	out.data = calloc(1, out.room);
	out.sections = calloc(rw->image.nr_sections + NEW_SECTIONS, sizeof(*out.sections));
	if (!out.data || !out.sections || stat(rw->image.path, &stat_buffer))
		fault_say(fault, "There is no memory.");
	else if (!make_file(rw, &out, fault))
		ret = instrument_write(rw->run.output, out.data, out.size,
				       stat_buffer.st_mode & 07777, fault);
	free(out.data);
	free(out.sections);
	return ret;
}
