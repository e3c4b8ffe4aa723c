/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: first the totals, then family by family the routes, pools and servers (metrics_items.c).
 */
#include "src/router/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/loop/task.h"
#include "lib/metrics/metrics.h"
#include "src/router/metrics_private.h"

static const char *const sources[METRICS_SOURCES] = { "file", "api" };
const char *const metrics__classes[STATS_CLASSES] = { "1xx", "2xx", "3xx", "4xx", "5xx" };

struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
};

static const struct family generation = { "maglev_router_generation", METRICS_GAUGE,
					  "The number of the configuration in force; 0: none." };
static const struct family held = { "maglev_router_generations_held", METRICS_GAUGE,
				    "Configurations that are still used." };
static const struct family updates = { "maglev_router_config_updates_total", METRICS_COUNTER,
				       "Configurations, by where they came from." };
static const struct family upgrades = { "maglev_router_upgrade_failures_total", METRICS_COUNTER,
					"New processes that did not take over." };
static const struct family requests = { "maglev_router_requests_total", METRICS_COUNTER,
					"Requests." };
static const struct family answers = { "maglev_router_answers_total", METRICS_COUNTER,
				       "Answers, by the class of their status." };
static const struct family retries = { "maglev_router_retries_total", METRICS_COUNTER,
				       "Further tries of requests at a server." };
static const struct family aborts = { "maglev_router_aborts_total", METRICS_COUNTER,
				      "Requests that ended without a complete answer." };
static const struct family refusals = { "maglev_router_refused_total", METRICS_COUNTER,
					"Connections and requests of clients that were refused." };
static const struct family spoken = { "maglev_router_protocol_requests_total", METRICS_COUNTER,
				      "Requests with a valid head, by protocol." };
static const struct family sessions = { "maglev_router_protocol_connections", METRICS_GAUGE,
					"Open connections of clients, by protocol." };
static const struct family handshakes = { "maglev_router_tls_handshakes_total", METRICS_COUNTER,
					  "TLS handshakes of clients that succeeded." };
static const struct family expiry = { "maglev_router_certificate_expiry_timestamp_seconds",
				      METRICS_GAUGE, "When a certificate of a listener expires." };
static const struct family clients = { "maglev_router_client_connections", METRICS_GAUGE,
				       "Open connections of clients." };
static const struct family links = { "maglev_router_server_connections", METRICS_GAUGE,
				     "Open connections to servers." };

static const struct family flows = { "maglev_router_sessions", METRICS_GAUGE,
				     "Sessions of datagrams." };
static const struct family begun = { "maglev_router_sessions_total", METRICS_COUNTER,
				     "Sessions of datagrams that have begun." };
static const struct family evicted = { "maglev_router_sessions_evicted_total", METRICS_COUNTER,
				       "Sessions that gave way to others." };
static const struct family datagrams = { "maglev_router_datagrams_total", METRICS_COUNTER,
					 "Datagrams from clients and to them." };
static const struct family dropped = { "maglev_router_datagrams_dropped_total", METRICS_COUNTER,
				       "Datagrams that were dropped." };
static const struct family trunks = { "maglev_router_server_trunks", METRICS_GAUGE,
				      "Open connections to servers with HTTP/2." };
static const char *const handshake_results[WORKER_HANDSHAKES] = { "full", "resumed", "refused",
								  "failed" };
static const struct family secured = { "maglev_router_server_handshakes_total", METRICS_COUNTER,
				       "TLS handshakes with servers, by how they ended." };

static const char *const results[WORKER_COPIES] = { "answered", "failed", "cut" };
static const struct family copies = { "maglev_router_mirrored_total", METRICS_COUNTER,
				      "Copies of requests, by how they ended." };
static const char *const limits[WORKER_LIMITS] = { "connections", "requests", "retries" };
static const struct family overflows = { "maglev_router_overflows_total", METRICS_COUNTER,
					 "Requests and further tries above a limit of a pool." };
static const struct family percent = { "maglev_router_rollout_percent", METRICS_GAUGE,
				       "Share of the generation that is rolled out; 0: none is." };
static const struct family rollouts = { "maglev_router_rollouts_total", METRICS_COUNTER,
					"Rollouts, by how they ended." };

