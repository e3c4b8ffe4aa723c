/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookups: one struct lookup for each name. It waits for its timer, waits in the line, or is being
 * looked up. The line bounds the sockets that are open at once.
 */
#include "src/router/lookups.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "lib/loop/backoff.h"

#define RUNNING_MAX 64
#define SHORTEST NSEC_PER_SEC /* between two lookups of a name */
#define LONGEST (3600 * NSEC_PER_SEC)
#define LONGEST_NEGATIVE (60 * NSEC_PER_SEC)

static const struct backoff_policy after_failure = { .first = SHORTEST,
						     .last = LONGEST_NEGATIVE,
						     .jitter = 20 };

struct lookup {
	struct lookups *of;
	char *host;
	struct dns_lookup *running; /* NULL: it is not being looked up */
	bool in_line;
	TAILQ_ENTRY(lookup) line;
	ev_timer again;
	struct addr *found;
	size_t n;
	unsigned failures; /* in a row */
	char why[64];	   /* of the last failure; "": none */
	TAILQ_HEAD(, lookup_user) users;
};

struct lookups {
	struct ev_loop *loop;
	struct dns *dns;
	struct map by_host;
	TAILQ_HEAD(, lookup) line;
	unsigned running;
	struct lookups_counts counts;
	uint64_t random;
};

/* ---- addresses ---- */

/* Whether this machine has a route to it. Sends nothing. */
static bool has_route(const struct addr *a)
{
	const struct endpoint to = { *a, 53 };
	struct sockaddr_storage address;
	socklen_t length = endpoint_to_sockaddr(&to, &address);
	_cleanup_(cleanup_fd) int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)&address, length) == 0;
}

/* Without a route to any of them all are kept: the route may come. */
static size_t keep_reachable(const struct addr *from, size_t n, struct addr *ret)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (has_route(&from[i]))
			ret[kept++] = from[i];
	if (!kept)
		memcpy(ret, from, n * sizeof(*ret));
	return kept ?: n;
}

static void log_found(const struct lookup *l, int64_t ttl)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	char address[ADDR_STRLEN];

	for (size_t i = 0; i < l->n; i++)
		buf_printf(&text, "%s%s", i ? " " : "", addr_format(&l->found[i], address));
	log_info("name-found", LOG_S("name", l->host), LOG_S("addresses", buf_cstr(&text)),
		 LOG_T("ttl", ttl));
}

static void take_found(struct lookup *l, const struct dns_result *r)
{
	struct addr *list = mem_alloc(r->n * sizeof(*list));
	size_t n = keep_reachable(r->found, r->n, list);
	struct lookup_user *u;

	if (n == l->n && memcmp(list, l->found, n * sizeof(*list)) == 0) {
		free(list);
		return;
	}
	free(l->found);
	l->found = list;
	l->n = n;
	TAILQ_FOREACH(u, &l->users, all)
	{
		u->found(u, l->found, l->n);
	}
	log_found(l, r->ttl);
}

/* ---- one name ---- */

static void start_waiting(struct lookups *s);

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Returns the time until the next lookup. */
static int64_t note_failure(struct lookup *l, const struct dns_result *r)
{
	l->failures++;
	snprintf(l->why, sizeof(l->why), "%s", r->why);
	if (l->failures == 1)
		log_warn("name-failed", LOG_S("name", l->host), LOG_S("error", l->why));
	if (r->ttl)
		return clamp(r->ttl, SHORTEST, LONGEST_NEGATIVE);
	return backoff_delay(&after_failure, l->failures, &l->of->random);
}

static void on_done(const struct dns_result *r, void *user)
{
	struct lookup *l = user;
	int64_t wait;

	l->running = NULL;
	l->of->running--;
	if (r->n) {
		l->of->counts.found++;
		l->failures = 0;
		*l->why = '\0';
		take_found(l, r);
		wait = clamp(r->ttl, SHORTEST, LONGEST);
	} else {
		l->of->counts.failed++;
		wait = note_failure(l, r);
	}
	ev_timer_set(&l->again, loop_seconds(wait), 0.);
	ev_timer_start(l->of->loop, &l->again);
	start_waiting(l->of);
}

static void start_waiting(struct lookups *s)
{
	struct lookup *l;

	while (s->running < RUNNING_MAX && (l = TAILQ_FIRST(&s->line))) {
		TAILQ_REMOVE(&s->line, l, line);
		l->in_line = false;
		s->running++;
		l->running = dns_look_up(s->dns, l->host, on_done, l);
	}
}

static void get_in_line(struct lookup *l)
{
	l->in_line = true;
	TAILQ_INSERT_TAIL(&l->of->line, l, line);
	start_waiting(l->of);
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int revents)
{
	get_in_line(container_of(timer, struct lookup, again));
}

static struct lookup *lookup_new(struct lookups *s, const char *host)
{
	struct lookup *l = mem_zalloc(sizeof(*l));

	l->of = s;
	l->host = mem_strdup(host);
	TAILQ_INIT(&l->users);
	ev_init(&l->again, on_again);
	map_put(&s->by_host, l->host, l);
	get_in_line(l);
	return l;
}

static void lookup_free(struct lookup *l)
{
	struct lookups *s = l->of;

	map_remove(&s->by_host, l->host);
	ev_timer_stop(s->loop, &l->again);
	if (l->in_line)
		TAILQ_REMOVE(&s->line, l, line);
	if (l->running)
		s->running--;
	dns_cancel(l->running);
	free(l->found);
	free(l->host);
	free(l);
	start_waiting(s);
}

/* ---- the door ---- */

void lookups_join(struct lookups *s, const char *host, struct lookup_user *u)
{
	struct lookup *l = map_get(&s->by_host, host) ?: lookup_new(s, host);

	u->of = l;
	TAILQ_INSERT_TAIL(&l->users, u, all);
	if (l->n)
		u->found(u, l->found, l->n);
}

void lookups_leave(struct lookup_user *u)
{
	struct lookup *l = TAKE_PTR(u->of);

	if (!l)
		return;
	TAILQ_REMOVE(&l->users, u, all);
	if (TAILQ_EMPTY(&l->users))
		lookup_free(l);
}

struct lookups_counts lookups_counts(const struct lookups *s)
{
	return s->counts;
}

void lookups_describe(const struct lookup_user *u, struct buf *out)
{
	const struct lookup *l = u->of;
	char address[ADDR_STRLEN];

	if (!l)
		return;
	buf_add_lit(out, ",\"addresses\":[");
	for (size_t i = 0; i < l->n; i++)
		buf_printf(out, "%s\"%s\"", i ? "," : "", addr_format(&l->found[i], address));
	buf_addc(out, ']');
	if (!*l->why)
		return;
	buf_add_lit(out, ",\"lookup_error\":");
	json_write_string(out, l->why, strlen(l->why));
}

struct lookups *lookups_new(struct ev_loop *loop, const struct dns_config *config)
{
	struct lookups *s = mem_zalloc(sizeof(*s));

	s->loop = loop;
	s->dns = dns_new(loop, config);
	TAILQ_INIT(&s->line);
	if (getrandom(&s->random, sizeof(s->random), GRND_NONBLOCK) < 0)
		s->random = (uint64_t)loop_realtime();
	return s;
}

void lookups_free(struct lookups *s)
{
	if (!s)
		return;
	assert(!s->by_host.n);
	map_free(&s->by_host);
	dns_free(s->dns);
	free(s);
}
