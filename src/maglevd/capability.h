/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capability: which Linux capabilities a configuration needs, and for what (NFR-4.1).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/l4/config.h"

struct capability_need {
	int number;	  /* CAP_* */
	const char *name; /* "CAP_NET_RAW" */
	const char *feature;
};

#define CAPABILITY_NEEDS_MAX 5

/* Fills ret with what c needs, in a fixed order; returns how many. Pure. */
size_t capability_needs(const struct l4_config *c,
			struct capability_need ret[static CAPABILITY_NEEDS_MAX]);

/* Drops everything c does not need, and logs a warning for each need that is not granted. */
void capability_keep(const struct l4_config *c);

/*
 * The first capability that next needs, current did not, and that is not held any more; false when
 * there is none, and a reload may go ahead.
 */
bool capability_lost(const struct l4_config *current, const struct l4_config *next,
		     struct capability_need *ret);
