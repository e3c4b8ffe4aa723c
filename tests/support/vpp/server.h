/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: a machine behind its sockets, and the bad manners that a test may ask of it.
 *
 * The API socket is a stream; the socket of the statistics hands out a descriptor and closes. The
 * files stay when VPP goes, as after a crash: connecting then fails with ECONNREFUSED.
 */
#pragma once

#include <pthread.h>

#include "lib/loop/loop.h"
#include "tests/support/vpp/machine.h"
#include "tests/support/vpp/stats.h"

#define SERVER_LOG_MAX 200000

/* What is handed out in place of the segment. */
enum server_stats {
	SERVER_STATS_GOOD,
	SERVER_STATS_HANG,  /* accepted, and never a word */
	SERVER_STATS_CLOSE, /* no descriptor */
	SERVER_STATS_EMPTY, /* a file of no bytes */
	SERVER_STATS_SHORT, /* a file that ends within the header */
	SERVER_STATS_PIPE,  /* nothing that can be mapped */
};

/* How many of the next messages of a kind are treated so. */
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
	ev_io api, stats_socket; /* listeners; fd -1: VPP is not there */
	ev_timer heartbeat, publish;
	int64_t booted;	  /* monotonic ns */
	uint32_t skipped; /* seconds that a test let pass */
	unsigned boots;
	struct machine machine;
	struct stats stats;
	struct segment segment;
	VEC(struct connection *) connections; /* by their number; NULL: gone */
	VEC(struct log_line) log;
	VEC(int) hung_stats; /* of SERVER_STATS_HANG */
	struct manners manners[MSG_KNOWN];
	enum server_stats stats_mode;
	double delay;
	size_t split; /* bytes of a write; 0: all */
	bool hang, freeze, spin;
	pthread_t spinner;
};

void server_start(struct server *s, struct ev_loop *loop, enum personality who);
/* As a crash: everybody sees the end, and the files stay. */
void server_down(struct server *s);
/* Empty, with another pid and boot time. */
void server_up(struct server *s, enum personality who);
/* Down and forgotten. */
void server_stop(struct server *s);
/* As SIGSTOP: connecting works, and nothing is answered until it is over. */
void server_hang(struct server *s, bool hang);
/* Somebody moves the epoch all the time. */
void server_spin(struct server *s, bool spin);
/* Lets time pass. */
void server_skip(struct server *s, uint32_t seconds);
void server_clear_log(struct server *s);
/* After whatever may have changed what is counted; dies as VPP would, should it have crashed. */
void server_changed(struct server *s);

/* connection.c */
void server__accept(struct ev_loop *loop, ev_io *w, int events);
void server__hang_connection(struct connection *c, bool hang);
void server__close(struct connection *c);
const char *server__client_name(const struct connection *c);
uint32_t server__now(struct server *s);
