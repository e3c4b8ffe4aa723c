/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page is a walk over one table of families. A family is written as a whole, or backend by
 * backend, or frontend by frontend, or along the counters of the data plane (metrics_plane). With
 * ten thousand backends a page has several hundred thousand lines, so it is written in parts, and
 * the server decides when the next one is due: other work runs in between, and so may a reload.
 * The position is therefore kept as a name, not as an index; backends and frontends are sorted by
 * name, so no sample is written twice. Samples of two backends may be from different turns of the
 * loop. The families that every daemon has come before these, from lib/admin.
 */
#include "src/maglevd/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/l4/desired.h"
#include "core/l4/override.h"
#include "core/l4/slow.h"
#include "core/l4/weight.h"
#include "lib/loop/task.h"
#include "lib/metrics/metrics.h"
#include "lib/operator/operator.h"
#include "src/maglevd/api/api.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/metrics_plane.h"
#include "src/maglevd/overrides.h"
#include "src/maglevd/prober.h"
#include "src/maglevd/reconcile.h"
#include "src/maglevd/reload.h"

#define ITEMS_OF_PART 64 /* backends, frontends or counters; a few microseconds each */

struct maglevd_metrics {
	struct maglevd_metrics_sources from;
	const struct api *api; /* NULL: not served */
};

/* A page being written. */
struct scrape {
	struct maglevd_metrics *m;
	size_t family;
	bool begun; /* the family's header is written */
	char *last; /* name of the last backend or frontend written; NULL before the first */
	struct metrics_plane_place place; /* in a walk along the data plane's counters */
};

#define LABEL(k, v) ((struct metrics_label){ (k), str_of(v) })

static const struct l4_model *model(const struct maglevd_metrics *m)
{
	return engine_model(m->from.engine);
}

/* One sample per state: 1 for the current one, 0 for the others. */
static void write_states(struct buf *out, const char *name, struct metrics_label who, unsigned is,
			 const char *(*state_name)(unsigned), unsigned n)
{
	for (unsigned s = 0; s < n; s++) {
		const struct metrics_label labels[] = { who, LABEL("state", state_name(s)) };

		metrics_u64(out, name, labels, 2, s == is);
	}
}

/* ---- the whole program ---- */

static void write_reloads(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	const struct reload_stats *s = reload_stats(m->from.reload);

	metrics_u64(out, name, &LABEL("result", "success"), 1, s->succeeded);
	metrics_u64(out, name, &LABEL("result", "failure"), 1, s->failed);
}

/* The first load counts, so that the value is never 0. */
static void write_last_load(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_double(out, name, NULL, 0,
		       loop_seconds(reload_stats(m->from.reload)->last_success));
}

static void write_guard(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, engine_guard(m->from.engine));
}

static const char *phase_name(unsigned phase)
{
	return warmup_phase_name((enum warmup_phase)phase);
}

static void write_warmup(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	enum warmup_phase is = reconcile_phase(m->from.reconcile);

	for (unsigned p = 0; p <= WARMUP_DONE; p++)
		metrics_u64(out, name, &LABEL("phase", phase_name(p)), 1, p == is);
}

/* The label tells which data plane it is, so that one alert serves all kinds. */
static void write_connected(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, &LABEL("dataplane", l4_dataplane_name(model(m)->config->dataplane)),
		    1, reconcile_connected(m->from.reconcile));
}

/* The label is not "state": that is the word for backends and frontends. */
static void write_status(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	const char *dataplane = l4_dataplane_name(model(m)->config->dataplane);

	for (unsigned s = 0; s < LB_STATUSES; s++) {
		const struct metrics_label labels[] = { LABEL("dataplane", dataplane),
							LABEL("status",
							      lb_status_name((enum lb_status)s)) };

		metrics_u64(out, name, labels, ARRAY_SIZE(labels),
			    s == reconcile_status(m->from.reconcile));
	}
}

