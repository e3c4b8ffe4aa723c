/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login: who may pass to /admin/.
 *
 * A wrong password is answered a second later, so that guessing is slow, and nobody else waits.
 * While too many such answers are owed, to one network (an IPv4 address, or 64 bits of an IPv6 one)
 * or at all, passwords count for nothing: otherwise many connections would guess quickly.
 *
 * So that guessers do not lock out who knows the password, two kinds of requests are let in all the
 * same: those with the pass, a cookie that only the right password ever brought, whatever is owed;
 * and those of a network that had the right password within the last hour, whatever is owed to
 * others. Neither is worth anything without the password.
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

#define LOGIN_FAILURES_OF_ONE_MAX 8 /* owed to one network */
#define LOGIN_FAILURES_MAX 256	    /* owed to all, but for networks that are known */
#define LOGIN_KNOWN_MAX 64	    /* networks; the one not seen for longest makes room */

struct login_stats {
	uint64_t failures; /* wrong credentials */
	uint64_t refused;  /* too many of them: not looked at */
};

/* auth is borrowed. encrypted: browsers send the pass over TLS only. */
struct login *login_new(struct ev_loop *loop, const struct auth *auth, bool encrypted);
/* The HTTP server is freed before. */
void login_free(struct login *l);
/* True when a request of that client may go on; otherwise it is answered, now or later. */
bool login_let_in(struct login *l, struct http_exchange *x, const struct http_head *head,
		  const struct addr *client);
/* Adds the pass to the answer to who was let in without; not where a cache might keep it. */
void login_give_pass(const struct login *l, struct http_exchange *x, const struct http_head *head);
const struct login_stats *login_stats(const struct login *l);
