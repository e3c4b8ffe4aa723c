/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datagrams: UDP on a data thread. docs/design/router.md says why it is so.
 *
 *	port		an address: its sockets, and the sessions of its clients
 *	flow		a session: a client (its address and port, and the address that it asked),
 *			a server, and a socket that is connected to that
 *
 * A datagram from an unknown source begins a session, if its listener has a stream; all others of
 * the source follow it to the same server. The kernel matches the answers, because each session
 * has a port of its own. A session ends when it is silent, when all answers that are expected have
 * come, or when its server refuses.
 *
 * Nothing here answers a client but servers: a forged source costs its owner nothing.
 */
#pragma once

#include <sys/queue.h>

#include "base/cleanup.h"
#include "lib/loop/task.h"
#include "src/router/drop.h"
#include "src/router/flows.h"
#include "src/router/internal.h"

#define DATAGRAMS_NONE UINT8_MAX

struct datagrams;
struct datagram_port;

struct datagram_socket {
	SLIST_ENTRY(datagram_socket) next;
	struct datagram_port *port;
	ev_io readable;
	struct task task; /* receives */
	int fd;
	unsigned turn;	     /* among all sockets of the address */
	uint64_t generation; /* that it was opened for */
	uint32_t dropped;    /* by the kernel, that were counted */
};

struct datagram_port {
	TAILQ_ENTRY(datagram_port) all;
	struct datagrams *of;
	struct endpoint at;
	SLIST_HEAD(, datagram_socket) sockets;
	struct flows flows;
	struct socket_group *group;	     /* NULL: no socket yet */
	const struct generation_port *rules; /* of the current generation; NULL: it has none */
	const struct generation_port *trial; /* of the second one */
};

/* A cell of statistics, and whose it was when the session began. */
struct flow_cell {
	struct stats_cell *cell; /* NULL: none */
	uint64_t id;
};

struct flow {
	struct flow_node node; /* its two ends */
	struct datagrams *of;
	struct datagram_port *port;
	struct datagram_socket
		*socket;	 /* of the latest datagram; NULL: not yet, after a takeover */
	ev_io readable;		 /* of the socket that is connected to the server */
	TAILQ_ENTRY(flow) all;	 /* oldest first */
	TAILQ_ENTRY(flow) young; /* while it is not confirmed, oldest first */
	TAILQ_ENTRY(flow) ready; /* while answers wait */
	/* of the configuration that it began with; it may last for many generations */
	const char *stream, *pool, *server_name; /* in names; the last two may be empty */
	int64_t idle;				 /* ns */
	unsigned answers;			 /* to each datagram; 0: any number */
	struct l7_ejection ejection;
	struct flow_cell stats, pool_stats;
	struct server *server; /* see flow_server(); NULL: of another process, not configured */
	struct slot *slot;     /* NULL with that */
	struct seats *seats;   /* the same */
	uint64_t id;	       /* of the server */
	uint32_t server_number;
	struct addr counted;	 /* the client, as the gate has counted it */
	uint64_t number;	 /* of no other of this thread; later ones are larger */
	uint64_t in, out;	 /* bytes from the client, and to it */
	uint64_t received, sent; /* datagrams */
	int64_t began, seen;	 /* monotonic ns: the first datagram, the latest one */
	ev_tstamp opened;
	uint8_t first, last; /* of its messages in the batch that was received */
	uint8_t queued;	     /* of its answers in the batch that is to be sent */
	bool unconfirmed;    /* in the list of young ones */
	bool is_ready;
	bool joined;	 /* its answers may come several in one message */
	bool unanswered; /* the latest datagram is the client's */
	bool done;	 /* ends when what is queued was sent */
	char names[];
};

TAILQ_HEAD(flow_list, flow);

struct datagrams {
	struct worker *worker;
	TAILQ_HEAD(, datagram_port) ports;
	struct flow_list flows, young, ready;
	struct flow_wheel wheel;
	struct task answers; /* receives from servers */
	struct task expiry;  /* ends silent sessions */
	struct udp_batch *in, *out;
	uint8_t next[UDP_BATCH];		 /* message of the same session in `in` */
	struct udp_outgoing outgoing[UDP_BATCH]; /* answers, from `out` */
	struct flow *whose[UDP_BATCH];
	struct datagram_socket *through; /* where they leave */
	size_t n_out;
	struct flow_pass *pass; /* to another process; NULL: none */
	unsigned n;		/* sessions */
	uint64_t last;		/* number of a session */
};

/* ---- datagrams.c: for the worker ---- */

struct datagrams *datagrams_new(struct worker *w);
/* Ends all sessions. NULL is allowed. */
void datagrams_free(struct datagrams *d);
/* A socket of an address, which belongs to the thread from now on. */
void datagrams_open(struct datagrams *d, const struct worker_socket *s);
/* The thread has another generation: finds the rules of each port. */
void datagrams_match(struct datagrams *d);
/* Once per second. */
void datagrams_sweep(struct datagrams *d);
/* Whether a thread has a session of one of the addresses: their sockets must stay. */
bool datagrams_is_used(const struct datagrams *d);

struct flow_pass; /* of flow_pass.c */

/* That of an address, which is made if there is none. */
struct datagram_port *datagrams__port(struct datagrams *d, const struct endpoint *at);
/* Another process has the sockets of all listeners that the generation has. */
void datagrams__leave(struct datagrams *d);
void datagrams__stop_passing(struct datagrams *d);
/* Sends the answers that are queued, and ends the sessions that are complete. */
void datagrams__flush(struct datagrams *d);
/* Answers of a server wait. */
void datagrams__answered(struct flow *f);
void datagrams__drop(struct datagrams *d, enum drop why, uint64_t n);

/* ---- flow.c ---- */

/*
 * Begins the session of a source; if possible not with the server that was tried, which may be
 * NULL. NULL if that cannot be; the drop was counted.
 */
struct flow *flow_begin(struct datagram_socket *s, const struct udp_path *path, uint64_t hash,
			const struct server *tried);
/* A datagram of the client has come. False: its server does not answer any more. */
bool flow_touch(struct flow *f, struct datagram_socket *s);
/* n datagrams of the client were passed on. */
void flow_received(struct flow *f, uint64_t n, uint64_t bytes);
/* The server has sent n datagrams. */
void flow_answered(struct flow *f, uint64_t n, uint64_t bytes);
/* The server has refused, with a negative errno: it counts against the server. Ends the session. */
void flow_fail(struct flow *f);
/* why is a word for the log; NULL: it is complete. */
void flow_end(struct flow *f, const char *why);
/* Silent since then: ends it, or looks at it again later. */
void flow_look(struct flow *f, int64_t now);
/* Its server; NULL if the configuration in force does not have it any more. */
struct server *flow_server(const struct flow *f);
/* A session that another process has passed. False if that cannot be: fd is not used then. */
struct router_session;
bool flow_adopt(struct datagrams *d, const struct router_session *s, int fd);
/* Another process has it. */
void flow_forget(struct flow *f);
static inline struct flow *flow_of(struct flow_node *n)
{
	return container_of(n, struct flow, node);
}