static const struct family lookups = { "maglev_router_lookups_total", METRICS_COUNTER,
				       "Lookups of the names of servers." };

static void begin(struct buf *out, const struct family *f)
{
	metrics_family(out, f->name, f->type, f->help);
}

static void single(struct buf *out, const struct family *f, uint64_t value)
{
	begin(out, f);
	metrics_u64(out, f->name, NULL, 0, value);
}

static void add_updates(struct buf *out, const struct metrics_state *s)
{
	begin(out, &updates);
	for (size_t i = 0; i < METRICS_SOURCES; i++) {
		struct metrics_label labels[] = { { "source", str_of(sources[i]) },
						  { "result", STR("success") } };

		metrics_u64(out, updates.name, labels, 2, s->applied[i]);
		labels[1].value = STR("failure");
		metrics_u64(out, updates.name, labels, 2, s->refused[i]);
	}
}

static void add_answers(struct buf *out, const struct worker_totals *t)
{
	begin(out, &answers);
	for (size_t i = 0; i < WORKER_CLASSES; i++) {
		const struct metrics_label label = { "class", str_of(metrics__classes[i]) };

		metrics_u64(out, answers.name, &label, 1, t->answers[i]);
	}
}

static void add_overflows(struct buf *out, const struct worker_totals *t)
{
	begin(out, &overflows);
	for (size_t i = 0; i < WORKER_LIMITS; i++) {
		const struct metrics_label label = { "limit", str_of(limits[i]) };

		metrics_u64(out, overflows.name, &label, 1, t->overflows[i]);
	}
}

static void add_copies(struct buf *out, const struct worker_totals *t)
{
	begin(out, &copies);
	for (size_t i = 0; i < WORKER_COPIES; i++) {
		const struct metrics_label label = { "result", str_of(results[i]) };

		metrics_u64(out, copies.name, &label, 1, t->copies[i]);
	}
}

static void add_server_handshakes(struct buf *out, const struct worker_totals *t)
{
	begin(out, &secured);
	for (size_t i = 0; i < WORKER_HANDSHAKES; i++) {
		const struct metrics_label label = { "result", str_of(handshake_results[i]) };

		metrics_u64(out, secured.name, &label, 1, t->server_handshakes[i]);
	}
}

/* What is not known to be HTTP/2 counts as HTTP/1. */
static void by_protocol(struct buf *out, const struct family *f, uint64_t all, uint64_t h2)
{
	struct metrics_label label = { "protocol", STR("HTTP/1") };

	begin(out, f);
	metrics_u64(out, f->name, &label, 1, all > h2 ? all - h2 : 0);
	label.value = STR("HTTP/2");
	metrics_u64(out, f->name, &label, 1, h2);
}

static void add_refusals(struct buf *out, const struct worker_totals *t)
{
	begin(out, &refusals);
	for (size_t i = 0; i < REFUSALS; i++) {
		const struct metrics_label label = { "reason", str_of(refusal_words[i].label) };

		metrics_u64(out, refusals.name, &label, 1, t->refusals[i]);
	}
}

static void add_datagrams(struct buf *out, const struct worker_totals *t)
{
	struct metrics_label label = { "direction", STR("received") };

	single(out, &flows, t->flows);
	single(out, &begun, t->flows_begun);
	single(out, &evicted, t->evictions);
	begin(out, &datagrams);
	metrics_u64(out, datagrams.name, &label, 1, t->received);
	label.value = STR("sent");
	metrics_u64(out, datagrams.name, &label, 1, t->sent);
	begin(out, &dropped);
	label.name = "reason";
	for (size_t i = 0; i < DROPS; i++) {
		label.value = str_of(drop_words[i]);
		metrics_u64(out, dropped.name, &label, 1, t->dropped[i]);
	}
}

static void add_handshakes(struct buf *out, const struct worker_totals *t)
{
	static const char *const kinds[] = { "full", "resumed" };

	begin(out, &handshakes);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct metrics_label label = { "kind", str_of(kinds[i]) };

		metrics_u64(out, handshakes.name, &label, 1, t->handshakes[i]);
	}
}

