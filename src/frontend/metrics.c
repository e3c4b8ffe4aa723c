/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: the metric families of the dashboard as one table. Those of every daemon are in
 * lib/admin.
 */
#include "lib/metrics/metrics.h"
#include "base/cleanup.h"
#include "lib/page/login.h"
#include "src/frontend/broker.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/events.h"
#include "src/frontend/upstream.h"

/*
 * A family has one value for the dashboard (of_all) or one per maglevd or speaker (of_server);
 * write uses the one that is set.
 */
struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
	void (*write)(const struct family *f, const struct dashboard *d, struct buf *out);
	uint64_t (*of_all)(const struct dashboard *d);
	uint64_t (*of_server)(const struct upstream *u);
};

static void write_value(const struct family *f, const struct dashboard *d, struct buf *out)
{
	metrics_u64(out, f->name, NULL, 0, f->of_all(d));
}

static void write_set(const struct family *f, const struct dashboard__set *set, struct buf *out)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct upstream_view *v = upstream_view(set->items[i]);
		const struct metrics_label label = { v->kind, str_of(v->name) };

		metrics_u64(out, f->name, &label, 1, f->of_server(set->items[i]));
	}
}

static void write_servers(const struct family *f, const struct dashboard *d, struct buf *out)
{
	write_set(f, &d->servers, out);
}

static void write_speakers(const struct family *f, const struct dashboard *d, struct buf *out)
{
	write_set(f, &d->speakers, out);
}

static void write_routers(const struct family *f, const struct dashboard *d, struct buf *out)
{
	write_set(f, &d->routers, out);
}

static uint64_t connected(const struct upstream *u)
{
	return upstream_view(u)->connected;
}

static uint64_t losses(const struct upstream *u)
{
	return upstream_stats(u)->losses;
}

static uint64_t calls(const struct upstream *u)
{
	return upstream_stats(u)->calls;
}

static uint64_t refusals(const struct upstream *u)
{
	return upstream_stats(u)->refusals;
}

static uint64_t server_events(const struct upstream *u)
{
	return upstream_stats(u)->events;
}

static uint64_t lines_left_out(const struct upstream *u)
{
	return upstream_stats(u)->lines_left_out;
}

static uint64_t events(const struct dashboard *d)
{
	return broker_newest(d->broker);
}

static uint64_t ring_events(const struct dashboard *d)
{
	return broker_kept(d->broker);
}

static uint64_t ring_bytes(const struct dashboard *d)
{
	return broker_bytes(d->broker);
}

static uint64_t subscribers(const struct dashboard *d)
{
	return events_stats(d->events)->subscribers;
}

static uint64_t subscribed(const struct dashboard *d)
{
	return events_stats(d->events)->subscribed;
}

static uint64_t resumed(const struct dashboard *d)
{
	return events_stats(d->events)->resumed;
}

static uint64_t resyncs(const struct dashboard *d)
{
	return events_stats(d->events)->resyncs;
}

static uint64_t streams_refused(const struct dashboard *d)
{
	return events_stats(d->events)->refused;
}

static uint64_t lost(const struct dashboard *d)
{
	return events_stats(d->events)->lost;
}

static uint64_t state_bytes(const struct dashboard *d)
{
	return d->texts.bytes;
}

static uint64_t states_dropped(const struct dashboard *d)
{
	return d->texts.dropped;
}

static uint64_t connections(const struct dashboard *d)
{
	return http_server_stats(d->server)->connections;
}

static uint64_t held(const struct dashboard *d)
{
	return http_server_stats(d->server)->held;
}

static uint64_t requests(const struct dashboard *d)
{
	return http_server_stats(d->server)->requests;
}

static uint64_t refused(const struct dashboard *d)
{
	return http_server_stats(d->server)->refused;
}

static uint64_t cut(const struct dashboard *d)
{
	return http_server_stats(d->server)->cut;
}

static uint64_t sent(const struct dashboard *d)
{
	return http_server_stats(d->server)->bytes_sent;
}

static uint64_t logins_failed(const struct dashboard *d)
{
	return d->login ? page_login_stats(d->login)->failures : 0;
}

static uint64_t logins_refused(const struct dashboard *d)
{
	return d->login ? page_login_stats(d->login)->refused : 0;
}

static uint64_t acts(const struct dashboard *d)
{
	return d->acts;
}

