// SPDX-License-Identifier: GPL-2.0
/* A recording: reading and writing its info, names of its files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base.h"
#include "clock.h"
#include "recording.h"

const char *const recording_formats[FORMATS] = { "intel-pt", "etmv4", "software" };
const char *const recording_profiles[PROFILES] = {
	"target", "no-target", "cycles", "branches",
};

static const char first_line[] = "# calltrace recording 1\n";

/* More streams than there are processors, or threads of QEMU. */
#define MAX_STREAMS	65536

/* The most names that are tried for a recording. */
#define NAMES_MAX	1000

char *recording_path(const struct recording *recording, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", recording->path ?: recording->directory, name) < 0)
		return NULL;
	return path;
}

char *recording_stream_path(const struct recording *recording, u32 stream)
{
	char *path;

	if (stream >= MAX_STREAMS ||
	    asprintf(&path, "%s/%u.trace", recording->path ?: recording->directory, stream) < 0)
		return NULL;
	return path;
}

static int no_memory(struct fault *fault)
{
	return fault_say(fault, "there is not enough memory to record");
}

static int choose(const char *const *names, int count, const char *word, u32 *choice)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], word)) {
			*choice = i;
			return 0;
		}
	return -1;
}

int recording_find_profile(const char *name, enum recording_profile *profile,
			   struct fault *fault)
{
	u32 choice;

	if (choose(recording_profiles, PROFILES, name, &choice))
		return fault_say(fault,
				 "there is no profile '%s': it is target, no-target, cycles or branches",
				 name);
	*profile = choice;
	return 0;
}

static int add_note(struct recording_note **notes, size_t *room, size_t *nr, u32 stream, u64 value)
{
	if (grow(notes, room, *nr, sizeof(**notes)))
		return -1;
	(*notes)[*nr] = (struct recording_note){ .stream = stream, .line = *nr, .value = value };
	++*nr;
	return 0;
}

int recording_add_thread(struct recording *recording, u32 stream, u64 tid)
{
	return add_note(&recording->tids, &recording->room_tids, &recording->nr_tids, stream, tid);
}

int recording_add_lost(struct recording *recording, u32 stream, u64 lost)
{
	return add_note(&recording->lost, &recording->room_lost, &recording->nr_lost, stream, lost);
}

int recording_check_written(const struct recording *recording, struct fault *fault)
{
	u64 lost = 0;
	size_t i;

	for (i = 0; i < recording->nr_lost; i++)
		lost += recording->lost[i].value;
	return lost ? fault_say(fault, "of the recording %s %llu bytes could not be written",
				recording->directory, lost) : 0;
}

int recording_add_task(struct recording *recording, u32 tid, u32 pid, const char *name)
{
	struct recording_task *task;

	if (grow(&recording->tasks, &recording->room_tasks, recording->nr_tasks, sizeof(*task)))
		return -1;
	task = &recording->tasks[recording->nr_tasks];
	*task = (struct recording_task){
		.tid = tid, .pid = pid, .line = recording->nr_tasks++,
	};
	snprintf(task->name, sizeof(task->name), "%s", name);
	text_clean(task->name);
	return 0;
}

void recording_set_executed(struct recording *recording, u32 pid, const char *program)
{
	recording->executed_by = pid;
	snprintf(recording->executed, sizeof(recording->executed), "%.*s", RECORDING_PROGRAM - 1,
		 program);
	text_clean(recording->executed);
}

void recording_say_executed(const struct recording *recording)
{
	if (recording->executed_by)
		fprintf(stderr, "fhook: Process %u executed %s, whose calls are not recorded.\n",
			recording->executed_by, *recording->executed ? recording->executed :
			"another program");
}

int recording_add_load(struct recording *recording, u32 object, u64 bias)
{
	if (grow(&recording->loads, &recording->room_loads, recording->nr_loads,
		 sizeof(*recording->loads)))
		return -1;
	recording->loads[recording->nr_loads++] = (struct recording_load){
		.object = object, .bias = bias,
	};
	return 0;
}

