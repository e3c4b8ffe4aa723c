/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the families that every program with an operator has. */
#include <stdio.h>

#include "base/cleanup.h"
#include "lib/metrics/metrics.h"
#include "lib/operator/private.h"

#define NAME_BYTES 128

/* The family that is written. */
struct page {
	struct buf *out;
	const struct operator_frame *op;
	char name[NAME_BYTES];
};

static void sample(struct page *p, const char *label, const char *value, uint64_t number)
{
	const struct metrics_label l = { label, str_of(value) };

	metrics_u64(p->out, p->name, &l, 1, number);
}

static void single(struct page *p, uint64_t number)
{
	metrics_u64(p->out, p->name, NULL, 0, number);
}

static const struct k8s_client_stats *client(const struct page *p)
{
	return k8s_client_stats(p->op->client);
}

static void requests(struct page *p)
{
	for (enum k8s_code code = 0; code < K8S_CODES; code++)
		sample(p, "code", k8s_code_name(code), client(p)->codes[code]);
}

static void writes(struct page *p)
{
	single(p, client(p)->writes);
}

static void repeats(struct page *p)
{
	single(p, client(p)->repeated);
}

static void throttled(struct page *p)
{
	single(p, client(p)->throttled);
}

static void waiting(struct page *p)
{
	single(p, client(p)->waiting);
}

static void objects(struct page *p)
{
	for (size_t i = 0; i < p->op->config.n_kinds; i++)
		sample(p, "kind", p->op->config.kinds[i].resource.plural,
		       k8s_cache_count(k8s_informer_cache(p->op->follows[i].informer)));
}

static void failures(struct page *p)
{
	for (size_t i = 0; i < p->op->config.n_kinds; i++)
		sample(p, "kind", p->op->config.kinds[i].resource.plural,
		       k8s_informer_stats(p->op->follows[i].informer)->failures);
}

static void synced(struct page *p)
{
	single(p, p->op->synced);
}

static void leader(struct page *p)
{
	single(p, operator_is_active(p->op));
}

static void events(struct page *p)
{
	const struct k8s_events_stats *s = k8s_events_stats(p->op->events);

	sample(p, "result", "created", s->created);
	sample(p, "result", "counted", s->counted);
	sample(p, "result", "repeated", s->repeated);
	sample(p, "result", "dropped", s->dropped);
}

static void keys(struct page *p)
{
	const struct queue *q = &p->op->queue;

	sample(p, "state", "waiting", q->waiting.n);
	sample(p, "state", "delayed", q->delayed.n);
	sample(p, "state", "running", q->running);
}

static const struct {
	const char *name;
	enum metrics_type type;
	const char *help;
	void (*write)(struct page *p);
} families[] = {
	{ "kube_requests_total", METRICS_COUNTER,
	  "Requests to the API server that ended, by result.", requests },
	{ "kube_writes_total", METRICS_COUNTER, "Writes that were sent.", writes },
	{ "kube_repeats_total", METRICS_COUNTER,
	  "Requests that were sent again after 429, 5xx or 401.", repeats },
	{ "kube_throttled_total", METRICS_COUNTER,
	  "Requests that have waited for the rate limit of this program.", throttled },
	{ "kube_requests_waiting", METRICS_GAUGE, "Requests that wait to be sent.", waiting },
	{ "kube_objects", METRICS_GAUGE, "Objects in the caches.", objects },
	{ "kube_failures_total", METRICS_COUNTER, "Lists and watches that failed.", failures },
	{ "kube_synced", METRICS_GAUGE, "1 if all kinds have been listed.", synced },
	{ "kube_events_total", METRICS_COUNTER, "Events by what became of them.", events },
	{ "queue_keys", METRICS_GAUGE, "Keys of the queue by state.", keys },
	{ "leader", METRICS_GAUGE, "1 if this process acts: it leads, or needs no lease.", leader },
};

void operator_metrics(const struct operator_frame *op, struct buf *out, const char *prefix)
{
	struct page p = { .out = out, .op = op };

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		snprintf(p.name, sizeof(p.name), "%s%s", prefix, families[i].name);
		metrics_family(out, p.name, families[i].type, families[i].help);
		families[i].write(&p);
	}
}
