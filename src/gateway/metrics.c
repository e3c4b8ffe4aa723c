/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: one table; each row has the function that writes its samples. */
#include "src/gateway/metrics.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/metrics/metrics.h"

struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
	void (*write)(struct buf *out, const char *name, const struct gateway *g);
};

static void number(struct buf *out, const char *name, uint64_t value)
{
	metrics_u64(out, name, NULL, 0, value);
}

static void seconds(struct buf *out, const char *name, int64_t ns)
{
	metrics_double(out, name, NULL, 0, (double)ns / (double)NSEC_PER_SEC);
}

/* ---- the document ---- */

static void entries(struct buf *out, const char *name, const struct gateway *g)
{
	for (enum document_part part = 0; part < DOCUMENT_PARTS; part++) {
		const struct metrics_label label = { "part", str_of(document_part_name(part)) };

		metrics_u64(out, name, &label, 1, document_count(gateway_document(g), part));
	}
}

static void refused(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, document_refused(gateway_document(g)));
}

static void version(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, document_version(gateway_document(g)));
}

/* ---- translation ---- */

static void changes(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, gateway_stats(g)->changes);
}

static void translations(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, gateway_stats(g)->translated);
}

static void translation_time(struct buf *out, const char *name, const struct gateway *g)
{
	seconds(out, name, gateway_stats(g)->time);
}

static void references(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, wanted_count(gateway_wanted(g)));
}

static void addresses(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, addresses_given(gateway_addresses(g)));
}

static void missing(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, addresses_missing(gateway_addresses(g)));
}

static void unusable(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, gateway_stats(g)->unusable);
}

/* ---- writes ---- */

static void status_writes(struct buf *out, const char *name, const struct gateway *g)
{
	const struct report_stats *s = report_stats(gateway_report(g));
	const struct {
		struct str result;
		uint64_t n;
	} rows[] = { { STR("success"), s->written },
		     { STR("conflict"), s->conflicts },
		     { STR("failure"), s->failures } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		metrics_u64(out, name, &(struct metrics_label){ "result", rows[i].result }, 1,
			    rows[i].n);
}

static void service_writes(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, services_stats(gateway_services(g))->written);
}

static void service_failures(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, services_stats(gateway_services(g))->failures);
}

/* ---- routers ---- */

enum router_value { CONNECTED, CURRENT, GENERATION, PUSHES, SMALL, FAILURES };

static void each_router(struct buf *out, const char *name, const struct gateway *g,
			enum router_value which)
{
	const struct push *p = gateway_push(g);

	for (size_t i = 0; i < push_count(p); i++) {
		const struct push_view v = push_at(p, i);
		const uint64_t values[] = { v.connected, v.current, v.generation,
					    v.pushes,	 v.small,   v.failures };
		const struct metrics_label label = { "router", str_of(v.name) };

		metrics_u64(out, name, &label, 1, values[which]);
	}
}

static void router_connected(struct buf *out, const char *name, const struct gateway *g)
{
	each_router(out, name, g, CONNECTED);
}

static void router_current(struct buf *out, const char *name, const struct gateway *g)
{
	each_router(out, name, g, CURRENT);
}

static void router_generation(struct buf *out, const char *name, const struct gateway *g)
{
	each_router(out, name, g, GENERATION);
}

static void router_pushes(struct buf *out, const char *name, const struct gateway *g)
{
	each_router(out, name, g, PUSHES);
}

static void router_small(struct buf *out, const char *name, const struct gateway *g)
{
	each_router(out, name, g, SMALL);
}

static void router_failures(struct buf *out, const char *name, const struct gateway *g)
{
	each_router(out, name, g, FAILURES);
}

static void documents(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, push_stats(gateway_push(g))->whole);
}

static void documents_time(struct buf *out, const char *name, const struct gateway *g)
{
	seconds(out, name, push_stats(gateway_push(g))->whole_time);
}

static void servers(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, push_stats(gateway_push(g))->servers);
}

