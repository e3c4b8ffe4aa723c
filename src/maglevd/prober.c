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
 *
 * A reload may bring, change and take away ten thousand backends. So that is seen to some in each
 * turn of the loop, in the order of the configuration: each worker is compared with what is wanted
 * of it now. One whose timer or answer comes before its turn is seen to then, so that nobody asks
 * or answers for a configuration that is gone. That of a backend that was removed goes when the
 * engine tells of it.
 *
 * Where the process was not let on a processor for a while, all are due at once: they start some in
 * each turn, so that answers and everybody else come in between.
 */
#include "src/maglevd/prober.h"

#include <assert.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "core/health/schedule.h"
#include "lib/log/log.h"
#include "lib/probe/probe.h"
#include "lib/regex/regex.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/outcome.h"

#define WORKERS_PER_TURN 200
#define STARTS_PER_TURN 32

struct check {
	struct arena *arena;
	const struct l4_check *config; /* both are copies in arena */
	const char *netns;
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
	struct worker *workers;
	uint64_t round; /* of seeing to the workers: one more with each reload */
	ev_timer hand;	/* active while the round is not at its end */
	size_t next;	/* the backend where it goes on */
	unsigned turn;	/* of the loop: the last in which a probe was due */
	unsigned n_due; /* in it */
	struct prober_stats stats;
	uint64_t random;
};

struct worker {
	struct worker *next, **link; /* in prober.workers */
	struct prober *prober;
	uint64_t round; /* in which it was seen to */
	struct l4_backend_state *backend;
	struct check *check;
	struct probe *probe; /* NULL while resting */
	struct addr address; /* that is asked */
	ev_timer timer;
	int64_t planned, began, interval; /* monotonic ns of the next start, of the last; ns */
	struct prober_counts counts;
};

static const double duration_le[] = { .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5 };
static const struct metrics_bounds duration_bounds = { duration_le, ARRAY_SIZE(duration_le) };
static const struct prober_counts no_counts = { .duration.bounds = &duration_bounds };

/* ---- checks, shared by their workers ---- */

static struct check *check_new(const struct l4_check *config, const char *netns)
{
	struct arena *a = arena_new();
	struct check *c = arena_new_of(a, struct check);
	const struct l4_codes *codes = &config->http.codes;
	char reason[REGEX_REASON_SIZE];

	c->arena = a;
	c->config = l4_check_copy(config, a);
	c->netns = netns ? arena_strdup(a, netns) : NULL;
	c->codes = arena_array_of(a, codes->n, struct probe_code_range);
	for (size_t i = 0; i < codes->n; i++)
		c->codes[i] =
			(struct probe_code_range){ codes->items[i].first, codes->items[i].last };
	if (config->http.regexp) {
		int r = regex_compile(config->http.regexp, &c->body, reason, sizeof(reason));

		assert(r == 0); /* validated with the configuration */
		(void)r;
	}
	return c;
}

static bool is_check(const struct check *c, const struct l4_check *config, const char *netns)
{
	return l4_check_equal(c->config, config) && cstr_eq(c->netns, netns);
}

static struct check *check_ref(struct prober *p, const struct l4_check *config)
{
	const char *netns = engine_model(p->engine)->config->netns;
	struct check *c = map_get(&p->checks, config->name);

	if (!c || !is_check(c, config, netns)) {
		c = check_new(config, netns);
		map_put(&p->checks, c->config->name, c);
	}
	c->refs++;
	return c;
}

