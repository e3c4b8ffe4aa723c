/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exists: one worker per backend, stored in l4_backend_state.user for as long as the backend
 * lives; a probe in the worker while the backend is probed; and one struct check per distinct
 * check, a deep copy that all workers of that check share. Because of the copy a reload leaves
 * unchanged workers alone: they do not point into the configuration that goes away.
 *
 * A worker is always in one of four conditions: resting (no probe: static, or the operator's
 * state), waiting (timer running), due (in the line of those that start), asking (probe in flight).
 * There are never two questions at once: the timer is started again only after the answer.
 *
 * A reload may add, change and remove ten thousand backends. So a task reviews the workers in the
 * order of the configuration: each worker is compared with what the configuration wants of it now.
 * A worker whose timer or answer comes before its review is reviewed then, so that no probe is sent
 * or counted for a configuration that is gone. The worker of a removed backend is freed when the
 * engine reports that the backend was removed.
 *
 * A probe starts as soon as its timer fires. But when the process did not run for a while, all
 * timers fire in the same turn of the loop. Only the first of a turn starts directly then; the
 * others go into a line and are started by an urgent task, so that answers and everything else are
 * handled in between.
 */
#include "src/maglevd/prober.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "base/units.h"
#include "core/health/schedule.h"
#include "lib/log/log.h"
#include "lib/loop/task.h"
#include "lib/probe/probe.h"
#include "lib/regex/regex.h"
#include "lib/tls/tls.h"
#include "src/maglevd/engine.h"
#include "wire/outcome.h"

/*
 * Workers reviewed in one step at least, also when urgent tasks leave no time; a microsecond
 * each.
 */
#define WORKERS_OF_PART 64
#define EXTENDED_LOG_GAP (60 * NSEC_PER_SEC) /* at most one log line per minute */

/* A check as its workers use it; independent of the configuration that it was copied from. */
struct check {
	struct arena *arena;
	const struct l4_check *config; /* both are copies in arena */
	const char *netns;
	struct probe_code_range *codes;
	struct regex *body;
	struct probe_talk talk;
	struct probe_dns dns;
	struct tls_context *tls; /* NULL: that of the environment */
	/* workers that use it */
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
	uint64_t round;	     /* number of the review; one more with each reload */
	struct task reviews; /* goes through the workers, one round */
	size_t next_backend; /* where it continues */
	struct task starts;  /* starts the workers of `due` */
	TAILQ_HEAD(, worker) due;
	struct prober_stats stats;
	int64_t extended_logged; /* monotonic ns of the last line about it; 0: none */
	uint64_t random;
};

struct worker {
	struct worker *next, **link; /* in prober.workers */
	struct prober *prober;
	TAILQ_ENTRY(worker) in_due; /* in prober.due, if is_due */
	bool is_due;
	uint64_t round; /* of its last review */
	struct l4_backend_state *backend;
	struct check *check;
	struct probe *probe; /* NULL while resting */
	struct addr address; /* where the probe goes */
	uint16_t *ports;     /* to be probed one after the other; NULL: that of the check */
	size_t n_ports, at_port;
	int64_t spent; /* ns that the probes of earlier ports of this round took */
	ev_timer timer;
	int64_t planned, began; /* monotonic ns: of the next start, of the last one */
	int64_t interval;	/* ns */
	struct prober_counts counts;
};

static const double duration_le[] = { .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5 };
static const struct metrics_bounds duration_bounds = { duration_le, ARRAY_SIZE(duration_le) };
static const struct prober_counts no_counts = { .duration.bounds = &duration_bounds };

/* ---- checks, shared by their workers ---- */

/* The pattern was validated with the configuration. */
static struct regex *compile(const char *pattern)
{
	struct regex *re = NULL;
	char reason[REGEX_REASON_SIZE];
	int r = pattern ? regex_compile(pattern, &re, reason, sizeof(reason)) : 0;

	assert(r == 0);
	(void)r;
	return re;
}

/*
 * A context with the authorities of the check. The text was checked with the configuration; if
 * OpenSSL fails now all the same, the certificates of servers are not accepted.
 */
static struct tls_context *context_of(const struct l4_check *config)
{
	const struct tls_config tls = {
		.role = TLS_CLIENT,
		.minimum = TLS_SYSTEM,
		.ca = config->http.ca.pem,
		.protocols = config->type == L4_CHECK_HTTPS ? "http/1.1" : NULL,
		.resume = true,
	};
	struct tls_context *context = NULL;
	struct tls_refusal why;

	if (config->http.ca.file && !config->http.insecure_skip_verify)
		tls_context_new(&tls, &context, &why);
	return context;
}

