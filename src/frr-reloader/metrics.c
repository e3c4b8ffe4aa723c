/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frr-reloader/metrics.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/metrics/metrics.h"

/* A counter of struct reloader_stats, or a function. */
struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
	size_t counter; /* offset of a uint64_t, without a function */
	uint64_t (*value)(const struct reloader *r);
};

static uint64_t queue(const struct reloader *r)
{
	return reloader_queue(r);
}

static uint64_t succeeded(const struct reloader *r)
{
	return reloader_stats(r)->succeeded;
}

static uint64_t last(const struct reloader *r)
{
	return (uint64_t)(reloader_stats(r)->last_at / NSEC_PER_SEC);
}

#define COUNTER(field) offsetof(struct reloader_stats, field), NULL
#define NAME(name) "metallb_frr_" name

static const struct family families[] = {
	{ NAME("reload_requests_total"), METRICS_COUNTER, "Requests, SIGHUP among them.",
	  COUNTER(requests) },
	{ NAME("reloads_total"), METRICS_COUNTER, "Reloads, whichever way.", COUNTER(reloads) },
	{ NAME("reload_errors_total"), METRICS_COUNTER, "Reloads that failed.", COUNTER(errors) },
	{ NAME("reloads_fast_total"), METRICS_COUNTER, "Reloads over the daemons' sockets.",
	  COUNTER(fast) },
	{ NAME("reloads_full_total"), METRICS_COUNTER, "Reloads by frr-reload.py.", COUNTER(full) },
	{ NAME("reload_fallbacks_total"), METRICS_COUNTER,
	  "Full reloads because the sockets could not be used.", COUNTER(fallbacks) },
	{ NAME("saves_total"), METRICS_COUNTER, "Times that FRR saved its configuration.",
	  COUNTER(saves) },
	{ NAME("save_errors_total"), METRICS_COUNTER, "Saves that failed.", COUNTER(save_errors) },
	{ NAME("networks_announced_total"), METRICS_COUNTER,
	  "Networks added or changed over the sockets.", COUNTER(announced) },
	{ NAME("networks_withdrawn_total"), METRICS_COUNTER, "Networks removed over the sockets.",
	  COUNTER(withdrawn) },
	{ NAME("reload_batched_total"), METRICS_COUNTER,
	  "Requests that shared a reload with an earlier one.", COUNTER(batched) },
	{ NAME("reload_batch_size"), METRICS_GAUGE, "Requests of the last reload.",
	  COUNTER(last_batch) },
	{ NAME("reload_queue_depth"), METRICS_GAUGE, "Requests that wait for their answer.", 0,
	  queue },
	{ NAME("reload_last_success"), METRICS_GAUGE, "1 if the last reload succeeded.", 0,
	  succeeded },
	{ NAME("reload_last_timestamp_seconds"), METRICS_GAUGE, "When the last reload ended.", 0,
	  last },
};

static uint64_t value_of(const struct family *f, const struct reloader *r)
{
	uint64_t counter;

	if (f->value)
		return f->value(r);
	memcpy(&counter, (const char *)reloader_stats(r) + f->counter, sizeof(counter));
	return counter;
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	static const char *const ways[] = { [RELOADER_FAST] = "fast", [RELOADER_FULL] = "full" };
	static const struct family duration = { NAME("reload_duration_seconds"), METRICS_HISTOGRAM,
						"How long reloads took.", 0, NULL };
	const struct reloader *r = user;
	const struct reloader_stats *s = reloader_stats(r);

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const struct family *f = &families[i];

		metrics_family(out, f->name, f->type, f->help);
		metrics_u64(out, f->name, NULL, 0, value_of(f, r));
	}
	metrics_family(out, duration.name, duration.type, duration.help);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const struct metrics_label way = { "way", str_of(ways[i]) };

		metrics_histogram(out, duration.name, &way, 1, &s->duration[i]);
	}
	return HTTP_STREAM_END;
}

struct http_stream metrics_page(void *user)
{
	return (struct http_stream){ .produce = produce, .user = user };
}
