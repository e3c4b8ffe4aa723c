/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login: who may pass to /admin/.
 *
 * A wrong password is answered a second later, so that guessing is slow, and nobody else waits.
 * While too many such answers are owed, to one address or at all, requests are refused without a
 * look at their credentials: otherwise many connections would guess quickly.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/loop/loop.h"
#include "src/frontend/auth.h"

struct http_exchange;
struct http_request;
struct login;

#define LOGIN_FAILURES_OF_ONE_MAX 8 /* owed to one address */
#define LOGIN_FAILURES_MAX 256	    /* owed to all */

struct login_stats {
	uint64_t failures; /* wrong credentials */
	uint64_t refused;  /* not even looked at */
};

/* auth is borrowed. */
struct login *login_new(struct ev_loop *loop, const struct auth *auth);
/* The HTTP server is freed before. */
void login_free(struct login *l);
/* True when the request may go on; otherwise it is answered, now or later. */
bool login_let_in(struct login *l, struct http_exchange *x, const struct http_request *request);
const struct login_stats *login_stats(const struct login *l);
