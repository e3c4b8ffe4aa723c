/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mux/metrics.h"

#include "base/cleanup.h"
#include "lib/metrics/metrics.h"
#include "src/mux/controller.h"

static const char *const objects[] = { [MUX_CONFIG_MAP] = "configmap",
				       [MUX_SLICE] = "endpointslice",
				       [MUX_ENDPOINTS] = "endpoints",
				       [MUX_SERVICE] = "service",
				       [MUX_SERVICE_STATUS] = "service-status" };
static const char *const verbs[] = {
	[MUX_CREATE] = "create", [MUX_PATCH] = "patch", [MUX_DELETE] = "delete"
};

/* The family that is written. */
struct page {
	struct buf *out;
	const struct controller *c;
	const char *name;
};

static void single(struct page *p, uint64_t value)
{
	metrics_u64(p->out, p->name, NULL, 0, value);
}

static const struct mux_view *next(const struct page *p, const struct mux_view *v)
{
	return controller_next(p->c, v ? v->namespace : "", v ? v->name : "");
}

static void muxes(struct page *p)
{
	size_t counts[MUX_PAUSED + 1] = { 0 };
	const struct mux_view *v = NULL;

	while ((v = next(p, v)))
		counts[v->condition]++;
	for (enum mux_condition i = 0; i < ARRAY_SIZE(counts); i++) {
		const struct metrics_label l = { "condition", str_of(mux_condition_name(i)) };

		metrics_u64(p->out, p->name, &l, 1, counts[i]);
	}
}

static void channels_of(struct page *p, const struct mux_view *v)
{
	struct metrics_label l[] = { { "namespace", str_of(v->namespace) },
				     { "mux", str_of(v->name) },
				     { "fate", { 0 } } };
	size_t counts[MUX_DISABLED + 1] = { 0 };

	for (size_t i = 0; i < v->n_channels; i++)
		counts[v->channels[i].fate]++;
	for (enum mux_fate i = 0; i < ARRAY_SIZE(counts); i++) {
		l[2].value = str_of(mux_fate_name(i));
		metrics_u64(p->out, p->name, l, ARRAY_SIZE(l), counts[i]);
	}
}

static void channels(struct page *p)
{
	const struct mux_view *v = NULL;

	while ((v = next(p, v)))
		channels_of(p, v);
}

static void ports(struct page *p)
{
	const struct mux_view *v = NULL;

	while ((v = next(p, v))) {
		const struct metrics_label l[] = { { "namespace", str_of(v->namespace) },
						   { "mux", str_of(v->name) } };

		metrics_u64(p->out, p->name, l, ARRAY_SIZE(l), v->n_ports);
	}
}

static void passes(struct page *p)
{
	single(p, p->c->stats.passes);
}

static void full_passes(struct page *p)
{
	single(p, p->c->stats.full_passes);
}

static void failed_passes(struct page *p)
{
	single(p, p->c->stats.failed_passes);
}

static void writes(struct page *p)
{
	for (size_t o = 0; o < ARRAY_SIZE(objects); o++) {
		for (size_t v = 0; v < ARRAY_SIZE(verbs); v++) {
			const struct metrics_label l[] = { { "object", str_of(objects[o]) },
							   { "verb", str_of(verbs[v]) } };

			metrics_u64(p->out, p->name, l, ARRAY_SIZE(l), p->c->stats.writes[o][v]);
		}
	}
}

static void failed_writes(struct page *p)
{
	single(p, p->c->stats.failed_writes);
}

static void conflicts(struct page *p)
{
	single(p, p->c->stats.conflicts);
}

static void events(struct page *p)
{
	const struct metrics_label normal = { "type", str_of("Normal") };
	const struct metrics_label warning = { "type", str_of("Warning") };

	metrics_u64(p->out, p->name, &normal, 1, p->c->stats.normal_events);
	metrics_u64(p->out, p->name, &warning, 1, p->c->stats.warning_events);
}

static void planning(struct page *p)
{
	metrics_histogram(p->out, p->name, NULL, 0, &p->c->stats.planning);
}

static void settling(struct page *p)
{
	metrics_histogram(p->out, p->name, NULL, 0, &p->c->stats.settling);
}

static const struct {
	const char *name;
	enum metrics_type type;
	const char *help;
	void (*write)(struct page *p);
} families[] = {
	{ "maglev_mux_muxes", METRICS_GAUGE,
	  "Muxes by condition; one that only channels name is missing.", muxes },
	{ "maglev_mux_channels", METRICS_GAUGE, "Channels of each mux by what became of them.",
	  channels },
	{ "maglev_mux_ports", METRICS_GAUGE, "Ports of each mux that channels have.", ports },
	{ "maglev_mux_passes_total", METRICS_COUNTER, "Turns of muxes.", passes },
	{ "maglev_mux_full_passes_total", METRICS_COUNTER,
	  "Turns that assigned all ports of a mux again.", full_passes },
	{ "maglev_mux_failed_passes_total", METRICS_COUNTER, "Turns whose writes failed.",
	  failed_passes },
	{ "maglev_mux_writes_total", METRICS_COUNTER, "Writes that succeeded, by object and verb.",
	  writes },
	{ "maglev_mux_failed_writes_total", METRICS_COUNTER, "Writes that failed.", failed_writes },
	{ "maglev_mux_conflicts_total", METRICS_COUNTER,
	  "Writes that failed because another writer was first.", conflicts },
	{ "maglev_mux_events_total", METRICS_COUNTER, "Events that were decided on, by type.",
	  events },
	{ "maglev_mux_planning_seconds", METRICS_HISTOGRAM, "Time of a turn before its writes.",
	  planning },
	{ "maglev_mux_settling_seconds", METRICS_HISTOGRAM,
	  "Time from a change in the cluster to the end of the writes that it led to.", settling },
};

static enum http_stream_state produce(struct buf *out, void *user)
{
	struct page p = { .out = out, .c = user };

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		p.name = families[i].name;
		metrics_family(out, p.name, families[i].type, families[i].help);
		families[i].write(&p);
	}
	operator_metrics(p.c->op, out, "maglev_mux_");
	return HTTP_STREAM_END;
}

struct http_stream metrics_page(void *user)
{
	return (struct http_stream){ .produce = produce, .user = user };
}
