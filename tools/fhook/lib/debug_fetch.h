/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Debug files from the servers in DEBUGINFOD_URLS
 *
 * libdebuginfod is used if it is installed. It keeps fetched files in a cache.
 */
#ifndef FHOOK_DEBUG_FETCH_H
#define FHOOK_DEBUG_FETCH_H

struct Dwfl;

/* Say once that libdwfl fetches files for a session, and let a signal end that. */
void debug_fetch_follow(struct Dwfl *dwfl);

/* Fetch none from now on; those that were fetched before are found. */
void debug_fetch_stop(void);

/* The path of the debug file with a build id, in hex digits; to be freed, or NULL. */
char *debug_fetch(const char *id);

#endif /* FHOOK_DEBUG_FETCH_H */
