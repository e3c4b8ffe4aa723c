/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login: guards pages with a password.
 *
 * A wrong password is answered after a delay, which makes guessing slow without delaying other
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
#include "lib/page/basic.h"

struct http_exchange;
struct http_head;
struct page_login;

#define PAGE_LOGIN_FAILURES_OF_ONE_MAX 8 /* pending for one network */
#define PAGE_LOGIN_FAILURES_MAX 256	 /* pending in total; known networks are exempt */
#define PAGE_LOGIN_KNOWN_MAX 64		 /* networks; the least recently seen is replaced */

struct page_login_stats {
	uint64_t failures; /* wrong credentials */
	uint64_t refused;  /* not checked, because too many were wrong */
};

/* All of it is borrowed. */
struct page_login_config {
	struct ev_loop *loop;
	struct page_credentials credentials; /* for page_login_let_in() alone */
	const char *realm;   /* what the browser names when it asks for a password */
	const char *missing; /* one sentence for those who gave none, or a wrong one */
	const char *path;    /* pages below it get the pass */
	const char *cookie;  /* the name of the pass */
	bool encrypted;	     /* the pass gets the Secure attribute: it is sent over TLS only */
	int64_t delay;	     /* ns until a wrong password is answered */
	/* The answer to those who are not let in. */
	void (*reply)(struct http_exchange *x, unsigned status, const char *text);
	/* For the log: somebody gave a wrong password. */
	void (*failed)(const struct addr *client, void *user);
	void *user;
};

struct page_login *page_login_new(const struct page_login_config *config);
/* The HTTP server must be freed before. l may be NULL. */
void page_login_free(struct page_login *l);
/*
 * Returns true if the request of that client may go on. Otherwise the request is answered, now
 * or after the delay, and the caller must not use x any more.
 */
bool page_login_let_in(struct page_login *l, struct http_exchange *x, const struct http_head *head,
		       const struct addr *client);
/*
 * The same for credentials that the caller has checked. Before it checks them, it asks
 * page_login_is_closed(): while that is so, it must not check, and the request is answered.
 */
bool page_login_judge(struct page_login *l, struct http_exchange *x, const struct http_head *head,
		      const struct addr *client, enum page_verdict verdict);
bool page_login_is_closed(struct page_login *l, struct http_exchange *x,
			  const struct http_head *head, const struct addr *client);
/*
 * Adds the pass to the answer of a request that was let in without one. Not for answers that a
 * cache may store.
 */
void page_login_give_pass(const struct page_login *l, struct http_exchange *x,
			  const struct http_head *head);
const struct page_login_stats *page_login_stats(const struct page_login *l);
