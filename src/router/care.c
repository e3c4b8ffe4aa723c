/* SPDX-License-Identifier: Apache-2.0 */
/*
 * care: one struct charge for each server that a generation in force has. A change of generations
 * starts a new round: all servers of the new ones are visited, and the charges that were not
 * visited in this round are freed.
 */
#include "src/router/care.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/l7/ejection.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

/* The servers of a pool are not counted again for this time: in an outage, many fail at once. */
#define REFUSED_FOR (100 * NSEC_PER_MSEC)

struct care {
	struct servers *servers;
	struct probing_env env;
	struct lookups *lookups;
	uint64_t round;
};

struct charge {
	struct care *care;
	struct server *server;
	const struct generation_pool *pool; /* of the last generation that has the server */
	uint64_t round;
	struct lookup_user lookup;
	struct probing probing;
	struct l7_ejected ejected;
	uint64_t ejections;
	int64_t refused; /* monotonic ns: too many were ejected already */
	ev_timer back;	 /* the end of its ejection */
	ev_timer warm;	 /* the end of its slow start */
};

/* ---- flags ---- */

static bool has_flag(const struct server *s, unsigned flag)
{
	return atomic_load_explicit(&s->flags, memory_order_relaxed) & flag;
}

static void set_flag(struct server *s, unsigned flag, bool on)
{
	if (has_flag(s, flag) == on)
		return;
	if (on)
		atomic_fetch_or_explicit(&s->flags, flag, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&s->flags, ~flag, memory_order_relaxed);
}

/* ---- slow start ---- */

static void stop_warming(struct charge *c)
{
	ev_timer_stop(c->care->env.loop, &c->warm);
	set_flag(c->server, SERVER_SLOW, false);
}

static void on_warm(struct ev_loop *loop, ev_timer *timer, int revents)
{
	stop_warming(container_of(timer, struct charge, warm));
}

/* Until the time of the pool is over; a configuration may have changed it. */
static void go_on_warming(struct charge *c)
{
	int64_t up = atomic_load_explicit(&c->server->up, memory_order_relaxed);
	int64_t left = up + c->pool->config->slow_start - loop_monotonic();

	if (left <= 0) {
		stop_warming(c);
		return;
	}
	ev_timer_stop(c->care->env.loop, &c->warm);
	ev_timer_set(&c->warm, loop_seconds(left), 0.);
	ev_timer_start(c->care->env.loop, &c->warm);
}

/* The server gets requests again. */
static void warm_up(struct charge *c)
{
	if (!c->pool->config->slow_start)
		return;
	atomic_store_explicit(&c->server->up, loop_monotonic(), memory_order_relaxed);
	set_flag(c->server, SERVER_SLOW, true);
	go_on_warming(c);
}

/* ---- ejection ---- */

static void end_ejection(struct charge *c)
{
	if (!has_flag(c->server, SERVER_EJECTED))
		return;
	ev_timer_stop(c->care->env.loop, &c->back);
	atomic_store_explicit(&c->server->failures, 0, memory_order_relaxed);
	set_flag(c->server, SERVER_EJECTED, false);
}

static void on_back(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct charge *c = container_of(timer, struct charge, back);

	end_ejection(c);
	warm_up(c);
	log_info("server-returned", LOG_S("pool", c->pool->config->name),
		 LOG_S("server", c->server->authority));
}

static size_t count_ejected(const struct generation_pool *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->config->n_servers; i++)
		n += has_flag(p->servers[i], SERVER_EJECTED);
	return n;
}

void care_suspect(struct server *s)
{
	struct charge *c = s->charge;
	int64_t now = loop_monotonic();
	const struct l7_pool *pool;

	if (!c || has_flag(s, SERVER_EJECTED | SERVER_DOWN))
		return;
	pool = c->pool->config;
	if (!pool->ejection.failures || now - c->refused < REFUSED_FOR)
		return;
	if (!l7_ejection_allowed(&pool->ejection, pool->n_servers, count_ejected(c->pool))) {
		c->refused = now;
		return;
	}
	l7_eject(&c->ejected, &pool->ejection, now);
	c->ejections++;
	set_flag(s, SERVER_EJECTED, true);
	ev_timer_set(&c->back, loop_seconds(c->ejected.until - c->ejected.from), 0.);
	ev_timer_start(c->care->env.loop, &c->back);
	log_warn("server-ejected", LOG_S("pool", pool->name), LOG_S("server", s->authority),
		 LOG_U("failures", pool->ejection.failures),
		 LOG_T("duration", c->ejected.until - c->ejected.from));
}

/* ---- probes ---- */

