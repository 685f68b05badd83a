/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OBJTOOL_SLOTS_H
#define _OBJTOOL_SLOTS_H

struct objtool_file;

/*
 * Turn the room that the compiler reserved at function entries into opts.slots
 * 5-byte no-ops each, and write the tables that say where they are. Adds to
 * mcount_loc_list, so it has to run before create_mcount_loc_sections().
 */
int create_slot_sections(struct objtool_file *file);

#endif /* _OBJTOOL_SLOTS_H */
