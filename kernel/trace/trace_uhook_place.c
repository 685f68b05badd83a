// SPDX-License-Identifier: GPL-2.0
/*
 * uhook events: parsing and checking places.
 *
 *	PATH:OFFSET[%return][(REF_CTR_OFFSET)]
 *	PATH:OFFSET[,OFFSET...]%exit[(REF_CTR_OFFSET)]
 *	PATH:ENTRY,EXIT[,EXIT...]%span[(REF_CTR_OFFSET)]
 *
 * OFFSET is an offset in the file. It must be inside the file, aligned like an instruction
 * and, in an ELF file, in a segment that is mapped as code. Files of other formats can be
 * mapped as code, too; their offsets are not checked further.
 *
 * These checks guarantee nothing, because the file may change, and no code relies on them.
 *
 * The path is held from here to trace_uhook_put_place(), and with it the inode
 * and the mount. Errors go to error_log, under dyn_event_ops_mutex.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/dcache.h>
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/seq_buf.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uprobes.h>

#include "trace_uhook.h"

/* A file with more program headers cannot be executed. */
#define MAX_HEADERS_SIZE	SZ_64K
/* Notes beyond this size of a segment are not read. */
#define MAX_NOTES_SIZE		SZ_4K

/**
 * struct headers - location of the program headers of an ELF file
 * @is_64bit: the file is of ELFCLASS64
 * @start: offset of the first header in the file, in bytes
 * @nr: number of headers
 * @size: size of each header, in bytes
 */
struct headers {
	bool		is_64bit;
	loff_t		start;
	unsigned int	nr;
	unsigned int	size;
};

static bool read_all(struct file *file, void *buf, size_t size, loff_t pos)
{
	return kernel_read(file, buf, size, &pos) == size;
}

static bool is_elf(struct file *file)
{
	unsigned char ident[SELFMAG];

	return read_all(file, ident, sizeof(ident), 0) && !memcmp(ident, ELFMAG, SELFMAG);
}

static bool find_headers_64(struct file *file, struct headers *headers)
{
	struct elf64_hdr elf;

	if (!read_all(file, &elf, sizeof(elf), 0))
		return false;
	headers->start = elf.e_phoff;
	headers->nr = elf.e_phnum;
	headers->size = elf.e_phentsize;

	return headers->size == sizeof(struct elf64_phdr);
}

static bool find_headers_32(struct file *file, struct headers *headers)
{
	struct elf32_hdr elf;

	if (!read_all(file, &elf, sizeof(elf), 0))
		return false;
	headers->start = elf.e_phoff;
	headers->nr = elf.e_phnum;
	headers->size = elf.e_phentsize;

	return headers->size == sizeof(struct elf32_phdr);
}

static bool find_headers(struct file *file, struct headers *headers)
{
	unsigned char class;

	if (!read_all(file, &class, 1, EI_CLASS))
		return false;
	headers->is_64bit = class == ELFCLASS64;

	return (headers->is_64bit ? find_headers_64(file, headers) :
				    find_headers_32(file, headers)) &&
	       headers->nr * headers->size <= MAX_HEADERS_SIZE;
}

static bool read_header(struct file *file, const struct headers *headers, unsigned int i,
			struct elf64_phdr *header)
{
	loff_t pos = headers->start + i * headers->size;
	struct elf32_phdr narrow;

	if (headers->is_64bit)
		return read_all(file, header, sizeof(*header), pos);

	if (!read_all(file, &narrow, sizeof(narrow), pos))
		return false;
	header->p_type = narrow.p_type;
	header->p_flags = narrow.p_flags;
	header->p_offset = narrow.p_offset;
	header->p_filesz = narrow.p_filesz;

	return true;
}

static bool has_code_at(const struct elf64_phdr *header, unsigned long offset)
{
	return header->p_type == PT_LOAD && (header->p_flags & PF_X) &&
	       offset >= header->p_offset && offset - header->p_offset < header->p_filesz;
}