/* Only kinds that occurred: most never do. */
static void write_lbsync(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	static const char *const scopes[] = { [RECONCILE_ALL] = "all", [RECONCILE_VIP] = "vip" };
	static const char *const kinds[] = {
		[LB_OP_CONF] = "conf_updated",	 [LB_OP_VIP_ADD] = "vip_added",
		[LB_OP_VIP_DEL] = "vip_removed", [LB_OP_AS_ADD] = "as_added",
		[LB_OP_AS_DEL] = "as_removed",	 [LB_OP_AS_WEIGHT] = "as_weight_updated",
	};
	const struct reconcile_stats *s = reconcile_stats(m->from.reconcile);

	for (size_t scope = 0; scope < RECONCILE_SCOPES; scope++)
		for (size_t kind = 0; kind < LB_OP_KINDS; kind++) {
			const struct metrics_label labels[] = { LABEL("scope", scopes[scope]),
								LABEL("kind", kinds[kind]) };

			if (s->ops[scope][kind])
				metrics_u64(out, name, labels, 2, s->ops[scope][kind]);
		}
}

static void write_lbsync_failures(const struct maglevd_metrics *m, const char *name,
				  struct buf *out)
{
	metrics_u64(out, name, NULL, 0, reconcile_stats(m->from.reconcile)->failures);
}

static void write_lbsync_full(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, reconcile_stats(m->from.reconcile)->full_syncs);
}

static void write_lbsync_last(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_double(out, name, NULL, 0,
		       loop_seconds(reconcile_stats(m->from.reconcile)->last_full_sync));
}

static void write_started(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, prober_stats(m->from.prober)->started);
}

static void write_late(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, prober_stats(m->from.prober)->late);
}

static void write_extended(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, prober_stats(m->from.prober)->extended);
}

/* Only pairs that occurred: 20 methods with 17 statuses each would be mostly zeros. */
static void write_grpc_calls(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	for (size_t i = 0; m->api && i < API_METHODS; i++)
		for (enum grpc_status s = GRPC_OK; s <= GRPC_UNAUTHENTICATED; s++) {
			const struct metrics_label labels[] = {
				LABEL("method", wire_method_name(i)),
				LABEL("status", grpc_status_name(s))
			};
			uint64_t n = service_calls(api_service(m->api), i, s);

			if (n)
				metrics_u64(out, name, labels, 2, n);
		}
}

/* 0 without an API: the series should not vanish with an option. */
static void write_grpc_connections(const struct maglevd_metrics *m, const char *name,
				   struct buf *out)
{
	metrics_u64(out, name, NULL, 0,
		    m->api ? service_stats(api_service(m->api))->connections : 0);
}

static void write_grpc_refused(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, m->api ? service_stats(api_service(m->api))->refused : 0);
}

static void write_grpc_evicted(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, m->api ? service_stats(api_service(m->api))->evicted : 0);
}

static void write_grpc_open(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, m->api && service_is_open(api_service(m->api)));
}

/* Only with --override-file: without it nothing is expected to be kept. */
static void write_override_file(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	if (m->from.overrides)
		metrics_u64(out, name, NULL, 0,
			    !store_stats(overrides_store(m->from.overrides))->failing);
}

static void write_subscribers(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, m->api ? api_watch_stats(m->api)->subscribers : 0);
}

static void write_events(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, m->api ? api_watch_stats(m->api)->events : 0);
}

static void write_dropped(const struct maglevd_metrics *m, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, m->api ? api_watch_stats(m->api)->dropped : 0);
}

/* ---- one backend ---- */

static const char *state_name(unsigned state)
{
	return health_state_name((enum health_state)state);
}

static void write_backend_state(const struct maglevd_metrics *m, size_t i, const char *name,
				struct buf *out)
{
	const struct l4_backend_state *b = model(m)->backends[i];

	/* HEALTH_REMOVED is the last state, and no backend of the model has it */
	write_states(out, name, LABEL("backend", b->name), b->health.state, state_name,
		     HEALTH_REMOVED);
}

