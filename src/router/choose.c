/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose: the decisions about a request, put together from core/l7: the rule, the backend by
 * weight, and a server of its pool.
 */
#include "base/cleanup.h"
#include "base/random.h"
#include "core/l7/ejection.h"
#include "core/l7/key.h"
#include "core/l7/spread.h"
#include "src/router/internal.h"
#include "src/router/relay.h"

static const struct l7_rule *rule_of(const struct exchange *x)
{
	return x->target->rule;
}

/* Brings the path into the form in which rules are compared. False if it is refused. */
static bool fit_path(struct exchange *x, struct l7_request *r)
{
	struct buf *straight = &x->client->worker->straight;

	if (x->listener->paths == L7_PATHS_AS_IS || l7_path_is_plain(r->path))
		return true;
	straight->n = 0;
	if (l7_path_normalize(r->path, x->listener->paths, straight) < 0)
		return false;
	r->path = (struct str){ straight->p, straight->n };
	x->crooked = true;
	return true;
}

/* The head is no longer parsed when the request is tried again, so its key is kept. */
static void find_hash(struct exchange *x, const struct l7_request *r)
{
	const struct l7_pool *pool = x->era->generation->pools[x->backend->pool].config;
	struct str value;

	if (pool->balance != L7_MAGLEV)
		return;
	if (pool->key == L7_KEY_SOURCE) {
		x->hash = l7_key_hash_source(&x->client->from);
		x->hashed = true;
		return;
	}
	value = l7_key_value(r->headers, r->n_headers, pool->key, str_of(pool->key_name));
	x->hash = l7_key_hash(value);
	x->hashed = value.n > 0;
}

/* Whether the server of the session gets requests. */
static bool is_usable(const struct exchange *x)
{
	const struct generation_pool *pool = &x->era->generation->pools[x->backend->pool];
	const struct server *s = pool->servers[x->session->index];

	return server_is_usable(s);
}

/* The server that the request names, and with it the backend, whatever their weights are. */
static bool find_session(struct exchange *x, const struct l7_request *r)
{
	const struct l7_rule *rule = rule_of(x);
	struct str value = l7_key_value(r->headers, r->n_headers, rule->persistence.key,
					str_of(rule->persistence.name));
	uint64_t key;

	if (!l7_key_parse(value, &key))
		return false;
	for (size_t i = 0; i < rule->n_backends && !x->session; i++) {
		const struct l7_backend *b = &rule->backends[i];

		if (b->pool != L7_NO_POOL)
			x->session = generation_session(&x->era->generation->pools[b->pool], key);
		x->backend = b;
	}
	if (x->session && is_usable(x))
		return true;
	x->session = NULL;
	x->backend = NULL;
	return false;
}

static bool pick_backend(struct exchange *x)
{
	const struct l7_rule *rule = rule_of(x);
	size_t i = l7_pick_backend(rule->backends, rule->n_backends,
				   random_next(&x->client->worker->random));

	if (i == L7_NONE || rule->backends[i].pool == L7_NO_POOL)
		return false;
	x->backend = &rule->backends[i];
	return true;
}

/* Whose word about the client counts: nobody's without a list. */
static void find_client(struct exchange *x, const struct l7_request *r)
{
	const struct l7_listener *l = x->listener;
	struct client *c = x->client;

	c->from = c->source.addr;
	if (!l->trusted.n)
		return;
	if (l->fields == L7_FORWARDED)
		c->from = proxies_client_forwarded(&l->trusted, &c->source.addr, r->headers,
						   r->n_headers);
	else
		c->from = proxies_client(&l->trusted, &c->source.addr, r->headers, r->n_headers);
}

enum choice choose_rule(struct exchange *x, struct l7_request *r, unsigned *ret_status)
{
	const struct generation *g = x->era->generation;
	const struct port *port = x->client->port;
	const struct generation_port *rules =
		x->era == exchange__worker(x)->trial ? port->trial : port->rules;
	const struct generation_listener *listener;

	*ret_status = 421;
	x->why = "no-host";
	if (!rules) /* its listener has gone since the head began */
		return CHOICE_ANSWER;
	if (!l7_config_allows(&g->config, r->host))
		return CHOICE_ANSWER;
	listener = generation_listener(g, rules, r->host);
	x->why = "misdirected";
	if (listener && secure_is_misdirected(x->client, x->era, listener))
		return CHOICE_ANSWER;
	*ret_status = 404;
	x->why = "no-route";
	if (!listener)
		return CHOICE_ANSWER;
	x->listener = listener->config;
	find_client(x, r);
	if (!fit_path(x, r))
		return CHOICE_PATH_REFUSED;
	x->target = generation_find(g, listener, r);
	if (!x->target)
		return CHOICE_ANSWER;
	if (rule_of(x)->filters.redirect)
		return CHOICE_REDIRECT;
	*ret_status = 500;
	x->why = "no-backend";
	if (!(rule_of(x)->persistence.enabled && find_session(x, r)) && !pick_backend(x))
		return CHOICE_ANSWER;
	find_hash(x, r);
	x->why = NULL;
	return CHOICE_SERVER;
}

/* ---- servers ---- */

struct fleet {
	struct worker *worker;
	const struct generation_pool *pool;
	const uint16_t *servers; /* that were tried before: the latest ROUTER__TRIED */
	unsigned tries;
	const struct server *tried; /* without an exchange: avoided if there is another one */
	const uint64_t *hash;	    /* for L7_MAGLEV; NULL: it has no key */
	uint32_t *turn;
	unsigned limit; /* of connections to a server; 0: none */
	bool fresh;	/* a kept link is of no use */
	bool full;	/* a server was passed over because of the limit */
};