/* The bytes of the question, of which one form or none is given. */
static struct str question_of(const struct l4_talk *talk, struct arena *a)
{
	size_t n = talk->send_hex ? strlen(talk->send_hex) / 2 : 0;
	char *bytes = arena_array_of(a, n + 1, char);

	if (talk->send)
		return str_of(talk->send);
	for (size_t i = 0; i < n; i++) {
		char pair[3] = { talk->send_hex[2 * i], talk->send_hex[2 * i + 1], '\0' };

		bytes[i] = (char)strtoul(pair, NULL, 16);
	}
	return (struct str){ bytes, n };
}

static struct probe_dns dns_of(const struct l4_dns *dns)
{
	return (struct probe_dns){ .name = dns->name,
				   .type = l4_dns_type_number(dns->type),
				   .rcode = (uint16_t)dns->rcode,
				   .address = dns->address };
}

/* A copy of everything that a worker needs, in one arena, without a reference yet. */
static struct check *check_new(const struct l4_check *config, const char *netns)
{
	struct arena *a = arena_new();
	struct check *c = arena_new_of(a, struct check);
	const struct l4_codes *codes = &config->http.codes;

	c->arena = a;
	c->config = l4_check_copy(config, a);
	c->netns = netns ? arena_strdup(a, netns) : NULL;
	c->codes = arena_array_of(a, codes->n, struct probe_code_range);
	for (size_t i = 0; i < codes->n; i++)
		c->codes[i] =
			(struct probe_code_range){ codes->items[i].first, codes->items[i].last };
	c->body = compile(config->http.regexp ?: config->talk.regexp);
	c->talk.send = question_of(&c->config->talk, a);
	c->talk.expect =
		c->config->talk.expect ? str_of(c->config->talk.expect) : (struct str){ 0 };
	c->dns = dns_of(&c->config->dns);
	c->tls = context_of(c->config);
	return c;
}

/* Whether a worker with this check may continue as it is. */
static bool is_check(const struct check *c, const struct l4_check *config, const char *netns)
{
	return l4_check_equal(c->config, config) && cstr_eq(c->netns, netns);
}

/* The check as it is in the configuration now, with a reference for one worker. */
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

/* The last worker frees it. A check of the same name may have replaced it in the map. */
static void check_unref(struct prober *p, struct check *c)
{
	if (!c || --c->refs)
		return;
	if (map_get(&p->checks, c->config->name) == c)
		map_remove(&p->checks, c->config->name);
	regex_free(c->body);
	tls_context_free(c->tls);
	arena_free(c->arena);
}

/* ---- one worker ---- */

static const enum probe_kind probe_kinds[] = {
	[L4_CHECK_ICMP] = PROBE_ICMP,	[L4_CHECK_TCP] = PROBE_TCP, [L4_CHECK_HTTP] = PROBE_HTTP,
	[L4_CHECK_HTTPS] = PROBE_HTTPS, [L4_CHECK_TLS] = PROBE_TLS, [L4_CHECK_UDP] = PROBE_UDP,
	[L4_CHECK_DNS] = PROBE_DNS,
};

/* Everything is borrowed from the worker and its check, which outlive the probe. */
static struct probe_spec spec_of(const struct worker *w)
{
	const struct l4_check *c = w->check->config;
	struct probe_spec spec = {
		.kind = probe_kinds[c->type],
		.target = { w->address, w->ports ? w->ports[w->at_port] : c->port },
		.source = w->address.family == AF_INET ? c->src4 : c->src6,
		.timeout = c->timeout,
		.keep_alive = c->keep_alive,
		.host = c->http.host,
		.user_agent = w->prober->user_agent,
		.codes = w->check->codes,
		.n_codes = c->http.codes.n,
		.body = w->check->body,
		.server_name = c->http.server_name,
		.tls = w->check->tls,
		.insecure_skip_verify = c->http.insecure_skip_verify,
	};

	switch (c->type) {
	case L4_CHECK_HTTP:
	case L4_CHECK_HTTPS:
		spec.path = c->http.path;
		break;
	case L4_CHECK_TCP:
	case L4_CHECK_TLS:
	case L4_CHECK_UDP:
		spec.talk = &w->check->talk;
		break;
	case L4_CHECK_DNS:
		spec.dns = &w->check->dns;
		break;
	case L4_CHECK_ICMP:
		break;
	}
	return spec;
}

/* Sets the timer; a planned time that has passed means now. */
static void arm(struct worker *w, int64_t planned, int64_t now)
{
	w->planned = planned;
	ev_timer_set(&w->timer, loop_seconds(planned > now ? planned - now : 0), 0.);
	ev_timer_start(w->prober->loop, &w->timer);
}

