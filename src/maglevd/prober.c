/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exists: a worker per backend, hung on l4_backend_state.user for as long as the backend
 * lives; a probe in it while the backend is probed; and per distinct check one struct check, a deep
 * copy that all workers of that check share. The copy is why a reload leaves unchanged workers
 * alone: they do not point into the configuration that is going away.
 *
 * A worker is always in one of three conditions: resting (no probe: static, or the operator's
 * state), waiting (timer running), asking (probe in flight). Never two questions at once: the timer
 * is started again only when the answer is in.
 */
#include "src/maglevd/prober.h"

#include <assert.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "core/health/schedule.h"
#include "lib/log/log.h"
#include "lib/probe/probe.h"
#include "lib/regex/regex.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/outcome.h"

struct check {
	struct arena *arena;
	struct l4_check config; /* a copy with its own strings */
	struct probe_code_range *codes;
	struct regex *body;
	size_t refs;
};

struct prober {
	struct ev_loop *loop;
	struct engine *engine;
	struct engine_observer observer;
	struct probe_env *env;
	const char *user_agent;
	struct map checks; /* name -> struct check, the newest of that name */
	struct prober_stats stats;
	uint64_t random;
};

struct worker {
	struct prober *prober;
	struct l4_backend_state *backend;
	struct check *check;
	struct probe *probe; /* NULL while resting */
	ev_timer timer;
	int64_t planned, began, interval; /* monotonic ns of the next start, of the last; ns */
	struct prober_counts counts;
};

static const double duration_le[] = { .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5 };
static const struct metrics_bounds duration_bounds = { duration_le, ARRAY_SIZE(duration_le) };

/* ---- checks, shared by their workers ---- */