static void write_backend_health(const struct maglevd_metrics *m, size_t i, const char *name,
				 struct buf *out)
{
	const struct l4_backend_state *b = model(m)->backends[i];

	metrics_u64(out, name, &LABEL("backend", b->name), 1, b->health.counter);
}

static void write_backend_enabled(const struct maglevd_metrics *m, size_t i, const char *name,
				  struct buf *out)
{
	const struct l4_backend_state *b = model(m)->backends[i];

	metrics_u64(out, name, &LABEL("backend", b->name), 1, b->health.state != HEALTH_DISABLED);
}

/* Only pairs that occurred. */
static void write_transitions(const struct maglevd_metrics *m, size_t i, const char *name,
			      struct buf *out)
{
	const struct l4_backend_state *b = model(m)->backends[i];
	const struct prober_counts *c = prober_counts(b);

	for (unsigned from = 0; from < HEALTH_STATES; from++)
		for (unsigned to = 0; to < HEALTH_STATES; to++) {
			const struct metrics_label labels[] = { LABEL("backend", b->name),
								LABEL("from", state_name(from)),
								LABEL("to", state_name(to)) };

			if (c->transitions[from][to])
				metrics_u64(out, name, labels, 3, c->transitions[from][to]);
		}
}

/* Absent without a command, so that an alert over its age concerns only those in force. */
static void write_act(const struct maglevd_metrics *m, size_t i, const char *name, struct buf *out,
		      bool end)
{
	const struct l4_backend_state *b = model(m)->backends[i];
	const struct l4_override *o;
	enum l4_act act;

	if (!l4_backend_override(b, &act, &o) || (end && !o->until))
		return;
	metrics_double(out, name,
		       (const struct metrics_label[]){ LABEL("backend", b->name),
						       LABEL("act", l4_act_name(act)) },
		       2, loop_seconds(end ? o->until : o->at));
}

static void write_override(const struct maglevd_metrics *m, size_t i, const char *name,
			   struct buf *out)
{
	write_act(m, i, name, out, false);
}

static void write_override_end(const struct maglevd_metrics *m, size_t i, const char *name,
			       struct buf *out)
{
	write_act(m, i, name, out, true);
}

/* The type of a backend's check, for labels; NULL for a static backend, which has no probes. */
static const char *check_type(const struct maglevd_metrics *m, size_t i)
{
	const struct l4_check *check = model(m)->config->backends[i].check;

	return check ? l4_check_type_name(check->type) : NULL;
}

/* Only codes that occurred, and none for a static backend. */
static void write_probes(const struct maglevd_metrics *m, size_t i, const char *name,
			 struct buf *out)
{
	const struct l4_backend_state *b = model(m)->backends[i];
	const struct prober_counts *c = prober_counts(b);
	const char *type = check_type(m, i);

	for (unsigned code = 0; type && code < HEALTH_CODES; code++) {
		bool pass = health_code_is_pass((enum health_code)code);
		const struct metrics_label labels[] = {
			LABEL("backend", b->name), LABEL("type", type),
			LABEL("result", pass ? "success" : "failure"),
			LABEL("code", health_code_name((enum health_code)code))
		};

		if (c->by_code[code])
			metrics_u64(out, name, labels, ARRAY_SIZE(labels), c->by_code[code]);
	}
}

/* A static backend has no histogram rather than an empty one. */
static void write_durations(const struct maglevd_metrics *m, size_t i, const char *name,
			    struct buf *out)
{
	const struct l4_backend_state *b = model(m)->backends[i];
	const char *type = check_type(m, i);

	if (type)
		metrics_histogram(out, name,
				  (const struct metrics_label[]){ LABEL("backend", b->name),
								  LABEL("type", type) },
				  2, &prober_counts(b)->duration);
}

/* ---- one frontend ---- */

static const char *frontend_state_name(unsigned state)
{
	return l4_frontend_health_name((enum l4_frontend_health)state);
}

