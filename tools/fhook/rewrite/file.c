// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: writing the file
 *
 * The contents of the file stay in place. After them comes a new segment, with a build id
 * if the file has none, the block, and the code that runs elsewhere with its unwind
 * information; and after that, the parts that are not loaded: records, names of sections,
 * and section headers.
 *
 * One program header is added to the existing table, which cannot move because strip and
 * objcopy always put it there. If the linker has left no room, it replaces the header of a
 * note, which stays in its section. A file with neither is refused.
 *
 * The file gets a new build id, because the map of the original file is not valid for it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "rewrite.h"

#define MOVED_SECTION	".fhook_moved"
#define UNWIND_SECTION	".fhook_frames"
#define TABLE_SECTION	".eh_frame_hdr"
#define NEW_SECTIONS	7
#define NEW_SEGMENTS	2
#define ID_SIZE		20

/* A note in the form that linkers use: header, "GNU", the id. */
struct id_note {
	Elf64_Nhdr header;
	char name[4];
	u8 id[ID_SIZE];
};

/**
 * struct output - the new file
 * @data: contents of the file
 * @size: size of the contents
 * @room: allocated size of @data
 * @base: address of the new segment, minus its offset in the file
 * @names: offset of the names of sections
 * @sections: section headers, which come last
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

/* Do two headers cover the same bytes of the file? */
static bool is_same(const Elf64_Phdr *a, const Elf64_Phdr *b)
{
	return a->p_offset == b->p_offset && a->p_filesz == b->p_filesz;
}

/* Rank a header by how easily it can be replaced; 0 if it must stay. */
static int rank_of(const struct elf_image *image, const Elf64_Phdr *note)
{
	const Elf64_Phdr *segments = image->segments;
	bool has_property = false;
	size_t i, id_size;
	const u8 *id;

	if (note->p_type != PT_NOTE)
		return 0;
	for (i = 0; i < image->header->e_phnum; i++) {
		if (segments[i].p_type != PT_GNU_PROPERTY)
			continue;
		has_property = true;
		if (is_same(segments + i, note))
			return 3;
	}
	id = elf_build_id(image, &id_size);
	if (id && id - image->data - note->p_offset < note->p_filesz)
		return 1;
	/* Without a header for properties, loaders look for properties in the notes. */
	return has_property ? 2 : 1;
}

/*
 * The index of the header to replace, the best first: that of a note that another header
 * covers too; of another note, which stays in its section; of the build id. The number of
 * headers if there is none.
 */
static size_t spare_header(const struct elf_image *image)
{
	size_t spare = image->header->e_phnum, i;
	int rank, best = 0;

	for (i = 0; i < image->header->e_phnum; i++) {
		rank = rank_of(image, image->segments + i);
		if (rank > best) {
			best = rank;
			spare = i;
		}
	}
	return spare;
}

/* The number of unused loaded bytes after the program headers. */
static size_t room_for_headers(const struct elf_image *image)
{
	const size_t count = image->header->e_phnum;
	const u64 start = image->header->e_phoff + count * sizeof(Elf64_Phdr);
	u64 end = 0, at;
	size_t i;

	for (i = 0; i < count; i++) {
		const Elf64_Phdr *segment = image->segments + i;

		if (segment->p_type == PT_LOAD && segment->p_offset <= image->header->e_phoff &&
		    segment->p_offset + segment->p_filesz > start)
			end = segment->p_offset + segment->p_filesz;
	}
	for (i = 0; i < count; i++) {
		at = image->segments[i].p_offset;
		if (image->segments[i].p_filesz && at >= start && at < end)
			end = at;
	}
	for (i = 1; i < image->nr_sections; i++) {
		const Elf64_Shdr *section = image->sections + i;

		if (section->sh_type == SHT_NOBITS || !section->sh_size)
			continue;
		if (section->sh_offset < start && section->sh_offset + section->sh_size > start)
			return 0;
		if (section->sh_offset >= start && section->sh_offset < end)
			end = section->sh_offset;
	}
	for (at = start; at < end && !image->data[at]; at++)
		;
	return at - start;
}

