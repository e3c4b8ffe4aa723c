/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: numbers for the things that outlive generations: routes, pools and servers.
 *
 * A name is found or made when a generation is compiled, which holds a reference until it is freed.
 * Its number stays as long as it lives; data threads use it as an index of what they keep for it. A
 * number is used again after its name has gone, an id is not: whoever finds another id at a number
 * knows that it belonged to an earlier name.
 *
 * For the control thread. Data threads may read number, id and text of a name that their generation
 * holds.
 */
#pragma once

#include <stdint.h>

struct names;

struct name {
	uint32_t number; /* of no other name of the set at the same time */
	uint64_t id;	 /* of no other name of the set ever; not 0 */
	char *text;
	void *user; /* of the caller; NULL in a new one */
	/* the rest is private */
	unsigned references;
	struct names *of;
};

struct names *names_new(void);
/* All references must have been released. NULL is allowed. */
void names_free(struct names *s);
struct name *names_take(struct names *s, const char *text);
/* Returns the user of a name that is gone now; NULL if it is still used or has none. */
void *names_release(struct name *name);
/* The name with that number; NULL if there is none. */
struct name *names_at(const struct names *s, uint32_t number);
/* Numbers are below this. */
uint32_t names_bound(const struct names *s);
