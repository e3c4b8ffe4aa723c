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
	/* what needs it, for people */
	const char *feature;
};

#define CAPABILITY_NEEDS_MAX 5

/* Fills ret with what c needs, in a fixed order; returns how many. Pure. */
size_t capability_needs(const struct l4_config *c,
			struct capability_need ret[static CAPABILITY_NEEDS_MAX]);

/*
 * Drops every capability that c does not need, for good, and logs a warning for each need that is
 * not granted.
 */
void capability_keep(const struct l4_config *c);

/*
 * Finds the first capability that next needs, that current did not need, and that is not held any
 * more. False: there is none, and the reload may continue.
 */
bool capability_lost(const struct l4_config *current, const struct l4_config *next,
		     struct capability_need *ret);
