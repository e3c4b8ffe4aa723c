/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookups: the addresses of names, looked up again when their time to live is over (lib/net/dns).
 *
 * A name is looked up once, however many servers have it. While lookups fail, the last addresses
 * stay. For the control thread.
 */
#pragma once

#include <sys/queue.h>

#include "base/addr.h"
#include "base/str.h"
#include "lib/net/dns.h"

struct lookups;
struct lookup;

/* What wants the addresses of a name. */
struct lookup_user {
	/* The addresses, sorted, n at least 1; called again whenever they change. */
	void (*found)(struct lookup_user *u, const struct addr *list, size_t n);
	/* the rest is private */
	struct lookup *of; /* NULL: none */
	TAILQ_ENTRY(lookup_user) all;
};

struct lookups_counts {
	uint64_t found, failed;
};

struct lookups *lookups_new(struct ev_loop *loop, const struct dns_config *config);
/* There must be no users. NULL is allowed. */
void lookups_free(struct lookups *l);

/* Begins to look the name up; calls found() at once if its addresses are known. */
void lookups_join(struct lookups *l, const char *host, struct lookup_user *u);
/* Does nothing if it has not joined. */
void lookups_leave(struct lookup_user *u);
struct lookups_counts lookups_counts(const struct lookups *l);
/* Appends what is known as members of a JSON object, each with a comma before it. */
void lookups_describe(const struct lookup_user *u, struct buf *out);
