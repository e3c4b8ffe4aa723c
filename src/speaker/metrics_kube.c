/* SPDX-License-Identifier: Apache-2.0 */
/* The families of a speaker in a cluster, MetalLB's names first. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "lib/metrics/metrics.h"
#include "src/speaker/kube_state.h"
#include "src/speaker/metrics.h"

struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
};

static void begin(struct buf *out, const struct family *f)
{
	metrics_family(out, f->name, f->type, f->help);
}

static void single(struct buf *out, const struct family *f, uint64_t value)
{
	begin(out, f);
	metrics_u64(out, f->name, NULL, 0, value);
}

static const struct family announced = { "metallb_speaker_announced", METRICS_GAUGE,
					 "1 for each address that is announced from this node." };
static const struct family reasons = {
	"maglev_speaker_service", METRICS_GAUGE,
	"1 for the reason why a Service is announced from this node, or not."
};
static const struct family refused = { "maglev_speaker_l2_heartbeats_refused_total",
				       METRICS_COUNTER,
				       "Datagrams that were no heartbeat of this cluster." };
static const struct family alive = {
	"maglev_speaker_node_alive", METRICS_GAUGE,
	"1 for each node whose speaker is alive, 0 for others with a Lease."
};
static const struct family writes_total = { "maglev_speaker_status_writes_total", METRICS_COUNTER,
					    "Statuses that were written." };
static const struct family transitions = { "maglev_speaker_service_transitions_total",
					   METRICS_COUNTER,
					   "Times that a Service was announced or withdrawn." };
static const struct family interfaces = { "maglev_speaker_l2_interfaces", METRICS_GAUGE,
					  "Interfaces on which addresses can be announced." };
static const struct family beats_sent = { "maglev_speaker_l2_heartbeats_sent_total",
					  METRICS_COUNTER, "Heartbeats that were sent." };
static const struct family beats_received = { "maglev_speaker_l2_heartbeats_received_total",
					      METRICS_COUNTER, "Heartbeats of other nodes." };
static const struct family updates = { "metallb_k8s_client_updates_total", METRICS_COUNTER,
				       "Changes of objects that were looked at." };
static const struct family update_errors = { "metallb_k8s_client_update_errors_total",
					     METRICS_COUNTER, "Configurations that were refused." };
static const struct family loaded = { "metallb_k8s_client_config_loaded_bool", METRICS_GAUGE,
				      "1 if there was a valid configuration." };
static const struct family stale = { "metallb_k8s_client_config_stale_bool", METRICS_GAUGE,
				     "1 while a newer configuration is refused." };
static const struct family status_failures = {
	"maglev_speaker_status_failures_total", METRICS_COUNTER,
	"Statuses that could not be written, and are tried again."
};

/* ---- Services ---- */

static void add_announced(struct buf *out, const struct kube *k, const struct kube_entry *e,
			  const char *protocol)
{
	char text[ADDR_STRLEN];

	for (size_t i = 0; i < e->n_addresses; i++) {
		const struct metrics_label labels[] = {
			{ "service", str_of(e->key) },
			{ "protocol", str_of(protocol) },
			{ "node", str_of(k->node) },
			{ "ip", str_of(addr_format(&e->addresses[i], text)) },
		};

		metrics_u64(out, announced.name, labels, ARRAY_SIZE(labels), 1);
	}
}

static void add_reason(struct buf *out, const struct kube_entry *e, const char *protocol,
		       enum speak_reason r)
{
	const struct metrics_label labels[] = {
		{ "service", str_of(e->key) },
		{ "protocol", str_of(protocol) },
		{ "reason", str_of(speak_reason_name(r)) },
	};

	metrics_u64(out, reasons.name, labels, ARRAY_SIZE(labels), 1);
}

static void add_services(struct buf *out, const struct kube *k)
{
	begin(out, &announced);
	for (size_t i = 0; i < k->entries.n; i++) {
		const struct kube_entry *e = k->entries.items[i];

		if (e->view && (e->bgp.reason == SPEAK_ANNOUNCED || e->draining))
			add_announced(out, k, e, "bgp");
		if (e->view && e->l2.reason == SPEAK_ANNOUNCED)
			add_announced(out, k, e, "layer2");
	}
	begin(out, &reasons);
	for (size_t i = 0; i < k->entries.n; i++) {
		const struct kube_entry *e = k->entries.items[i];

		add_reason(out, e, "bgp", e->view ? e->bgp.reason : SPEAK_NO_CONFIG);
		add_reason(out, e, "layer2", e->view ? e->l2.reason : SPEAK_NO_CONFIG);
	}
	single(out, &transitions, k->stats.transitions);
}

/* ---- local networks ---- */

static uint64_t requests(const struct kube_l2_counts *c)
{
	return c->requests;
}

static uint64_t answers(const struct kube_l2_counts *c)
{
	return c->answers;
}

