/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: a machine with its sockets, and the faults that a test may inject.
 *
 * The API socket is a stream; the statistics socket passes a descriptor and closes. The socket
 * files stay when VPP ends, as after a crash: connecting then fails with ECONNREFUSED.
 */
#pragma once

#include <pthread.h>

#include "lib/loop/loop.h"
#include "tests/support/vpp/machine.h"
#include "tests/support/vpp/stats.h"

#define SERVER_LOG_MAX 200000

/* What a client of the statistics socket gets instead of the segment. */
enum server_stats {
	SERVER_STATS_GOOD,
	SERVER_STATS_HANG,  /* the connection is accepted, and nothing is sent */
	SERVER_STATS_CLOSE, /* no descriptor */
	SERVER_STATS_EMPTY, /* a file of no bytes */
	SERVER_STATS_SHORT, /* a file that ends within the header */
	SERVER_STATS_PIPE,  /* a descriptor that cannot be mapped */
};

/* Faults for messages of one kind: how many of the next ones are treated in each way. */
struct manners {
	unsigned drop;	  /* carried out; the reply is lost */
	unsigned cut;	  /* carried out; the connection ends in the middle of the reply */
	unsigned garbage; /* the reply claims an absurd length */
	unsigned fail;	  /* not carried out; answered with retval */
	int retval;
};

struct connection;

struct log_line {
	uint32_t connection;
	enum msg kind;
	struct str bytes; /* owned */
};

struct server {
	struct ev_loop *loop;
	const char *api_path, *stats_path;
	ev_io api, stats_socket; /* listeners; fd -1: VPP is down */
	ev_timer heartbeat, publish;
	int64_t booted;	  /* monotonic ns */
	uint32_t skipped; /* seconds by which a test has moved the clock */
	unsigned boots;
	struct machine machine;
	struct stats stats;
	struct segment segment;
	VEC(struct connection *) connections; /* by number; NULL: closed */
	VEC(struct log_line) log;
	VEC(int) hung_stats; /* descriptors of clients of SERVER_STATS_HANG */
	struct manners manners[MSG_KNOWN];
	enum server_stats stats_mode;
	double delay;
	size_t split; /* most bytes of one write; 0: no limit */
	bool hang, freeze, spin;
	pthread_t spinner;
};

void server_start(struct server *s, struct ev_loop *loop, enum personality who);
/* Like a crash: all connections end, and the socket files stay. */
void server_down(struct server *s);
/* Starts again: without state, with another pid and boot time. */
void server_up(struct server *s, enum personality who);
/* Ends the server and frees everything. */
void server_stop(struct server *s);
/* Like SIGSTOP: clients can connect, but nothing is answered until it is switched off. */
void server_hang(struct server *s, bool hang);
/* Keeps changing the epoch of the segment, so that no client gets a consistent reading. */
void server_spin(struct server *s, bool spin);
/* Moves the clock forward. */
void server_skip(struct server *s, uint32_t seconds);
void server_clear_log(struct server *s);
/*
 * Must be called after every change that affects statistics. Ends the process as VPP would if
 * the plugin has crashed.
 */
void server_changed(struct server *s);

/* connection.c */
void server__accept(struct ev_loop *loop, ev_io *w, int events);
void server__hang_connection(struct connection *c, bool hang);
void server__close(struct connection *c);
const char *server__client_name(const struct connection *c);
uint32_t server__now(struct server *s);