static int check_elf(struct file *file, unsigned long offset, int pos)
{
	struct headers headers;
	struct elf64_phdr header;
	unsigned int i;

	if (!find_headers(file, &headers))
		goto unreadable;

	for (i = 0; i < headers.nr; i++) {
		if (!read_header(file, &headers, i, &header))
			goto unreadable;
		if (has_code_at(&header, offset))
			return 0;
	}
	trace_probe_log_err(pos, UHOOK_NO_CODE);
	return -EINVAL;

unreadable:
	trace_probe_log_err(pos, UHOOK_BAD_ELF);
	return -ENOEXEC;
}

static struct file *open_file(const struct trace_uhook_place *place)
{
	return dentry_open(&place->path, O_RDONLY | O_LARGEFILE, current_cred());
}

static int check_format(const struct trace_uhook_place *place, unsigned long offset, int pos)
{
	struct file *file = open_file(place);
	int ret = 0;

	if (IS_ERR(file)) {
		trace_probe_log_err(place->at, UHOOK_UNREADABLE);
		return PTR_ERR(file);
	}
	if (is_elf(file))
		ret = check_elf(file, offset, pos);
	fput(file);

	return ret;
}

/* A note whose owner is Go: struct elf32_note is the same for both classes. */
struct go_note {
	struct elf64_note	head;
	char			owner[4];
};

/* Does this segment have the note with which Go's linker identifies a program? */
static bool has_go_note(struct file *file, const struct elf64_phdr *header)
{
	u64 size = min_t(u64, header->p_filesz, MAX_NOTES_SIZE), pos = 0;
	struct go_note note;

	if (header->p_type != PT_NOTE)
		return false;

	while (pos + sizeof(note) <= size &&
	       read_all(file, &note, sizeof(note), header->p_offset + pos)) {
		if (note.head.n_namesz == sizeof(note.owner) &&
		    !memcmp(note.owner, "Go\0", sizeof(note.owner)))
			return true;
		pos += sizeof(note.head) + ALIGN((u64)note.head.n_namesz, 4) +
		       ALIGN((u64)note.head.n_descsz, 4);
	}

	return false;
}

/* Go moves a stack that grows, so that entry and exit may have different stack pointers. */
static bool is_go(struct file *file)
{
	struct headers headers;
	struct elf64_phdr header;
	unsigned int i;

	if (!is_elf(file) || !find_headers(file, &headers))
		return false;

	for (i = 0; i < headers.nr; i++)
		if (read_header(file, &headers, i, &header) && has_go_note(file, &header))
			return true;

	return false;
}

static int check_stacks(const struct trace_uhook_place *place)
{
	struct file *file = open_file(place);
	bool bad;

	if (IS_ERR(file)) {
		trace_probe_log_err(place->at, UHOOK_UNREADABLE);
		return PTR_ERR(file);
	}
	bad = is_go(file);
	fput(file);
	if (!bad)
		return 0;
	trace_probe_log_err(place->at, UHOOK_SPAN_GO);

	return -EINVAL;
}

/* Uprobes read the file by pages. */
static bool has_pages(struct inode *inode)
{
	return inode->i_mapping->a_ops->read_folio || shmem_mapping(inode->i_mapping);
}

static int check_offset(const struct trace_uhook_place *place, unsigned long offset, int pos)
{
	struct inode *inode = d_real_inode(place->path.dentry);

	if (!has_pages(inode)) {
		trace_probe_log_err(place->at, UHOOK_UNREADABLE);
		return -EIO;
	}
	if (offset >= i_size_read(inode)) {
		trace_probe_log_err(pos, UHOOK_BEYOND);
		return -EINVAL;
	}
	if (!IS_ALIGNED(offset, UPROBE_SWBP_INSN_SIZE)) {
		trace_probe_log_err(pos, BAD_INSN_BNDRY);
		return -EINVAL;
	}
	if (trace_uprobe_on_trap(&place->path, offset)) {
		trace_probe_log_err(pos, UPROBE_ON_TRAP);
		return -EINVAL;
	}

	return check_format(place, offset, pos);
}

/* As uprobes require: 16 bits, within the file */
static bool is_good_ref_ctr(const struct trace_uhook_place *place)
{
	struct inode *inode = d_real_inode(place->path.dentry);

	return IS_ALIGNED(place->ref_ctr_offset, sizeof(short)) &&
	       place->ref_ctr_offset < i_size_read(inode);
}

