/* SPDX-License-Identifier: Apache-2.0 */
/*
 * care: one struct charge for each server that a generation in force has. A change of generations
 * starts a new round: all servers of the new ones are visited, and the charges that were not
 * visited in this round are freed.
 */
#include "src/router/care.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

struct care {
	struct servers *servers;
	struct probing_env env;
	uint64_t round;
};

struct charge {
	struct care *care;
	struct server *server;
	const struct generation_pool *pool; /* of the last generation that has the server */
	uint64_t round;
	struct probing probing;
};

/* ---- flags ---- */

static bool has_flag(const struct server *s, unsigned flag)
{
	return atomic_load_explicit(&s->flags, memory_order_relaxed) & flag;
}

static void set_flag(struct server *s, unsigned flag, bool on)
{
	if (on)
		atomic_fetch_or_explicit(&s->flags, flag, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&s->flags, ~flag, memory_order_relaxed);
}

/* ---- probes ---- */

static void on_changed(struct probing *p, const struct health_change *change)
{
	struct charge *c = container_of(p, struct charge, probing);
	bool down = change->to == HEALTH_DOWN;

	set_flag(c->server, SERVER_DOWN, down);
	log_at(down ? LOG_WARN : LOG_INFO, down ? "server-down" : "server-up",
	       LOG_S("pool", c->pool->config->name), LOG_S("server", c->server->authority),
	       LOG_S("from", health_state_name(change->from)),
	       LOG_S("code", health_code_name(change->why)),
	       LOG_S("reason", *p->reason ? p->reason : NULL));
}

/* ---- charges ---- */

static struct charge *charge_new(struct care *care, struct server *s)
{
	struct charge *c = mem_zalloc(sizeof(*c));

	c->care = care;
	c->server = s;
	probing_init(&c->probing, &care->env, NULL, on_changed);
	probing_move(&c->probing, &s->at);
	s->charge = c;
	return c;
}

/* Exchanges of earlier generations may still choose the server: as one without a state. */
static void charge_free(struct charge *c)
{
	set_flag(c->server, SERVER_DOWN, false);
	c->server->charge = NULL;
	probing_end(&c->probing);
	free(c);
}

static void visit(struct care *care, struct server *s, const struct generation_pool *pool)
{
	struct charge *c = s->charge ?: charge_new(care, s);

	c->round = care->round;
	c->pool = pool;
	if (probing_set(&c->probing, &pool->config->probe))
		set_flag(s, SERVER_DOWN, false);
}

static void visit_all(struct care *care, const struct generation *g)
{
	for (size_t i = 0; i < g->config.n_pools; i++)
		for (size_t k = 0; k < g->pools[i].config->n_servers; k++)
			visit(care, g->pools[i].servers[k], &g->pools[i]);
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
	for (size_t i = 0; i < n; i++)
		visit_all(c, list[i]);
	drop_unvisited(c);
}

/* ---- what is shown ---- */

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

void care_describe(const struct server *server, struct buf *out)
{
	const struct charge *c = server->charge;

	buf_addc(out, '{');
	if (c) {
		buf_printf(out, "\"usable\":%s,", has_flag(server, ~0U) ? "false" : "true");
		describe_probes(&c->probing, out);
	}
	buf_addc(out, '}');
}

/* ---- the door ---- */

struct care *care_new(struct ev_loop *loop, struct servers *servers, const char *user_agent)
{
	struct care *c = mem_zalloc(sizeof(*c));

	c->servers = servers;
	c->env = (struct probing_env){ .loop = loop,
				       .probes = probe_env_new(loop, NULL),
				       .user_agent = user_agent };
	if (getrandom(&c->env.random, sizeof(c->env.random), GRND_NONBLOCK) < 0)
		c->env.random = (uint64_t)loop_realtime();
	return c;
}

void care_free(struct care *c)
{
	if (!c)
		return;
	care_follow(c, NULL, 0);
	probe_env_free(c->env.probes);
	free(c);
}
