/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/report.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "src/maglevt/figures.h"

/* The quantiles of both forms of the report. */
static const struct {
	const char *name;
	double q;
} quantiles[] = { { "p50", 0.5 }, { "p95", 0.95 }, { "p99", 0.99 } };

bool report_is_good(const struct options *o, const struct tally *t)
{
	if (t->failed + t->passed.n == 0 || tally_success(t) < o->min_success)
		return false;
	return !o->max_p99 || histogram_quantile(&t->passed, 0.99) <= o->max_p99;
}

/* ---- JSON ---- */

static void add_string(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\": ", key);
	json_write_string(out, text, strlen(text));
}

static void add_ms(struct buf *out, const char *key, int64_t ns)
{
	int64_t us = ns / NSEC_PER_USEC;

	buf_printf(out, "\"%s\": ", key);
	json_write_double(out, (double)us / 1000.);
}

/* Latency is null if no request passed, because 0 would look like a measurement. */
static void add_latency(struct buf *out, const struct histogram *h)
{
	if (!h->n) {
		buf_adds(out, "      \"latency_ms\": null,\n");
		return;
	}
	buf_adds(out, "      \"latency_ms\": {");
	add_ms(out, "min", h->min);
	buf_adds(out, ", ");
	add_ms(out, "mean", histogram_mean(h));
	buf_adds(out, ", ");
	add_ms(out, "max", h->max);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
		buf_adds(out, ", ");
		add_ms(out, quantiles[i].name, histogram_quantile(h, quantiles[i].q));
	}
	buf_adds(out, "},\n");
}

/*
 * Only a bounded number of values is counted one by one (core/stats/values.h); the rest are
 * "others".
 */
static void add_headers(struct buf *out, const struct values *v)
{
	buf_adds(out, "      \"headers\": {");
	for (size_t i = 0; i < v->n; i++) {
		buf_adds(out, i ? ", " : "");
		json_write_string(out, v->items[i].text, strlen(v->items[i].text));
		buf_printf(out, ": %llu", (unsigned long long)v->items[i].n);
	}
	buf_printf(out, "},\n      \"other_headers\": %llu,\n", (unsigned long long)v->others.n);
}

static void add_troubles(struct buf *out, const struct vip *v)
{
	buf_adds(out, "      \"errors\": {");
	for (size_t i = 0; i < TROUBLE_KINDS; i++)
		buf_printf(out, "%s\"%s\": %llu", i ? ", " : "", trouble_name((enum trouble_kind)i),
			   (unsigned long long)v->troubles[i]);
	buf_adds(out, "},\n      ");
	add_string(out, "last_error", v->last.vip ? v->last.text : "");
}

static void add_vip(struct buf *out, const struct vip *v)
{
	const struct tally *t = &v->window.lifetime;
	char address[ADDR_STRLEN];

	buf_adds(out, "    {\n      ");
	add_string(out, "name", v->target->name);
	buf_adds(out, ",\n      ");
	add_string(out, "scheme", scheme_name(v->target->scheme));
	buf_adds(out, ",\n      ");
	add_string(out, "address", addr_format(&v->target->at.addr, address));
	buf_printf(out, ",\n      \"port\": %u,\n", v->target->at.port);
	buf_printf(out, "      \"ok\": %llu,\n      \"failed\": %llu,\n      \"success\": ",
		   (unsigned long long)t->passed.n, (unsigned long long)t->failed);
	if (t->passed.n + t->failed)
		json_write_double(out, tally_success(t));
	else
		buf_adds(out, "null");
	buf_printf(out, ",\n      \"passed\": %s,\n",
		   report_is_good(v->tester->options, t) ? "true" : "false");
	add_latency(out, &t->passed);
	add_headers(out, &v->headers);
	add_troubles(out, v);
	buf_adds(out, "\n    }");
}