/* Is there room for a header, or one to replace? The note of a new id can do without one. */
static bool has_room_for_header(const struct elf_image *image)
{
	return room_for_headers(image) >= sizeof(Elf64_Phdr) ||
	       spare_header(image) < image->header->e_phnum;
}

int file_check(const struct elf_image *image, struct fault *fault)
{
	if (has_room_for_header(image))
		return 0;
	return fault_say(fault,
			 "%s has no room for one more program header: link it with -Wl,--build-id.",
			 image->path);
}

/* The end of the existing segments. */
static u64 end_of_loads(const struct elf_image *image)
{
	const Elf64_Phdr *last = image->nr_loads ? image->loads[image->nr_loads - 1] : NULL;

	return last ? last->p_vaddr + last->p_memsz : 0;
}

u64 file_new_address(const struct rewrite *rw)
{
	return align(end_of_loads(&rw->image), rw->code.arch->page);
}

/* The difference between an address in the new segment and its offset in the file. */
static u64 new_base(const struct rewrite *rw)
{
	return file_new_address(rw) - align(rw->image.size, rw->code.arch->page);
}

size_t file_head_size(const struct rewrite *rw)
{
	size_t id_size;

	return elf_build_id(&rw->image, &id_size) ? 0 : align(sizeof(struct id_note), 64);
}

/* The end of the new segment. */
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

static u32 add_name(struct output *out, const char *name)
{
	const size_t at = out->names_size;

	put(out, out->names + at, name, strlen(name) + 1);
	out->names_size += strlen(name) + 1;
	return at;
}

static Elf64_Shdr *add_section(struct output *out, const char *name, u32 type, u64 flags)
{
	Elf64_Shdr *section = out->sections + out->nr_sections++;

	memset(section, 0, sizeof(*section));
	section->sh_name = add_name(out, name);
	section->sh_type = type;
	section->sh_flags = flags;
	section->sh_addralign = 8;
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

/* Make the new program headers: the old ones, except one that is replaced, and new ones. */
static size_t list_segments(struct rewrite *rw, const struct output *out, Elf64_Phdr *to,
			    const Elf64_Phdr *load, bool has_id)
{
	const struct elf_image *image = &rw->image;
	const size_t count = image->header->e_phnum, room = room_for_headers(image);
	const size_t most = count + room / sizeof(*to);
	const size_t spare = count < most ? count : spare_header(image);
	size_t i, last = 0, n = 0;
	Elf64_Phdr note = { .p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4 };

	move_segment(&note, out, rw->block - sizeof(struct id_note), sizeof(struct id_note));
	for (i = 0; i < count; i++) {
		if (image->segments[i].p_type == PT_LOAD)
			last = i;
	}
	for (i = 0; i < count; i++) {
		if (i != spare)
			to[n++] = image->segments[i];
		if (i == last)
			to[n++] = *load;
	}
	/* Tools for call traces find the id by its section, so the header is optional. */
	if (!has_id && n < most)
		to[n++] = note;
	return n;
}

static int add_segment(struct rewrite *rw, struct output *out, u64 address, u64 size, bool has_id)
{
	Elf64_Phdr load = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = rw->code.arch->page,
	};
	const size_t most = rw->image.header->e_phnum + NEW_SEGMENTS;
	Elf64_Phdr *to = calloc(most, sizeof(*to));
	Elf64_Ehdr *header = (void *)out->data;
	size_t count, i;

	if (!to)
		return -1;
	move_segment(&load, out, address, size);
	count = list_segments(rw, out, to, &load, has_id);
	for (i = 0; i < count; i++) {
		if (to[i].p_type == PT_PHDR) {
			to[i].p_filesz = count * sizeof(*to);
			to[i].p_memsz = to[i].p_filesz;
		} else if (to[i].p_type == PT_GNU_EH_FRAME && rw->table_at) {
			move_segment(to + i, out, rw->table_at, rw->table_size);
		}
	}
	header->e_phnum = count;
	memcpy(out->data + header->e_phoff, to, count * sizeof(*to));
	free(to);
	return 0;
}