static void write_frontend_state(const struct maglevd_metrics *m, size_t i, const char *name,
				 struct buf *out)
{
	write_states(out, name, LABEL("frontend", model(m)->config->frontends[i].name),
		     model(m)->frontends[i].health, frontend_state_name, L4_FRONTEND_DOWN + 1);
}

/* The labels of the counters of its VIP, so that these can be joined with its name. */
static void write_frontend_info(const struct maglevd_metrics *m, size_t i, const char *name,
				struct buf *out)
{
	const struct l4_frontend *f = &model(m)->config->frontends[i];
	const struct lb_vip_key key = l4_frontend_key(f);

	metrics_plane_vip_info(&key, f->name, name, out);
}

/* One sample for each pool: 1 for the active one. The position tells a fallback from the first. */
static void write_active_pool(const struct maglevd_metrics *m, size_t i, const char *name,
			      struct buf *out)
{
	const struct l4_frontend *f = &model(m)->config->frontends[i];
	size_t active = l4_active_pool(model(m), i);
	char position[21];

	for (size_t p = 0; p < f->n_pools; p++) {
		struct metrics_label labels[] = { LABEL("frontend", f->name),
						  LABEL("pool", f->pools[p].name),
						  { "position", { 0 } } };

		snprintf(position, sizeof(position), "%zu", p + 1);
		labels[2].value = str_of(position);
		metrics_u64(out, name, labels, ARRAY_SIZE(labels), p == active);
	}
}

/* Only weights that were set at run time. */
static void write_weight_overrides(const struct maglevd_metrics *m, size_t i, const char *name,
				   struct buf *out)
{
	const struct l4_config *c = model(m)->config;
	const struct l4_frontend *f = &c->frontends[i];

	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t k = 0; k < f->pools[p].n_members; k++) {
			const struct l4_member *member = &f->pools[p].members[k];
			const struct metrics_label labels[] = {
				LABEL("frontend", f->name), LABEL("pool", f->pools[p].name),
				LABEL("backend", c->backends[member->backend].name)
			};

			if (model(m)->frontends[i].weights[p][k].mutated)
				metrics_u64(out, name, labels, ARRAY_SIZE(labels), 1);
		}
}

/* Configured weights, or effective ones: what pool failover and health make of them. */
static void write_tuples(const struct maglevd_metrics *m, size_t i, const char *name,
			 struct buf *out, bool effective)
{
	const struct l4_config *c = model(m)->config;
	const struct l4_frontend *f = &c->frontends[i];
	size_t active = effective ? l4_active_pool(model(m), i) : 0;

	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t k = 0; k < f->pools[p].n_members; k++) {
			size_t b = f->pools[p].members[k].backend;
			unsigned weight = model(m)->frontends[i].weights[p][k].value;
			const struct metrics_label labels[] = {
				LABEL("frontend", f->name), LABEL("pool", f->pools[p].name),
				LABEL("backend", c->backends[b].name)
			};

			if (effective)
				weight = l4_member_weight(model(m), i, p, k, p == active).weight;
			metrics_u64(out, name, labels, ARRAY_SIZE(labels), weight);
		}
}

static void write_slow_starts(const struct maglevd_metrics *m, size_t i, const char *name,
			      struct buf *out)
{
	const struct l4_config *c = model(m)->config;
	const struct l4_frontend *f = &c->frontends[i];

	for (size_t p = 0; p < f->n_pools; p++)
		for (size_t k = 0; f->pools[p].slow_start && k < f->pools[p].n_members; k++) {
			size_t b = f->pools[p].members[k].backend;
			const struct metrics_label labels[] = {
				LABEL("frontend", f->name), LABEL("pool", f->pools[p].name),
				LABEL("backend", c->backends[b].name)
			};

			metrics_u64(out, name, labels, ARRAY_SIZE(labels),
				    l4_slow_until(model(m), &f->pools[p], model(m)->backends[b]) !=
					    0);
		}
}

