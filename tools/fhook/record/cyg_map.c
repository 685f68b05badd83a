// SPDX-License-Identifier: GPL-2.0
/*
 * The map of a process that records itself, from its files' symbols
 *
 * The map begins with the objects that are loaded when recording begins; an object that is
 * loaded later is added at its first event. An object has one location in the recording,
 * even if it is loaded at several locations in memory one after the other: its first
 * location or, if another object had been there, an address range that no program uses.
 * Objects are identified by their build ids or, without one, by their names. Functions of an
 * interpreter are those of an object that is no file, and are added when they are called first.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cyg.h"
#include "cyg_until.h"
#include "lib/elf_image.h"
#include "named.h"

/* No program has addresses from here on. */
#define NOWHERE		0x1000000000000ULL
#define NOWHERE_ALIGN	0x10000ULL

/* Functions of an interpreter begin here, two bytes each, in blocks of so many functions. */
#define NAMED		0x2000000000000ULL
#define NAMED_BLOCK	4096
#define NAMED_OBJECT	"[interpreter]"

/* The lowest descriptor to keep. */
#define HIGH_FD		512

/**
 * struct object - an object that is or was loaded
 * @name: name of the file as known to the loader
 * @build_id: build id, as text
 * @bias: difference between addresses in the recording and in the file
 * @start: first address in the recording
 * @size: size of the address range in bytes
 * @in_map: whether the map contains the object; otherwise its calls are left out
 */
struct object {
	char *name;
	char build_id[BUILD_ID_TEXT];
	u64 bias, start, size;
	bool in_map;
};

static struct object *objects;
static size_t nr_objects, room_objects;
static u64 nowhere;
static u64 nr_named;
/* The descriptor that lines are appended by, or -1, and its file. */
static int map_fd = -1;
static struct stat map_status;

/**
 * struct writer - a map that is being begun
 * @recording: recording that gets the locations of objects
 * @file: output for the map
 * @first: no object has been processed; the first one is the program
 */
struct writer {
	struct recording *recording;
	FILE *file;
	bool first;
};

static void write_blocks(FILE *file, const struct elf_image *image, u32 id)
{
	unsigned int i;

	for (i = 0; i < image->header->e_phnum; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			fprintf(file, "block 0x%lx 0x%lx %u\n", segment->p_vaddr,
				segment->p_memsz, id);
	}
}

static bool in_block(const struct elf_image *image, const struct elf_symbol *symbol)
{
	const Elf64_Phdr *segment = elf_segment_of(image, symbol->address);

	return segment && segment->p_flags & PF_X &&
	       symbol->address + 2 <= segment->p_vaddr + segment->p_memsz;
}

static void write_functions(struct recording *recording, FILE *file,
			    const struct elf_image *image, u32 id, u64 bias)
{
	u64 next = 0;
	size_t i;

	for (i = 0; i < image->nr_symbols; i++) {
		const struct elf_symbol *symbol = &image->symbols[i];

		if (symbol->address < next || !in_block(image, symbol) ||
		    strpbrk(symbol->name, " \t\n"))
			continue;
		next = symbol->address + 2;
		fprintf(file, "stub 0x%llx 1 entry %u %s 0x%llx\n", symbol->address, id,
			symbol->name, symbol->address);
		fprintf(file, "stub 0x%llx 1 exit %u %s 0x%llx\n", symbol->address + 1, id,
			symbol->name, symbol->address);
		until_add_function(recording, symbol->name, symbol->address + bias);
	}
}

/*
 * Only functions of objects that call the recorder can have been recorded. The C library
 * does not call it: it defines a function of this name itself.
 */
static bool calls_recorder(const struct elf_image *image)
{
	return elf_imports(image, "__cyg_profile_func_enter");
}

/*
 * The program itself has an empty name. If it is linked statically, the loader does not know where
 * its headers are, and thus its build id.
 */
static struct object *find_object(const char *name, const char *build_id)
{
	const bool by_name = !*name || !strcmp(build_id, "-");
	size_t i;

	for (i = 0; i < nr_objects; i++)
		if ((!*name || !strcmp(objects[i].build_id, build_id)) &&
		    (!by_name || !strcmp(objects[i].name, name)))
			return &objects[i];
	return NULL;
}

static bool is_taken(u64 start, u64 size)
{
	size_t i;

	for (i = 0; i < nr_objects; i++)
		if (objects[i].size &&
		    (start - objects[i].start < objects[i].size || objects[i].start - start < size))
			return true;
	return false;
}

/* Choose the addresses of an object in the recording. */
static void choose_bias(struct object *object, const struct elf_image *image, u64 in_memory)
{
	const Elf64_Phdr *last;

	object->bias = in_memory;
	if (!image->nr_loads)
		return;
	last = image->loads[image->nr_loads - 1];
	object->start = image->loads[0]->p_vaddr + in_memory;
	object->size = last->p_vaddr + last->p_memsz - image->loads[0]->p_vaddr;
	if (!is_taken(object->start, object->size))
		return;
	object->start = nowhere;
	object->bias = nowhere - image->loads[0]->p_vaddr;
	nowhere += (object->size + NOWHERE_ALIGN - 1) / NOWHERE_ALIGN * NOWHERE_ALIGN;
}

