/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: a driver under test, and a peer at the other end of its sockets that answers as the
 * test demands.
 *
 * The peer is no VPP: it has no state, and sends what the test put into it. Both run on one loop.
 * A test waits for what it expects; one that waits too long fails. No sleeps.
 */
#pragma once

#include <sys/un.h>

#include "base/str.h"
#include "base/vec.h"
#include "lib/loop/loop.h"
#include "lib/vpp/message.h"
#include "src/maglevd/dataplane/vpp/messages.h"
#include "src/maglevd/dataplane/vpp/vpp.h"

struct kit {
	struct ev_loop *loop;
	ev_timer patience;
	char directory[32];
	struct sockaddr_un api_at, stats_at;

	/* the peer */
	ev_io api, stats, conn; /* fd -1: closed */
	struct buf in, out;
	int segment;	 /* a file; -1: connections to the stats socket are closed immediately */
	uint64_t *image; /* the memory of the segment */
	const char *leave_out; /* messages whose names begin with this are not offered */
	const char *silent;    /* a request of that name is not answered */
	const char *cut;       /* its answer is cut in the middle, with the connection */
	const char *no; /* a request of that name gets retval, after `yes` of them have succeeded */
	unsigned yes;
	int32_t retval;
	struct buf conf, vips, servers; /* fields of the answer; records one after the other */
	const char *text;
	struct buf heard;      /* names of the requests that came, "lb_conf lb_conf_get " */
	unsigned accepted;     /* connections */
	size_t most_under_way; /* requests that came before the answer to the first was sent */

	/* the driver */
	struct dataplane *dp;
	/* how long an answer may take: long; between two readings: short */
	int64_t timeout, reading;
	struct l4_config config;
	int ups, downs, problems, observed, applied;
	char why[128];
	int err;
	size_t n_done;
	struct lb_state state; /* what was observed last */
};

void kit_begin(struct kit *k);
void kit_end(struct kit *k);
/* Starts the driver; times are short. */
void kit_start(struct kit *k);
/* Starts it, and waits until it is up. */
void kit_start_up(struct kit *k);
/* Runs the loop until *what is at least n. */
void kit_wait(struct kit *k, const int *what, int n);
/* Runs the loop until the peer has received this request. */
void kit_wait_heard(struct kit *k, const char *text);
/* Runs the loop until the counters are from a reading that began after this call. */
void kit_wait_counters(struct kit *k);
size_t kit_count(struct kit *k, const char *text); /* how often the request came */
void kit_observe(struct kit *k);
void kit_apply(struct kit *k, const struct lb_op *ops, size_t n);

/* The peer closes everything, as a VPP that dies, and comes back. */
void kit_die(struct kit *k);
void kit_revive(struct kit *k);

/* Records for the dumps. */
void kit_put_vip(struct kit *k, const char *vip, uint16_t port, uint8_t length, uint32_t encap);
void kit_put_as(struct kit *k, const char *vip, uint16_t port, const char *as, uint8_t weight,
		bool used);

struct addr kit_addr(const char *text);

/* Columns of the image: packets of a kind in the column of a VIP; the traffic of a route. */
void kit_set_packets(struct kit *k, unsigned kind, unsigned column, uint64_t packets);
void kit_set_route(struct kit *k, bool via, unsigned column, uint64_t packets, uint64_t bytes);
#define KIT_COLUMNS 16
/* Sets the number of threads, at most 1,024, which all have counted the same. */
void kit_set_threads(struct kit *k, unsigned n);