static void write_json(const struct report *r, bool good, struct buf *out)
{
	const struct options *o = r->tester->options;
	char started[TIME_STRLEN];
	int64_t ms = r->duration / NSEC_PER_MSEC;

	buf_adds(out, "{\n  ");
	add_string(out, "version", cli_version.version);
	buf_adds(out, ",\n  ");
	add_string(out, "started", time_format(r->started, started));
	buf_adds(out, ",\n  \"duration_s\": ");
	json_write_double(out, (double)ms / 1000.);
	buf_adds(out, ",\n  ");
	add_string(out, "header", o->header ? o->header : "");
	buf_printf(out, ",\n  \"passed\": %s,\n  \"vips\": [\n", good ? "true" : "false");
	for (size_t i = 0; i < r->tester->n; i++) {
		buf_adds(out, i ? ",\n" : "");
		add_vip(out, &r->tester->vips[i]);
	}
	buf_adds(out, "\n  ]\n}\n");
}

/* ---- text ---- */

/* Right-aligns a cell. The micro sign has two bytes but takes one column. */
static void add_cell(struct buf *out, int width, const char *text)
{
	size_t columns = strlen(text) - (strstr(text, "µ") ? 1 : 0);

	buf_printf(out, "%*s%s", width > (int)columns ? width - (int)columns : 0, "", text);
}

static void add_latency_cell(struct buf *out, const struct histogram *h, int64_t ns)
{
	char cell[FIGURE_LEN];

	add_cell(out, 7, h->n ? figure_latency(ns, cell) : "-");
}

static void write_row(const struct vip *v, int label, struct buf *out)
{
	const struct tally *t = &v->window.lifetime;
	const struct histogram *h = &t->passed;
	char cell[FIGURE_LEN];
	bool asked = t->passed.n + t->failed > 0;

	buf_printf(out, "%-*s", label, v->target->label);
	add_cell(out, 8, asked ? figure_share(tally_success(t), cell) : "-");
	add_cell(out, 7, figure_count(t->passed.n + t->failed, cell));
	add_cell(out, 7, figure_count(t->failed, cell));
	add_latency_cell(out, h, h->min);
	add_latency_cell(out, h, histogram_mean(h));
	add_latency_cell(out, h, h->max);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		add_latency_cell(out, h, histogram_quantile(h, quantiles[i].q));
	buf_adds(out, report_is_good(v->tester->options, t) ? "\n" : "  FAILED\n");
}

/* Which backends answered, how often each kind of error occurred, and the last error. */
static void write_details(const struct vip *v, struct buf *out)
{
	for (size_t i = 0; i < v->headers.n; i++)
		buf_printf(out, "%s%s %llu", i ? ", " : "  ", v->headers.items[i].text,
			   (unsigned long long)v->headers.items[i].n);
	if (v->headers.others.n)
		buf_printf(out, ", others %llu", (unsigned long long)v->headers.others.n);
	buf_adds(out, v->headers.n ? "\n" : "");
	for (size_t i = 0; i < TROUBLE_KINDS; i++)
		if (v->troubles[i])
			buf_printf(out, "  %s %llu\n", trouble_name((enum trouble_kind)i),
				   (unsigned long long)v->troubles[i]);
	if (v->last.vip)
		buf_printf(out, "  last: %s\n", v->last.text);
}

static void write_text(const struct report *r, struct buf *out)
{
	size_t label = strlen("VIP");

	for (size_t i = 0; i < r->tester->n; i++)
		if (strlen(r->tester->vips[i].target->label) > label)
			label = strlen(r->tester->vips[i].target->label);
	buf_printf(out, "%-*s%8s%7s%7s%7s%7s%7s%7s%7s%7s\n", (int)label, "VIP", "OK", "N", "FAIL",
		   "MIN", "AVG", "MAX", "P50", "P95", "P99");
	for (size_t i = 0; i < r->tester->n; i++) {
		write_row(&r->tester->vips[i], (int)label, out);
		write_details(&r->tester->vips[i], out);
	}
}

bool report_write(const struct report *r, struct buf *out)
{
	bool good = true;

	for (size_t i = 0; i < r->tester->n; i++)
		good &= report_is_good(r->tester->options, &r->tester->vips[i].window.lifetime);
	if (r->tester->options->json)
		write_json(r, good, out);
	else
		write_text(r, out);
	return good;
}
