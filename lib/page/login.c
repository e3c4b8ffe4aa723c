/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/page/login.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/server.h"

#define KNOWN_FOR (3600 * NSEC_PER_SEC)
#define PASS_DIGITS 32 /* 128 bits of randomness */

/* A pending answer to wrong credentials. */
struct failure {
	TAILQ_ENTRY(failure) all;
	struct page_login *login;
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

struct page_login {
	struct page_login_config config;
	char pass[PASS_DIGITS + 1];
	struct known known[PAGE_LOGIN_KNOWN_MAX];
	struct failures failures;
	size_t n_failures;
	struct page_login_stats stats;
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

static bool is_known(const struct page_login *l, const struct addr *network)
{
	for (size_t i = 0; i < PAGE_LOGIN_KNOWN_MAX; i++)
		if (addr_cmp(&l->known[i].network, network) == 0)
			return l->known[i].until > loop_monotonic();
	return false;
}

/* Reuses the entry of the network, or else the one that expires first. */
static void remember(struct page_login *l, const struct addr *network)
{
	struct known *place = &l->known[0];

	for (size_t i = 0; i < PAGE_LOGIN_KNOWN_MAX; i++) {
		if (addr_cmp(&l->known[i].network, network) == 0) {
			place = &l->known[i];
			break;
		}
		if (l->known[i].until < place->until)
			place = &l->known[i];
	}
	*place = (struct known){ *network, loop_monotonic() + KNOWN_FOR };
}

static bool has_pass(const struct page_login *l, const struct http_head *head)
{
	return page_has_cookie(head, str_of(l->config.cookie), str_of(l->pass));
}

/* A new pass with every start. It identifies no session: it only proves an earlier login. */
static void make_pass(struct page_login *l)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[PASS_DIGITS];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort(); /* getrandom(2): up to 256 bytes are never cut short */
	for (size_t i = 0; i < PASS_DIGITS; i++)
		l->pass[i] = digits[random[i] & 0xf];
}

/* ---- wrong passwords ---- */

static void reply_unauthorised(const struct page_login *l, struct http_exchange *x)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_printf(&text, "Basic realm=\"%s\", charset=\"UTF-8\"", l->config.realm);
	http_reply_header(x, "WWW-Authenticate", (struct str){ text.p, text.n });
	l->config.reply(x, 401, l->config.missing);
}

static void forget(struct failure *f)
{
	TAILQ_REMOVE(&f->login->failures, f, all);
	f->login->n_failures--;
	ev_timer_stop(f->login->config.loop, &f->due);
	free(f);
}

static void on_failure_due(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct failure *f = container_of(w, struct failure, due);
	const struct page_login *l = f->login;
	struct http_exchange *x = f->x;

	forget(f);
	if (x)
		reply_unauthorised(l, x);
}

/*
 * The failure keeps counting after the client has gone, otherwise closing connections early
 * would make guessing faster.
 */
static void on_failure_gone(void *user)
{
	((struct failure *)user)->x = NULL;
}

static void reply_failure(struct page_login *l, struct http_exchange *x, const struct addr *client)
{
	struct failure *f = mem_zalloc(sizeof(*f));

	l->config.failed(client, l->config.user);
	l->stats.failures++;
	f->login = l;
	f->x = x;
	f->network = network_of(client);
	TAILQ_INSERT_TAIL(&l->failures, f, all);
	l->n_failures++;
	http_reply_later(x, on_failure_gone, f);
	ev_timer_init(&f->due, on_failure_due, (double)l->config.delay / NSEC_PER_SEC, 0);
	ev_timer_start(l->config.loop, &f->due);
}

/* Whether passwords of this network are not to be checked now. */
static bool is_guessing(const struct page_login *l, const struct addr *network)
{
	const struct failure *f;
	unsigned owed = 0;

	if (l->n_failures >= PAGE_LOGIN_FAILURES_MAX && !is_known(l, network))
		return true;
	for (f = TAILQ_FIRST(&l->failures); f; f = TAILQ_NEXT(f, all))
		owed += addr_cmp(&f->network, network) == 0;
	return owed >= PAGE_LOGIN_FAILURES_OF_ONE_MAX;
}

static void refuse(struct page_login *l, struct http_exchange *x)
{
	l->stats.refused++;
	http_reply_header(x, "Retry-After", STR("1"));
	l->config.reply(x, 429, "too many wrong passwords");
}

/* ---- the door ---- */

bool page_login_judge(struct page_login *l, struct http_exchange *x, const struct http_head *head,
		      const struct addr *client, enum page_verdict verdict)
{
	struct addr network = network_of(client);
	bool right = verdict == PAGE_AUTH_OK;

	if (verdict == PAGE_AUTH_MISSING) {
		reply_unauthorised(l, x); /* not a guess: browsers ask this way first */
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

/*
 * The credentials are always checked first, so that a refusal takes the same time for right and
 * wrong ones.
 */
bool page_login_let_in(struct page_login *l, struct http_exchange *x, const struct http_head *head,
		       const struct addr *client)
{
	assert(*l->config.credentials.password);
	return page_login_judge(l, x, head, client, page_basic_check(&l->config.credentials, head));
}

/* Without a check there is nothing whose time could tell right from wrong. */
bool page_login_is_closed(struct page_login *l, struct http_exchange *x,
			  const struct http_head *head, const struct addr *client)
{
	struct addr network = network_of(client);

	if (!is_guessing(l, &network) || has_pass(l, head))
		return false;
	refuse(l, x);
	return true;
}

void page_login_give_pass(const struct page_login *l, struct http_exchange *x,
			  const struct http_head *head)
{
	_cleanup_(buf_free) struct buf cookie = { 0 };

	if (has_pass(l, head))
		return;
	buf_printf(&cookie, "%s=%s; Path=%s; HttpOnly; SameSite=Lax%s", l->config.cookie, l->pass,
		   l->config.path, l->config.encrypted ? "; Secure" : "");
	http_reply_header(x, "Set-Cookie", (struct str){ cookie.p, cookie.n });
}

struct page_login *page_login_new(const struct page_login_config *config)
{
	struct page_login *l = mem_zalloc(sizeof(*l));

	l->config = *config;
	make_pass(l);
	TAILQ_INIT(&l->failures);
	return l;
}

void page_login_free(struct page_login *l)
{
	struct failure *f;

	if (!l)
		return;
	while ((f = TAILQ_FIRST(&l->failures)))
		forget(f);
	free(l);
}

const struct page_login_stats *page_login_stats(const struct page_login *l)
{
	return &l->stats;
}