static void write_weights(const struct maglevd_metrics *m, size_t i, const char *name,
			  struct buf *out)
{
	write_tuples(m, i, name, out, false);
}

static void write_effective(const struct maglevd_metrics *m, size_t i, const char *name,
			    struct buf *out)
{
	write_tuples(m, i, name, out, true);
}

/* ---- the table ---- */

/* A family of metrics, and how its samples are written. */
struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
	/* exactly one of these six is set */
	void (*whole)(const struct maglevd_metrics *m, const char *name, struct buf *out);
	void (*backend)(const struct maglevd_metrics *m, size_t i, const char *name,
			struct buf *out);
	void (*frontend)(const struct maglevd_metrics *m, size_t i, const char *name,
			 struct buf *out);
	metrics_plane_fn counted;	    /* for counters of the data plane, if it has ... */
	metrics_plane_info_fn info;	    /* only if the data plane is VPP */
	metrics_plane_attached_fn attached; /* only if the data plane has interfaces */

	bool vpp;		      /* a whole one that is shown only if the data plane is VPP */
	enum metrics_plane_walk walk; /* for counted: its items */
	unsigned has;		      /* ... these figures: enum lb_has */
};

/* The order of the page. Each name is also described in docs/reference/metrics.md. */
static const struct family families[] = {
	{ "maglev_config_reloads_total", METRICS_COUNTER, "Reloads of the configuration.",
	  .whole = write_reloads },
	{ "maglev_config_last_success_timestamp_seconds", METRICS_GAUGE,
	  "When the running configuration was loaded.", .whole = write_last_load },
	{ "maglev_guard_active", METRICS_GAUGE,
	  "1 while every probe fails on this machine itself and no weight is lowered.",
	  .whole = write_guard },
	{ "maglev_warmup_phase", METRICS_GAUGE, "Phase of the warm-up; 1 for the current one.",
	  .whole = write_warmup },
	{ "maglev_dataplane_connected", METRICS_GAUGE, "1 while the data plane can be written to.",
	  .whole = write_connected },
	{ "maglev_dataplane_status", METRICS_GAUGE,
	  "Status of the data plane; 1 for the current one.", .whole = write_status },
	{ "maglev_xdp_interface_up", METRICS_GAUGE, "1 while the XDP program is on an interface.",
	  .attached = metrics_plane_interface_up },
	{ "maglev_xdp_interface_mode", METRICS_GAUGE,
	  "Mode of the XDP program on an interface; 1 for the current one.",
	  .attached = metrics_plane_interface_mode },
	{ "maglev_lbsync_total", METRICS_COUNTER, "Operations carried out on the data plane.",
	  .whole = write_lbsync },
	{ "maglev_lbsync_failures_total", METRICS_COUNTER,
	  "Requests that the data plane refused or did not answer.",
	  .whole = write_lbsync_failures },
	{ "maglev_lbsync_full_total", METRICS_COUNTER, "Full syncs that reached their end.",
	  .whole = write_lbsync_full },
	{ "maglev_lbsync_last_timestamp_seconds", METRICS_GAUGE,
	  "When the last full sync ended; 0 before the first.", .whole = write_lbsync_last },
	{ "maglev_probes_started_total", METRICS_COUNTER, "Probes started.",
	  .whole = write_started },
	{ "maglev_probes_late_total", METRICS_COUNTER,
	  "Probes started more than 5 % of their interval after their planned time.",
	  .whole = write_late },
	{ "maglev_probes_extended_total", METRICS_COUNTER,
	  "Probes that got more time than their timeout, because maglevd itself was late.",
	  .whole = write_extended },
	{ "maglev_grpc_calls_total", METRICS_COUNTER, "Calls of the API that ended.",
	  .whole = write_grpc_calls },
	{ "maglev_grpc_connections", METRICS_GAUGE, "Open connections to the API.",
	  .whole = write_grpc_connections },
	{ "maglev_grpc_refused_total", METRICS_COUNTER,
	  "Connections to the API that were one too many.", .whole = write_grpc_refused },
	{ "maglev_grpc_evicted_total", METRICS_COUNTER,
	  "Connections to the API that were closed to make room for others.",
	  .whole = write_grpc_evicted },
	{ "maglev_grpc_open", METRICS_GAUGE,
	  "1 if other machines may change everything without a client certificate.",
	  .whole = write_grpc_open },
	{ "maglev_override_file_ok", METRICS_GAUGE,
	  "1 while the file that keeps overrides can be written.", .whole = write_override_file },
	{ "maglev_watch_subscribers", METRICS_GAUGE, "Clients that watch events.",
	  .whole = write_subscribers },
	{ "maglev_watch_events_total", METRICS_COUNTER, "Events sent, over all subscribers.",
	  .whole = write_events },
	{ "maglev_watch_dropped_total", METRICS_COUNTER,
	  "Clients that were dropped because they fell behind.", .whole = write_dropped },
	{ "maglev_backend_state", METRICS_GAUGE, "State of a backend; 1 for the current one.",
	  .backend = write_backend_state },
	{ "maglev_backend_health", METRICS_GAUGE, "Rise/fall counter of a backend.",
	  .backend = write_backend_health },
	{ "maglev_backend_enabled", METRICS_GAUGE, "0 while a backend is disabled.",
	  .backend = write_backend_enabled },
	{ "maglev_backend_override_timestamp_seconds", METRICS_GAUGE,
	  "Since when an operator's command on a backend is in force.", .backend = write_override },
	{ "maglev_backend_override_end_timestamp_seconds", METRICS_GAUGE,
	  "When an operator's command on a backend ends by itself.",
	  .backend = write_override_end },
	{ "maglev_backend_transitions_total", METRICS_COUNTER, "Changes of state of a backend.",
	  .backend = write_transitions },
	{ "maglev_probe_total", METRICS_COUNTER, "Probes that ended, by result code.",
	  .backend = write_probes },
	{ "maglev_probe_duration_seconds", METRICS_HISTOGRAM, "Time from start to end of a probe.",
	  .backend = write_durations },
	{ "maglev_frontend_state", METRICS_GAUGE, "State of a frontend; 1 for the current one.",
	  .frontend = write_frontend_state },
	{ "maglev_frontend_info", METRICS_GAUGE, "VIP of a frontend; always 1.",
	  .frontend = write_frontend_info },
	{ "maglev_frontend_active_pool", METRICS_GAUGE,
	  "Pool of a frontend; 1 for the one that gets new flows.", .frontend = write_active_pool },
	{ "maglev_frontend_pool_backend_weight", METRICS_GAUGE,
	  "Weight in force, from the file or set at run time.", .frontend = write_weights },
	{ "maglev_frontend_pool_backend_effective_weight", METRICS_GAUGE,
	  "Weight after health, pool failover and slow start.", .frontend = write_effective },
	{ "maglev_frontend_pool_backend_slow_start", METRICS_GAUGE,
	  "1 while the weight grows after a return; only for pools with slow-start.",
	  .frontend = write_slow_starts },
	{ "maglev_frontend_pool_backend_weight_override", METRICS_GAUGE,
	  "1 for a weight that was set at run time and differs from the file.",
	  .frontend = write_weight_overrides },
	{ "maglev_dataplane_counters_timestamp_seconds", METRICS_GAUGE,
	  "When the counters of the data plane were read.", .counted = metrics_plane_read,
	  .walk = METRICS_PLANE_WHOLE },
	{ "maglev_dataplane_packets_total", METRICS_COUNTER,
	  "Packets that were not sent to a server, by their fate.", .counted = metrics_plane_events,
	  .walk = METRICS_PLANE_WHOLE },
	{ "maglev_vip_packets_total", METRICS_COUNTER, "Packets to a VIP.",
	  .counted = metrics_plane_vip_packets, .walk = METRICS_PLANE_VIPS },
	{ "maglev_vip_bytes_total", METRICS_COUNTER, "Bytes to a VIP.",
	  .counted = metrics_plane_vip_bytes, .walk = METRICS_PLANE_VIPS, .has = LB_HAS_VIP_BYTES },
	{ "maglev_vip_buckets", METRICS_GAUGE, "Size of the table of new flows of a VIP.",
	  .counted = metrics_plane_vip_buckets, .walk = METRICS_PLANE_VIPS,
	  .has = LB_HAS_AS_BUCKETS },
	{ "maglev_backend_packets_total", METRICS_COUNTER, "Packets of a VIP sent to a server.",
	  .counted = metrics_plane_as_packets, .walk = METRICS_PLANE_ASES,
	  .has = LB_HAS_AS_TRAFFIC },
	{ "maglev_backend_bytes_total", METRICS_COUNTER, "Bytes of a VIP sent to a server.",
	  .counted = metrics_plane_as_bytes, .walk = METRICS_PLANE_ASES, .has = LB_HAS_AS_TRAFFIC },
	{ "maglev_backend_buckets", METRICS_GAUGE,
	  "Share of a server in the table of new flows of a VIP.",
	  .counted = metrics_plane_as_buckets, .walk = METRICS_PLANE_ASES,
	  .has = LB_HAS_AS_BUCKETS },
	{ "maglev_backend_flows", METRICS_GAUGE, "Live flows of a VIP to a server.",
	  .counted = metrics_plane_as_flows, .walk = METRICS_PLANE_ASES, .has = LB_HAS_AS_FLOWS },
	{ "maglev_server_packets_total", METRICS_COUNTER,
	  "Packets sent to a server for all VIPs together.",
	  .counted = metrics_plane_server_packets, .walk = METRICS_PLANE_SERVERS,
	  .has = LB_HAS_SERVER_TRAFFIC },
	{ "maglev_server_bytes_total", METRICS_COUNTER,
	  "Bytes sent to a server for all VIPs together, encapsulation included.",
	  .counted = metrics_plane_server_bytes, .walk = METRICS_PLANE_SERVERS,
	  .has = LB_HAS_SERVER_TRAFFIC },
	{ "maglev_vpp_connected", METRICS_GAUGE, "1 while maglevd is connected to VPP.",
	  .info = metrics_plane_vpp_connected },
	{ "maglev_vpp_problem", METRICS_GAUGE,
	  "1 while something keeps VPP from being programmed; maglevc show vpp info says what.",
	  .info = metrics_plane_vpp_problem },
	{ "maglev_vpp_uptime_seconds", METRICS_GAUGE, "Time since VPP started.",
	  .info = metrics_plane_vpp_uptime },
	{ "maglev_vpp_connected_seconds", METRICS_GAUGE, "Time since maglevd connected to VPP.",
	  .info = metrics_plane_vpp_connected_for },
	{ "maglev_vpp_info", METRICS_GAUGE, "Version of VPP; always 1.",
	  .info = metrics_plane_vpp_info },
	{ "maglev_vpp_api_total", METRICS_COUNTER, "Messages of VPP's binary API.",
	  .info = metrics_plane_vpp_api },
	{ "maglev_vpp_lbsync_total", METRICS_COUNTER, "Operations carried out on VPP.",
	  .whole = write_lbsync, .vpp = true },
};