static void on_changed(struct probing *p, const struct health_change *change)
{
	struct charge *c = container_of(p, struct charge, probing);
	bool down = change->to == HEALTH_DOWN;

	set_flag(c->server, SERVER_DOWN, down);
	if (change->from == HEALTH_DOWN)
		warm_up(c);
	if (down)
		log_warn("server-down", LOG_S("pool", c->pool->config->name),
			 LOG_S("server", c->server->authority),
			 LOG_S("from", health_state_name(change->from)),
			 LOG_S("code", health_code_name(change->why)),
			 LOG_S("reason", *p->reason ? p->reason : NULL));
	else
		log_info("server-up", LOG_S("pool", c->pool->config->name),
			 LOG_S("server", c->server->authority),
			 LOG_S("from", health_state_name(change->from)),
			 LOG_S("code", health_code_name(change->why)),
			 LOG_S("reason", *p->reason ? p->reason : NULL));
}

/* ---- charges ---- */

static void on_found(struct lookup_user *u, const struct addr *list, size_t n)
{
	struct charge *c = container_of(u, struct charge, lookup);

	server_set_addresses(c->server, list, n);
	set_flag(c->server, SERVER_NOWHERE, false);
	probing_move(&c->probing, list, n, c->server->port);
}

/* For requests to a server with a name; others get the address. */
static const char *authority_of(const struct server *s)
{
	if (!server_has_name(s))
		return NULL;
	return s->port == 80 ? s->host : s->authority;
}

static struct charge *charge_new(struct care *care, struct server *s)
{
	struct charge *c = mem_zalloc(sizeof(*c));

	c->care = care;
	c->server = s;
	ev_init(&c->back, on_back);
	ev_init(&c->warm, on_warm);
	probing_init(&c->probing, &care->env, authority_of(s), on_changed);
	s->charge = c;
	c->lookup.found = on_found;
	if (server_has_name(s))
		lookups_join(care->lookups, s->host, &c->lookup);
	else
		probing_move(&c->probing, &s->at.addr, 1, s->port);
	return c;
}

/* Exchanges of earlier generations may still choose the server: as one without a state. */
static void charge_free(struct charge *c)
{
	end_ejection(c);
	stop_warming(c);
	set_flag(c->server, SERVER_DOWN, false);
	c->server->charge = NULL;
	lookups_leave(&c->lookup);
	probing_end(&c->probing);
	free(c);
}

void care_remember(struct server *s, bool down, const struct addr *list, size_t n)
{
	struct charge *c = s->charge;

	if (n && has_flag(s, SERVER_NOWHERE))
		on_found(&c->lookup, list, n);
	if (down && c->probing.probe && !c->probing.asked)
		set_flag(s, SERVER_DOWN, true);
}

static void visit(struct care *care, struct server *s, const struct generation_pool *pool)
{
	const struct probing_tls tls = { pool->secure, s->host };
	struct charge *c = s->charge ?: charge_new(care, s);
	/* generations that differ in the servers of another pool share this one */
	bool same = c->pool && c->pool->servers == pool->servers;

	if (c->round == care->round)
		return;
	c->round = care->round;
	c->pool = pool;
	if (same)
		return;
	if (probing_set(&c->probing, &pool->config->probe, s->tls ? &tls : NULL))
		set_flag(s, SERVER_DOWN, false);
	if (!pool->config->ejection.failures)
		end_ejection(c);
	if (has_flag(s, SERVER_SLOW))
		go_on_warming(c);
}

/* Whether one of its servers has been looked after before. */
static bool has_served(const struct generation_pool *pool)
{
	for (size_t i = 0; i < pool->config->n_servers; i++)
		if (pool->servers[i]->charge)
			return true;
	return false;
}

/* A server that joins others begins slowly. */
static void visit_pool(struct care *care, const struct generation_pool *pool)
{
	bool joins = pool->config->slow_start && has_served(pool);

	for (size_t i = 0; i < pool->config->n_servers; i++) {
		struct server *s = pool->servers[i];
		bool is_new = !s->charge;

		visit(care, s, pool);
		if (joins && is_new)
			warm_up(s->charge);
	}
}

static void visit_all(struct care *care, const struct generation *g)
{
	for (size_t i = 0; i < g->config.n_pools; i++)
		visit_pool(care, &g->pools[i]);
}

static void drop_unvisited(struct care *care)
{
	for (uint32_t i = 0; i < servers_bound(care->servers); i++) {
		struct server *s = servers_at(care->servers, i);

		if (s && s->charge && s->charge->round != care->round)
			charge_free(s->charge);
	}
}

