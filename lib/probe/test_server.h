/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_server: a server that follows a script, in the same loop as the probes it answers, and the
 * helpers that the tests of lib/probe share.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/probe/probe.h"

enum step_kind {
	STEP_END,     /* wait until the client closes */
	STEP_REQUEST, /* wait for a complete request */
	STEP_SEND,
	STEP_TRICKLE, /* byte by byte, each after the client has read the one before */
	STEP_REPEAT,  /* send the bytes repeatedly until the client closes */
	STEP_CLOSE,
	STEP_RESET,
	STEP_AGAIN, /* restart at the first step: the connection is kept alive */
};

struct step {
	enum step_kind kind;
	const char *bytes;
	size_t n;
};

#define STEP(k)                                                                                    \
	{                                                                                          \
		.kind = STEP_##k                                                                   \
	}
#define STEP_WITH(k, text)                                                                         \
	{                                                                                          \
		.kind = STEP_##k, .bytes = "" text, .n = sizeof(text) - 1                          \
	}

struct ssl_ctx_st;

struct server {
	struct ev_loop *loop;
	ev_io listener;
	struct endpoint at;
	const struct step *script;
	struct ssl_ctx_st *tls;		   /* NULL: plain */
	bool nagle;			   /* small writes wait for the ACK of what went before */
	unsigned accepted, requests, gone; /* gone: closed or reset by the client */
	bool was_reset;			   /* the last client to close sent RST */
	char request[4096];		   /* the last one */
	char sni[64];
	struct server_connection *connections;
	const struct probe *client; /* the probe that bench_ask() runs; NULL: none */
};

/* On 127.0.0.1 or ::1, any port. */
void server_start(struct server *s, struct ev_loop *loop, int family, const struct step *script);
void server_stop(struct server *s);
/* Ends all connections from the server's side, at once. */
void server_drop_all(struct server *s);

/* One loop with one environment; the number of descriptors is checked when it ends. */
struct bench {
	struct ev_loop *loop;
	struct probe_env *env;
	struct server server;
	unsigned answers; /* callbacks */
	struct probe_outcome outcome;
	size_t descriptors;
};

size_t count_descriptors(void);
int bench_setup(void **state);
int bench_teardown(void **state);
/* A spec for the bench's server: timeout 2 s, codes 200-399. */
struct probe_spec bench_spec(const struct bench *b, enum probe_kind kind);
struct probe *bench_probe(struct bench *b, const struct probe_spec *spec);
/* Starts, runs the loop until the callback, returns the outcome. */
const struct probe_outcome *bench_ask(struct bench *b, struct probe *p);
/* Runs the loop until *count reaches n; fails the test after five seconds. */
void bench_run_until(struct bench *b, const unsigned *count, unsigned n);
/* Runs n turns of the loop without waiting. */
void bench_turns(struct bench *b, unsigned n);
void bench_expect(const struct probe_outcome *o, enum probe_stage stage, enum probe_error error);
