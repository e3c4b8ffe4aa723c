/* SPDX-License-Identifier: Apache-2.0 */
/* servers: the list of servers that a flag names, each with its port. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define SERVERS_MAX 64 /* of one flag */

struct servers {
	const char **names; /* "host:port", in the order of the flag, each once */
	size_t n;
};

/*
 * Splits "a,b:1,[2001:db8::1]" at its commas. A name without a port gets the default one; an IPv6
 * address without a port needs no brackets. Names are not checked any further. Returns -EINVAL if
 * there is none, -E2BIG if there are too many.
 */
int servers_split(const char *text, unsigned port, struct arena *arena, struct servers *ret);
