/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share a limit of connections: it is never exceeded, and no request waits for ever.
 * There is no timer that could repair a lost call.
 */
#include "src/router/quota.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"

#define THREADS 4
#define SERVERS 2
#define REQUESTS 3000 /* of each thread */
#define AT_ONCE 8
#define PATIENCE 120 /* s without progress */

/*
 * Further calls hide one that was lost, so there are scenarios with few requests, and with one kind
 * of end.
 */
struct scenario {
	unsigned servers, limit; /* at most SERVERS */
	unsigned at_once;	 /* requests of a thread, at most AT_ONCE */
	unsigned keep;		 /* per cent of connections that are kept */
	unsigned bound;		 /* per cent of requests that are bound to a server */
	unsigned leave;		 /* per cent of steps in which one that waits goes away */
};

static const struct scenario scenarios[] = {
	{ 1, 1, 1, 0, 0, 0 },	 { 1, 1, 1, 100, 0, 0 }, { 1, 2, 1, 0, 0, 0 },
	{ 1, 2, 2, 100, 0, 0 },	 { 2, 1, 1, 0, 100, 0 }, { 2, 1, 2, 100, 100, 0 },
	{ 2, 1, 1, 100, 50, 0 }, { 1, 1, 2, 0, 0, 50 },	 { 1, 3, 2, 0, 0, 50 },
	{ 2, 1, 2, 50, 50, 50 }, { 2, 2, 8, 50, 25, 2 }, { 2, 1, 4, 100, 25, 20 },
};

/* A request: waits, then uses a connection for some steps, or goes away. */
struct request {
	struct quota_place place;
	struct member *of;
	unsigned server; /* that it is bound to, or has a connection to */
	unsigned steps;	 /* left with the connection; 0: it has none */
	bool used;	 /* the entry is */
};

/* A thread. */
struct member {
	struct crew *crew;
	unsigned number;
	pthread_t thread;
	uint64_t random;
	struct request requests[AT_ONCE];
	unsigned begun, done;
	unsigned kept[SERVERS];
	struct quota_side *calls; /* under the lock */
};

struct crew {
	const struct scenario *scenario;
	struct quota *quota;
	struct seats *seats[SERVERS];
	atomic_uint open[SERVERS]; /* counted again, to compare */
	atomic_uint finished;	   /* members without requests */
	pthread_mutex_t lock;
	pthread_cond_t called;
	struct member members[THREADS];
};

static void on_call(unsigned thread, struct quota_side *side, void *user)
{
	struct crew *c = user;

	pthread_mutex_lock(&c->lock);
	side->next = c->members[thread].calls;
	c->members[thread].calls = side;
	pthread_cond_broadcast(&c->called);
	pthread_mutex_unlock(&c->lock);
}

static bool open_one(struct member *m, unsigned server)
{
	if (m->kept[server]) {
		m->kept[server]--;
		quota_unkeep(&m->crew->quota->sides[m->number]);
		return true;
	}
	if (!seats_open(m->crew->seats[server], m->crew->scenario->limit))
		return false;
	if (atomic_fetch_add(&m->crew->open[server], 1) >= m->crew->scenario->limit)
		abort();
	return true;
}

static void close_one(struct member *m, unsigned server)
{
	atomic_fetch_sub(&m->crew->open[server], 1);
	seats_close(m->crew->seats[server]);
}

static bool yield(struct quota_side *side, void *user)
{
	struct member *m = user;

	for (unsigned i = 0; i < SERVERS; i++)
		if (m->kept[i]) {
			m->kept[i]--;
			quota_unkeep(side);
			close_one(m, i);
			return true;
		}
	return false;
}

static unsigned draw(struct member *m, unsigned below)
{
	return (unsigned)(random_next(&m->random) % below);
}

static bool take_connection(struct request *r)
{
	unsigned n = r->of->crew->scenario->servers;
	unsigned first = r->place.bound ? r->server : draw(r->of, n);

	for (unsigned i = 0; i < (r->place.bound ? 1 : n); i++) {
		r->server = (first + i) % n;
		if (!open_one(r->of, r->server))
			continue;
		r->steps = 1 + draw(r->of, 3);
		return true;
	}
	return false;
}

static enum quota_result serve(struct quota_place *p, void *user)
{
	struct request *r = container_of(p, struct request, place);