/* Depends on the state: failing backends may be probed faster or slower. */
static int64_t interval_of(const struct worker *w)
{
	return schedule_interval(&w->check->config->schedule, &w->backend->health,
				 &w->check->config->rule);
}

/* After a result: one interval from the last start, not from the result. */
static void arm_next(struct worker *w)
{
	int64_t now = loop_monotonic();

	w->interval = interval_of(w);
	arm(w, schedule_next(w->interval, w->began, now, random_next(&w->prober->random)), now);
}

/* One line for a stall, however many probes were under way in it. */
static void note_extended(struct prober *p, int64_t granted)
{
	int64_t now = loop_monotonic();

	p->stats.extended++;
	if (p->extended_logged && now - p->extended_logged < EXTENDED_LOG_GAP)
		return;
	p->extended_logged = now;
	log_warn("probes-extended", LOG_T("granted", granted),
		 LOG_S("reason", "this program was late, so probes got more time than their "
				 "timeout"));
}

/* Counts and logs a result, and gives it to the engine. */
static void note(struct worker *w, const struct probe_outcome *outcome)
{
	enum health_code code = outcome_code(probe_kinds[w->check->config->type], outcome);
	const struct engine_result result = { .code = code,
					      .local = probe_outcome_is_local(outcome),
					      .reason = outcome->reason,
					      .duration = outcome->rtt };

	if (outcome->granted)
		note_extended(w->prober, outcome->granted);
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

/* The backend was removed, and its removal is still pending in the engine. */
static bool is_gone(const struct worker *w)
{
	return w->backend->index == SIZE_MAX;
}

static void aim(struct worker *w, size_t port)
{
	struct probe_spec spec;

	w->at_port = port;
	spec = spec_of(w);
	probe_set_spec(w->probe, &spec);
}

/*
 * With several ports a round passes if each of them does; the first failure ends it. True: another
 * port is being asked.
 */
static bool ask_next_port(struct worker *w, const struct probe_outcome *outcome)
{
	bool more = outcome->error == PROBE_OK && w->at_port + 1 < w->n_ports;

	if (w->n_ports < 2)
		return false;
	aim(w, more ? w->at_port + 1 : 0);
	w->spent = more ? w->spent + outcome->rtt : 0;
	if (more)
		probe_start(w->probe);
	return more;
}

/* A probe has ended. It is counted only if it asked for what the configuration still wants. */
static void on_done(struct probe *probe, const struct probe_outcome *outcome, void *user)
{
	struct probe_outcome round = *outcome;
	struct worker *w = user;

	if (is_gone(w))
		return;
	round.rtt += w->spent;
	if (review(w)) {
		if (ask_next_port(w, outcome))
			return;
		note(w, &round);
	}
	if (w->probe && !ev_is_active(&w->timer))
		arm_next(w);
}

/* Starts a probe that is due, after the review that a reload may have made necessary. */
static void start(struct worker *w)
{
	if (is_gone(w))
		return;
	review(w);
	/* the review may have stopped it, or set its timer because it has another check */
	if (!w->probe || ev_is_active(&w->timer))
		return;
	w->began = loop_monotonic();
	w->prober->stats.started++;
	w->prober->stats.late += w->began - w->planned > w->interval / 20;
	log_debug("probe-start", LOG_S("backend", w->backend->name),
		  LOG_S("type", l4_check_type_name(w->check->config->type)));
	probe_start(w->probe);
}

static void leave_line(struct worker *w)
{
	if (w->is_due)
		TAILQ_REMOVE(&w->prober->due, w, in_due);
	w->is_due = false;
}

/* Starts the probes in the line while there is time; at least one. */
static bool starts_step(struct task *t)
{
	struct prober *p = container_of(t, struct prober, starts);
	struct worker *w;

	while ((w = TAILQ_FIRST(&p->due))) {
		leave_line(w);
		start(w);
		if (!task_has_time(p->loop))
			break;
	}
	return !TAILQ_EMPTY(&p->due);
}

/*
 * The task is woken with every start, so that it is in its queue until the end of the turn: timers
 * that fire meanwhile see that they are not the first.
 */
static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct worker *w = timer->data;
	struct prober *p = w->prober;

	if (task_is_woken(&p->starts)) {
		w->is_due = true;
		TAILQ_INSERT_TAIL(&p->due, w, in_due);
		return;
	}
	task_wake(&p->starts);
	start(w);
}

/*
 * Stops probing: the backend is static, in an operator's state, has another check, or is removed.
 */