/* A hash of all bytes and their positions. */
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
		/* Compute all of it first, because it depends on the bytes that are replaced. */
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
			return emit_too_far(rw, "its stubs", fault);
		put(out, rw->records[i].stub - out->base, bytes, arch->jump_size);
	}
	put(out, rw->moved_at - out->base, rw->moved, rw->moved_size);
	return 0;
}

/* Copy the names of the sections, with room for more, and the old headers. */
static void begin_sections(struct rewrite *rw, struct output *out)
{
	const struct elf_image *image = &rw->image;
	Elf64_Shdr *names;

	memcpy(out->sections, image->sections, image->nr_sections * sizeof(*out->sections));
	out->nr_sections = image->nr_sections;
	names = out->sections + image->names;
	out->names = append(out, image->data + names->sh_offset, names->sh_size);
	out->names_size = names->sh_size;
	names->sh_offset = out->names;
}

/* The old table stays in place under another name, and is unused. */
static void put_unwind_sections(struct rewrite *rw, struct output *out)
{
	const Elf64_Shdr *table = elf_section(&rw->image, TABLE_SECTION);
	Elf64_Shdr *new_table;

	if (!rw->table_at)
		return;
	place(add_section(out, UNWIND_SECTION, SHT_PROGBITS, SHF_ALLOC), out, rw->unwind_at,
	      rw->table_at - rw->unwind_at);
	if (!table)
		return;
	new_table = add_section(out, TABLE_SECTION, SHT_PROGBITS, SHF_ALLOC);
	place(new_table, out, rw->table_at, rw->table_size);
	out->sections[table - rw->image.sections].sh_name =
		add_name(out, TABLE_SECTION ".old");
}

/* Add the sections sorted by address, because tools that copy files need this order. */
static void put_loaded_sections(struct rewrite *rw, struct output *out, bool has_id)
{
	const u64 code = SHF_ALLOC | SHF_EXECINSTR;
	Elf64_Shdr *note;

	if (!has_id) {
		note = add_section(out, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC);
		place(note, out, rw->block - sizeof(struct id_note), sizeof(struct id_note));
		note->sh_addralign = 4;
	}
	place(add_section(out, ELF_STUB_SECTION, SHT_PROGBITS, code), out, rw->block,
	      rw->nr_stubs * rw->code.arch->stride);
	place(add_section(out, MOVED_SECTION, SHT_PROGBITS, code), out, rw->moved_at,
	      rw->unwind_at - rw->moved_at);
	put_unwind_sections(rw, out);
}

/* A number that the header has no room for is in the first section. */
static void count_sections(struct output *out)
{
	const bool fits = out->nr_sections < SHN_LORESERVE;

	((Elf64_Ehdr *)out->data)->e_shnum = fits ? out->nr_sections : 0;
	if (!fits)
		out->sections[0].sh_size = out->nr_sections;
}

static void put_sections(struct rewrite *rw, struct output *out, bool has_id)
{
	Elf64_Shdr *map, *names;

	begin_sections(rw, out);
	put_loaded_sections(rw, out, has_id);
	map = add_section(out, ELF_MAP_SECTION, SHT_PROGBITS, 0);
	names = add_section(out, ELF_NAME_SECTION, SHT_PROGBITS, 0);
	out->sections[rw->image.names].sh_size = out->names_size;
	map->sh_size = rw->nr_stubs * sizeof(*rw->records);
	map->sh_offset = append(out, rw->records, map->sh_size);
	names->sh_size = rw->names_size;
	names->sh_offset = append(out, rw->names, names->sh_size);
	count_sections(out);
	((Elf64_Ehdr *)out->data)->e_shoff =
		append(out, out->sections, out->nr_sections * sizeof(*out->sections));
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
	if (add_segment(rw, out, address, size, id))
		return fault_say(fault, "There is no memory.");
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
	struct output out = { .base = new_base(rw) };
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
