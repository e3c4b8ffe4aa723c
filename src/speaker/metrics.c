/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/metrics.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/metrics/metrics.h"
#include "src/speaker/api.h"
#include "src/speaker/speaker.h"
#include "wire/speaker_methods.h"

/* A family with one sample per VIP, peer or maglevd, or one alone. */
struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
};

/* ---- the program ---- */

static const struct family reloads = { "maglev_speaker_config_reloads_total", METRICS_COUNTER,
				       "Reloads of the file, by result." };
static const struct family loaded = { "maglev_speaker_config_loaded_timestamp_seconds",
				      METRICS_GAUGE, "When the file in force was loaded." };
static const struct family applies = { "maglev_speaker_frr_applies_total", METRICS_COUNTER,
				       "Configurations that the reloader was asked to apply." };
static const struct family failures = { "maglev_speaker_frr_failures_total", METRICS_COUNTER,
					"Those that it did not apply." };
static const struct family batched = { "maglev_speaker_frr_batched_total", METRICS_COUNTER,
				       "Configurations replaced before they were applied." };
static const struct family current = { "maglev_speaker_frr_current", METRICS_GAUGE,
				       "1 while FRR has the latest configuration." };
static const struct family duration = { "maglev_speaker_frr_apply_duration_seconds",
					METRICS_HISTOGRAM, "How long the reloader took." };

static void begin(struct buf *out, const struct family *f)
{
	metrics_family(out, f->name, f->type, f->help);
}

static void single(struct buf *out, const struct family *f, uint64_t value)
{
	begin(out, f);
	metrics_u64(out, f->name, NULL, 0, value);
}

void metrics__add_reload(struct buf *out, const struct reload *reload)
{
	const struct reload_stats *r = reload_stats(reload);

	single(out, &applies, r->applies);
	single(out, &failures, r->failures);
	single(out, &batched, r->batched);
	single(out, &current, reload_is_current(reload));
	begin(out, &duration);
	metrics_histogram(out, duration.name, NULL, 0, &r->duration);
}

static void add_program(struct buf *out, const struct speaker *s)
{
	const struct speaker_stats *stats = speaker_stats(s);
	struct metrics_label result = { "result", STR("success") };

	begin(out, &reloads);
	metrics_u64(out, reloads.name, &result, 1, stats->reloads);
	result.value = STR("failure");
	metrics_u64(out, reloads.name, &result, 1, stats->reload_errors);
	single(out, &loaded, (uint64_t)(stats->loaded_at / NSEC_PER_SEC));
	metrics__add_reload(out, speaker_reload(s));
}

/* ---- VIPs ---- */

static const struct family vip_state = { "maglev_speaker_vip_state", METRICS_GAUGE,
					 "1 for the state that the VIP is in." };
static const struct family vip_changes = { "maglev_speaker_vip_transitions_total", METRICS_COUNTER,
					   "Changes of the VIP's state." };
static const struct family vip_since = { "maglev_speaker_vip_since_seconds", METRICS_GAUGE,
					 "Time since the VIP entered its state." };

static void add_vips(struct buf *out, const struct speaker *s)
{
	const struct speaker_vip *vips = speaker_vips(s);
	size_t n = speaker_config(s)->n_vips;
	int64_t now = loop_monotonic();

	begin(out, &vip_state);
	for (size_t i = 0; i < n; i++) {
		const struct metrics_label labels[] = {
			{ "vip", str_of(vips[i].config->name) },
			{ "state", str_of(announce_state_name(vips[i].announce.state)) },
			{ "reason", str_of(announce_reason_name(vips[i].announce.reason)) },
		};

		metrics_u64(out, vip_state.name, labels, ARRAY_SIZE(labels), 1);
	}
	begin(out, &vip_changes);
	for (size_t i = 0; i < n; i++) {
		const struct metrics_label label = { "vip", str_of(vips[i].config->name) };

		metrics_u64(out, vip_changes.name, &label, 1, vips[i].transitions);
	}
	begin(out, &vip_since);
	for (size_t i = 0; i < n; i++) {
		const struct metrics_label label = { "vip", str_of(vips[i].config->name) };

		if (vips[i].announce.since)
			metrics_double(out, vip_since.name, &label, 1,
				       loop_seconds(now - vips[i].announce.since));
	}
}

/* ---- maglevds ---- */

static const struct family connected = { "maglev_speaker_maglevd_connected", METRICS_GAUGE,
					 "1 while the maglevd is connected." };
static const struct family losses = { "maglev_speaker_maglevd_losses_total", METRICS_COUNTER,
				      "Times that the connection was lost." };