static const struct family families[] = {
	{ "maglev_dashboard_server_connected", METRICS_GAUGE, "1 while a maglevd answers.",
	  write_servers, NULL, connected },
	{ "maglev_dashboard_server_losses_total", METRICS_COUNTER,
	  "Connections to a maglevd that were lost.", write_servers, NULL, losses },
	{ "maglev_dashboard_server_calls_total", METRICS_COUNTER, "Calls to a maglevd.",
	  write_servers, NULL, calls },
	{ "maglev_dashboard_server_refusals_total", METRICS_COUNTER,
	  "Calls to a maglevd that did not end well.", write_servers, NULL, refusals },
	{ "maglev_dashboard_server_events_total", METRICS_COUNTER,
	  "Events that a maglevd's stream brought.", write_servers, NULL, server_events },
	{ "maglev_dashboard_server_lines_left_out_total", METRICS_COUNTER,
	  "Lines of a maglevd's log that were more than browsers are sent.", write_servers, NULL,
	  lines_left_out },
	{ "maglev_dashboard_speaker_connected", METRICS_GAUGE, "1 while a maglev-speaker answers.",
	  write_speakers, NULL, connected },
	{ "maglev_dashboard_speaker_losses_total", METRICS_COUNTER,
	  "Connections to a maglev-speaker that were lost.", write_speakers, NULL, losses },
	{ "maglev_dashboard_speaker_calls_total", METRICS_COUNTER, "Calls to a maglev-speaker.",
	  write_speakers, NULL, calls },
	{ "maglev_dashboard_speaker_refusals_total", METRICS_COUNTER,
	  "Calls to a maglev-speaker that did not end well.", write_speakers, NULL, refusals },
	{ "maglev_dashboard_speaker_events_total", METRICS_COUNTER,
	  "Events that the stream of a maglev-speaker brought.", write_speakers, NULL,
	  server_events },
	{ "maglev_dashboard_router_connected", METRICS_GAUGE, "1 while a maglev-router answers.",
	  write_routers, NULL, connected },
	{ "maglev_dashboard_router_losses_total", METRICS_COUNTER,
	  "Connections to a maglev-router that were lost.", write_routers, NULL, losses },
	{ "maglev_dashboard_router_calls_total", METRICS_COUNTER, "Calls to a maglev-router.",
	  write_routers, NULL, calls },
	{ "maglev_dashboard_router_refusals_total", METRICS_COUNTER,
	  "Calls to a maglev-router that did not end well.", write_routers, NULL, refusals },
	{ "maglev_dashboard_router_events_total", METRICS_COUNTER,
	  "Events that the stream of a maglev-router brought.", write_routers, NULL,
	  server_events },
	{ "maglev_dashboard_events_total", METRICS_COUNTER, "Events for browsers.", write_value,
	  events, NULL },
	{ "maglev_dashboard_ring_events", METRICS_GAUGE, "Events kept for replay.", write_value,
	  ring_events, NULL },
	{ "maglev_dashboard_ring_bytes", METRICS_GAUGE, "Size of the events kept for replay.",
	  write_value, ring_bytes, NULL },
	{ "maglev_dashboard_browsers", METRICS_GAUGE, "Event streams to browsers that are open.",
	  write_value, subscribers, NULL },
	{ "maglev_dashboard_streams_total", METRICS_COUNTER, "Event streams that were opened.",
	  write_value, subscribed, NULL },
	{ "maglev_dashboard_resumed_total", METRICS_COUNTER,
	  "Event streams that went on where an earlier one had ended.", write_value, resumed,
	  NULL },
	{ "maglev_dashboard_resyncs_total", METRICS_COUNTER,
	  "Times a browser was told to read the state again.", write_value, resyncs, NULL },
	{ "maglev_dashboard_streams_refused_total", METRICS_COUNTER,
	  "Event streams that were one too many.", write_value, streams_refused, NULL },
	{ "maglev_dashboard_streams_lost_total", METRICS_COUNTER,
	  "Event streams that ended, since an event had left the ring half sent.", write_value,
	  lost, NULL },
	{ "maglev_dashboard_state_bytes", METRICS_GAUGE,
	  "Texts of the state: the newest ones, and those that are still being read.", write_value,
	  state_bytes, NULL },
	{ "maglev_dashboard_states_dropped_total", METRICS_COUNTER,
	  "Texts of the state that were let go before their time, since there were too many.",
	  write_value, states_dropped, NULL },
	{ "maglev_dashboard_http_connections", METRICS_GAUGE, "Connections that are open.",
	  write_value, connections, NULL },
	{ "maglev_dashboard_http_held_bytes", METRICS_GAUGE,
	  "Requests that are not whole, and answers that were not taken yet.", write_value, held,
	  NULL },
	{ "maglev_dashboard_http_requests_total", METRICS_COUNTER, "Requests.", write_value,
	  requests, NULL },
	{ "maglev_dashboard_http_refused_total", METRICS_COUNTER,
	  "Connections that were one too many.", write_value, refused, NULL },
	{ "maglev_dashboard_http_cut_total", METRICS_COUNTER,
	  "Connections that were closed under way to make room for others.", write_value, cut,
	  NULL },
	{ "maglev_dashboard_http_bytes_sent_total", METRICS_COUNTER, "Bytes sent to browsers.",
	  write_value, sent, NULL },
	{ "maglev_dashboard_login_failures_total", METRICS_COUNTER,
	  "Requests with wrong credentials.", write_value, logins_failed, NULL },
	{ "maglev_dashboard_login_refused_total", METRICS_COUNTER,
	  "Requests with credentials that were not looked at, since too many had been wrong.",
	  write_value, logins_refused, NULL },
	{ "maglev_dashboard_acts_total", METRICS_COUNTER,
	  "Acts that were passed on to a maglevd or a speaker.", write_value, acts, NULL },
};

/*
 * Written in one piece: with 256 servers and 256 speakers, the maximum, it is a few hundred
 * kilobytes.
 */
static enum http_stream_state on_produce(struct buf *out, void *user)
{
	const struct dashboard *d = user;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		metrics_family(out, families[i].name, families[i].type, families[i].help);
		families[i].write(&families[i], d, out);
	}
	return HTTP_STREAM_END;
}

struct http_stream dashboard__metrics(void *user)
{
	return (struct http_stream){ .produce = on_produce, .user = user };
}
