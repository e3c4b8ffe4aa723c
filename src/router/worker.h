/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker: a data thread: its loop, its listeners, its connections.
 *
 * A connection lives and dies on one thread. Nothing is shared with other threads on the way of a
 * request but the generation, which never changes, and the atomic members of servers.
 *
 * The control thread passes a new generation by one atomic pointer and wakes the thread. The thread
 * opens and closes listeners, and uses it for every request that begins after that. Exchanges that
 * are under way keep the generation with which they began; when the last one has ended, the
 * thread's reference is released.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/router/drop.h"
#include "src/router/gate.h"
#include "src/router/generation.h"
#include "src/router/inquiry.h"
#include "src/router/refusal.h"
#include "src/router/socket_group.h"
#include "src/router/stats.h"

struct worker;
struct session_gift;

/* Zero means the default. */
struct worker_limits {
	int64_t head_time;   /* ns for a head: 10 s */
	int64_t idle_time;   /* ns between two requests: 60 s */
	int64_t stall_time;  /* ns without a byte in an exchange, from either side: 60 s */
	int64_t tunnel_time; /* the same after an upgrade: 1 h */
	int64_t drain_time;  /* ns that exchanges have at the end: 30 s */
	int64_t leave_time;  /* the same after WORKER_HAND_OVER: 10 min */
};

/* How a thread ends. Each may follow the one before it. */
enum worker_drain {
	WORKER_RUN,
	WORKER_ANNOUNCE, /* answers end their connections; new ones are still accepted */
	/*
	 * Accepts no more. A connection without a request is closed after a second, because its
	 * client may have sent one that has not arrived yet.
	 */
	WORKER_DRAIN,
	/*
	 * The same, but another process has the listening sockets. A connection without a request
	 * stays open for its idle time.
	 */
	WORKER_HAND_OVER,
};

/* Limits of a pool at which requests or further tries were refused. */
enum worker_limit { WORKER_CONNECTIONS, WORKER_REQUESTS, WORKER_RETRIES };
#define WORKER_LIMITS 3
/* How copies of requests have ended. */
enum worker_copy {
	WORKER_ANSWERED,
	WORKER_FAILED, /* no connection, no answer */
	WORKER_CUT,    /* given up: too slow, too many, or the request was not complete */
};
#define WORKER_COPIES 3
/* How handshakes of TLS with servers have ended. */
enum worker_handshake {
	WORKER_TLS_FULL,
	WORKER_TLS_RESUMED,
	WORKER_TLS_REFUSED, /* the certificate of the server was not accepted */
	WORKER_TLS_FAILED,
};
#define WORKER_HANDSHAKES 4
#define WORKER_CLASSES 5 /* 1xx to 5xx; 1xx are upgrades */

struct worker_totals {
	uint64_t requests, retries;
	uint64_t streams; /* of the requests, those by HTTP/2 */
	uint64_t answers[WORKER_CLASSES];
	uint64_t aborts; /* exchanges without a complete answer */
	uint64_t refusals[REFUSALS];
	uint64_t overflows[WORKER_LIMITS];
	uint64_t copies[WORKER_COPIES];
	uint64_t handshakes[2]; /* of TLS that ends here: full, resumed */
	uint64_t server_handshakes[WORKER_HANDSHAKES];
	uint64_t clients, links; /* connections that are open now */
	uint64_t trunks;	 /* of the links: those with HTTP/2 */
	uint64_t sessions;	 /* of the clients, those that speak HTTP/2 */
	/* of datagrams */
	uint64_t flows; /* sessions that are open now */
	uint64_t flows_begun, evictions, dropped[DROPS];
	uint64_t received, sent; /* from clients, and to them */
};

struct worker_config {
	unsigned number;
	struct worker_limits limits;
	struct stats_thread *stats; /* of this thread; borrowed */
	struct gate *gate;	    /* shared by all workers */
	struct gate *sessions;	    /* the same for datagrams */
	struct tls_context *door;   /* with which TLS begins; its choose() is worker_choose() */
	/* A generation has lost its last reference. Called on the worker's thread. */
	void (*retired)(struct generation *g, void *user);
	/*
	 * As many requests in a row as its pool allows have failed at a server, which the caller's
	 * generation holds. Called on the worker's thread.
	 */
	void (*suspect)(struct server *s, void *user);
	/* An inquiry was answered by all threads. Called on the last one. */
	void (*answered)(struct inquiry *q, void *user);
	/* The thread has nothing left to do after worker_drain(). Called on it. */
	void (*drained)(void *user);
	void *user;
};

/* The context for a client, by the name that it wants; for vault_new(). */
struct tls_context *worker_choose(void *client, struct str name);

struct worker *worker_new(const struct worker_config *config);
/* Starts the thread. 0 or a negative errno. */
int worker_start(struct worker *w);
/* Ends the thread at once. NULL is allowed. */
void worker_join(struct worker *w);
/* Frees what the thread has, which has ended or was not started. NULL is allowed. */
void worker_stop(struct worker *w);

/* A second generation, which a part of the clients uses. */
struct worker_trial {
	struct generation *generation; /* NULL: there is none */
	unsigned share;		       /* of the clients, in per cent */
	bool by_connection;	       /* clients are told apart by connection and not by address */
	uint64_t seed;
};

/* These nine may be called by any thread. */

/* Adds the worker's counters. */
void worker_add_totals(const struct worker *w, struct worker_totals *totals);
/* Passes a generation, and maybe a second one, each with a reference that the worker releases. */
void worker_publish(struct worker *w, struct generation *g, const struct worker_trial *trial);
struct worker_socket {
	struct endpoint at;
	int fd;
	bool udp;
	unsigned turn;		    /* among the sockets of the address */
	uint64_t generation;	    /* that it is for */
	struct socket_group *group; /* of datagrams: a reference; otherwise NULL */
};

/*
 * Gives a listening socket for an address of a generation; the worker owns it. It is used when the
 * generation is published, or if it was before, after worker_wake().
 */
void worker_give_socket(struct worker *w, const struct worker_socket *s);
/* A session of datagrams that another process has passed; before the socket of its listener. */
void worker_give_session(struct worker *w, struct session_gift *g);
/* Where sessions go at WORKER_HAND_OVER; the worker owns it. Before worker_drain(). */
void worker_give_channel(struct worker *w, int channel);
/* The thread writes that part; not after worker_drain(). */
void worker_ask(struct worker *w, struct inquiry_part *part);
/* The thread takes a turn for the quota of a pool. */
void worker_call(struct worker *w, struct quota_side *side);
void worker_wake(struct worker *w);
/* Lets exchanges finish, and calls drained(), except for WORKER_ANNOUNCE. */
void worker_drain(struct worker *w, enum worker_drain how);
