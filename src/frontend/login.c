/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/login.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server.h"
#include "lib/log/log.h"
#include "src/frontend/reply.h"

#define FAILURE_DELAY 1.0 /* s until a wrong password is answered */
#define KNOWN_FOR (3600 * NSEC_PER_SEC)
#define PASS_NAME "maglev-pass"
#define PASS_DIGITS 32 /* 128 bits of randomness */

/* A pending answer to wrong credentials. */
struct failure {
	TAILQ_ENTRY(failure) all;
	struct login *login;
	struct http_exchange *x; /* NULL: the client has gone away */
	struct addr network;
	ev_timer due;
};

TAILQ_HEAD(failures, failure);

/* A network that recently gave the correct password. */
struct known {
	struct addr network;
	int64_t until; /* monotonic ns; 0: unused entry */
};

struct login {
	struct ev_loop *loop;
	const struct auth *auth;
	bool encrypted;
	char pass[PASS_DIGITS + 1];
	struct known known[LOGIN_KNOWN_MAX];
	struct failures failures;
	size_t n_failures;
	struct login_stats stats;
};

/* Limits apply to networks: a host with one IPv6 address usually has the whole /64. */
static struct addr network_of(const struct addr *client)
{
	struct addr network = *client;

	if (network.family == AF_INET6)
		memset(network.bytes + 8, 0, 8);
	return network;
}

/* ---- correct passwords ---- */

static bool is_known(const struct login *l, const struct addr *network)
{
	for (size_t i = 0; i < LOGIN_KNOWN_MAX; i++)
		if (addr_cmp(&l->known[i].network, network) == 0)
			return l->known[i].until > loop_monotonic();
	return false;
}

/* Reuses the entry of the network, or else the one that expires first. */
static void remember(struct login *l, const struct addr *network)
{
	struct known *place = &l->known[0];

	for (size_t i = 0; i < LOGIN_KNOWN_MAX; i++) {
		if (addr_cmp(&l->known[i].network, network) == 0) {
			place = &l->known[i];
			break;
		}
		if (l->known[i].until < place->until)
			place = &l->known[i];
	}
	*place = (struct known){ *network, loop_monotonic() + KNOWN_FOR };
}

static bool has_pass(const struct login *l, const struct http_head *head)
{
	return auth_has_cookie(head, STR(PASS_NAME), str_of(l->pass));
}

/* A new pass with every start. It identifies no session: it only proves an earlier login. */
static void make_pass(struct login *l)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[PASS_DIGITS];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort(); /* getrandom(2): up to 256 bytes are never cut short */
	for (size_t i = 0; i < PASS_DIGITS; i++)
		l->pass[i] = digits[random[i] & 0xf];
}

/* ---- wrong passwords ---- */

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

/*
 * The failure keeps counting after the client has gone, otherwise closing connections early
 * would make guessing faster.
 */
static void on_failure_gone(void *user)
{
	((struct failure *)user)->x = NULL;
}

static void reply_failure(struct login *l, struct http_exchange *x, const struct addr *client)
{
	struct failure *f = mem_zalloc(sizeof(*f));
	char text[ADDR_STRLEN];

	log_warn("login-failed", LOG_S("peer", addr_format(client, text)));
	l->stats.failures++;
	f->login = l;
	f->x = x;
	f->network = network_of(client);
	TAILQ_INSERT_TAIL(&l->failures, f, all);
	l->n_failures++;
	http_reply_later(x, on_failure_gone, f);
	ev_timer_init(&f->due, on_failure_due, FAILURE_DELAY, 0);
	ev_timer_start(l->loop, &f->due);
}

/* Whether passwords of this network are not to be checked now. */
static bool is_guessing(const struct login *l, const struct addr *network)
{
	const struct failure *f;
	unsigned owed = 0;

	if (l->n_failures >= LOGIN_FAILURES_MAX && !is_known(l, network))
		return true;
	for (f = TAILQ_FIRST(&l->failures); f; f = TAILQ_NEXT(f, all))
		owed += addr_cmp(&f->network, network) == 0;
	return owed >= LOGIN_FAILURES_OF_ONE_MAX;
}

static void refuse(struct login *l, struct http_exchange *x)
{
	l->stats.refused++;
	http_reply_header(x, "Retry-After", STR("1"));
	reply_error(x, 429, "too many wrong passwords");
}

/* ---- the door ---- */

/*
 * The credentials are always checked first, so that a refusal takes the same time for right and
 * wrong ones.
 */
bool login_let_in(struct login *l, struct http_exchange *x, const struct http_head *head,
		  const struct addr *client)
{
	enum auth_verdict verdict = auth_check(l->auth, head);
	struct addr network = network_of(client);
	bool right = verdict == AUTH_OK;

	if (verdict == AUTH_MISSING) {
		reply_unauthorised(x); /* not a guess: browsers ask this way first */
	} else if (is_guessing(l, &network) && !(right && has_pass(l, head))) {
		refuse(l, x); /* does not reveal whether the password was correct */
	} else if (!right) {
		reply_failure(l, x, client);
	} else {
		remember(l, &network);
		return true;
	}
	return false;
}

void login_give_pass(const struct login *l, struct http_exchange *x, const struct http_head *head)
{
	_cleanup_(buf_free) struct buf cookie = { 0 };

	if (has_pass(l, head))
		return;
	buf_printf(&cookie, PASS_NAME "=%s; Path=/admin/; HttpOnly; SameSite=Lax%s", l->pass,
		   l->encrypted ? "; Secure" : "");
	http_reply_header(x, "Set-Cookie", (struct str){ cookie.p, cookie.n });
}

struct login *login_new(struct ev_loop *loop, const struct auth *auth, bool encrypted)
{
	struct login *l = mem_zalloc(sizeof(*l));

	assert(*auth->user && *auth->password);
	l->loop = loop;
	l->auth = auth;
	l->encrypted = encrypted;
	make_pass(l);
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
