/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry: whether a request that failed at one server is tried at another. Pure.
 *
 * A request is tried again without being asked to only if the server cannot have processed it: the
 * connection was refused or timed out, TLS was not agreed on, or the server said that it did not
 * take the request. A request that was sent, and then neither answered nor refused, is tried again
 * only if its policy says so by a code: a time-out counts as 504, an end of the connection as 502.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a try ended. */
enum l7_ending {
	L7_ANSWERED,	/* with a status */
	L7_NOT_REACHED, /* no connection: refused, no route, time-out */
	L7_NOT_SECURED, /* TLS was not agreed on, or the server is not the right one */
	L7_NOT_TAKEN,	/* a kept connection ended unused, or the server refused it unread */
	L7_TIMED_OUT,	/* no answer within the time of a try */
	L7_BROKEN,	/* the connection ended, or the answer was malformed */
};

struct l7_retry {
	unsigned attempts;     /* further tries; 0: none */
	const uint16_t *codes; /* sorted: statuses that are tried again */
	size_t n_codes;
	int64_t backoff; /* ns before the first further try; doubled for each that follows */
};

struct l7_try {
	enum l7_ending ending;
	unsigned status; /* with L7_ANSWERED */
	unsigned number; /* of tries so far, at least 1 */
	bool repeatable; /* all of the request is still held */
	bool answering;	 /* bytes of the answer were passed on already */
};

bool l7_retry_again(const struct l7_retry *policy, const struct l7_try *t);
/* How long to wait before the next try, at most L7_BACKOFF_MAX; random is any number. */
#define L7_BACKOFF_MAX INT64_C(10000000000)
int64_t l7_retry_wait(const struct l7_retry *policy, const struct l7_try *t, uint64_t random);
/* Whether a server has had work with the try: a connection that was refused costs it nothing. */
bool l7_retry_costs(const struct l7_try *t);
/*
 * Whether there may be one more further try: they may be so many per cent of the requests under
 * way, and always L7_RETRY_FLOOR. Otherwise servers that fail under load would get more of it.
 */
#define L7_RETRY_FLOOR 10
bool l7_retry_in_budget(unsigned percent, uint32_t active, uint32_t further);
/* The status for the client if there is no further try. */
unsigned l7_retry_status(const struct l7_try *t);
