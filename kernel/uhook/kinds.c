// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the table of the kinds of hooks.
 *
 * uhook_register() looks the kind of a hook up here and stores it in the hook's counter.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "events.h"
#include "kinds.h"

static const struct uhook_kind * const kinds[] = {
	[UHOOK_USER_NONE]	= &uhook_no_kind,
	[UHOOK_USER_COUNT]	= &uhook_count_kind,
	[UHOOK_USER_RECORD]	= &uhook_record_kind,
	[UHOOK_USER_CODE]	= &uhook_code_kind,
	[UHOOK_USER_FUNCTION]	= &uhook_function_kind,
	[UHOOK_USER_STUB]	= &uhook_stub_kind,
};

/**
 * uhook_kind_of - the kind of a hook
 * @user: work of the hook in the program
 *
 * Return: the kind, or NULL if @user is unknown.
 */
const struct uhook_kind *uhook_kind_of(enum uhook_user user)
{
	return user < ARRAY_SIZE(kinds) ? kinds[user] : NULL;
}

/**
 * uhook_user_named - look up the work of a hook in the program by its name
 * @name: name, as in user= of events
 *
 * Return: the work, or UHOOK_USER_NONE if the name is unknown.
 */
enum uhook_user uhook_user_named(const char *name)
{
	unsigned int user;

	for (user = 0; user < ARRAY_SIZE(kinds); user++) {
		if (kinds[user]->name && !strcmp(kinds[user]->name, name))
			return user;
	}

	return UHOOK_USER_NONE;
}

/**
 * uhook_user_name - name of the work of a hook in the program
 * @user: work of the hook
 *
 * Return: the name, as in user= of events, or NULL if it has none.
 */
const char *uhook_user_name(enum uhook_user user)
{
	const struct uhook_kind *kind = uhook_kind_of(user);

	return kind ? kind->name : NULL;
}