static void check_unref(struct prober *p, struct check *c)
{
	if (!c || --c->refs)
		return;
	if (map_get(&p->checks, c->config->name) == c)
		map_remove(&p->checks, c->config->name);
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
	const struct l4_check *c = w->check->config;

	return (struct probe_spec){
		.kind = probe_kinds[c->type],
		.target = { w->address, c->port },
		.source = w->address.family == AF_INET ? c->src4 : c->src6,
		.timeout = c->timeout,
		.keep_alive = c->keep_alive,
		.path = c->http.path,
		.host = c->http.host,
		.user_agent = w->prober->user_agent,
		.codes = w->check->codes,
		.n_codes = c->http.codes.n,
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
	return schedule_interval(&w->check->config->schedule, &w->backend->health,
				 &w->check->config->rule);
}

static void arm_next(struct worker *w)
{
	int64_t now = loop_monotonic();

	w->interval = interval_of(w);
	arm(w, schedule_next(w->interval, w->began, now, random_next(&w->prober->random)), now);
}

static void note(struct worker *w, const struct probe_outcome *outcome)
{
	enum health_code code = outcome_code(probe_kinds[w->check->config->type], outcome);
	const struct engine_result result = { .code = code,
					      .local = probe_outcome_is_local(outcome),
					      .reason = outcome->reason,
					      .duration = outcome->rtt };

	w->counts.by_code[code]++;
	metrics_observe(&w->counts.duration, loop_seconds(outcome->rtt));
	log_debug("probe-done", LOG_S("backend", w->backend->name),
		  LOG_S("type", l4_check_type_name(w->check->config->type)),
		  LOG_S("code", health_code_name(code)), LOG_T("duration", outcome->rtt),
		  LOG_U("status", outcome->status),
		  LOG_S("reason", *outcome->reason ? outcome->reason : NULL));
	engine_record(w->prober->engine, w->backend, &result);
}

static bool review(struct worker *w);

static bool is_gone(const struct worker *w)
{
	return w->backend->index == SIZE_MAX;
}

static void on_done(struct probe *probe, const struct probe_outcome *outcome, void *user)
{
	struct worker *w = user;

	if (is_gone(w))
		return;
	if (review(w))
		note(w, outcome);
	if (w->probe && !ev_is_active(&w->timer))
		arm_next(w);
}

/* True once enough have started in this turn of the loop. */
static bool is_crowded(struct prober *p)
{
	unsigned turn = ev_iteration(p->loop);

	if (turn != p->turn) {
		p->turn = turn;
		p->n_due = 0;
	}
	return p->n_due++ >= STARTS_PER_TURN;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct worker *w = timer->data;

	if (is_gone(w))
		return;
	if (is_crowded(w->prober)) {
		ev_timer_set(timer, 0., 0.);
		ev_timer_start(loop, timer);
		return;
	}
	review(w);
	if (!w->probe || ev_is_active(timer))
		return;
	w->began = loop_monotonic();
	w->prober->stats.started++;
	w->prober->stats.late += w->began - w->planned > w->interval / 20;
	log_debug("probe-start", LOG_S("backend", w->backend->name),
		  LOG_S("type", l4_check_type_name(w->check->config->type)));
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
	w->round = p->round;
	if (!config->check || health_is_operator(w->backend->health.state))
		return;
	w->check = check_ref(p, config->check);
	w->address = config->address;
	spec = spec_of(w);
	w->probe = probe_new(p->env, &spec, on_done, w);
	w->interval = interval_of(w);
	arm(w, spread ? schedule_first(w->interval, now, random_next(&p->random)) : now, now);
}

/* Another address: the answer on its way is of no use, the schedule goes on. */
static void move(struct worker *w, const struct addr *to)
{
	bool asking = probe_in_flight(w->probe);
	struct probe_spec spec;

	w->address = *to;
	if (asking)
		probe_cancel(w->probe);
	spec = spec_of(w);
	probe_set_spec(w->probe, &spec);
	if (asking)
		arm_next(w);
}

/*
 * Brings it in line with the configuration, once after each reload. False when it was not: an
 * answer to what it asked before is of no use.
 */
static bool review(struct worker *w)
{
	const struct l4_model *m = engine_model(w->prober->engine);
	const struct l4_backend *config;

	if (w->round == w->prober->round)
		return true;
	w->round = w->prober->round;
	config = l4_backend_config(m, w->backend);
	if (!w->probe || !config->check || !is_check(w->check, config->check, m->config->netns)) {
		rest(w);
		begin(w, true);
		return false;
	}
	if (addr_cmp(&w->address, &config->address) == 0)
		return true;
	move(w, &config->address);
	return false;
}

static struct worker *worker_new(struct prober *p, struct l4_backend_state *b)
{
	struct worker *w = mem_zalloc(sizeof(*w));

	w->prober = p;
	w->backend = b;
	metrics_histogram_init(&w->counts.duration, &duration_bounds);
	ev_init(&w->timer, on_timer);
	w->timer.data = w;
	w->link = &p->workers;
	w->next = p->workers;
	if (w->next)
		w->next->link = &w->next;
	p->workers = w;
	b->user = w;
	return w;
}

static void worker_free(struct worker *w)
{
	rest(w);
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	w->backend->user = NULL;
	free(w);
}

/* ---- rounds ---- */

static struct worker *worker_of(struct prober *p, struct l4_backend_state *b)
{
	return b->user ? b->user : worker_new(p, b);
}

static void on_hand(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct prober *p = timer->data;
	const struct l4_model *m = engine_model(p->engine);

	for (int n = 0; n < WORKERS_PER_TURN && p->next < m->config->n_backends; n++)
		review(worker_of(p, m->backends[p->next++]));
	if (p->next < m->config->n_backends)
		ev_timer_start(loop, timer);
}

static void start_round(struct prober *p)
{
	p->round++;
	p->next = 0;
	ev_timer_start(p->loop, &p->hand);
}

/* ---- what the engine tells ---- */

static void on_backend(void *user, struct l4_backend_state *b, const struct health_change *change)
{
	struct prober *p = user;
	struct worker *w = b->user;

	if (change->to == HEALTH_REMOVED) {
		if (w)
			worker_free(w);
		return;
	}
	w = worker_of(p, b);
	w->counts.transitions[change->from][change->to]++;
	if (health_is_operator(change->to))
		rest(w);
	else if (change->to == HEALTH_UNKNOWN && !w->probe)
		begin(w, change->why == CODE_RELOADED); /* the operator waits; a file has many */
}

static void on_reloaded(void *user, const struct l4_reload *reload)
{
	struct prober *p = user;

	probe_env_set_netns(p->env, engine_model(p->engine)->config->netns);
	start_round(p);
}

/* ---- beginning and end ---- */

struct prober *prober_new(struct ev_loop *loop, struct engine *engine, const char *user_agent)
{
	struct prober *p = mem_zalloc(sizeof(*p));

	p->loop = loop;
	p->engine = engine;
	p->user_agent = user_agent;
	if (getrandom(&p->random, sizeof(p->random), GRND_NONBLOCK) < 0)
		p->random = (uint64_t)loop_realtime();
	p->env = probe_env_new(loop, engine_model(engine)->config->netns);
	ev_timer_init(&p->hand, on_hand, 0., 0.);
	p->hand.data = p;
	p->observer = (struct engine_observer){ .backend = on_backend,
						.reloaded = on_reloaded,
						.user = p };
	engine_observe(engine, &p->observer);
	return p;
}

void prober_free(struct prober *p)
{
	if (!p)
		return;
	ev_timer_stop(p->loop, &p->hand);
	while (p->workers)
		worker_free(p->workers);
	probe_env_free(p->env);
	map_free(&p->checks);
	free(p);
}

void prober_start(struct prober *p)
{
	start_round(p);
}

const struct prober_stats *prober_stats(const struct prober *p)
{
	return &p->stats;
}

const struct prober_counts *prober_counts(const struct l4_backend_state *b)
{
	const struct worker *w = b->user;

	return w ? &w->counts : &no_counts;
}