/* ---- the walk ---- */

/* Whether a part that began at out->n == begin, and has n items now, is full. */
static bool is_full(const struct buf *out, size_t begin, size_t n)
{
	return n >= ITEMS_OF_PART || out->n - begin >= HTTP_SLICE;
}

/* Writes the next backends or frontends of a family. True at its end. */
static bool write_items(struct scrape *s, const struct family *f, struct buf *out)
{
	const struct l4_config *c = model(s->m)->config;
	size_t n = f->backend ? c->n_backends : c->n_frontends, begin = out->n;
	size_t first = f->backend ? l4_config_backend_behind(c, s->last)
				  : l4_config_frontend_behind(c, s->last);

	for (size_t i = first; i < n; i++) {
		(f->backend ? f->backend : f->frontend)(s->m, i, f->name, out);
		if (!is_full(out, begin, i + 1 - first))
			continue;
		free(s->last);
		s->last = mem_strdup(f->backend ? c->backends[i].name : c->frontends[i].name);
		return i + 1 == n;
	}
	return true;
}

/* The same along the newest counters, which may be gone since the last part. */
static bool write_counted(struct scrape *s, const struct family *f, struct buf *out)
{
	const struct lb_counters *c = reconcile_counters(s->m->from.reconcile);
	struct metrics_plane_item item;
	size_t begin = out->n, n = 0;

	while (c && metrics_plane_next(c, f->walk, &s->place, &item)) {
		f->counted(&item, model(s->m)->config, f->name, out);
		if (is_full(out, begin, ++n))
			return false;
	}
	return true;
}