static void add_maglevds(struct buf *out, const struct speaker *s)
{
	size_t n = speaker_config(s)->n_maglevds;

	begin(out, &connected);
	for (size_t i = 0; i < n; i++) {
		const struct follow *f = speaker_follow(s, i);
		const struct metrics_label label = { "maglevd", str_of(follow_name(f)) };

		metrics_u64(out, connected.name, &label, 1, follow_connected(f));
	}
	begin(out, &losses);
	for (size_t i = 0; i < n; i++) {
		const struct follow *f = speaker_follow(s, i);
		const struct metrics_label label = { "maglevd", str_of(follow_name(f)) };

		metrics_u64(out, losses.name, &label, 1, follow_stats(f)->losses);
	}
}

/* ---- sessions, under the names that MetalLB's dashboards and alerts know ---- */

#define BGP(name) "metallb_bgp_" name
#define BFD(name) "metallb_bfd_" name

static const struct family session_up = { BGP("session_up"), METRICS_GAUGE,
					  "1 while the BGP session is established." };
static const struct family announced = { BGP("announced_prefixes_total"), METRICS_GAUGE,
					 "Prefixes sent to the peer." };
static const struct family bfd_up = { BFD("session_up"), METRICS_GAUGE,
				      "1 while the BFD session is up." };

static const struct family counts[SESSION_COUNTS] = {
	[SESSION_UPDATES_SENT] = { BGP("updates_total"), METRICS_COUNTER, "UPDATEs sent." },
	[SESSION_UPDATES_RECEIVED] = { BGP("updates_total_received"), METRICS_COUNTER,
				       "UPDATEs received." },
	[SESSION_OPENS_SENT] = { BGP("opens_sent"), METRICS_COUNTER, "OPENs sent." },
	[SESSION_OPENS_RECEIVED] = { BGP("opens_received"), METRICS_COUNTER, "OPENs received." },
	[SESSION_NOTIFICATIONS_SENT] = { BGP("notifications_sent"), METRICS_COUNTER,
					 "NOTIFICATIONs sent." },
	[SESSION_KEEPALIVES_SENT] = { BGP("keepalives_sent"), METRICS_COUNTER, "KEEPALIVEs sent." },
	[SESSION_KEEPALIVES_RECEIVED] = { BGP("keepalives_received"), METRICS_COUNTER,
					  "KEEPALIVEs received." },
	[SESSION_REFRESHES_SENT] = { BGP("route_refresh_sent"), METRICS_COUNTER,
				     "ROUTE-REFRESHs sent." },
	[SESSION_TOTAL_SENT] = { BGP("total_sent"), METRICS_COUNTER, "Messages sent." },
	[SESSION_TOTAL_RECEIVED] = { BGP("total_received"), METRICS_COUNTER, "Messages received." },
};

static const struct family bfd_counts[SESSION_BFD_COUNTS] = {
	[SESSION_BFD_CONTROL_RECEIVED] = { BFD("control_packet_input"), METRICS_COUNTER,
					   "BFD control packets received." },
	[SESSION_BFD_CONTROL_SENT] = { BFD("control_packet_output"), METRICS_COUNTER,
				       "BFD control packets sent." },
	[SESSION_BFD_ECHO_RECEIVED] = { BFD("echo_packet_input"), METRICS_COUNTER,
					"BFD echo packets received." },
	[SESSION_BFD_ECHO_SENT] = { BFD("echo_packet_output"), METRICS_COUNTER,
				    "BFD echo packets sent." },
	[SESSION_BFD_UPS] = { BFD("session_up_events"), METRICS_COUNTER,
			      "Times that the BFD session came up." },
	[SESSION_BFD_DOWNS] = { BFD("session_down_events"), METRICS_COUNTER,
				"Times that the BFD session went down." },
	[SESSION_BFD_ZEBRA_NOTIFICATIONS] = { BFD("zebra_notifications"), METRICS_COUNTER,
					      "Notifications of zebra about the BFD session." },
};

struct labels {
	char peer[ENDPOINT_STRLEN];
	struct metrics_label list[2];
};

/* "address:port" for BGP, the address for BFD; an interface stands for itself. */
static void set_labels(struct labels *l, const struct bgp_peer *p, bool with_port)
{
	const struct endpoint at = { p->frr.address, p->frr.port ? p->frr.port : 179 };

	if (p->frr.interface)
		snprintf(l->peer, sizeof(l->peer), "%s", p->frr.interface);
	else if (with_port)
		endpoint_format(&at, l->peer);
	else
		addr_format(&p->frr.address, l->peer);
	l->list[0] = (struct metrics_label){ "peer", str_of(l->peer) };
	l->list[1] = (struct metrics_label){ "vrf", str_of(p->vrf ? p->vrf : "") };
}

static void add_sample(struct buf *out, const struct family *f, const struct bgp_peer *p,
		       bool with_port, uint64_t value)
{
	struct labels l;

	set_labels(&l, p, with_port);
	metrics_u64(out, f->name, l.list, ARRAY_SIZE(l.list), value);
}