static void servers_time(struct buf *out, const char *name, const struct gateway *g)
{
	seconds(out, name, push_stats(gateway_push(g))->servers_time);
}

static void polls(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, push_stats(gateway_push(g))->polls);
}

static void refusals(struct buf *out, const char *name, const struct gateway *g)
{
	number(out, name, push_stats(gateway_push(g))->refused);
}

static const struct family families[] = {
	{ "maglev_gateway_entries", METRICS_GAUGE, "Entries of the document that routers get.",
	  entries },
	{ "maglev_gateway_entries_refused", METRICS_GAUGE,
	  "Entries that are left out, because a router refuses them.", refused },
	{ "maglev_gateway_document_version", METRICS_GAUGE,
	  "Changes of the document since the start.", version },
	{ "maglev_gateway_changes_total", METRICS_COUNTER, "Changes of objects that were seen.",
	  changes },
	{ "maglev_gateway_translations_total", METRICS_COUNTER, "Results that were made again.",
	  translations },
	{ "maglev_gateway_translation_seconds_total", METRICS_COUNTER, "Time for that.",
	  translation_time },
	{ "maglev_gateway_references", METRICS_GAUGE, "Secrets and ConfigMaps that are followed.",
	  references },
	{ "maglev_gateway_addresses", METRICS_GAUGE, "Gateways with an address.", addresses },
	{ "maglev_gateway_addresses_missing", METRICS_GAUGE,
	  "Gateways without an address that can be used.", missing },
	{ "maglev_gateway_addresses_unusable_total", METRICS_COUNTER,
	  "Times that a router could not listen on an address.", unusable },
	{ "maglev_gateway_status_writes_total", METRICS_COUNTER, "Writes of status, by result.",
	  status_writes },
	{ "maglev_gateway_service_writes_total", METRICS_COUNTER,
	  "Writes of Services of Gateways and of their slices.", service_writes },
	{ "maglev_gateway_service_failures_total", METRICS_COUNTER, "Writes of these that failed.",
	  service_failures },
	{ "maglev_gateway_router_connected", METRICS_GAUGE, "Whether the router answers.",
	  router_connected },
	{ "maglev_gateway_router_current", METRICS_GAUGE, "Whether it has the latest document.",
	  router_current },
	{ "maglev_gateway_router_generation", METRICS_GAUGE, "Its generation, as last seen.",
	  router_generation },
	{ "maglev_gateway_router_documents_total", METRICS_COUNTER, "Whole documents that it got.",
	  router_pushes },
	{ "maglev_gateway_router_servers_total", METRICS_COUNTER,
	  "Updates of the servers of one pool that it got.", router_small },
	{ "maglev_gateway_router_failures_total", METRICS_COUNTER, "Requests to it that failed.",
	  router_failures },
	{ "maglev_gateway_documents_total", METRICS_COUNTER, "Whole documents that routers took.",
	  documents },
	{ "maglev_gateway_documents_seconds_total", METRICS_COUNTER,
	  "Time until they had answered.", documents_time },
	{ "maglev_gateway_servers_total", METRICS_COUNTER,
	  "Updates of the servers of one pool that routers took.", servers },
	{ "maglev_gateway_servers_seconds_total", METRICS_COUNTER, "Time until they had answered.",
	  servers_time },
	{ "maglev_gateway_polls_total", METRICS_COUNTER,
	  "Questions to routers about what they have.", polls },
	{ "maglev_gateway_refusals_total", METRICS_COUNTER, "Entries that a router has refused.",
	  refusals },
};

static enum http_stream_state produce(struct buf *out, void *user)
{
	const struct gateway *g = user;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const struct family *f = &families[i];

		metrics_family(out, f->name, f->type, f->help);
		f->write(out, f->name, g);
	}
	operator_metrics(gateway_operator(g), out, "maglev_gateway_");
	return HTTP_STREAM_END;
}

struct http_stream metrics_page(void *user)
{
	return (struct http_stream){ .produce = produce, .user = user };
}