/* Parse "(REF_CTR_OFFSET)" at @open, and cut it off from @word */
static int parse_ref_ctr(struct trace_uhook_place *place, const char *word, char *open)
{
	char *close = strchr(open, ')');

	if (!close) {
		trace_probe_log_err(place->at + strlen(word), REFCNT_OPEN_BRACE);
		return -EINVAL;
	}
	if (close[1]) {
		trace_probe_log_err(place->at + close + 1 - word, BAD_REFCNT_SUFFIX);
		return -EINVAL;
	}

	*open = '\0';
	*close = '\0';
	if (kstrtoul(open + 1, 0, &place->ref_ctr_offset) || !is_good_ref_ctr(place)) {
		trace_probe_log_err(place->at + open + 1 - word, BAD_REFCNT);
		return -EINVAL;
	}

	return 0;
}

static int parse_number(const struct trace_uhook_place *place, const char *text, int pos,
			unsigned long *offset)
{
	int ret = kstrtoul(text, 0, offset);

	if (!ret)
		return check_offset(place, *offset, pos);

	if (isalpha(*text) || *text == '_')
		trace_probe_log_err(pos, UHOOK_NO_SYMBOLS);
	else
		trace_probe_log_err(pos, BAD_UPROBE_OFFS);
	return ret;
}

static bool has_offset(const struct trace_uhook_place *place, unsigned long offset)
{
	unsigned int i;

	for (i = 0; i < place->nr; i++)
		if (place->offsets[i] == offset)
			return true;
	return false;
}

/* Parse OFFSET[,OFFSET...], which is a part of @word */
static int parse_numbers(struct trace_uhook_place *place, const char *word, char *text)
{
	unsigned int max = 1;
	unsigned long offset;
	char *number;
	int ret, pos;

	for (number = text; *number; number++)
		max += *number == ',';
	place->offsets = kcalloc(max, sizeof(*place->offsets), GFP_KERNEL);
	if (!place->offsets)
		return -ENOMEM;

	while ((number = strsep(&text, ","))) {
		pos = place->at + number - word;
		ret = parse_number(place, number, pos, &offset);
		if (ret)
			return ret;
		if (has_offset(place, offset)) {
			trace_probe_log_err(pos, UHOOK_TWICE);
			return -EINVAL;
		}
		place->offsets[place->nr++] = offset;
	}
	place->offset = place->offsets[0];

	return 0;
}

static const char *const suffixes[] = {
	[TRACE_UHOOK_POINT]	= "",
	[TRACE_UHOOK_RETURN]	= "%return",
	[TRACE_UHOOK_EXIT]	= "%exit",
	[TRACE_UHOOK_SPAN]	= "%span",
};

/* Parse the suffix at @suffix, and cut it off from @word */
static int parse_suffix(struct trace_uhook_place *place, const char *word, char *suffix)
{
	int kind = match_string(suffixes, ARRAY_SIZE(suffixes), suffix);

	if (kind < 0) {
		trace_probe_log_err(place->at + suffix - word, BAD_ADDR_SUFFIX);
		return -EINVAL;
	}
	place->kind = kind;
	*suffix = '\0';

	return 0;
}

/* Is the number of offsets right? @comma is after the first one, or NULL. */
static int check_number(const struct trace_uhook_place *place, const char *word,
			const char *comma)
{
	if (place->kind == TRACE_UHOOK_SPAN && !comma) {
		trace_probe_log_err(place->at + strlen(word), UHOOK_SPAN_EXITS);
		return -EINVAL;
	}
	if (comma && place->kind != TRACE_UHOOK_SPAN && place->kind != TRACE_UHOOK_EXIT) {
		trace_probe_log_err(place->at + comma - word, UHOOK_MANY_OFFSETS);
		return -EINVAL;
	}

	return 0;
}