/* A session that bfdd does not have is down, but it has no counts: they would seem to restart. */
static void add_bfd(struct buf *out, const struct bgp_config *c, const struct session *list)
{
	begin(out, &bfd_up);
	for (size_t i = 0; i < c->n_peers; i++)
		if (c->peers[i].frr.bfd)
			add_sample(out, &bfd_up, &c->peers[i], false, list[i].bfd_up);
	for (size_t k = 0; k < SESSION_BFD_COUNTS; k++) {
		begin(out, &bfd_counts[k]);
		for (size_t i = 0; i < c->n_peers; i++)
			if (c->peers[i].frr.bfd && list[i].bfd_known)
				add_sample(out, &bfd_counts[k], &c->peers[i], false,
					   list[i].bfd_counts[k]);
	}
}

void metrics__add_sessions(struct buf *out, const struct bgp_config *c, const struct session *list)
{
	begin(out, &session_up);
	for (size_t i = 0; i < c->n_peers; i++)
		add_sample(out, &session_up, &c->peers[i], true, list[i].up);
	begin(out, &announced);
	for (size_t i = 0; i < c->n_peers; i++)
		add_sample(out, &announced, &c->peers[i], true, list[i].prefixes);
	for (size_t k = 0; k < SESSION_COUNTS; k++) {
		begin(out, &counts[k]);
		for (size_t i = 0; i < c->n_peers; i++)
			add_sample(out, &counts[k], &c->peers[i], true, list[i].counts[k]);
	}
	add_bfd(out, c, list);
}

/* ---- the API ---- */

static const struct family calls = { "maglev_speaker_grpc_calls_total", METRICS_COUNTER,
				     "Calls of the API that ended, by method and status." };
static const struct family connections = { "maglev_speaker_grpc_connections", METRICS_GAUGE,
					   "Connections to the API." };
static const struct family refused = { "maglev_speaker_grpc_refused_total", METRICS_COUNTER,
				       "Connections to the API that were over a limit." };
static const struct family evicted = { "maglev_speaker_grpc_evicted_total", METRICS_COUNTER,
				       "Connections to the API closed to make room for others." };
static const struct family open_api = {
	"maglev_speaker_grpc_open", METRICS_GAUGE,
	"1 if other machines may change everything without a client certificate."
};
static const struct family subscribers = { "maglev_speaker_watch_subscribers", METRICS_GAUGE,
					   "Clients of WatchSpeaker." };
static const struct family events = { "maglev_speaker_watch_events_total", METRICS_COUNTER,
				      "Events sent to all of them together." };
static const struct family dropped = { "maglev_speaker_watch_dropped_total", METRICS_COUNTER,
				       "Clients dropped because they fell behind." };

/* Only pairs that occurred: most would be zero. */
static void add_calls(struct buf *out, const struct service *service)
{
	begin(out, &calls);
	for (size_t i = 0; service && i < SPEAKER_METHODS; i++)
		for (enum grpc_status s = GRPC_OK; s <= GRPC_UNAUTHENTICATED; s++) {
			const struct metrics_label labels[] = {
				{ "method", str_of(strrchr(speaker_methods[i].path, '/') + 1) },
				{ "status", str_of(grpc_status_name(s)) },
			};
			uint64_t n = service_calls(service, i, s);

			if (n)
				metrics_u64(out, calls.name, labels, ARRAY_SIZE(labels), n);
		}
}

/* 0 without an API: the series should not vanish with an option. */
void metrics__add_api(struct buf *out, const struct api *api)
{
	static const struct grpc_server_stats no_server;
	static const struct service_watch_stats no_watch;
	const struct grpc_server_stats *server = api ? service_stats(api_service(api)) : &no_server;
	const struct service_watch_stats *watch = api ? api_watch_stats(api) : &no_watch;

	add_calls(out, api ? api_service(api) : NULL);
	single(out, &connections, server->connections);
	single(out, &refused, server->refused);
	single(out, &evicted, server->evicted);
	single(out, &open_api, api && service_is_open(api_service(api)));
	single(out, &subscribers, watch->subscribers);
	single(out, &events, watch->events);
	single(out, &dropped, watch->dropped);
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	const struct metrics_sources *from = user;
	const struct speaker *s = from->speaker;

	add_program(out, s);
	add_vips(out, s);
	add_maglevds(out, s);
	metrics__add_sessions(out, speaker_config(s), sessions_list(speaker_sessions(s)));
	metrics__add_api(out, from->api);
	metrics__add_l2(out, s);
	return HTTP_STREAM_END;
}

struct http_stream metrics_page(void *user)
{
	return (struct http_stream){ .produce = produce, .user = user };
}
