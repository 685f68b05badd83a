// SPDX-License-Identifier: GPL-2.0
/* Patterns of functions, by arguments; the header describes the functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "groups.h"

static bool has_arguments(const char *text)
{
	return *text != '!' && strchr(text, '(');
}

static int add_pattern(struct group *group, const char *mark, const char *text,
		       struct fault *fault)
{
	char *copy;

	if (asprintf(&copy, "%s%s", mark, text) < 0)
		return fault_say(fault, "there is not enough memory");
	if (grow(&group->patterns, &group->room, group->nr, sizeof(copy))) {
		free(copy);
		return fault_say(fault, "there is not enough memory");
	}
	group->patterns[group->nr++] = copy;
	return 0;
}

static struct group *add_group(struct groups *groups, struct fault *fault)
{
	if (grow(&groups->groups, &groups->room, groups->nr, sizeof(*groups->groups))) {
		fault_say(fault, "there is not enough memory");
		return NULL;
	}
	groups->groups[groups->nr] = (struct group){ };
	return groups->groups + groups->nr++;
}

static int add_spec(struct groups *groups, const char *text, struct fault *fault)
{
	struct group *group = add_group(groups, fault);
	struct spec *spec = group ? &group->spec : NULL;

	if (!spec || spec_parse(spec, text, fault))
		return -1;
	if (spec->longer || spec->filter)
		return fault_say(fault, "%s: all calls are measured: leave out %s", text,
				 spec->longer ? "> TIME" : "if CONDITION");
	return add_pattern(group, "", spec->pattern, fault) ||
	       list_add(&group->list, spec->pattern, fault) ? -1 : 0;
}

/* Add the patterns without brackets, if there are any, as a group. */
static int add_others(struct groups *groups, char *const *texts, size_t nr, struct fault *fault)
{
	struct group *group = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (has_arguments(texts[i]) || *texts[i] == '!')
			continue;
		if (!group)
			group = add_group(groups, fault);
		if (!group || add_pattern(group, "", texts[i], fault))
			return -1;
	}
	return 0;
}

/* Leave functions out of a group: as the user wants, and those of the groups before. */
static int exclude(struct groups *groups, size_t number, char *const *texts, size_t nr,
		   struct fault *fault)
{
	struct group *group = groups->groups + number;
	size_t i;

	for (i = 0; i < nr; i++)
		if (*texts[i] == '!' && add_pattern(group, "", texts[i], fault))
			return -1;
	for (i = 0; i < number; i++)
		if (add_pattern(group, "!", groups->groups[i].spec.pattern, fault))
			return -1;
	return 0;
}

int groups_parse(struct groups *groups, char *const *texts, size_t nr, struct fault *fault)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (has_arguments(texts[i]) && add_spec(groups, texts[i], fault))
			return -1;
	if (add_others(groups, texts, nr, fault))
		return -1;
	for (i = 0; i < groups->nr; i++)
		if (exclude(groups, i, texts, nr, fault))
			return -1;
	return 0;
}

char **groups_patterns(const struct groups *groups, char *const *texts, size_t nr)
{
	char **patterns = calloc(nr, sizeof(*patterns));
	size_t i, group = 0;

	for (i = 0; patterns && i < nr; i++)
		patterns[i] = has_arguments(texts[i]) ?
			      groups->groups[group++].spec.pattern : texts[i];
	return patterns;
}

const struct spec *groups_spec(struct groups *groups, const char *symbol)
{
	size_t i;

	for (i = 0; i < groups->nr && symbol; i++) {
		struct group *group = groups->groups + i;

		if (group->spec.pattern && list_wants(&group->list, symbol) != LIST_NO)
			return &group->spec;
	}
	return NULL;
}

void groups_free(struct groups *groups)
{
	size_t i;

	for (i = 0; i < groups->nr; i++) {
		struct group *group = groups->groups + i;

		while (group->nr)
			free(group->patterns[--group->nr]);
		free(group->patterns);
		list_free(&group->list);
		spec_free(&group->spec);
	}
	free(groups->groups);
	memset(groups, 0, sizeof(*groups));
}