	if (!take_connection(r))
		return QUOTA_FULL;
	quota_leave(p);
	return QUOTA_SERVED;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void begin(struct member *m, struct request *r)
{
	const struct scenario *s = m->crew->scenario;
	struct quota *g = m->crew->quota;

	*r = (struct request){ .of = m,
			       .used = true,
			       .server = draw(m, s->servers),
			       .place = { .bound = draw(m, 100) < s->bound } };
	m->begun++;
	if (!quota_is_crowded(g) && take_connection(r))
		return;
	r->place.since = now();
	if (!quota_enter(&g->sides[m->number], &r->place, UINT32_MAX))
		abort();
}

static void end(struct request *r)
{
	r->used = false;
	r->of->done++;
}

/* The connection is kept, or closed. */
static void finish(struct request *r)
{
	struct member *m = r->of;

	if (draw(m, 100) >= m->crew->scenario->keep) {
		close_one(m, r->server);
	} else {
		m->kept[r->server]++;
		quota_keep(&m->crew->quota->sides[m->number], true);
	}
	end(r);
}

static bool step(struct member *m)
{
	bool busy = false;

	for (unsigned i = 0; i < m->crew->scenario->at_once; i++) {
		struct request *r = &m->requests[i];

		if (!r->used && m->begun < REQUESTS)
			begin(m, r), busy = true;
		else if (r->used && r->steps && !--r->steps)
			finish(r), busy = true;
		else if (r->used && r->steps)
			busy = true;
		else if (r->used && draw(m, 100) < m->crew->scenario->leave)
			quota_leave(&r->place), end(r), busy = true;
	}
	return busy;
}

/* Takes the calls. With nothing else to do, waits for one. False: nothing happened for too long. */
static bool take_calls(struct member *m, bool wait)
{
	const struct quota_users users = { serve, yield, m };
	struct crew *c = m->crew;
	struct quota_side *side;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	pthread_mutex_lock(&c->lock);
	while (wait && !m->calls && atomic_load(&c->finished) < THREADS)
		if (pthread_cond_timedwait(&c->called, &c->lock, &until) != 0)
			break;
	side = m->calls;
	m->calls = NULL;
	pthread_mutex_unlock(&c->lock);
	if (wait && !side)
		return false;
	while (side) {
		struct quota_side *next = side->next;

		quota_turn(side, &users);
		side = next;
	}
	return true;
}

static void *run(void *user)
{
	struct member *m = user;
	struct crew *c = m->crew;
	bool told = false;

	while (atomic_load(&c->finished) < THREADS) {
		bool busy = step(m);

		if (!told && m->done == REQUESTS) {
			told = true;
			pthread_mutex_lock(&c->lock);
			atomic_fetch_add(&c->finished, 1);
			pthread_cond_broadcast(&c->called);
			pthread_mutex_unlock(&c->lock);
		}
		if (!take_calls(m, !busy))
			break;
	}
	return NULL;
}

static void start(struct crew *c, const struct scenario *s)
{
	memset(c, 0, sizeof(*c));
	c->scenario = s;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->called, NULL);
	c->quota = quota_new(THREADS, on_call, c);
	for (unsigned i = 0; i < SERVERS; i++)
		c->seats[i] = seats_new(c->quota);
	for (unsigned i = 0; i < THREADS; i++) {
		c->members[i].crew = c;
		c->members[i].number = i;
		c->members[i].random = i + 1;
	}
}

static void end_crew(struct crew *c)
{
	for (unsigned i = 0; i < SERVERS; i++) {
		unsigned kept = 0;

		for (unsigned k = 0; k < THREADS; k++)
			kept += c->members[k].kept[i];
		assert_int_equal(atomic_load(&c->seats[i]->open), kept);
		seats_release(c->seats[i]);
	}
	quota_release(c->quota);
}

static void no_request_waits_for_ever(void **state)
{
	struct crew *c = mem_alloc(sizeof(*c));

	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		start(c, &scenarios[i]);
		for (unsigned k = 0; k < THREADS; k++)
			assert_int_equal(pthread_create(&c->members[k].thread, NULL, run,
							&c->members[k]),
					 0);
		for (unsigned k = 0; k < THREADS; k++)
			pthread_join(c->members[k].thread, NULL);
		for (unsigned k = 0; k < THREADS; k++)
			assert_int_equal(c->members[k].done, REQUESTS);
		assert_int_equal(atomic_load(&c->quota->waiting), 0);
		end_crew(c);
	}
	free(c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_request_waits_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
