/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servers: the servers of all pools. They outlive generations, so that a swap loses neither their
 * state nor the connections to them.
 *
 * A server belongs to a pool: it is known by the name of the pool, host, port and TLS, so that each
 * pool has its own health, limits and counters. It is found or made when a generation is compiled,
 * which holds a reference until it is freed. Its number stays as long as it lives; data threads use
 * it as an index of what they keep for it. All functions are for the control thread; data threads
 * read the atomic members.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "src/router/quota.h"
#include "src/router/tables.h"

struct servers;
struct charge;

/* Why a server gets no requests, or fewer. */
enum server_flag {
	SERVER_DOWN = 1 << 0,	 /* by its probes */
	SERVER_EJECTED = 1 << 1, /* by failed requests: used only if no other can be */
	SERVER_SLOW = 1 << 2,	 /* came up a short time ago: its share grows */
};

struct server {
	uint32_t number; /* of no other server at the same time */
	uint64_t id;	 /* of no other server ever */
	char *host;
	uint16_t port;
	bool tls;
	uint64_t key;	    /* names it in sessions; see core/l7/key.h */
	char *authority;    /* host and port, as in a URL */
	struct endpoint at; /* no address: the name has not been found yet */
	atomic_uint flags;  /* enum server_flag; written by the control thread */
	_Atomic int64_t up; /* with SERVER_SLOW: since when, monotonic ns */
	/* written by data threads */
	struct seats *seats;   /* of its connections */
	atomic_uint failures;  /* requests in a row that failed */
	atomic_bool suspected; /* the control thread is about to look at it */
	struct server *next;   /* in the list of those */
	/* the rest is for the control thread */
	struct charge *charge; /* of care.h; NULL: no generation in force has the server */
	/* the rest is private */
	unsigned references;
	struct servers *of;
};

/* threads and call are those of quotas. */
struct servers *servers_new(unsigned threads, quota_call_fn *call, void *user);
/* All references must have been released. */
void servers_free(struct servers *s);
struct server *servers_take(struct servers *s, const char *pool, const char *host, uint16_t port,
			    bool tls);
void servers_release(struct server *server);
/* Numbers are below this. */
uint32_t servers_bound(const struct servers *s);
/* The quota of a pool, with a reference; it is the same while the pool has one. */
struct quota *servers_take_quota(struct servers *s, const char *pool);
void servers_release_quota(struct servers *s, const char *pool);
/* The tables of pools, which outlive generations, too. */
struct tables *servers_tables(const struct servers *s);
/* The server with that number; NULL if there is none. */
struct server *servers_at(const struct servers *s, uint32_t number);