static uint64_t announcements(const struct kube_l2_counts *c)
{
	return c->announcements;
}

static const struct of_address {
	const char *name;
	enum metrics_type type;
	const char *help;
	uint64_t (*value)(const struct kube_l2_counts *c);
} of_addresses[] = {
	{ "metallb_layer2_requests_received", METRICS_COUNTER,
	  "ARP requests and neighbour solicitations for the address while it was owned.",
	  requests },
	{ "metallb_layer2_responses_sent", METRICS_COUNTER, "Answers to them.", answers },
	{ "metallb_layer2_gratuitous_sent", METRICS_COUNTER,
	  "Gratuitous ARP and unsolicited neighbour advertisements for the address.",
	  announcements },
};

/* Services that share an address have one series. */
static int by_address(const void *a, const void *b)
{
	return addr_cmp(a, b);
}

static size_t list_owned(const struct kube *k, struct addr **ret)
{
	size_t n = 0, kept = 0;
	struct addr *list;

	for (size_t i = 0; i < k->entries.n; i++)
		n += k->entries.items[i]->n_addresses;
	list = mem_zalloc((n + 1) * sizeof(*list));
	n = 0;
	for (size_t i = 0; i < k->entries.n; i++) {
		const struct kube_entry *e = k->entries.items[i];

		for (size_t a = 0; e->view && e->l2.reason == SPEAK_ANNOUNCED && a < e->n_addresses;
		     a++)
			list[n++] = e->addresses[a];
	}
	if (n)
		qsort(list, n, sizeof(*list), by_address);
	for (size_t i = 0; i < n; i++)
		if (!i || addr_cmp(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	*ret = list;
	return kept;
}

static void add_l2(struct buf *out, const struct kube *k)
{
	_cleanup_(cleanup_free) struct addr *list = NULL;
	size_t n = list_owned(k, &list);
	const struct l2_heartbeat_stats stats = kube_l2_heartbeats(k->l2);
	char text[ADDR_STRLEN];

	for (size_t f = 0; f < ARRAY_SIZE(of_addresses); f++) {
		metrics_family(out, of_addresses[f].name, of_addresses[f].type,
			       of_addresses[f].help);
		for (size_t i = 0; i < n; i++) {
			const struct metrics_label ip = { "ip",
							  str_of(addr_format(&list[i], text)) };
			const struct kube_l2_counts counts = kube_l2_counts(k->l2, &list[i]);

			metrics_u64(out, of_addresses[f].name, &ip, 1,
				    of_addresses[f].value(&counts));
		}
	}
	single(out, &interfaces, kube_l2_interfaces(k->l2));
	single(out, &beats_sent, stats.sent);
	single(out, &beats_received, stats.received);
	begin(out, &refused);
	for (size_t i = 0; i < L2_REFUSALS; i++) {
		const struct metrics_label why = { "reason", str_of(l2_refusal_name(i)) };

		metrics_u64(out, refused.name, &why, 1, stats.refused[i]);
	}
}

static void add_nodes(struct buf *out, const struct kube *k)
{
	begin(out, &alive);
	for (size_t i = 0; i < k->alive.nodes.n; i++) {
		const struct metrics_label node = { "node", str_of(k->alive.nodes.items[i].node) };

		metrics_u64(out, alive.name, &node, 1, k->alive.nodes.items[i].is_alive);
	}
}

/* ---- the cluster ---- */

static void add_cluster(struct buf *out, const struct kube *k)
{
	const struct kube_status_stats *s = kube_status_stats(k->status);
	const struct {
		const char *verb;
		uint64_t n;
	} writes[] = { { "create", s->creates },
		       { "update", s->updates },
		       { "delete", s->deletes } };

	single(out, &updates, k->stats.updates);
	single(out, &update_errors, k->stats.config_errors);
	single(out, &loaded, k->config != NULL);
	single(out, &stale, k->mistake != NULL);
	begin(out, &writes_total);
	for (size_t i = 0; i < ARRAY_SIZE(writes); i++) {
		const struct metrics_label verb = { "verb", str_of(writes[i].verb) };

		metrics_u64(out, writes_total.name, &verb, 1, writes[i].n);
	}
	single(out, &status_failures, s->failures);
	operator_metrics(k->op, out, "maglev_speaker_");
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	static const struct bgp_config none;
	const struct kube *k = user;

	add_services(out, k);
	add_l2(out, k);
	add_nodes(out, k);
	add_cluster(out, k);
	metrics__add_reload(out, k->reload);
	metrics__add_api(out, k->api);
	metrics__add_sessions(out, k->config ? &k->config->frr : &none, sessions_list(k->sessions));
	return HTTP_STREAM_END;
}

struct http_stream kube_metrics_page(void *user)
{
	return (struct http_stream){ .produce = produce, .user = user };
}
