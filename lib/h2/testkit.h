/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: a client and a server on one loop, which record what their callbacks were told, and raw
 * sockets as their peers.
 *
 * A test waits for a number: the loop runs until it is reached, and the test fails after
 * PAIR_PATIENCE. There are no sleeps.
 */
#pragma once

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/h2/h2_private.h"

#define PAIR_PATIENCE 20.0 /* s */
#define MS NSEC_PER_MSEC

/* What the callbacks of one side have recorded. */
struct side {
	int open, settings, going, lost, began, blocks, ended, closed, writable, settled;
	int oversized;
	int bytes;		  /* of data */
	int kinds[3];		  /* of blocks, by enum h2_block */
	int refused;		  /* streams closed with H2_REFUSED_STREAM */
	bool told_last;		  /* the last block was the end */
	struct h2_stream *hungry; /* the stream whose data is not consumed */
	bool all_hungry;	  /* no data is consumed */
	uint32_t error;
	char why[160];
	struct buf headers; /* "name=value;" */
	struct buf data;
	struct h2_stream *stream; /* the last one */
	bool silent;		  /* the server does not answer */
	bool minor;		  /* the server calls streams minor */
	size_t answer;		  /* bytes of the answer's body */
};

struct pair {
	struct ev_loop *loop;
	struct h2_host *server, *client;
	struct side s, c;
};

/* The events of both sides; their user is a struct side. */
extern const struct h2_events pair_events;
/* A POST, its content follows. */
extern const struct field pair_post[4];
/* The preface of a client with its SETTINGS, and HEADERS of a complete GET as stream 1. */
extern const struct str pair_preface, pair_request;

/*
 * The configuration is that of both sides, but the times without input and without a stream are
 * those of the server. Its events are pair_events, if they are not set.
 */
void pair_start(struct pair *p, struct h2_config config);
void pair_stop(struct pair *p);
/* Runs the loop until *number is at least n. */
void pair_wait(struct pair *p, const int *number, int n);
/* Runs the loop for that time. */
void pair_turn(struct pair *p, int64_t ns);
/* Connects the client to the server and waits for open(). */
struct h2_conn *pair_join(struct pair *p);
/* A POST with n bytes. */
struct h2_stream *pair_ask(struct h2_conn *c, size_t n);
/* An answer with n bytes and a trailer. */
void pair_answer(struct h2_stream *s, size_t n);
void pair_fill(struct buf *out, char c, size_t n);
/* A raw peer of the server: its end of a pair of sockets. NULL: a local one. */
int pair_adopt_from(struct pair *p, const char *address);
int pair_adopt(struct pair *p);
/* A raw server: the client takes the other end of the sockets, with bytes that were read before. */
int pair_serve(struct pair *p, struct h2_conn **ret, struct str early);
void pair_say(int fd, struct str bytes);
