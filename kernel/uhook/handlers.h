/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the functions for handlers that the code for slots calls.
 *
 * Slots need no handlers. Without CONFIG_UHOOK_HANDLERS there are only slots, and these
 * functions do nothing.
 */
#ifndef _KERNEL_UHOOK_HANDLERS_H
#define _KERNEL_UHOOK_HANDLERS_H

#include <linux/gfp_types.h>
#include <linux/types.h>

#include "layout.h"
#include "verdict.h"

struct uhook_area;
struct uhook_body;
struct uhook_code;
struct uhook_mm;
struct uhook_set;
struct uhook_wanted;
struct uhook_where;

#ifdef CONFIG_UHOOK_HANDLERS

unsigned long uhook_data_size(enum uhook_area_kind kind);
int uhook_add_data(struct uhook_mm *um, unsigned int area, gfp_t gfp);
int uhook_map_data(unsigned long addr, unsigned long size);
void uhook_grant_body(struct uhook_mm *um, unsigned int area, unsigned int nr);
void uhook_start_counting(struct uhook_mm *um);

bool uhook_may_adopt(const struct uhook_mm *um, const struct uhook_area *area, unsigned int nr,
		     const struct uhook_set *set);
void uhook_adopt_body(struct uhook_mm *um, struct uhook_area *area, unsigned int nr,
		      struct uhook_set *set);
bool uhook_has_before(const struct uhook_body *body, const struct uhook_wanted *w, u8 insn_len);
void uhook_fill_body(struct uhook_body *body, const struct uhook_wanted *w, u8 insn_len);
enum uhook_verdict uhook_prepare_handlers(struct uhook_area *area, const struct uhook_set *set);
enum uhook_verdict uhook_compose_body(const struct uhook_wanted *w, const struct uhook_where *p,
				      struct uhook_code *code);

void uhook_put_bodies(struct uhook_area *area);
void uhook_put_handlers(struct uhook_mm *um);
void uhook_free_spans(struct uhook_mm *um);

unsigned long uhook_hop_body(const struct uhook_mm *um, unsigned long ip);
unsigned long uhook_stub_site(const struct uhook_mm *um, unsigned long ip);
u64 uhook_hits_jumped(void);

#else /* !CONFIG_UHOOK_HANDLERS */

static inline unsigned long uhook_data_size(enum uhook_area_kind kind)
{
	return 0;
}

static inline int uhook_add_data(struct uhook_mm *um, unsigned int area, gfp_t gfp)
{
	return 0;
}

static inline int uhook_map_data(unsigned long addr, unsigned long size)
{
	return 0;
}

static inline void uhook_grant_body(struct uhook_mm *um, unsigned int area, unsigned int nr) { }
static inline void uhook_start_counting(struct uhook_mm *um) { }

static inline bool uhook_may_adopt(const struct uhook_mm *um, const struct uhook_area *area,
				   unsigned int nr, const struct uhook_set *set)
{
	return false;
}

static inline void uhook_adopt_body(struct uhook_mm *um, struct uhook_area *area,
				    unsigned int nr, struct uhook_set *set)
{
}

static inline bool uhook_has_before(const struct uhook_body *body, const struct uhook_wanted *w,
				    u8 insn_len)
{
	return false;
}

static inline void uhook_fill_body(struct uhook_body *body, const struct uhook_wanted *w,
				   u8 insn_len)
{
}

static inline enum uhook_verdict uhook_prepare_handlers(struct uhook_area *area,
							const struct uhook_set *set)
{
	return UHOOK_GRANTED;
}

static inline enum uhook_verdict uhook_compose_body(const struct uhook_wanted *w,
						    const struct uhook_where *p,
						    struct uhook_code *code)
{
	return UHOOK_NO_HOOK;
}

static inline void uhook_put_bodies(struct uhook_area *area) { }
static inline void uhook_put_handlers(struct uhook_mm *um) { }
static inline void uhook_free_spans(struct uhook_mm *um) { }

static inline unsigned long uhook_hop_body(const struct uhook_mm *um, unsigned long ip)
{
	return 0;
}

static inline unsigned long uhook_stub_site(const struct uhook_mm *um, unsigned long ip)
{
	return 0;
}

static inline u64 uhook_hits_jumped(void) { return 0; }

#endif /* CONFIG_UHOOK_HANDLERS */

#endif /* _KERNEL_UHOOK_HANDLERS_H */
