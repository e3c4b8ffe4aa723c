/* SPDX-License-Identifier: Apache-2.0 */
/* Pools as JSON: what differs from the defaults, after what every pool has. */
#include <string.h>

#include "base/cleanup.h"
#include "wire/router_json.h"
#include "wire/router_json_private.h"

static void add_servers(struct buf *out, const struct l7_config *c, size_t pool, enum rj__form form,
			const struct router_json_state *state)
{
	const struct l7_pool *p = &c->pools[pool];

	rj__open(out, "upstreams", '[');
	for (size_t i = 0; i < p->n_servers; i++) {
		const struct l7_server *s = &p->servers[i];

		rj__next(out);
		buf_addc(out, '{');
		rj__text(out, "host", s->host);
		rj__uint(out, "port", s->port);
		if (form != RJ__NAMED)
			rj__uint(out, "idx", s->idx);
		rj__bool(out, "tls", s->tls);
		if (s->weight != 1)
			rj__uint(out, "weight", s->weight);
		if (s->drain)
			rj__bool(out, "drain", true);
		if (state) {
			rj__key(out, "state");
			state->server(pool, i, out, state->user);
		}
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

/* ---- probes ---- */

/* Whether lb_config can say it. Probes that are off come only from there. */
static bool is_lb_config(const struct l7_probe *p)
{
	return p->path && !p->host && p->low == L7_PROBE_LOW && p->high == L7_PROBE_HIGH &&
	       p->interval % NSEC_PER_MSEC == 0 && p->timeout % NSEC_PER_MSEC == 0;
}

static void add_lb_config(struct buf *out, const struct l7_probe *p)
{
	rj__open(out, "lb_config", '{');
	rj__bool(out, "enable_probing", p->enabled);
	rj__uint(out, "unhealthy_threshold", p->fall);
	rj__uint(out, "healthy_threshold", p->rise);
	rj__uint(out, "probe_interval_ms", (uint64_t)(p->interval / NSEC_PER_MSEC));
	rj__uint(out, "probe_timeout_ms", (uint64_t)(p->timeout / NSEC_PER_MSEC));
	rj__text(out, "health_path", p->path);
	buf_addc(out, '}');
}

static void add_probe(struct buf *out, const struct l7_probe *p)
{
	rj__open(out, "probe", '{');
	if (p->type == L7_PROBE_GRPC)
		rj__text(out, "type", "grpc");
	if (p->service)
		rj__text(out, "service", p->service);
	if (p->path) {
		rj__text(out, "path", p->path);
		rj__key(out, "status");
		buf_printf(out, "\"%u-%u\"", p->low, p->high);
	}
	if (p->host)
		rj__text(out, "host", p->host);
	rj__duration(out, "interval", p->interval);
	rj__duration(out, "timeout", p->timeout);
	rj__uint(out, "rise", p->rise);
	rj__uint(out, "fall", p->fall);
	buf_addc(out, '}');
}

/* ---- the rest ---- */

static void add_balance(struct buf *out, const struct l7_pool *p)
{
	static const char *const names[] = { [L7_ROUND_ROBIN] = "round_robin",
					     [L7_LEAST_REQUEST] = "least_request",
					     [L7_RANDOM_TWO] = "random",
					     [L7_MAGLEV] = "maglev" };

	if (p->balance == L7_ROUND_ROBIN)
		return;
	rj__text(out, "balance", names[p->balance]);
	if (p->key == L7_KEY_SOURCE)
		return;
	rj__key(out, "hash_key");
	/* a token needs no escapes */
	buf_printf(out, "\"%s:%s\"", p->key == L7_KEY_HEADER ? "header" : "cookie", p->key_name);
}

static void add_ejection(struct buf *out, const struct l7_ejection *e)
{
	if (!e->failures)
		return;
	rj__open(out, "ejection", '{');
	rj__uint(out, "failures", e->failures);
	rj__duration(out, "time", e->time);
	rj__uint(out, "max_percent", e->most);
	buf_addc(out, '}');
}

static void add_limits(struct buf *out, const struct l7_limits *l)
{
	if (!l->connections && l->waiting == L7_LIMIT_WAITING && l->wait == L7_LIMIT_WAIT &&
	    !l->requests && l->retries == L7_LIMIT_RETRIES && l->idle == L7_LIMIT_IDLE &&
	    l->idle_time == L7_LIMIT_IDLE_TIME)
		return;
	rj__open(out, "limits", '{');
	rj__uint(out, "connections", l->connections);
	rj__uint(out, "waiting", l->waiting);
	rj__duration(out, "wait", l->wait);
	rj__uint(out, "requests", l->requests);
	rj__uint(out, "retries", l->retries);
	rj__uint(out, "idle", l->idle);
	rj__duration(out, "idle_time", l->idle_time);
	buf_addc(out, '}');
}

/* A text that is compared must differ if a file does. */
static void add_pem(struct buf *out, const char *key, const struct l7_pem *pem, enum rj__form form)
{
	if (!pem->given)
		return;
	rj__text(out, key, pem->given);
	if (form == RJ__NAMED && pem->text)
		rj__text(out, "text", pem->text);
}

static void add_tls_names(struct buf *out, const struct l7_pool_tls *t)
{
	if (!t->n_names)
		return;
	rj__open(out, "names", '[');
	for (size_t i = 0; i < t->n_names; i++) {
		rj__next(out);
		json_write_string(out, t->names[i].value, strlen(t->names[i].value));
	}
	buf_addc(out, ']');
}

/* A file is compared by the digest of what it has. */
static void add_key(struct buf *out, const struct l7_pem *pem, enum rj__form form, bool plain)
{
	if (!pem->given)
		return;
	rj__secret(out, "key", pem->given, plain);
	if (form == RJ__NAMED && pem->text)
		rj__secret(out, "text", pem->text, false);
}

static void add_tls(struct buf *out, const struct l7_pool_tls *t, enum rj__form form, bool plain)
{
	if (!t->given)
		return;
	rj__open(out, "tls", '{');
	add_pem(out, "ca", &t->ca, form);
	if (t->name)
		rj__text(out, "name", t->name);
	add_tls_names(out, t);
	add_pem(out, "certificate", &t->certificate, form);
	add_key(out, &t->key, form, plain);
	if (!t->verify)
		rj__bool(out, "verify", false);
	if (t->newest)
		rj__text(out, "min_version", "1.3");
	buf_addc(out, '}');
}

static void add_protocol(struct buf *out, enum l7_server_protocol protocol)
{
	static const char *const names[] = {
		[L7_HTTP1] = "http1", [L7_H2] = "h2", [L7_AUTO] = "auto"
	};

	if (protocol != L7_HTTP1)
		rj__text(out, "protocol", names[protocol]);
}

static void add_pool(struct buf *out, const struct l7_config *c, size_t i, enum rj__form form,
		     const struct router_json_state *state, bool plain)
{
	const struct l7_pool *p = &c->pools[i];

	rj__next(out);
	buf_addc(out, '{');
	rj__text(out, "name", p->name);
	add_servers(out, c, i, form, state);
	(is_lb_config(&p->probe) ? add_lb_config : add_probe)(out, &p->probe);
	add_balance(out, p);
	add_ejection(out, &p->ejection);
	add_limits(out, &p->limits);
	if (p->connect_timeout != L7_CONNECT_TIMEOUT)
		rj__duration(out, "connect_timeout", p->connect_timeout);
	if (p->slow_start)
		rj__duration(out, "slow_start", p->slow_start);
	if (p->send_proxy)
		rj__bool(out, "send_proxy", true);
	add_protocol(out, p->protocol);
	add_tls(out, &p->tls, form, plain);
	buf_addc(out, '}');
}

void rj__pool(const struct l7_config *c, size_t i, bool plain, struct buf *out)
{
	add_pool(out, c, i, RJ__NAMED, NULL, plain);
}

void rj__pools(const struct l7_config *c, const struct router_json_state *state, bool plain,
	       struct buf *out)
{
	rj__open(out, "pools", '[');
	for (size_t i = 0; i < c->n_pools; i++)
		add_pool(out, c, i, RJ__NUMBERED, state, plain);
	buf_addc(out, ']');
}
