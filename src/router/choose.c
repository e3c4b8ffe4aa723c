/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose: the decisions about a request, put together from core/l7: the rule, the backend by
 * weight, and a server of its pool.
 */
#include "base/cleanup.h"
#include "base/random.h"
#include "src/router/internal.h"

static const struct l7_rule *rule_of(const struct exchange *x)
{
	return x->target->rule;
}

/* A wildcard stands for one or more labels. */
static bool covers(struct str name, struct str host)
{
	struct str suffix = { name.p + 1, name.n - 1 };

	if (!str_starts(name, STR("*.")))
		return str_ieq(name, host);
	return host.n > suffix.n &&
	       str_ieq((struct str){ host.p + host.n - suffix.n, suffix.n }, suffix);
}

static bool is_allowed(const struct l7_config *c, struct str host)
{
	if (!c->n_allowed_hosts)
		return true;
	for (size_t i = 0; i < c->n_allowed_hosts; i++)
		if (covers(c->allowed_hosts[i], l7_host_name(host)))
			return true;
	return false;
}

enum choice choose_rule(struct exchange *x, const struct l7_request *r, unsigned *ret_status)
{
	struct worker *w = x->client->worker;
	const struct generation *g = x->era->generation;
	const struct generation_listener *listener;
	size_t backend;

	*ret_status = 421;
	x->why = "no-host";
	if (!x->client->port->rules) /* its listener has gone since the head began */
		return CHOICE_ANSWER;
	if (!is_allowed(&g->config, r->host))
		return CHOICE_ANSWER;
	x->target = generation_find(g, x->client->port->rules, r, &listener);
	*ret_status = 404;
	x->why = "no-route";
	if (!x->target)
		return CHOICE_ANSWER;
	x->listener = listener->config;
	if (rule_of(x)->filters.redirect)
		return CHOICE_REDIRECT;
	backend = l7_pick_backend(rule_of(x)->backends, rule_of(x)->n_backends,
				  random_next(&w->random));
	*ret_status = 500;
	x->why = "no-backend";
	if (backend == L7_NONE || rule_of(x)->backends[backend].pool == L7_NO_POOL)
		return CHOICE_ANSWER;
	x->backend = &rule_of(x)->backends[backend];
	x->why = NULL;
	return CHOICE_SERVER;
}

/* ---- servers ---- */

struct fleet {
	struct worker *worker;
	const struct generation_pool *pool;
	const struct exchange *x;
};

static bool was_tried(const struct exchange *x, size_t server)
{
	unsigned n = x->tries < ROUTER__TRIED ? x->tries : ROUTER__TRIED;

	for (unsigned i = 0; i < n; i++)
		if (x->tried[i] == server)
			return true;
	return false;
}

static enum l7_fitness fitness(size_t i, void *user)
{
	const struct fleet *f = user;

	if (!server_is_usable(f->pool->servers[i]))
		return L7_UNFIT;
	return f->x->tries && was_tried(f->x, i) ? L7_RESERVE : L7_FIT;
}

static unsigned active(size_t i, void *user)
{
	const struct fleet *f = user;

	return worker_slot(f->worker, f->pool->servers[i])->active;
}

const struct server *choose_server(struct exchange *x)
{
	struct worker *w = x->client->worker;
	const struct generation_pool *pool = &x->era->generation->pools[x->backend->pool];
	struct fleet fleet = { w, pool, x };
	const struct l7_fleet f = { fitness, active, &fleet };
	uint32_t *turn = &x->era->turns[x->backend->pool];
	size_t i = L7_NONE;

	switch (pool->config->balance) {
	case L7_ROUND_ROBIN:
	case L7_MAGLEV:
		i = l7_balance_turn(&pool->schedule, &f, turn);
		break;
	case L7_LEAST_REQUEST:
		i = l7_balance_least(&pool->schedule, &f, turn);
		break;
	case L7_RANDOM_TWO:
		i = l7_balance_two(&pool->schedule, &f, random_next(&w->random));
		break;
	}
	if (i == L7_NONE)
		return NULL;
	x->tried[x->tries % ROUTER__TRIED] = (uint16_t)i;
	return pool->servers[i];
}
