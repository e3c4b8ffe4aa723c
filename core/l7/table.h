/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: host names, exact and wildcard, each with its rules.
 *
 * A request is first matched against the rules of the most specific name: the exact one, then
 * "*.example.com" before "*.com", then the empty one, which stands for every host. If no rule of a
 * name applies, the next name is tried. A wildcard stands for one or more labels. Names have no
 * case; a port and a dot at the end of the request's host are ignored.
 *
 * Immutable once built, and usable from any number of threads.
 */
#pragma once

#include "core/l7/host.h"

struct l7_table;

/* One rule under one name. A rule with several names, or several matches, has several entries. */
struct l7_entry {
	struct str host; /* "www.example.com", "*.example.com"; empty: any */
	struct l7_match match;
};

/* Builds it in the arena. The entries are borrowed: they must live as long. */
const struct l7_table *l7_table_build(struct arena *arena, const struct l7_entry *entries, size_t n,
				      l7_regex_fn regex);
/* The index of the entry that applies; L7_NONE if none does. */
size_t l7_table_find(const struct l7_table *t, const struct l7_request *r);

/* The host of a request without its port and without a dot at its end. "[::1]:80" gives "[::1]". */
struct str l7_host_name(struct str host);
/*
 * Whether a name, "www.example.com" or "*.example.com", stands for a host, which has no port. A
 * wildcard stands for one or more labels.
 */
bool l7_host_covers(struct str name, struct str host);