void care_follow(struct care *c, const struct generation *const *list, size_t n)
{
	c->round++;
	while (n--)
		visit_all(c, list[n]);
	drop_unvisited(c);
}

/* ---- what is shown ---- */

struct care_counts care_counts(const struct server *s)
{
	const struct charge *c = s->charge;

	if (!c)
		return (struct care_counts){ 0 };
	return (struct care_counts){ c->probing.counts.passes, c->probing.counts.failures,
				     c->ejections };
}

struct lookups_counts care_lookups(const struct care *c)
{
	return lookups_counts(c->lookups);
}

static void describe_probes(const struct probing *p, struct buf *out)
{
	char since[TIME_STRLEN];

	buf_printf(out, "\"health\":\"%s\",\"since\":\"%s\"", health_state_name(p->health.state),
		   time_format(p->health.since, since));
	if (!p->asked)
		return;
	buf_printf(out, ",\"code\":\"%s\"", health_code_name(p->code));
	if (*p->reason) {
		buf_add_lit(out, ",\"reason\":");
		json_write_string(out, p->reason, strlen(p->reason));
	}
	buf_printf(out, ",\"probes_passed\":%" PRIu64 ",\"probes_failed\":%" PRIu64,
		   p->counts.passes, p->counts.failures);
}

static void describe_ejection(const struct charge *c, struct buf *out)
{
	bool ejected = has_flag(c->server, SERVER_EJECTED);
	char until[TIME_STRLEN];

	if (!c->pool->config->ejection.failures)
		return;
	buf_printf(out, ",\"ejected\":%s,\"ejections\":%" PRIu64, ejected ? "true" : "false",
		   c->ejections);
	if (ejected)
		buf_printf(out, ",\"ejected_until\":\"%s\"",
			   time_format(loop_realtime() + c->ejected.until - loop_monotonic(),
				       until));
}

void care_describe(const struct server *server, struct buf *out)
{
	const struct charge *c = server->charge;

	buf_addc(out, '{');
	if (c) {
		buf_printf(out, "\"usable\":%s,", server_is_usable(server) ? "true" : "false");
		describe_probes(&c->probing, out);
		describe_ejection(c, out);
		lookups_describe(&c->lookup, out);
		if (has_flag(server, SERVER_SLOW))
			buf_add_lit(out, ",\"slow_start\":true");
	}
	buf_addc(out, '}');
}

static void look_at_probes(const struct probing *p, struct care_state *ret)
{
	ret->since = p->health.since;
	if (p->probe && p->health.state == HEALTH_UNKNOWN)
		ret->word = "unknown";
	if (*p->reason)
		snprintf(ret->reason, sizeof(ret->reason), "%s: %s", health_code_name(p->code),
			 p->reason);
	else if (p->asked && p->health.state == HEALTH_DOWN)
		snprintf(ret->reason, sizeof(ret->reason), "%s", health_code_name(p->code));
}

void care_look(const struct server *server, struct care_state *ret)
{
	const struct charge *c = server->charge;

	*ret = (struct care_state){ .word = "up" };
	if (has_flag(server, SERVER_NOWHERE)) {
		ret->word = "unknown";
		snprintf(ret->reason, sizeof(ret->reason), "its name has not been found");
		return;
	}
	if (c)
		look_at_probes(&c->probing, ret);
	if (has_flag(server, SERVER_DOWN)) {
		ret->word = "down";
	} else if (has_flag(server, SERVER_EJECTED)) {
		*ret = (struct care_state){ .word = "ejected" };
		snprintf(ret->reason, sizeof(ret->reason), "it failed too many requests in a row");
	} else if (has_flag(server, SERVER_SLOW)) {
		snprintf(ret->reason, sizeof(ret->reason),
			 "its share grows: it came up a short time ago");
	}
}

/* ---- the door ---- */

struct care *care_new(struct ev_loop *loop, struct servers *servers,
		      const struct care_config *config)
{
	struct care *c = mem_zalloc(sizeof(*c));

	c->servers = servers;
	c->env = (struct probing_env){ .loop = loop,
				       .probes = probe_env_new(loop, NULL),
				       .user_agent = config->user_agent };
	c->lookups = lookups_new(loop, &config->dns);
	if (getrandom(&c->env.random, sizeof(c->env.random), GRND_NONBLOCK) < 0)
		c->env.random = (uint64_t)loop_realtime();
	return c;
}

void care_free(struct care *c)
{
	if (!c)
		return;
	care_follow(c, NULL, 0);
	lookups_free(c->lookups);
	probe_env_free(c->env.probes);
	free(c);
}