static char *copy_text(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

static struct check *check_new(const struct l4_check *config)
{
	struct arena *a = arena_new();
	struct check *c = arena_new_of(a, struct check);
	char reason[REGEX_REASON_SIZE];

	c->arena = a;
	c->config = *config;
	c->config.name = arena_strdup(a, config->name);
	c->config.http.path = copy_text(a, config->http.path);
	c->config.http.host = copy_text(a, config->http.host);
	c->config.http.server_name = copy_text(a, config->http.server_name);
	c->config.http.regexp = copy_text(a, config->http.regexp);
	c->config.http.codes = arena_copy(a, config->http.codes,
					  config->http.n_codes * sizeof(*config->http.codes));
	c->codes = arena_array_of(a, config->http.n_codes, struct probe_code_range);
	for (size_t i = 0; i < config->http.n_codes; i++)
		c->codes[i] = (struct probe_code_range){ config->http.codes[i].first,
							 config->http.codes[i].last };
	if (config->http.regexp) {
		int r = regex_compile(config->http.regexp, &c->body, reason, sizeof(reason));

		assert(r == 0); /* validated with the configuration */
		(void)r;
	}
	return c;
}

static struct check *check_ref(struct prober *p, const struct l4_check *config)
{
	struct check *c = map_get(&p->checks, config->name);

	if (!c || !l4_check_equal(&c->config, config)) {
		c = check_new(config);
		map_put(&p->checks, c->config.name, c);
	}
	c->refs++;
	return c;
}

static void check_unref(struct prober *p, struct check *c)
{
	if (!c || --c->refs)
		return;
	if (map_get(&p->checks, c->config.name) == c)
		map_remove(&p->checks, c->config.name);
	regex_free(c->body);
	arena_free(c->arena);
}

/* ---- one worker ---- */

static const enum probe_kind probe_kinds[] = {
	[L4_CHECK_ICMP] = PROBE_ICMP,
	[L4_CHECK_TCP] = PROBE_TCP,
	[L4_CHECK_HTTP] = PROBE_HTTP,
	[L4_CHECK_HTTPS] = PROBE_HTTPS,
};

static struct probe_spec spec_of(const struct worker *w)
{
	const struct l4_check *c = &w->check->config;
	const struct addr *to =
		&l4_backend_config(engine_model(w->prober->engine), w->backend)->address;

	return (struct probe_spec){
		.kind = probe_kinds[c->type],
		.target = { *to, c->port },
		.source = to->family == AF_INET ? c->src4 : c->src6,
		.timeout = c->timeout,
		.keep_alive = c->keep_alive,
		.path = c->http.path,
		.host = c->http.host,
		.user_agent = w->prober->user_agent,
		.codes = w->check->codes,
		.n_codes = c->http.n_codes,
		.body = w->check->body,
		.server_name = c->http.server_name,
		.insecure_skip_verify = c->http.insecure_skip_verify,
	};
}

static void arm(struct worker *w, int64_t planned, int64_t now)
{
	w->planned = planned;
	ev_timer_set(&w->timer, loop_seconds(planned > now ? planned - now : 0), 0.);
	ev_timer_start(w->prober->loop, &w->timer);
}

static int64_t interval_of(const struct worker *w)
{
	return schedule_interval(&w->check->config.schedule, &w->backend->health,
				 &w->check->config.rule);
}

static void arm_next(struct worker *w)
{
	int64_t now = loop_monotonic();

	w->interval = interval_of(w);
	arm(w, schedule_next(w->interval, w->began, now, random_next(&w->prober->random)), now);
}

static void on_done(struct probe *probe, const struct probe_outcome *outcome, void *user)
{
	struct worker *w = user;
	enum health_code code = outcome_code(probe_kinds[w->check->config.type], outcome);
	const struct engine_result result = { .code = code,
					      .local = probe_outcome_is_local(outcome),
					      .reason = outcome->reason,
					      .duration = outcome->rtt };

	w->counts.by_code[code]++;
	metrics_observe(&w->counts.duration, loop_seconds(outcome->rtt));
	log_debug("probe-done", LOG_S("backend", w->backend->name),
		  LOG_S("type", l4_check_type_name(w->check->config.type)),
		  LOG_S("code", health_code_name(code)), LOG_T("duration", outcome->rtt),
		  LOG_U("status", outcome->status),
		  LOG_S("reason", *outcome->reason ? outcome->reason : NULL));
	engine_record(w->prober->engine, w->backend, &result);
	arm_next(w);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct worker *w = timer->data;

	w->began = loop_monotonic();
	w->prober->stats.started++;
	w->prober->stats.late += w->began - w->planned > w->interval / 20;
	log_debug("probe-start", LOG_S("backend", w->backend->name),
		  LOG_S("type", l4_check_type_name(w->check->config.type)));
	probe_start(w->probe);
}

static void rest(struct worker *w)
{
	ev_timer_stop(w->prober->loop, &w->timer);
	probe_free(TAKE_PTR(w->probe));
	check_unref(w->prober, TAKE_PTR(w->check));
}

/* Begins to probe as the configuration now says, if it says so; spread over the interval or now. */
static void begin(struct worker *w, bool spread)
{
	struct prober *p = w->prober;
	const struct l4_backend *config = l4_backend_config(engine_model(p->engine), w->backend);
	int64_t now = loop_monotonic();
	struct probe_spec spec;

	assert(!w->probe);
	if (!config->check || health_is_operator(w->backend->health.state))
		return;
	w->check = check_ref(p, config->check);
	spec = spec_of(w);
	w->probe = probe_new(p->env, &spec, on_done, w);
	w->interval = interval_of(w);
	arm(w, spread ? schedule_first(w->interval, now, random_next(&p->random)) : now, now);
}

/* Another address: the answer on its way is of no use, the schedule goes on. */
static void move_target(struct worker *w)
{
	struct probe_spec spec;
	bool asking;

	if (!w->probe)
		return;
	asking = probe_in_flight(w->probe);
	if (asking)
		probe_cancel(w->probe);
	spec = spec_of(w);
	probe_set_spec(w->probe, &spec);
	if (asking)
		arm_next(w);
}

static void worker_new(struct prober *p, struct l4_backend_state *b)
{
	struct worker *w = mem_zalloc(sizeof(*w));

	w->prober = p;
	w->backend = b;
	metrics_histogram_init(&w->counts.duration, &duration_bounds);
	ev_init(&w->timer, on_timer);
	w->timer.data = w;
	b->user = w;
}

static void worker_free(struct l4_backend_state *b)
{
	struct worker *w = b->user;

	if (!w)
		return;
	rest(w);
	free(w);
	b->user = NULL;
}

/* ---- what the engine tells ---- */

static void on_backend(void *user, struct l4_backend_state *b, const struct health_change *change)
{
	struct worker *w = b->user;

	if (!w)
		return; /* removed: on_reloaded() took its worker away */
	w->counts.transitions[change->from][change->to]++;
	if (health_is_operator(change->to))
		rest(w);
	else if (change->to == HEALTH_UNKNOWN && !w->probe)
		begin(w, change->why == CODE_RELOADED); /* the operator waits; a file has many */
}

static void apply_change(struct prober *p, const struct l4_reload_change *change)
{
	struct worker *w;

	if (change->removed) {
		worker_free(change->backend);
		return;
	}
	if (change->added)
		worker_new(p, change->backend);
	w = change->backend->user;
	if (change->added || change->probe_changed) {
		rest(w);
		begin(w, true);
	} else if (change->address_changed) {
		move_target(w);
	}
}

static void on_reloaded(void *user, const struct l4_reload *reload)
{
	struct prober *p = user;

	probe_env_set_netns(p->env, engine_model(p->engine)->config->netns);
	for (size_t i = 0; i < reload->changes.n; i++)
		apply_change(p, &reload->changes.items[i]);
}

/* ---- beginning and end ---- */

struct prober *prober_new(struct ev_loop *loop, struct engine *engine, const char *user_agent)
{
	struct prober *p = mem_zalloc(sizeof(*p));
	const struct l4_model *m = engine_model(engine);

	p->loop = loop;
	p->engine = engine;
	p->user_agent = user_agent;
	if (getrandom(&p->random, sizeof(p->random), GRND_NONBLOCK) < 0)
		p->random = (uint64_t)loop_realtime();
	p->env = probe_env_new(loop, m->config->netns);
	for (size_t i = 0; i < m->config->n_backends; i++)
		worker_new(p, m->backends[i]);
	p->observer = (struct engine_observer){ .backend = on_backend,
						.reloaded = on_reloaded,
						.user = p };
	engine_observe(engine, &p->observer);
	return p;
}

void prober_free(struct prober *p)
{
	const struct l4_model *m;

	if (!p)
		return;
	m = engine_model(p->engine);
	for (size_t i = 0; i < m->config->n_backends; i++)
		worker_free(m->backends[i]);
	probe_env_free(p->env);
	map_free(&p->checks);
	free(p);
}

void prober_start(struct prober *p)
{
	const struct l4_model *m = engine_model(p->engine);

	ev_now_update(p->loop); /* it has not turned since a large file was read */
	for (size_t i = 0; i < m->config->n_backends; i++) {
		struct worker *w = m->backends[i]->user;

		if (!w->probe)
			begin(w, true);
	}
}

const struct prober_stats *prober_stats(const struct prober *p)
{
	return &p->stats;
}

const struct prober_counts *prober_counts(const struct l4_backend_state *b)
{
	const struct worker *w = b->user;

	return &w->counts;
}
