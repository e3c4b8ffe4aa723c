/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns: looks up the addresses of a name, and says how long they hold.
 *
 * It asks the servers of resolv.conf(5): over UDP, and over TCP if an answer is too long for that.
 * hosts(5) and the search list are respected, and both files are read again after they changed. It
 * blocks only for reading these files. Unlike lookup.h it forks nothing and knows the time to live;
 * it does not know nsswitch.conf(5).
 */
#pragma once

#include "base/addr.h"
#include "lib/loop/loop.h"
#include "lib/net/dns_files.h"

struct dns;
struct dns_lookup;

struct dns_config {
	const char *resolv_conf, *hosts;      /* NULL: /etc/resolv.conf, /etc/hosts */
	struct endpoint servers[DNS_SERVERS]; /* instead of those of resolv_conf */
	size_t n_servers;
};

struct dns_result {
	const struct addr *found; /* of both families, sorted */
	size_t n;		  /* 0: none */
	int64_t ttl;		  /* ns; of a failure, 0 unless a server said that there is none */
	const char *why;	  /* there is none; NULL if n is not 0 */
};

/* *result is valid only during the call. The lookup is already freed. */
typedef void (*dns_done_fn)(const struct dns_result *result, void *user);

/* Texts are copied. */
struct dns *dns_new(struct ev_loop *loop, const struct dns_config *config);
/* There must be no lookups. NULL is allowed. */
void dns_free(struct dns *d);

/* done is called once, from the loop, unless the lookup is cancelled. name is copied. */
struct dns_lookup *dns_look_up(struct dns *d, const char *name, dns_done_fn done, void *user);
/* done will not be called. NULL is allowed. */
void dns_cancel(struct dns_lookup *l);
