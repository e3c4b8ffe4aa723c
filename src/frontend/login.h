/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login: guards /admin/ with a password.
 *
 * A wrong password is answered after one second, which makes guessing slow without delaying other
 * requests. While too many such answers are pending, for one network (an IPv4 address or an IPv6
 * /64) or in total, passwords are not checked at all and the answer is 429. Otherwise an attacker
 * could guess quickly over many connections.
 *
 * An attacker must not be able to lock out operators, so two kinds of requests are exempt. The
 * pass, a cookie that is only given out after a correct password, exempts from both limits. A
 * network that gave the correct password within the last hour is exempt from the total limit.
 * Both still need the correct password.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "lib/loop/loop.h"
#include "src/frontend/auth.h"

struct http_exchange;
struct http_head;
struct login;

#define LOGIN_FAILURES_OF_ONE_MAX 8 /* pending for one network */
#define LOGIN_FAILURES_MAX 256	    /* pending in total; known networks are exempt */
#define LOGIN_KNOWN_MAX 64	    /* networks; the least recently seen is replaced */

struct login_stats {
	uint64_t failures; /* wrong credentials */
	uint64_t refused;  /* not checked, because too many were wrong */
};

/*
 * auth is borrowed. encrypted: the pass gets the Secure attribute, so browsers send it over TLS
 * only.
 */
struct login *login_new(struct ev_loop *loop, const struct auth *auth, bool encrypted);
/* The HTTP server must be freed before. l may be NULL. */
void login_free(struct login *l);
/*
 * Returns true if the request of that client may go on. Otherwise the request is answered, now
 * or after the delay, and the caller must not use x any more.
 */
bool login_let_in(struct login *l, struct http_exchange *x, const struct http_head *head,
		  const struct addr *client);
/*
 * Adds the pass to the answer of a request that was let in without one. Not for answers that a
 * cache may store.
 */
void login_give_pass(const struct login *l, struct http_exchange *x, const struct http_head *head);
const struct login_stats *login_stats(const struct login *l);
