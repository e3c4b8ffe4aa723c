/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe is in one of two conditions: its timer runs, or a question is under way. The timer is
 * started again only after the answer, so there are never two questions at once.
 */
#include "src/router/probing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "base/units.h"
#include "core/health/schedule.h"
#include "lib/tls/tls.h"
#include "wire/outcome.h"

#define FIRST_WITHIN NSEC_PER_SEC /* the first questions of many servers are spread over this */

static const enum probe_kind kinds[] = {
	[L7_PROBE_HTTP] = PROBE_HTTP, [L7_PROBE_GRPC] = PROBE_GRPC, [L7_PROBE_TCP] = PROBE_TCP
};

static struct health_rule rule_of(const struct probing *p)
{
	return (struct health_rule){ .rise = p->config.rise, .fall = p->config.fall };
}

static bool is_same(const struct l7_probe *a, const struct l7_probe *b)
{
	return a->send_proxy == b->send_proxy && a->enabled == b->enabled && a->type == b->type &&
	       cstr_eq(a->service, b->service) && cstr_eq(a->path, b->path) &&
	       cstr_eq(a->host, b->host) && a->low == b->low && a->high == b->high &&
	       a->interval == b->interval && a->timeout == b->timeout && a->rise == b->rise &&
	       a->fall == b->fall;
}

static void arm(struct probing *p, int64_t at, int64_t now)
{
	ev_timer_set(&p->timer, loop_seconds(at > now ? at - now : 0), 0.);
	ev_timer_start(p->env->loop, &p->timer);
}

/* One interval from the last start, not from the answer. */
static void arm_next(struct probing *p)
{
	int64_t now = loop_monotonic();

	arm(p, schedule_next(p->config.interval, p->began, now, random_next(&p->env->random)), now);
}

/* A failure of this machine says nothing about the server. */
static bool counts(const struct probe_outcome *outcome)
{
	return outcome->error != PROBE_ERR_SOCKET;
}

static enum probe_kind kind_of(const struct probing *p)
{
	enum probe_kind kind = kinds[p->config.type];

	return kind == PROBE_HTTP && p->tls ? PROBE_HTTPS : kind;
}

static void on_done(struct probe *probe, const struct probe_outcome *outcome, void *user)
{
	struct probing *p = user;
	const struct health_rule rule = rule_of(p);
	struct health_change change;
	bool changed = false;

	p->asked = true;
	p->code = outcome_code(kind_of(p), outcome);
	snprintf(p->reason, sizeof(p->reason), "%s", outcome->reason);
	if (health_code_is_pass(p->code))
		p->counts.passes++;
	else
		p->counts.failures++;
	if (counts(outcome))
		changed = health_record(&p->health, &rule, p->code, loop_realtime(), &change);
	arm_next(p);
	if (changed)
		p->changed(p, &change);
}

static struct probe_spec spec_of(const struct probing *p)
{
	const char *path = p->config.path ?: p->config.service;

	return (struct probe_spec){ .kind = kind_of(p),
				    .target = { p->addresses[p->turn % p->n], p->port },
				    .timeout = p->config.timeout,
				    .path = kind_of(p) == PROBE_TCP ? NULL : path,
				    .send_proxy = p->config.send_proxy,
				    .host = p->config.host ?: p->authority,
				    .user_agent = p->env->user_agent,
				    .tls = p->tls,
				    .server_name = p->server_name,
				    .codes = &p->codes,
				    .n_codes = 1 };
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct probing *p = container_of(timer, struct probing, timer);
	struct probe_spec spec;

	p->turn++;
	spec = spec_of(p);
	probe_set_spec(p->probe, &spec);
	p->began = loop_monotonic();
	probe_start(p->probe);
}

static void begin(struct probing *p)
{
	int64_t now = loop_monotonic();
	int64_t within = p->config.interval < FIRST_WITHIN ? p->config.interval : FIRST_WITHIN;
	struct probe_spec spec;

	if (!p->config.enabled || !p->n || p->probe)
		return;
	p->codes = (struct probe_code_range){ (uint16_t)p->config.low, (uint16_t)p->config.high };
	spec = spec_of(p);
	p->probe = probe_new(p->env->probes, &spec, on_done, p);
	arm(p, schedule_first(within, now, random_next(&p->env->random)), now);
}

static void stop(struct probing *p)
{
	ev_timer_stop(p->env->loop, &p->timer);
	probe_free(TAKE_PTR(p->probe));
}

static void drop_config(struct probing *p)
{
	free(TAKE_PTR(p->path));
	free(TAKE_PTR(p->host));
	free(TAKE_PTR(p->server_name));
	tls_context_free(TAKE_PTR(p->tls));
	p->secure = 0;
	free(TAKE_PTR(p->service));
	p->config = (struct l7_probe){ 0 };
}

static void copy_config(struct probing *p, const struct l7_probe *config,
			const struct probing_tls *tls)
{
	drop_config(p);
	p->config = *config;
	p->config.path = p->path = config->path ? mem_strdup(config->path) : NULL;
	p->config.host = p->host = config->host ? mem_strdup(config->host) : NULL;
	p->config.service = p->service = config->service ? mem_strdup(config->service) : NULL;
	if (!tls || !tls->secure->probes)
		return;
	p->tls = tls_context_ref(tls->secure->probes);
	p->secure = tls->secure->id;
	p->server_name = mem_strdup(tls->secure->name ?: tls->name);
}

void probing_init(struct probing *p, struct probing_env *env, const char *authority,
		  void (*changed)(struct probing *p, const struct health_change *change))
{
	*p = (struct probing){ .env = env, .changed = changed };
	p->authority = authority ? mem_strdup(authority) : NULL;
	health_init(&p->health, loop_realtime());
	ev_init(&p->timer, on_timer);
}

void probing_end(struct probing *p)
{
	stop(p);
	drop_config(p);
	free(TAKE_PTR(p->authority));
	free(TAKE_PTR(p->addresses));
}

bool probing_set(struct probing *p, const struct l7_probe *config, const struct probing_tls *tls)
{
	struct health_rule rule;

	if ((!config->enabled && !p->config.enabled) ||
	    (is_same(&p->config, config) && p->secure == (tls ? tls->secure->id : 0)))
		return false;
	stop(p);
	copy_config(p, config, tls);
	if (!config->enabled) {
		health_init(&p->health, loop_realtime());
		p->asked = false;
		return true;
	}
	rule = rule_of(p);
	health_rule_changed(&p->health, &rule);
	begin(p);
	return false;
}

void probing_move(struct probing *p, const struct addr *list, size_t n, uint16_t port)
{
	p->addresses = mem_resize(p->addresses, n, sizeof(*list));
	memcpy(p->addresses, list, n * sizeof(*list));
	p->n = n;
	p->port = port;
	begin(p);
}
