// SPDX-License-Identifier: GPL-2.0
/*
 * The lists of set_fhook_filter and set_fhook_notrace: text, one pattern per
 * line, without duplicates, in the order in which they were written.
 *
 * A user may write as many patterns as there are functions, so an edit finds
 * its lines by a hash table, which exists only during the edit. An edit makes a
 * new list and does not change the old one; nothing here is shared, and no lock
 * is needed.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringhash.h>

#include "../fhook/pattern.h"
#include "trace_fhook.h"

/**
 * struct edit - a list during an edit
 * @list: lines of the list; removed lines are only newlines until compact()
 * @len: length of @list, in bytes
 * @slots: hash table: 1 + the offset of a line; 0 if free
 * @mask: number of slots, minus one
 */
struct edit {
	char		*list;
	size_t		len;
	u32		*slots;
	unsigned int	mask;
};

static size_t word_len(const char *text)
{
	size_t len = 0;

	while (text[len] && !isspace(text[len]))
		len++;

	return len;
}

static unsigned int count_words(const char *text)
{
	unsigned int num = 0;

	for (text = skip_spaces(text); *text; text = skip_spaces(text)) {
		text += word_len(text);
		num++;
	}

	return num;
}

static int edit_begin(struct edit *edit, const char *old, const char *text)
{
	unsigned int num = roundup_pow_of_two(2 * (count_words(old) +
						   count_words(text) + 1));

	/*
	 * Each " []" of the text becomes ":mod:", and the last word gets a
	 * newline.
	 */
	edit->list = kvmalloc(strlen(old) + 2 * strlen(text) + 2, GFP_KERNEL);
	edit->slots = kvcalloc(num, sizeof(*edit->slots), GFP_KERNEL);
	edit->mask = num - 1;
	edit->len = 0;

	return edit->list && edit->slots ? 0 : -ENOMEM;
}

/* Find the slot of a line, or a free slot for it. */
static u32 *find_slot(const struct edit *edit, const char *line, size_t len)
{
	u32 i = full_name_hash(NULL, line, len) & edit->mask;
	const char *other;

	for (; edit->slots[i]; i = (i + 1) & edit->mask) {
		other = edit->list + edit->slots[i] - 1;
		if (!strncmp(other, line, len) && other[len] == '\n')
			break;
	}

	return &edit->slots[i];
}

/*
 * Add the line at the end of the list, with its newline, unless the list has
 * it.
 */
static void add_line(struct edit *edit, size_t len)
{
	u32 *slot = find_slot(edit, edit->list + edit->len, len - 1);

	if (*slot)
		return;

	*slot = edit->len + 1;
	edit->len += len;
}

/* Remove a line; return false if the list does not have it. */
static bool remove_line(struct edit *edit, size_t len)
{
	u32 *slot = find_slot(edit, edit->list + edit->len, len - 1);

	if (!*slot || len == 1)
		return false;

	memset(edit->list + *slot - 1, '\n', len);

	return true;
}

static void add_lines(struct edit *edit, const char *old)
{
	size_t len;

	for (; *old; old += len) {
		len = strcspn(old, "\n") + 1;
		memcpy(edit->list + edit->len, old, len);
		add_line(edit, len);
	}
}

/*
 * Append the word at @p to the list as a line of @len bytes, "NAME [MODULE]" as
 * "NAME:mod:MODULE". Returns the end of the word in the text.
 */
static const char *get_word(struct edit *edit, const char *p, size_t *len)
{
	size_t name_len = word_len(p), mod_len;
	char *line = edit->list + edit->len;
	const char *mod;

	mod = skip_spaces(p + name_len);
	mod_len = word_len(mod);

	if (fhook_is_listed_module(mod) && !strnstr(p, ":mod:", name_len)) {
		*len = sprintf(line, "%.*s:mod:%.*s\n", (int)name_len, p,
			       (int)mod_len - 2, mod + 1);
		return mod + mod_len;
	}

	*len = sprintf(line, "%.*s\n", (int)name_len, p);

	return p + name_len;
}

static void compact(struct edit *edit)
{
	char *to = edit->list;
	size_t i;

	for (i = 0; i < edit->len; i++) {
		if (edit->list[i] == '\n' &&
		    (to == edit->list || to[-1] == '\n'))
			continue;
		*to++ = edit->list[i];
	}
	*to = '\0';
}

/*
 * Apply all words of @added, except comments, from '#' to the end of the line.
 */
static int edit_by(struct edit *edit, char *added, size_t *pos)
{
	char *p = added;
	bool remove;
	size_t len;
	char *end;

	for (p = skip_spaces(p); *p; p = skip_spaces(end)) {
		*pos = p - added;
		if (*p == '#') {
			end = p + strcspn(p, "\n");
			memset(p, ' ', end - p);
			continue;
		}

		remove = *p == '!';
		*pos += remove;
		end = added + (get_word(edit, p + remove, &len) - added);
		if (!remove) {
			add_line(edit, len);
			continue;
		}
		if (!remove_line(edit, len))
			return -ENOENT;
		memset(p, ' ', end - p);
	}

	return 0;
}

/**
 * fhook_list_edit() - edit a list of patterns
 * @old: the list, "" for none
 * @added: text of the user: patterns to add, "!PATTERN" to remove, and
 *	comments. Patterns to add stay in it, everything else becomes blanks.
 * @pos: set to the offset in @added of a pattern that cannot be removed
 *
 * May sleep.
 *
 * Return: the new list, for kvfree(); an ERR_PTR: -ENOENT if a pattern to be
 * removed is not in the list, -ENOMEM.
 */
char *fhook_list_edit(const char *old, char *added, size_t *pos)
{
	struct edit edit;
	int ret;

	ret = edit_begin(&edit, old, added);
	if (!ret) {
		add_lines(&edit, old);
		ret = edit_by(&edit, added, pos);
	}
	kvfree(edit.slots);
	if (ret) {
		kvfree(edit.list);
		return ERR_PTR(ret);
	}
	compact(&edit);

	return edit.list;
}
