/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by relay.c, pump.c and what shows relays (private to a worker's files). */
#pragma once

#include "src/router/internal.h"

/* A cell of statistics, and whose it was when the relay began. */
struct relay_cell {
	struct stats_cell *cell; /* NULL: none */
	uint64_t id;
};

/* One direction of the bytes; of pump.c. */
struct relay_way {
	struct pipe *pipe; /* NULL: no bytes are in one */
	bool bulk;	   /* much comes at a time */
	bool full;	   /* nothing is read until the other side has taken more */
	bool ended;	   /* its sender has */
};

struct relay {
	struct client *client;
	struct link *link; /* NULL: none yet */
	/* the configuration that it began with; all NULL from when it is connected */
	struct era *era;
	const struct l7_stream *stream;
	const struct l7_backend *backend;
	struct server *server; /* of the present try */
	/* of that configuration, or from copies; NULL: none */
	struct {
		const char *listener, *stream, *pool, *server;
	} names;
	char *copies;
	char *sni;	  /* that the client named; NULL: none */
	const char *why;  /* a word for its end; NULL: it was complete */
	uint64_t in, out; /* bytes from the client, and to it */
	uint64_t generation;
	struct relay_cell route, pool;
	struct relay_way up, down; /* from the client, and to it */
	struct quota *quota;	   /* of the pool; NULL: not counted there */
	struct quota_place place;
	uint64_t hash;		     /* of the client's address, for L7_MAGLEV */
	int64_t began, first, ended; /* monotonic ns; first: it was connected */
	int64_t wait_due, retry_at;  /* monotonic ns; 0: none */
	ev_tstamp moved;	     /* when bytes came last, from either side */
	double idle_time;	     /* s */
	unsigned tries;
	uint16_t tried[ROUTER__TRIED]; /* servers, by their place in the pool */
	bool connected;		       /* to a server */
	bool counted;		       /* how the present try has ended */
	bool admitted;		       /* counted among the limited requests of the pool */
	bool done;		       /* both sides have ended */
	bool kept_alive;	       /* TCP probes silent peers */
};

/* relay.c, for pump.c */
/* Bytes have moved: STATS_IN from the client, STATS_OUT to it. */
void relay__count(struct relay *r, enum stats_counter what, uint64_t bytes);
/* Both sides have ended: what is queued is sent, then the connections end. */
void relay__finish(struct relay *r);

/* pump.c: bytes both ways */
/* The server is there; it gets these bytes first. */
void pump_begin(struct relay *r, struct str first);
/* The client has sent something, or has ended its side. Each of these may end the relay. */
void pump_push(struct relay *r);
void pump_pull(struct relay *r); /* the same for the server */
/* That side takes more. */
void pump_client_took(struct relay *r);
void pump_server_took(struct relay *r);
void pump_free(struct relay *r);