/* Make an object, which is not in the map until its text has been written. */
static struct object *new_object(const char *name, const char *build_id)
{
	struct object *object;

	if (grow(&objects, &room_objects, nr_objects, sizeof(*objects)))
		return NULL;
	object = &objects[nr_objects];
	*object = (struct object){ .name = strdup(name) };
	if (!object->name)
		return NULL;
	snprintf(object->build_id, sizeof(object->build_id), "%s", build_id);
	nr_objects++;
	return object;
}

/* Interpreters may be stripped: the recorder is not in them, and they do not call it. */
static void warn_if_stripped(const struct elf_image *image, const char *path, u64 in_memory)
{
	const u64 recorder = (unsigned long)warn_if_stripped - in_memory;
	struct fault fault;

	if (!image->stripped || (!elf_segment_of(image, recorder) && !calls_recorder(image)))
		return;
	fault_say(&fault, "%s is stripped: only functions that it exports have names. %s", path,
		  "To record all of them, link it without -s");
	fault_print("libfhook-record", &fault);
}

/* Returns whether the object has a location. PATH opens its file, for other processes too. */
static bool put_object(struct recording *recording, FILE *file, struct object *object,
		       const struct elf_image *image, const char *path, u64 in_memory)
{
	const u32 id = object - objects;

	warn_if_stripped(image, path, in_memory);
	choose_bias(object, image, in_memory);
	if (object->bias && recording_add_load(recording, id, object->bias))
		return false;
	fprintf(file, "object %u %s ", id, object->build_id);
	word_escape(path, file);
	putc('\n', file);
	write_blocks(file, image, id);
	write_functions(recording, file, image, id, object->bias);
	object->in_map = true;
	return true;
}

static int begin_object(struct dl_phdr_info *info, size_t size __unused, void *data)
{
	struct writer *writer = data;
	const char *path = writer->first ? "/proc/self/exe" : info->dlpi_name;
	const bool program = writer->first;
	char build_id[BUILD_ID_TEXT], name[4096];
	struct object *object;
	struct elf_image image;
	struct fault fault;
	char *real;

	writer->first = false;
	if (!*path || elf_open(&image, path, &fault))
		return 0;
	real = realpath(path, name);
	build_id_text(&image, build_id);
	if (real && (program || calls_recorder(&image)) &&
	    !find_object(info->dlpi_name, build_id)) {
		object = new_object(info->dlpi_name, build_id);
		if (object)
			put_object(writer->recording, writer->file, object, &image, name,
				   info->dlpi_addr);
	}
	elf_close(&image);
	return 0;
}

static bool is_map(int fd)
{
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) && status.st_dev == map_status.st_dev &&
	       status.st_ino == map_status.st_ino;
}

/* The map is another file now. */
static void drop_map(void)
{
	if (is_map(map_fd))
		close(map_fd);
	map_fd = -1;
}

static void forget_objects(void)
{
	size_t i;

	for (i = 0; i < nr_objects; i++)
		free(objects[i].name);
	nr_objects = 0;
	nowhere = NOWHERE;
	nr_named = 0;
	drop_map();
}

/* An existing map stays until a new one is complete. */
static int finish(FILE *file, const char *from, const char *to)
{
	const bool failed = close_checked(file);

	if (!failed && !rename(from, to)) {
		drop_map();
		return 0;
	}
	unlink(from);
	return -1;
}

int record_write_map(struct recording *recording, struct fault *fault)
{
	struct writer writer = { .recording = recording, .first = true };
	char *path = recording_path(recording, "map"), *new_path = NULL;
	int ret = -1;

	forget_objects();
	if (path && asprintf(&new_path, "%s.new", path) < 0)
		new_path = NULL;
	if (new_path)
		writer.file = fopen(new_path, "w");
	if (writer.file) {
		fputs("# calltrace map 1\n", writer.file);
		dl_iterate_phdr(begin_object, &writer);
		ret = finish(writer.file, new_path, path);
	}
	if (ret)
		fault_say(fault, "%s: the map cannot be written: %s", recording->directory,
			  strerror(errno));
	free(new_path);
	free(path);
	return ret;
}

/* Copy a whole file; returns false if it cannot be opened. */
static bool copy_file(const char *from, FILE *to)
{
	FILE *file = fopen(from, "r");
	char buffer[4096];
	size_t size;

	if (!file)
		return false;
	while ((size = fread(buffer, 1, sizeof(buffer), file)))
		fwrite(buffer, 1, size, to);
	return !close_checked(file);
}