/* Families that the data plane has no figures for are left out of the page. */
static bool is_there(const struct maglevd_metrics *m, const struct family *f)
{
	const struct lb_counters *c = f->counted ? reconcile_counters(m->from.reconcile) : NULL;

	if (f->counted)
		return c && (c->has & f->has) == f->has;
	if (f->attached)
		return reconcile_attachment(m->from.reconcile) != NULL;
	return !(f->info || f->vpp) || reconcile_has_info(m->from.reconcile);
}

/* True when the family is at its end. */
static bool write_samples(struct scrape *s, const struct family *f, struct buf *out)
{
	if (f->counted)
		return write_counted(s, f, out);
	if (f->backend || f->frontend)
		return write_items(s, f, out);
	if (f->attached)
		f->attached(reconcile_attachment(s->m->from.reconcile), f->name, out);
	else if (f->info)
		f->info(reconcile_info(s->m->from.reconcile), f->name, out);
	else
		f->whole(s->m, f->name, out);
	return true;
}

/* Writes the next part of a family, its header first. True at the end of the family. */
static bool write_family(struct scrape *s, const struct family *f, struct buf *out)
{
	if (!s->begun && !is_there(s->m, f))
		return true;
	if (!s->begun)
		metrics_family(out, f->name, f->type, f->help);
	s->begun = true;
	if (!write_samples(s, f, out))
		return false;
	s->begun = false;
	s->place.begun = false;
	free(TAKE_PTR(s->last));
	return true;
}