static bool was_tried(const struct fleet *f, size_t server)
{
	unsigned n = f->tries < ROUTER__TRIED ? f->tries : ROUTER__TRIED;

	for (unsigned i = 0; i < n; i++)
		if (f->servers[i] == server)
			return true;
	return false;
}

/* Whether a server that came up a short time ago takes this request. */
static bool takes(const struct fleet *f, const struct server *s)
{
	int64_t up = atomic_load_explicit(&s->up, memory_order_relaxed);
	int64_t time = f->pool->config->slow_start;

	return !time ||
	       l7_slow_start_takes(loop_monotonic() - up, time, random_next(&f->worker->random));
}

/* Whether a request can have a connection to it. */
static bool has_room(struct fleet *f, const struct server *s)
{
	if (!f->limit || (!f->fresh && link_is_spare(worker_slot(f->worker, s))) ||
	    seats_has_room(s->seats, f->limit))
		return true;
	f->full = true;
	return false;
}

static enum l7_fitness fitness(size_t i, void *user)
{
	struct fleet *f = user;
	const struct server *s = f->pool->servers[i];
	unsigned flags = atomic_load_explicit(&s->flags, memory_order_relaxed);

	if (flags & (SERVER_DOWN | SERVER_NOWHERE) || !has_room(f, s))
		return L7_UNFIT;
	if (was_tried(f, i) || s == f->tried)
		return L7_TRIED;
	if (flags & SERVER_EJECTED)
		return L7_EJECTED;
	return flags & SERVER_SLOW && !takes(f, s) ? L7_WARMING : L7_FIT;
}

static unsigned active(size_t i, void *user)
{
	const struct fleet *f = user;

	return worker_slot(f->worker, f->pool->servers[i])->active;
}

static size_t balance(struct fleet *fleet)
{
	const struct generation_pool *pool = fleet->pool;
	const struct l7_fleet f = { fitness, active, fleet };

	switch (pool->config->balance) {
	case L7_MAGLEV:
		return fleet->hash ? l7_spread_find(pool->table->slots, pool->table->size,
						    &pool->schedule, &f, *fleet->hash)
				   : l7_balance_turn(&pool->schedule, &f, fleet->turn);
	case L7_ROUND_ROBIN:
		return l7_balance_turn(&pool->schedule, &f, fleet->turn);
	case L7_LEAST_REQUEST:
		return l7_balance_least(&pool->schedule, &f, fleet->turn);
	case L7_RANDOM_TWO:
		return l7_balance_two(&pool->schedule, &f, random_next(&fleet->worker->random));
	}
	return L7_NONE;
}

/* A server that is only the last resort: while a better one is full, its request waits. */
static bool is_last_resort(const struct fleet *f, size_t i)
{
	unsigned flags = atomic_load_explicit(&f->pool->servers[i]->flags, memory_order_relaxed);

	return flags & SERVER_EJECTED || was_tried(f, i);
}

struct server *choose_server(struct exchange *x, bool fresh, bool *ret_full)
{
	const struct generation_pool *pool = &x->era->generation->pools[x->backend->pool];
	struct fleet fleet = { .worker = x->client->worker,
			       .pool = pool,
			       .servers = x->tried,
			       .tries = x->tries,
			       .hash = x->hashed ? &x->hash : NULL,
			       .turn = &x->era->turns[x->backend->pool],
			       .limit = pool->config->limits.connections,
			       .fresh = fresh };
	size_t i = L7_NONE;

	if (x->tries || !x->session)
		i = balance(&fleet);
	else if (has_room(&fleet, pool->servers[x->session->index]))
		i = x->session->index;
	*ret_full = fleet.full;
	if (i == L7_NONE || (fleet.full && is_last_resort(&fleet, i)))
		return NULL;
	x->tried[x->tries % ROUTER__TRIED] = (uint16_t)i;
	return pool->servers[i];
}

struct server *choose_relay(struct relay *r, bool *ret_full)
{
	const struct generation_pool *pool = &r->era->generation->pools[r->backend->pool];
	struct fleet fleet = { .worker = r->client->worker,
			       .pool = pool,
			       .servers = r->tried,
			       .tries = r->tries,
			       .hash = &r->hash,
			       .turn = &r->era->turns[r->backend->pool],
			       .limit = pool->config->limits.connections,
			       .fresh = true };
	size_t i = balance(&fleet);

	*ret_full = fleet.full;
	if (i == L7_NONE || (fleet.full && is_last_resort(&fleet, i)))
		return NULL;
	r->tried[r->tries % ROUTER__TRIED] = (uint16_t)i;
	return pool->servers[i];
}

struct server *choose_any(struct worker *w, struct era *era, const struct generation_pool *pool)
{
	struct fleet fleet = { .worker = w,
			       .pool = pool,
			       .turn = &era->turns[pool - era->generation->pools],
			       .limit = pool->config->limits.connections };
	size_t i = balance(&fleet);

	return i == L7_NONE ? NULL : pool->servers[i];
}

struct server *choose_for(struct worker *w, struct era *era, const struct generation_pool *pool,
			  const struct addr *source, const struct server *tried)
{
	uint64_t hash = l7_key_hash_source(source);
	struct fleet fleet = { .worker = w,
			       .pool = pool,
			       .tried = tried,
			       .hash = &hash,
			       .turn = &era->turns[pool - era->generation->pools],
			       .limit = pool->config->limits.connections,
			       .fresh = true };
	size_t i = balance(&fleet);

	return i == L7_NONE ? NULL : pool->servers[i];
}