static int compare_notes(const void *one, const void *other)
{
	const struct recording_note *a = one, *b = other;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static void sort_notes(struct recording_note *notes, size_t nr)
{
	if (nr)
		qsort(notes, nr, sizeof(*notes), compare_notes);
}

const struct recording_note *recording_note(const struct recording_note *notes, size_t nr,
					    u32 stream)
{
	size_t low = first_index(nr, i, notes[i].stream <= stream);

	return low && notes[low - 1].stream == stream ? notes + low - 1 : NULL;
}

static int compare_tasks(const void *one, const void *other)
{
	const struct recording_task *a = one, *b = other;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

const struct recording_task *recording_task(const struct recording *recording, u32 tid)
{
	const struct recording_task *tasks = recording->tasks;
	size_t next = first_index(recording->nr_tasks, i, tasks[i].tid <= tid);

	return next && tasks[next - 1].tid == tid ? tasks + next - 1 : NULL;
}

static int read_numbers(char **words, int count, int base, u32 **numbers, int wanted)
{
	u64 value;
	int i;

	if (count != wanted + 1)
		return -1;
	for (i = 0; i < wanted; i++) {
		if (word_number(words[i + 1], base, 0xffffffff, &value))
			return -1;
		*numbers[i] = value;
	}
	return 0;
}

/* A line of two numbers, of which the second may have 64 bits. */
static int read_pair(char **words, int count, int base, u64 *first, u64 *second)
{
	if (count != 3 || word_number(words[1], 10, 0xffff, first))
		return -1;
	return word_number(words[2], base, ~0ULL, second);
}

static int read_choice(struct recording *recording, char **words, int count)
{
	u32 choice;

	if (count != 2)
		return -1;
	if (!strcmp(words[0], "format")) {
		if (choose(recording_formats, FORMATS, words[1], &choice))
			return -1;
		recording->format = choice;
		recording->has_format = true;
	} else if (!strcmp(words[0], "profile")) {
		if (choose(recording_profiles, PROFILES, words[1], &choice))
			return -1;
		recording->profile = choice;
	} else {
		recording->has_streams = true;
		recording->threads = !strcmp(words[1], "thread");
		if (!recording->threads && strcmp(words[1], "cpu"))
			return -1;
	}
	return 0;
}

static int read_list(struct recording *recording, char **words, int count)
{
	u64 first, second;

	if (read_pair(words, count, strcmp(words[0], "load") ? 10 : 16, &first, &second))
		return -1;
	if (!strcmp(words[0], "load"))
		return recording_add_load(recording, first, second);
	if (!strcmp(words[0], "thread"))
		return recording_add_thread(recording, first, second);
	return recording_add_lost(recording, first, second);
}

/* A name may have blanks, of which one is kept between two words. */
static void join_words(char **words, int count, char *name, size_t size)
{
	int i;

	*name = '\0';
	for (i = 0; i < count; i++) {
		const size_t length = strlen(name);

		snprintf(name + length, size - length, "%s%s", i ? " " : "", words[i]);
	}
}

static int read_executed(struct recording *recording, char **words, int count)
{
	char program[4 * RECORDING_PROGRAM];
	u64 pid;

	if (count < 2 || word_number(words[1], 10, 0x7fffffff, &pid))
		return -1;
	/* Older recordings have a path with blanks as several words. */
	join_words(words + 2, count - 2, program, sizeof(program));
	word_unescape(program);
	recording_set_executed(recording, pid, program);
	return 0;
}

static int read_task(struct recording *recording, char **words, int count)
{
	char name[sizeof(recording->tasks->name)];
	u64 tid, pid;

	if (count < 3 || word_number(words[1], 10, 0x7fffffff, &tid) ||
	    word_number(words[2], 10, 0x7fffffff, &pid))
		return -1;
	join_words(words + 3, count - 3, name, sizeof(name));
	return recording_add_task(recording, tid, pid, name);
}

/* Returns 0, -1 for an invalid line, or 1 for an unknown one. */
static int read_line(struct recording *recording, char **words, int count)
{
	u32 *cpu[] = { &recording->family, &recording->model, &recording->stepping };
	u32 *mtc[] = { &recording->mtc_freq, &recording->mtc_eax, &recording->mtc_ebx };
	u32 *nominal[] = { &recording->nominal }, *unopened[] = { &recording->unopened };
	u32 *unplaced[] = { &recording->unplaced }, *snapshot[] = { &recording->snapshot };
	u32 *until[] = { &recording->until }, *unmatched[] = { &recording->unmatched };
	struct recording_etm *e = &recording->etm;
	u32 *etm[] = { &e->traceid, &e->config, &e->idr0, &e->idr1, &e->idr2, &e->idr8 };

	if (!strcmp(words[0], "format") || !strcmp(words[0], "profile") ||
	    !strcmp(words[0], "streams"))
		return read_choice(recording, words, count);
	if (!strcmp(words[0], "load") || !strcmp(words[0], "thread") || !strcmp(words[0], "lost"))
		return read_list(recording, words, count);
	if (!strcmp(words[0], "task"))
		return read_task(recording, words, count);
	if (!strcmp(words[0], "executed"))
		return read_executed(recording, words, count);
	if (!strcmp(words[0], "cpu"))
		return read_numbers(words, count, 10, cpu, ARRAY_SIZE(cpu));
	if (!strcmp(words[0], "mtc"))
		return read_numbers(words, count, 10, mtc, ARRAY_SIZE(mtc));
	if (!strcmp(words[0], "nominal"))
		return read_numbers(words, count, 10, nominal, ARRAY_SIZE(nominal));
	if (!strcmp(words[0], "unplaced"))
		return read_numbers(words, count, 10, unplaced, ARRAY_SIZE(unplaced));
	if (!strcmp(words[0], "snapshot"))
		return read_numbers(words, count, 10, snapshot, ARRAY_SIZE(snapshot));
	if (!strcmp(words[0], "until"))
		return read_numbers(words, count, 10, until, ARRAY_SIZE(until));
	if (!strcmp(words[0], "unmatched"))
		return read_numbers(words, count, 16, unmatched, ARRAY_SIZE(unmatched));
	if (!strcmp(words[0], "unopened"))
		return read_numbers(words, count, 10, unopened, ARRAY_SIZE(unopened));
	if (!strcmp(words[0], "etm"))
		return read_numbers(words, count, 16, etm, ARRAY_SIZE(etm));
	if (!strcmp(words[0], "session"))
		return count == 2 ? word_number(words[1], 16, ~0ULL, &recording->session) : -1;
	if (!strcmp(words[0], "clock"))
		return count == 2 ? word_number(words[1], 10, 1000000000, &recording->clock) : -1;
	return 1;
}

static int read_words(struct recording *recording, char *line, const char *path,
		      unsigned long number, struct fault *fault)
{
	char *words[12];
	const int count = words_split(line, words, ARRAY_SIZE(words));
	int result;

	if (!count || *words[0] == '#')
		return 0;
	result = read_line(recording, words, count);
	return result ? fault_say(fault, "%s:%lu: the line '%s' %s", path, number, words[0],
				  result > 0 ? "is not known" : "is not what it should be") : 0;
}

static int read_lines(struct recording *recording, FILE *file, const char *path,
		      struct fault *fault)
{
	unsigned long number = 0;
	char *line = NULL;
	size_t room = 0;
	int result = 0;

	while (!result && line_read(&line, &room, file) >= 0) {
		if (!number++ && strcmp(line, first_line))
			result = fault_say(fault,
					   "%s: this is not a call trace recording of version 1",
					   path);
		else
			result = read_words(recording, line, path, number, fault);
	}
	if (!result && errno)
		result = fault_say(fault, "%s:%lu cannot be read: %s", path, number + 1,
				   line_error());
	else if (!result && !number)
		result = fault_say(fault, "%s: this is not a call trace recording of version 1",
				   path);
	free(line);
	return result;
}

static int read_info(struct recording *recording, FILE *file, const char *path,
		     struct fault *fault)
{
	if (read_lines(recording, file, path, fault))
		return -1;
	sort_notes(recording->tids, recording->nr_tids);
	sort_notes(recording->lost, recording->nr_lost);
	if (recording->nr_tasks)
		qsort(recording->tasks, recording->nr_tasks, sizeof(*recording->tasks),
		      compare_tasks);
	if (!recording->has_format || !recording->has_streams)
		return fault_say(fault, "%s: it does not say of what %s", path,
				 recording->has_format ? "the streams are" : "format it is");
	return 0;
}

static int count_streams(struct recording *recording, struct fault *fault)
{
	DIR *directory = opendir(recording->directory);
	struct dirent *entry;
	u64 number;

	if (!directory)
		return fault_say(fault, "%s: %s", recording->directory, strerror(errno));
	while ((entry = readdir(directory))) {
		char *end = strrchr(entry->d_name, '.');

		if (!end || strcmp(end, ".trace"))
			continue;
		*end = '\0';
		if (!word_number(entry->d_name, 10, MAX_STREAMS - 1, &number) &&
		    number >= recording->nr_streams)
			recording->nr_streams = number + 1;
	}
	closedir(directory);
	return 0;
}

int recording_read(struct recording *recording, const char *directory, struct fault *fault)
{
	int result = -1;
	FILE *file;
	char *path;

	memset(recording, 0, sizeof(*recording));
	recording->directory = strdup(directory);
	path = recording_path(recording, "info");
	file = path ? fopen(path, "r") : NULL;
	if (!file)
		fault_say(fault, "%s is no recording: there is no file 'info' that can be read: %s",
			  directory, strerror(errno));
	else if (!read_info(recording, file, path, fault))
		result = count_streams(recording, fault);
	if (file)
		fclose(file);
	free(path);
	if (result)
		recording_free(recording);
	return result;
}

void recording_free(struct recording *recording)
{
	free(recording->directory);
	free(recording->path);
	free(recording->loads);
	free(recording->tids);
	free(recording->lost);
	free(recording->tasks);
	memset(recording, 0, sizeof(*recording));
}

/* A file that a recording would overwrite, unless it is a symbolic link. */
static bool is_file_of_recording(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return (!strcmp(entry->d_name, "info") || !strcmp(entry->d_name, "map") ||
		(end && !strcmp(end, ".trace"))) && entry->d_type != DT_LNK &&
	       entry->d_type != DT_DIR;
}

int recording_check(const char *directory, struct fault *fault)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;
	int result = 0;

	while (stream && !result && (entry = readdir(stream)))
		if (is_file_of_recording(entry))
			result = fault_say(fault,
					   "%s holds a recording already, or a file '%s': choose another directory",
					   directory, entry->d_name);
	if (stream)
		closedir(stream);
	return result;
}

int recording_check_new(const char *directory, struct fault *fault)
{
	struct stat status;

	if (recording_check(directory, fault))
		return -1;
	/* recording_create() makes it, or says why it cannot. */
	if (stat(directory, &status))
		return 0;
	if (status.st_uid != geteuid())
		return fault_say(fault,
				 "%s belongs to another user (%u), who could put links to other files there: choose another directory",
				 directory, status.st_uid);
	if (status.st_mode & 022)
		return fault_say(fault,
				 "others may write to %s, and could put links to other files there: choose another directory, or remove that permission (chmod go-w)",
				 directory);
	return 0;
}

FILE *recording_unnamed_file(bool for_others, char **path)
{
	int fd = memfd_create("fhook-map", MFD_CLOEXEC), length = -1;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (file && for_others)
		length = asprintf(path, "/proc/%d/fd/%d", getpid(), fd);
	else if (file)
		length = asprintf(path, "/proc/self/fd/%d", fd);
	if (length >= 0)
		return file;
	*path = NULL;
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return NULL;
}

static int copy(FILE *from, FILE *to)
{
	char buffer[65536];
	size_t size;

	while ((size = fread(buffer, 1, sizeof(buffer), from)))
		if (fwrite(buffer, 1, size, to) != size)
			return -1;
	return ferror(from) ? -1 : 0;
}

static int copy_map(const struct recording *recording, const char *map, struct fault *fault)
{
	char *path = recording_path(recording, "map");
	FILE *from = fopen(map, "r"), *to = from && path ? fopen(path, "w") : NULL;
	int result = to ? copy(from, to) : -1;

	if (from)
		fclose(from);
	if (to && fclose(to))
		result = -1;
	free(path);
	return result ? fault_say(fault, "the map %s cannot be copied to %s: %s", map,
				  recording->directory, strerror(errno)) : 0;
}

/* If two recorders use the directory at the same time, only one succeeds. */
static int claim(const struct recording *recording)
{
	char *path = recording_path(recording, "info");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;

	free(path);
	return fd < 0 ? -1 : close(fd);
}

int recording_create(struct recording *recording, const char *directory, const char *map,
		     struct fault *fault)
{
	recording->directory = strdup(directory);
	if (!recording->directory)
		return no_memory(fault);
	/* Not for others to write to, even if the umask would let them. */
	recording->made_directory = !mkdir(directory, 0755);
	if (!recording->made_directory && errno != EEXIST)
		return fault_say(fault, "%s: %s", directory, strerror(errno));
	/* It may have been made by somebody else since the last look. */
	if (!recording->made_directory && recording_check_new(directory, fault))
		return -1;
	recording->path = realpath(directory, NULL);
	if (!recording->path || claim(recording)) {
		fault_say(fault, "%s: %s", directory, strerror(errno));
		if (recording->made_directory)
			rmdir(directory);
		return -1;
	}
	if (map && copy_map(recording, map, fault)) {
		recording_remove(recording);
		return -1;
	}
	return 0;
}

int recording_create_beside(struct recording *recording, const char *directory, const char *map,
			    struct fault *fault)
{
	int result = recording_create(recording, directory, map, fault), i;
	struct fault taken;
	char *other;

	for (i = 0; result && i < NAMES_MAX; i++) {
		if (!recording->directory || !recording_check(recording->directory, &taken))
			break;
		if ((i ? asprintf(&other, "%s-%d-%d", directory, getpid(), i) :
			 asprintf(&other, "%s-%d", directory, getpid())) < 0)
			break;
		free(recording->directory);
		free(recording->path);
		recording->path = NULL;
		recording->directory = NULL;
		result = recording_create(recording, other, map, fault);
		free(other);
	}
	return result;
}

u64 recording_new_session(void)
{
	u64 session;

	/* Before the kernel has random numbers, the time is different enough. */
	if (getrandom(&session, sizeof(session), GRND_NONBLOCK) != sizeof(session))
		session = clock_ns(CLOCK_REALTIME);
	return session ?: 1;
}

/* PATH is a result of recording_path() or recording_stream_path(). */
static void remove_file(char *path)
{
	if (path)
		unlink(path);
	free(path);
}

void recording_remove(const struct recording *recording)
{
	u32 i;

	for (i = 0; i < recording->nr_streams; i++)
		remove_file(recording_stream_path(recording, i));
	remove_file(recording_path(recording, "info"));
	remove_file(recording_path(recording, "map"));
	if (recording->made_directory)
		rmdir(recording->directory);
}

static void write_lines(const struct recording *recording, FILE *file)
{
	const struct recording_etm *etm = &recording->etm;
	size_t i;

	fprintf(file, "%sformat %s\nprofile %s\nstreams %s\n", first_line,
		recording_formats[recording->format], recording_profiles[recording->profile],
		recording->threads ? "thread" : "cpu");
	if (recording->session)
		fprintf(file, "session 0x%llx\n", recording->session);
	if (recording->format == FORMAT_INTEL_PT)
		fprintf(file, "cpu %u %u %u\n", recording->family, recording->model,
			recording->stepping);
	if (recording->format == FORMAT_ETMV4)
		fprintf(file, "etm 0x%x 0x%x 0x%x 0x%x 0x%x 0x%x\n", etm->traceid, etm->config,
			etm->idr0, etm->idr1, etm->idr2, etm->idr8);
	if (recording->clock)
		fprintf(file, "clock %llu\n", recording->clock);
	if (recording->nominal)
		fprintf(file, "nominal %u\n", recording->nominal);
	if (recording->mtc_eax)
		fprintf(file, "mtc %u %u %u\n", recording->mtc_freq, recording->mtc_eax,
			recording->mtc_ebx);
	for (i = 0; i < recording->nr_loads; i++)
		fprintf(file, "load %u 0x%llx\n", recording->loads[i].object,
			recording->loads[i].bias);
	for (i = 0; i < recording->nr_tids; i++)
		fprintf(file, "thread %u %llu\n", recording->tids[i].stream,
			recording->tids[i].value);
	for (i = 0; i < recording->nr_tasks; i++)
		fprintf(file, "task %u %u %s\n", recording->tasks[i].tid,
			recording->tasks[i].pid, recording->tasks[i].name);
	for (i = 0; i < recording->nr_lost; i++)
		fprintf(file, "lost %u %llu\n", recording->lost[i].stream,
			recording->lost[i].value);
	if (recording->snapshot)
		fprintf(file, "snapshot %u\n", recording->snapshot);
	if (recording->until)
		fprintf(file, "until %u\n", recording->until);
	if (recording->unmatched)
		fprintf(file, "unmatched 0x%x\n", recording->unmatched);
	if (recording->executed_by) {
		fprintf(file, "executed %u ", recording->executed_by);
		word_escape(recording->executed, file);
		putc('\n', file);
	}
	if (recording->unplaced)
		fprintf(file, "unplaced %u\n", recording->unplaced);
	if (recording->unopened)
		fprintf(file, "unopened %u\n", recording->unopened);
}

/* Write a new file, and give it the name of the old one, which readers see until then. */
static int replace_info(const char *path, const char *new_path, const char *text, size_t size)
{
	FILE *file = fopen(new_path, "w");
	int result, error;

	if (!file)
		return -1;
	result = fwrite(text, 1, size, file) != size;
	result |= fclose(file);
	if (!result && !rename(new_path, path))
		return 0;
	error = errno;
	unlink(new_path);
	errno = error;
	return -1;
}

/* A full disk has no room for another file, but the old one has room up to the end of a block. */
static int overwrite_info(const char *path, const char *text, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct stat status;
	int result = -1;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &status) && (u64)status.st_blocks * S_BLKSIZE >= size &&
	    pwrite(fd, text, size, 0) == (ssize_t)size)
		result = ftruncate(fd, size);
	close(fd);
	return result;
}

int recording_write(const struct recording *recording, struct fault *fault)
{
	char *path = recording_path(recording, "info"), *text = NULL;
	char *new_path = recording_path(recording, "info.new");
	size_t size;
	FILE *file = path && new_path ? open_memstream(&text, &size) : NULL;
	int result = -1, error;

	if (file) {
		write_lines(recording, file);
		result = fclose(file);
	}
	if (!result && replace_info(path, new_path, text, size)) {
		error = errno;
		result = overwrite_info(path, text, size);
		errno = error;
	}
	if (result)
		fault_say(fault, "%s: the info cannot be written: %s", recording->directory,
			  strerror(errno));
	free(text);
	free(path);
	free(new_path);
	return result;
}