/* Writes at least one part, and more while the step that calls this has time. */
static enum http_stream_state on_produce(struct buf *out, void *user)
{
	struct scrape *s = user;
	size_t begin = out->n;

	while (s->family < ARRAY_SIZE(families)) {
		if (write_family(s, &families[s->family], out))
			s->family++;
		if (out->n - begin >= HTTP_SLICE || !task_has_time(s->m->from.loop))
			return HTTP_STREAM_MORE;
	}
	if (s->m->from.op)
		operator_metrics(s->m->from.op, out, "maglev_");
	return HTTP_STREAM_END;
}

/* Called also when the client goes away in the middle of the page. */
static void on_closed(bool whole, void *user)
{
	struct scrape *s = user;

	free(s->last);
	free(s);
}

struct maglevd_metrics *maglevd_metrics_new(const struct maglevd_metrics_sources *sources)
{
	struct maglevd_metrics *m = mem_zalloc(sizeof(*m));

	m->from = *sources;
	return m;
}

void maglevd_metrics_set_api(struct maglevd_metrics *m, const struct api *api)
{
	m->api = api;
}

void maglevd_metrics_free(struct maglevd_metrics *m)
{
	free(m);
}

struct http_stream maglevd_metrics_stream(void *user)
{
	struct scrape *s = mem_zalloc(sizeof(*s));

	s->m = user;
	return (struct http_stream){ .produce = on_produce, .closed = on_closed, .user = s };
}