/* Parse the part of @word after the path */
static int parse_offsets(struct trace_uhook_place *place, const char *word, char *text)
{
	char *suffix, *open = strchr(text, '(');
	int ret;

	if (open) {
		ret = parse_ref_ctr(place, word, open);
		if (ret)
			return ret;
	}

	suffix = strchr(text, '%');
	if (suffix) {
		ret = parse_suffix(place, word, suffix);
		if (ret)
			return ret;
	}

	ret = check_number(place, word, strchr(text, ',')) ?: parse_numbers(place, word, text);
	if (ret)
		return ret;

	return place->kind == TRACE_UHOOK_SPAN ? check_stacks(place) : 0;
}

static int find_file(struct trace_uhook_place *place, const char *name)
{
	int ret = kern_path(name, LOOKUP_FOLLOW, &place->path);

	if (ret) {
		trace_probe_log_err(place->at, FILE_NOT_FOUND);
		return ret;
	}
	if (!d_is_reg(place->path.dentry)) {
		trace_probe_log_err(place->at, NO_REGULAR_FILE);
		return -EINVAL;
	}

	return 0;
}

/* The place in the form in which it is shown; @file is its path. */
static char *make_text(const struct trace_uhook_place *place, const char *file)
{
	/* "0x", 16 digits and a comma for each offset */
	size_t size = strlen(file) + (place->nr + 1) * 20 + sizeof(":%return()");
	struct seq_buf text;
	char *buf;
	unsigned int i;

	buf = kmalloc(size, GFP_KERNEL);
	if (!buf)
		return NULL;

	seq_buf_init(&text, buf, size);
	seq_buf_printf(&text, "%s:0x%lx", file, place->offset);
	for (i = 1; i < place->nr; i++)
		seq_buf_printf(&text, ",0x%lx", place->offsets[i]);
	seq_buf_puts(&text, suffixes[place->kind]);
	if (place->ref_ctr_offset)
		seq_buf_printf(&text, "(0x%lx)", place->ref_ctr_offset);
	WARN_ON_ONCE(seq_buf_has_overflowed(&text));
	seq_buf_str(&text);

	return buf;
}

static int parse_word(struct trace_uhook_place *place, char *word)
{
	/* The path may contain others. */
	char *colon = strrchr(word, ':');
	int ret;

	if (!colon) {
		trace_probe_log_err(place->at + strlen(word), UHOOK_NO_OFFSET);
		return -EINVAL;
	}
	*colon = '\0';
	ret = find_file(place, word);
	*colon = ':';
	if (!ret)
		ret = parse_offsets(place, word, colon + 1);
	if (ret)
		return ret;

	*colon = '\0';
	place->text = make_text(place, word);

	return place->text ? 0 : -ENOMEM;
}

/**
 * trace_uhook_parse_place() - parse a word that describes a place
 * @place: the place, initially zero; must be passed to trace_uhook_put_place() in any
 *	case
 * @word: the word at the index of trace_probe's log, or the end of that word
 * @at: offset of @word in the word at that index
 *
 * May sleep.
 *
 * Return: 0, or a negative error, with the reason in error_log unless it is -ENOMEM.
 */
int trace_uhook_parse_place(struct trace_uhook_place *place, const char *word, int at)
{
	char *copy = kstrdup(word, GFP_KERNEL);
	int ret;

	if (!copy)
		return -ENOMEM;
	place->at = at;
	ret = parse_word(place, copy);
	kfree(copy);

	return ret;
}

/**
 * trace_uhook_place_is_gone() - check whether the path no longer leads to the file
 * @place: the place, or one that is all zero
 *
 * Does not look up the path, so it never waits for a file system.
 *
 * Return: true if the file was deleted, or replaced by another one.
 */
bool trace_uhook_place_is_gone(const struct trace_uhook_place *place)
{
	return place->path.dentry && d_unlinked(place->path.dentry);
}

/**
 * trace_uhook_leave_place() - release the file of a place, and keep the rest
 * @place: a place at which no hook is registered any more, or one that is all zero
 */
void trace_uhook_leave_place(struct trace_uhook_place *place)
{
	path_put(&place->path);
	place->path = (struct path){};
}

/**
 * trace_uhook_put_place() - release the references of a place
 * @place: the place, or one that is all zero
 */
void trace_uhook_put_place(struct trace_uhook_place *place)
{
	trace_uhook_leave_place(place);
	kfree(place->offsets);
	kfree(place->text);
}
