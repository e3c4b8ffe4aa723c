/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: the page of /metrics: the families of every daemon, then the program's own.
 *
 * The first part is small and is written at once. The second part is the program's stream, which is
 * passed through, so that a program can write a large page in several turns of the loop.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/admin/internal.h"
#include "lib/cli/cli.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"

#define NAME_MAX_LEN 128 /* of a family, with its prefix */

/*
 * Upper bounds in seconds, the same for all daemons, so that dashboards can compare them. A turn
 * should take at most 10 ms; the other buckets show by how much it is missed.
 */
static const double lag_le[] = { .0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5 };
static const struct metrics_bounds lag_bounds = { lag_le, ARRAY_SIZE(lag_le) };

/* A page being written; freed by on_closed(). */
struct page {
	const struct admin *admin;
	bool begun;		 /* the families of every daemon were written */
	struct http_stream rest; /* the program's part; produce is NULL if it has none */
};

static void write_build_info(const struct admin *a, const char *name, struct buf *out)
{
	const struct metrics_label labels[] = { { "version", str_of(cli_version.version) },
						{ "commit", str_of(cli_version.commit) },
						{ "date", str_of(cli_version.date) } };

	metrics_u64(out, name, labels, ARRAY_SIZE(labels), 1);
}

static void write_log_dropped(const struct admin *a, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, log_dropped());
}

static void write_lag(const struct admin *a, const char *name, struct buf *out)
{
	metrics_histogram(out, name, NULL, 0, &a->turns);
}

/* The program's prefix and an underscore are put before each name. */
static const struct family {
	const char *name;
	enum metrics_type type;
	const char *help;
	void (*write)(const struct admin *a, const char *name, struct buf *out);
} families[] = {
	{ "build_info", METRICS_GAUGE, "Version of this program; always 1.", write_build_info },
	{ "log_dropped_total", METRICS_COUNTER, "Log lines that standard output did not accept.",
	  write_log_dropped },
	{ "loop_lag_seconds", METRICS_HISTOGRAM,
	  "Duration of one turn of the event loop; everything else waits.", write_lag },
};

static void write_families(const struct admin *a, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const struct family *f = &families[i];
		char name[NAME_MAX_LEN];
		int n = snprintf(name, sizeof(name), "%s_%s", a->config.prefix, f->name);

		assert(n > 0 && (size_t)n < sizeof(name));
		metrics_family(out, name, f->type, f->help);
		f->write(a, name, out);
	}
	metrics_process(out);
}

static enum http_stream_state on_produce(struct buf *out, void *user)
{
	struct page *page = user;

	if (!page->begun) {
		page->begun = true;
		write_families(page->admin, out);
		return page->rest.produce ? HTTP_STREAM_MORE : HTTP_STREAM_END;
	}
	return page->rest.produce(out, page->rest.user);
}

static void on_closed(bool whole, void *user)
{
	struct page *page = user;

	if (page->rest.closed)
		page->rest.closed(whole, page->rest.user);
	free(page);
}

static void on_turn(int64_t ns, void *user)
{
	struct admin *a = user;

	metrics_observe(&a->turns, loop_seconds(ns));
}

void admin__metrics_start(struct admin *a)
{
	metrics_histogram_init(&a->turns, &lag_bounds);
	loop_lag_start(&a->lag, a->config.daemon->loop, on_turn, a);
}

void admin__metrics_stop(struct admin *a)
{
	loop_lag_stop(&a->lag, a->config.daemon->loop);
}

void admin__on_metrics(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct admin *a = user;
	struct page *page = mem_zalloc(sizeof(*page));

	page->admin = a;
	if (a->config.metrics)
		page->rest = a->config.metrics(a->config.user);
	http_reply_stream(
		x, 200, METRICS_CONTENT_TYPE,
		&(struct http_stream){ .produce = on_produce, .closed = on_closed, .user = page });
}