/* Replace the map by one with one more object. */
static int add_to_map(struct recording *recording, struct object *object,
		      const struct elf_image *image, const char *name, u64 in_memory)
{
	char *path = recording_path(recording, "map"), *new_path = NULL;
	FILE *file = NULL;
	int ret = -1;

	if (path && asprintf(&new_path, "%s.new", path) < 0)
		new_path = NULL;
	if (new_path)
		file = fopen(new_path, "w");
	if (file) {
		if (copy_file(path, file) &&
		    put_object(recording, file, object, image, name, in_memory)) {
			ret = finish(file, new_path, path);
		} else {
			fclose(file);
			unlink(new_path);
		}
	}
	object->in_map = !ret;
	free(new_path);
	free(path);
	return ret;
}

/* The file may have been replaced since the object was loaded. */
static int read_object(struct recording *recording, struct object *object,
		       const struct record_loaded *loaded, struct fault *fault)
{
	char build_id[BUILD_ID_TEXT], name[4096];
	struct elf_image image;
	int ret;

	if (elf_open(&image, loaded->name, fault))
		return -1;
	build_id_text(&image, build_id);
	if (strcmp(build_id, object->build_id) || !realpath(loaded->name, name))
		ret = fault_say(fault, "%s is not the file that was loaded", loaded->name);
	else
		ret = add_to_map(recording, object, &image, name, loaded->bias) ?
		      fault_say(fault, "%s: the map cannot be written", recording->directory) : 0;
	elf_close(&image);
	return ret;
}

bool record_place(struct recording *recording, const struct record_loaded *loaded, u64 *shift)
{
	char build_id[BUILD_ID_TEXT];
	struct object *object;
	struct fault fault;

	build_id_of(loaded->id, loaded->id_size, build_id);
	object = find_object(loaded->name, build_id);
	if (!object) {
		object = new_object(loaded->name, build_id);
		if (!object)
			return false;
		if (read_object(recording, object, loaded, &fault)) {
			recording->unplaced++;
			fault_print("libfhook-record", &fault);
		}
		if (recording_write(recording, &fault))
			fault_print("libfhook-record", &fault);
	}
	*shift = object->bias - loaded->bias;
	return object->in_map;
}

/* The lines of the map for a function of an interpreter, to be freed; NULL without memory. */
static char *named_lines(const struct named *named, const struct object *object, size_t *size)
{
	const u64 entry = NAMED + nr_named * 2;
	const u32 id = object - objects;
	char *text = NULL;
	FILE *file = open_memstream(&text, size);

	if (!file)
		return NULL;
	if (!object->in_map)
		fprintf(file, "object %u - %s\n", id, NAMED_OBJECT);
	if (nr_named % NAMED_BLOCK == 0)
		fprintf(file, "block 0x%llx 0x%x %u\n", entry, NAMED_BLOCK * 2, id);
	named_print(named, id, entry, 1, entry, file);
	if (!fclose(file))
		return text;
	free(text);
	return NULL;
}

static void remove_map(const struct recording *recording)
{
	char *path = recording_path(recording, "map");

	if (path)
		unlink(path);
	free(path);
}

/*
 * A descriptor of the map, or -1. It is kept, because the program may change its root directory, or
 * use all descriptors, and is a high one, which it does not expect. But it may have closed it.
 */
static int map_descriptor(const struct recording *recording)
{
	char *path;
	int high;

	if (is_map(map_fd))
		return map_fd;
	path = recording_path(recording, "map");
	map_fd = path ? open(path, O_RDWR | O_APPEND | O_CLOEXEC) : -1;
	free(path);
	if (map_fd < 0 || fstat(map_fd, &map_status))
		return map_fd;
	high = fcntl(map_fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high >= 0) {
		close(map_fd);
		map_fd = high;
	}
	return map_fd;
}

/* Append whole lines to the map. */
static int append_to_map(const struct recording *recording, const char *text, size_t size)
{
	const int fd = map_descriptor(recording);
	struct stat before;
	int result = -1;

	if (fd >= 0 && !fstat(fd, &before)) {
		result = write(fd, text, size) == (ssize_t)size ? 0 : -1;
		/* A disk that is full may have had room for half a line. */
		if (result && ftruncate(fd, before.st_size))
			remove_map(recording);
	}
	return result;
}

int record_add_named(struct recording *recording, struct named *named, struct fault *fault)
{
	struct object *object = find_object(NAMED_OBJECT, "-");
	size_t size;
	char *text;
	int result;

	if (!object)
		object = new_object(NAMED_OBJECT, "-");
	text = object ? named_lines(named, object, &size) : NULL;
	result = text ? append_to_map(recording, text, size) : -1;
	free(text);
	if (result)
		return fault_say(fault, "%s: the map cannot be written: calls of %s are left out",
				 recording->directory, named->name);
	object->in_map = true;
	named->address = NAMED + nr_named++ * 2;
	until_add_function(recording, named->name, named->address);
	return 0;
}
