/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between link.c, which opens connections to servers, trunk.c, which has those with HTTP/2, and
 * strand.c, which has their streams.
 */
#pragma once

#include "lib/h2/h2.h"
#include "src/router/internal.h"
#include "src/router/secures.h"

/* What a connection is opened for. */
struct link_call {
	struct worker *worker;
	struct slot *slot;
	struct server *server;
	const struct link_wish *wish;
	struct endpoint whose; /* the client of the PROXY header; unset: there is none */
};

static inline uint64_t link__secure_id(const struct link_call *c)
{
	return c->server->tls ? c->wish->secure->id : 0;
}

struct trunk {
	struct stream stream; /* until it is open; then its steps alone are used */
	struct worker *worker;
	struct slot *slot;    /* NULL: it counts nowhere any more */
	struct h2_conn *conn; /* NULL: it is being connected to */
	TAILQ_ENTRY(trunk) all;
	struct links waiting; /* until it is open */
	struct endpoint whose;
	struct addr to;
	unsigned version; /* of the addresses of a name */
	uint64_t secure;
	unsigned n_links;    /* that use it or wait */
	unsigned n_promised; /* of them, those that may send a request and have not */
	ev_tstamp opened;
	ev_tstamp since;  /* when its last link has gone */
	double idle_time; /* s; 0: it is not kept */
	uint64_t served;  /* requests */
	bool open;	  /* requests can be sent */
	bool leaving;	  /* takes no more requests */
	bool ending;	  /* is about to be freed */
	bool decides;	  /* ALPN decides what is spoken */
	bool alone;	  /* until that is known, nobody else waits for it */
};

/* A stream of HTTP/2; its area. */
struct strand_area {
	struct link *link; /* NULL: nobody waits for it any more */
	ev_tstamp left;	   /* when that began */
	TAILQ_ENTRY(strand_area) left_behind;
};

/* ---- link.c ---- */

extern const struct stream_events link__events;
/* Other threads read them in the statistics. */
void link__show(const struct slot *slot);
/* Begins to connect; returns the address. */
struct addr link__connect(struct stream *s, const struct link_call *c);
struct link *link__find_kept(const struct link_call *c);
/* One that is kept is used again. */
void link__use(struct link *l);
/* A connection of its own, for which there is a seat. */
struct link *link__open(const struct link_call *c);
/* A kept link that this request cannot use, because it is for another client, gives way. */
bool link__find_seat(struct slot *slot, unsigned limit);
/* Whether a name still has an address, as the thread knows it. */
bool link__is_current(const struct slot *slot, const struct addr *to, unsigned *version);
/* What uses the link can send. */
void link__opened(struct link *l);
/* Counts a handshake. */
void link__secured(struct slot *slot, struct worker *w, const struct stream *s);
void link__keep_session(struct slot *slot, const struct stream *s, uint64_t secure);
/* Finds out whether TLS was the reason of a failure. */
void link__blame(struct link *l, const struct stream *s, int error);

/* ---- trunk.c ---- */

struct link *trunk_take(const struct link_call *c);
/* The link no longer needs its stream. whole: request and answer were complete. Frees the link. */
void trunk_release(struct link *l, bool whole);
bool trunk_is_spare(const struct slot *slot);
/* Ends one of any server of the pool, for the threads that have none. False: there are none. */
bool trunk_yield(struct quota_side *side);
void trunk_sweep(struct slot *slot, ev_tstamp now);
/* They take no more requests. */
void trunk_end_all(struct slot *slot);
/* The slot will be another server's. */
void trunk_detach(struct slot *slot);
/* At the end of the thread. */
void trunk_clean_up(struct worker *w);

/* ---- strand.c ---- */

int trunk_sendv(struct link *l, const struct str *pieces, size_t n);
bool trunk_is_full(const struct link *l);
size_t trunk_unsent(const struct link *l);
void trunk_want(struct link *l, unsigned what);
void trunk_shutdown(struct link *l);
/* The link has gone: ends its stream, or leaves it to itself. */
void strand_part(struct link *l, bool whole);
/* Resets streams that nobody waits for and that do not end. */
void strand_sweep(struct worker *w, ev_tstamp now);
/* Streams of trunks. */
void strand_on_header(struct h2_stream *s, struct str name, struct str value, void *user);
void strand_on_headers(struct h2_stream *s, enum h2_block block, void *user);
void strand_on_data(struct h2_stream *s, struct str bytes, void *user);
void strand_on_end(struct h2_stream *s, void *user);
void strand_on_settled(struct h2_conn *c, void *user);
void strand_on_writable(struct h2_stream *s, void *user);
void strand_on_closed(struct h2_stream *s, uint32_t error, void *user);