static void stop_probing(struct worker *w)
{
	ev_timer_stop(w->prober->loop, &w->timer);
	leave_line(w);
	probe_free(TAKE_PTR(w->probe));
	check_unref(w->prober, TAKE_PTR(w->check));
	free(TAKE_PTR(w->ports));
	w->n_ports = w->at_port = 0;
	w->spent = 0;
}

static void take_ports(struct worker *w, const struct l4_backend *config)
{
	if (config->n_ports)
		w->ports = mem_copy(config->ports, config->n_ports * sizeof(*config->ports));
	w->n_ports = config->n_ports;
}

static bool has_ports(const struct worker *w, const struct l4_backend *config)
{
	return w->n_ports == config->n_ports &&
	       (!w->n_ports ||
		memcmp(w->ports, config->ports, w->n_ports * sizeof(*w->ports)) == 0);
}

/*
 * Begins to probe, if the configuration and the operator want that. The first probe is sent at a
 * random time within the interval (spread), or now.
 */
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
	take_ports(w, config);
	spec = spec_of(w);
	w->probe = probe_new(p->env, &spec, on_done, w);
	w->interval = interval_of(w);
	arm(w, spread ? schedule_first(w->interval, now, random_next(&p->random)) : now, now);
}

/* The backend has another address: a probe in flight is cancelled, the schedule stays. */
static void move(struct worker *w, const struct addr *to)
{
	bool asking = probe_in_flight(w->probe);

	w->address = *to;
	if (asking)
		probe_cancel(w->probe);
	w->spent = 0;
	aim(w, 0);
	if (asking)
		arm_next(w);
}

/*
 * Brings a worker in line with the configuration, once after each reload. False when it probed
 * something else until now: the answer to that must not be used.
 */
static bool review(struct worker *w)
{
	const struct l4_model *m = engine_model(w->prober->engine);
	const struct l4_backend *config;

	if (w->round == w->prober->round)
		return true;
	w->round = w->prober->round;
	config = l4_backend_config(m, w->backend);
	if (!w->probe || !config->check || !is_check(w->check, config->check, m->config->netns) ||
	    !has_ports(w, config)) {
		stop_probing(w);
		begin(w, true);
		return false;
	}
	if (addr_cmp(&w->address, &config->address) == 0)
		return true;
	move(w, &config->address);
	return false;
}

/* Inserted at the head; the order of the list does not matter. */
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
	stop_probing(w);
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	w->backend->user = NULL;
	free(w);
}

/* ---- reviews ---- */

static struct worker *worker_of(struct prober *p, struct l4_backend_state *b)
{
	return b->user ? b->user : worker_new(p, b);
}

/* Reviews workers while there is time, and makes those that are missing. */
static bool reviews_step(struct task *t)
{
	struct prober *p = container_of(t, struct prober, reviews);
	const struct l4_model *m = engine_model(p->engine);

	do {
		for (int n = 0; n < WORKERS_OF_PART && p->next_backend < m->config->n_backends; n++)
			review(worker_of(p, m->backends[p->next_backend++]));
	} while (p->next_backend < m->config->n_backends && task_has_time(p->loop));
	return p->next_backend < m->config->n_backends;
}

/* Begins at the first backend, also when the last round is not at its end. */
static void start_round(struct prober *p)
{
	p->round++;
	p->next_backend = 0;
	task_wake(&p->reviews);
}

/* ---- callbacks of the engine ---- */

/* Transitions are counted here, because workers live as long as their backends. */
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
		stop_probing(w);
	else if (change->to == HEALTH_UNKNOWN && !w->probe)
		/* an operator waits for the result; a reload may enable thousands */
		begin(w, change->why == CODE_RELOADED);
}

static void on_reloaded(void *user, const struct l4_reload *reload)
{
	struct prober *p = user;

	probe_env_set_netns(p->env, engine_model(p->engine)->config->netns);
	start_round(p);
}

/* ---- beginning and end ---- */

/*
 * The seed need not be secret: it only spreads probes. Early at boot there may be no random bytes
 * yet.
 */
struct prober *prober_new(struct ev_loop *loop, struct engine *engine, const char *user_agent)
{
	struct prober *p = mem_zalloc(sizeof(*p));

	p->loop = loop;
	p->engine = engine;
	p->user_agent = user_agent;
	if (getrandom(&p->random, sizeof(p->random), GRND_NONBLOCK) < 0)
		p->random = (uint64_t)loop_realtime();
	p->env = probe_env_new(loop, engine_model(engine)->config->netns);
	task_init(&p->reviews, loop, TASK_ORDINARY, reviews_step);
	task_init(&p->starts, loop, TASK_URGENT, starts_step);
	TAILQ_INIT(&p->due);
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
	task_cancel(&p->reviews);
	task_cancel(&p->starts);
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
