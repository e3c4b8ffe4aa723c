/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/login.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/http/server.h"
#include "lib/log/log.h"
#include "src/frontend/reply.h"

#define FAILURE_DELAY 1.0 /* s */

/* An answer to wrong credentials, on its way. */
struct failure {
	TAILQ_ENTRY(failure) all;
	struct login *login;
	struct http_exchange *x; /* NULL: nobody waits for it any more */
	struct addr peer;
	ev_timer due;
};

TAILQ_HEAD(failures, failure);

struct login {
	struct ev_loop *loop;
	const struct auth *auth;
	struct failures failures;
	size_t n_failures;
	struct login_stats stats;
};

static void reply_unauthorised(struct http_exchange *x)
{
	http_reply_header(x, "WWW-Authenticate", STR("Basic realm=\"maglev\", charset=\"UTF-8\""));
	reply_error(x, 401, "a user and a password are needed");
}

static void forget(struct failure *f)
{
	TAILQ_REMOVE(&f->login->failures, f, all);
	f->login->n_failures--;
	ev_timer_stop(f->login->loop, &f->due);
	free(f);
}

static void on_failure_due(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct failure *f = container_of(w, struct failure, due);
	struct http_exchange *x = f->x;

	forget(f);
	if (x)
		reply_unauthorised(x);
}

/* It counts for as long as if it were waited for: who leaves early guesses no faster. */
static void on_failure_gone(void *user)
{
	((struct failure *)user)->x = NULL;
}

static void reply_failure(struct login *l, struct http_exchange *x, const struct addr *peer)
{
	struct failure *f = mem_zalloc(sizeof(*f));
	char text[ADDR_STRLEN];

	log_warn("login-failed", LOG_S("peer", addr_format(peer, text)));
	l->stats.failures++;
	f->login = l;
	f->x = x;
	f->peer = *peer;
	TAILQ_INSERT_TAIL(&l->failures, f, all);
	l->n_failures++;
	http_reply_later(x, on_failure_gone, f);
	ev_timer_init(&f->due, on_failure_due, FAILURE_DELAY, 0);
	ev_timer_start(l->loop, &f->due);
}

static bool is_guessing(const struct login *l, const struct addr *peer)
{
	const struct failure *f;
	unsigned owed = 0;

	if (l->n_failures >= LOGIN_FAILURES_MAX)
		return true;
	for (f = TAILQ_FIRST(&l->failures); f; f = TAILQ_NEXT(f, all))
		owed += addr_cmp(&f->peer, peer) == 0;
	return owed >= LOGIN_FAILURES_OF_ONE_MAX;
}

bool login_let_in(struct login *l, struct http_exchange *x, const struct http_request *request)
{
	if (is_guessing(l, &request->peer.addr)) {
		l->stats.refused++;
		http_reply_header(x, "Retry-After", STR("1"));
		reply_error(x, 429, "too many wrong passwords from this address");
		return false;
	}
	switch (auth_check(l->auth, request->head)) {
	case AUTH_OK:
		return true;
	case AUTH_MISSING:
		reply_unauthorised(x);
		return false;
	case AUTH_WRONG:
		reply_failure(l, x, &request->peer.addr);
		return false;
	}
	abort();
}

struct login *login_new(struct ev_loop *loop, const struct auth *auth)
{
	struct login *l = mem_zalloc(sizeof(*l));

	assert(*auth->user && *auth->password);
	l->loop = loop;
	l->auth = auth;
	TAILQ_INIT(&l->failures);
	return l;
}

void login_free(struct login *l)
{
	struct failure *f;

	if (!l)
		return;
	while ((f = TAILQ_FIRST(&l->failures)))
		forget(f);
	free(l);
}

const struct login_stats *login_stats(const struct login *l)
{
	return &l->stats;
}