/* The number of a certificate is its place in the key certificates. */
static void add_expiry(struct buf *out, const char *listener, const struct tls_context *context)
{
	char number[24];

	for (size_t i = 0; i < tls_context_count(context); i++) {
		const struct tls_certificate *c = tls_context_certificate(context, i);
		int n = snprintf(number, sizeof(number), "%zu", i);
		const struct metrics_label labels[] = { { "listener", str_of(listener) },
							{ "certificate", { number, (size_t)n } },
							{ "subject", str_of(c->subject) } };

		metrics_u64(out, expiry.name, labels, ARRAY_SIZE(labels),
			    c->not_after > 0 ? (uint64_t)c->not_after : 0);
	}
}

static void add_certificates(struct buf *out, const struct generation *g)
{
	begin(out, &expiry);
	for (size_t i = 0; g && i < g->config.n_listeners; i++)
		if (g->secrets[i])
			add_expiry(out, g->config.listeners[i].name, g->secrets[i]->context);
}

static void add_rollouts(struct buf *out, const struct rollout *r)
{
	const struct rollout_status s = rollout_status(r);

	single(out, &percent, s.state == ROLLOUT_RUNNING ? s.share : 0);
	begin(out, &rollouts);
	for (enum rollout_state i = ROLLOUT_FINISHED; i < ROLLOUT_STATES; i++) {
		const struct metrics_label label = { "result", str_of(rollout_state_name(i)) };

		metrics_u64(out, rollouts.name, &label, 1, rollout_count(r, i));
	}
}

static void add_lookups(struct buf *out, const struct router *r)
{
	const struct lookups_counts counts = router_lookups(r);
	struct metrics_label label = { "result", STR("success") };

	begin(out, &lookups);
	metrics_u64(out, lookups.name, &label, 1, counts.found);
	label.value = STR("failure");
	metrics_u64(out, lookups.name, &label, 1, counts.failed);
}

static void add_totals(struct buf *out, const struct metrics_state *s)
{
	const struct generation *g = router_current(s->router);
	struct worker_totals t = router_totals(s->router);

	single(out, &generation, g ? g->number : 0);
	single(out, &held, router_generations(s->router));
	add_updates(out, s);
	single(out, &upgrades, s->upgrade_failures);
	add_rollouts(out, s->rollout);
	single(out, &requests, t.requests);
	by_protocol(out, &spoken, t.requests, t.streams);
	add_answers(out, &t);
	single(out, &retries, t.retries);
	add_overflows(out, &t);
	add_copies(out, &t);
	single(out, &aborts, t.aborts);
	add_refusals(out, &t);
	add_handshakes(out, &t);
	add_certificates(out, g);
	single(out, &clients, t.clients);
	by_protocol(out, &sessions, t.clients, t.sessions);
	single(out, &links, t.links);
	add_datagrams(out, &t);
	single(out, &trunks, t.trunks);
	add_server_handshakes(out, &t);
	add_lookups(out, s->router);
}

/* ---- the page ---- */

struct scrape {
	const struct metrics_state *state;
	struct generation *generation; /* NULL: there was none */
	struct metrics_items *items;   /* NULL before the totals were written */
};

static enum http_stream_state produce(struct buf *out, void *user)
{
	struct scrape *s = user;
	size_t start = out->n;

	if (!s->items) {
		s->generation = router_hold(s->state->router);
		add_totals(out, s->state);
		metrics__add_show(out, s->state->show);
		s->items = metrics__items_new(router_stats(s->state->router), s->generation,
					      s->state->limit);
	}
	do {
		if (!metrics__items_write(s->items, out))
			return HTTP_STREAM_END;
	} while (out->n - start < HTTP_SLICE && task_has_time(s->state->loop));
	return HTTP_STREAM_MORE;
}

/* Called also when the client goes away in the middle of the page. */
static void on_closed(bool whole, void *user)
{
	struct scrape *s = user;

	metrics__items_free(s->items);
	router_release(s->state->router, s->generation);
	free(s);
}

struct http_stream metrics_page(void *state)
{
	struct scrape *s = mem_zalloc(sizeof(*s));

	s->state = state;
	return (struct http_stream){ .produce = produce, .closed = on_closed, .user = s };
}
