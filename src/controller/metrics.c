/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/metrics.h"

#include "base/cleanup.h"
#include "lib/metrics/metrics.h"
#include "src/controller/controller.h"
#include "src/controller/webhook.h"

/* ---- pools ---- */

/* Sums of both families stay numbers if one of them is huge. */
static int64_t sum(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t all4(const struct ipam_usage *u)
{
	return sum(u->assigned4, u->available4);
}

static int64_t all6(const struct ipam_usage *u)
{
	return sum(u->assigned6, u->available6);
}

static int64_t all(const struct ipam_usage *u)
{
	return sum(all4(u), all6(u));
}

static int64_t used4(const struct ipam_usage *u)
{
	return u->assigned4;
}

static int64_t used6(const struct ipam_usage *u)
{
	return u->assigned6;
}

static int64_t used(const struct ipam_usage *u)
{
	return u->assigned4 + u->assigned6;
}

static int64_t services(const struct ipam_usage *u)
{
	return (int64_t)u->services;
}

struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
};

/* Of a pool. */
static const struct {
	struct family family;
	int64_t (*value)(const struct ipam_usage *u);
} families[] = {
	{ { "metallb_allocator_addresses_total", METRICS_GAUGE, "Addresses of the pool." }, all },
	{ { "metallb_allocator_ipv4_addresses_total", METRICS_GAUGE, "Those of IPv4." }, all4 },
	{ { "metallb_allocator_ipv6_addresses_total", METRICS_GAUGE, "Those of IPv6." }, all6 },
	{ { "metallb_allocator_addresses_in_use_total", METRICS_GAUGE,
	    "Addresses of the pool that services have." },
	  used },
	{ { "metallb_allocator_ipv4_addresses_in_use_total", METRICS_GAUGE, "Those of IPv4." },
	  used4 },
	{ { "metallb_allocator_ipv6_addresses_in_use_total", METRICS_GAUGE, "Those of IPv6." },
	  used6 },
	{ { "metallb_allocator_services_allocated_total", METRICS_GAUGE,
	    "Services with an address of the pool." },
	  services },
};

static void begin(struct buf *out, const struct family *f)
{
	metrics_family(out, f->name, f->type, f->help);
}

static void add_pools(struct buf *out, const struct controller *c)
{
	const struct metal_config *pools = controller_pools(c);

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		begin(out, &families[i].family);
		for (size_t j = 0; pools && j < pools->n_pools; j++) {
			const char *name = pools->pools[j].name;
			struct ipam_usage u = ipam_usage(controller_ipam(c), name);
			const struct metrics_label label = { "pool", str_of(name) };

			metrics_u64(out, families[i].family.name, &label, 1,
				    (uint64_t)families[i].value(&u));
		}
	}
}

/* ---- the rest ---- */

static const struct family updates = { "metallb_k8s_client_updates_total", METRICS_COUNTER,
				       "Looks at services and resources." };
static const struct family errors = { "metallb_k8s_client_update_errors_total", METRICS_COUNTER,
				      "Those that failed." };
static const struct family loaded = { "metallb_k8s_client_config_loaded_bool", METRICS_GAUGE,
				      "1 if a configuration was loaded." };
static const struct family stale = { "metallb_k8s_client_config_stale_bool", METRICS_GAUGE,
				     "1 while an earlier configuration is in force." };
static const struct family states = { "maglev_controller_services", METRICS_GAUGE,
				      "Services by state." };
static const struct family results = { "maglev_controller_allocations_total", METRICS_COUNTER,
				       "Allocations by result." };
static const struct family requests = { "maglev_controller_webhook_requests_total", METRICS_COUNTER,
					"Requests to the webhooks, by result." };
static const struct family ends = {
	"maglev_controller_webhook_certificate_expiry_timestamp_seconds", METRICS_GAUGE,
	"When the certificate of the webhooks ends; 0: there is none."
};

static void single(struct buf *out, const struct family *f, uint64_t value)
{
	begin(out, f);
	metrics_u64(out, f->name, NULL, 0, value);
}

static void add_config(struct buf *out, const struct controller_stats *s)
{
	single(out, &updates, s->turns);
	single(out, &errors, s->failures);
	single(out, &loaded, s->loaded);
	single(out, &stale, s->stale);
}

static void add_services(struct buf *out, const struct controller *c)
{
	const struct controller_stats *s = controller_stats(c);
	struct metrics_label label = { "state", STR("allocated") };

	begin(out, &states);
	metrics_u64(out, states.name, &label, 1, ipam_count(controller_ipam(c)));
	label.value = STR("pending");
	metrics_u64(out, states.name, &label, 1, s->pending);
	begin(out, &results);
	label = (struct metrics_label){ "result", STR("success") };
	metrics_u64(out, results.name, &label, 1, s->allocated);
	label.value = STR("failure");
	metrics_u64(out, results.name, &label, 1, s->failed);
}

static void add_webhook(struct buf *out, const struct webhook *w)
{
	begin(out, &requests);
	for (enum webhook_result r = 0; r < WEBHOOK_RESULTS; r++) {
		const struct metrics_label label = { "result", str_of(webhook_result_name(r)) };

		metrics_u64(out, requests.name, &label, 1, webhook_count(w, r));
	}
	single(out, &ends, (uint64_t)webhook_certificate_ends(w));
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	const struct metrics_sources *from = user;
	const struct controller *c = from->controller;

	add_pools(out, c);
	add_config(out, controller_stats(c));
	add_services(out, c);
	if (from->webhook)
		add_webhook(out, from->webhook);
	operator_metrics(controller_operator(c), out, "maglev_controller_");
	return HTTP_STREAM_END;
}

struct http_stream metrics_page(void *user)
{
	return (struct http_stream){ .produce = produce, .user = user };
}
