/* SPDX-License-Identifier: Apache-2.0 */
/*
 * care: looks after the servers of the configuration in force: lookups of names, probes, ejection
 * and slow start. It alone writes the flags of servers, which data threads read (servers.h).
 *
 * What it knows about a server (struct charge) stays for as long as a generation in force has the
 * server, however often generations change. For the control thread.
 */
#pragma once

#include "src/router/generation.h"
#include "src/router/lookups.h"
#include "src/router/probing.h"

struct care;

struct care_config {
	const char *user_agent; /* of probes; borrowed */
	struct dns_config dns;	/* for servers that are names */
};

struct care *care_new(struct ev_loop *loop, struct servers *servers,
		      const struct care_config *config);
/* NULL is allowed. The servers must still exist. */
void care_free(struct care *c);

/*
 * From now on the servers of these generations are looked after, and no others. If two have the
 * same pool, the later one says how. To be called before a generation that is no longer in force
 * is released.
 */
void care_follow(struct care *c, const struct generation *const *list, size_t n);

/*
 * What an earlier process knew about a server: that it is down, until the first result of its
 * probes, and the addresses of its name, until they are looked up.
 */
void care_remember(struct server *s, bool down, const struct addr *list, size_t n);

/* Requests have failed at the server: leaves it out for a time, if its pool allows that. */
void care_suspect(struct server *s);

struct care_counts {
	uint64_t passes, failures; /* of probes */
	uint64_t ejections;
};

/* Since the server is looked after. */
struct care_counts care_counts(const struct server *s);
struct lookups_counts care_lookups(const struct care *c);

/* Appends what is known about a server as members of a JSON object, with its braces. */
void care_describe(const struct server *server, struct buf *out);

/* The state of a server, in words. */
struct care_state {
	const char *word; /* up, down, unknown, ejected */
	int64_t since;	  /* unix ns; 0: not known, or since the start */
	char reason[192]; /* ""; or why, for people */
};

void care_look(const struct server *server, struct care_state *ret);
