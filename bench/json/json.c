/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/json: the cost of reading a list of Kubernetes-like objects, compared with jansson in
 * the same run. Time is processor time, the minimum of several runs. Memory is what malloc holds
 * for the result; for readers, the maximum that they hold while reading.
 */
#include <assert.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/json/tree.h"

#define BYTES ((size_t)10 << 20)
#define PIECE ((size_t)16 << 10)
#define RUNS 7

static const struct json_options options = {
	.limits = { .bytes = 2 * BYTES, .members = BYTES },
	.no_nul = true,
};

/* The result of one way of reading. sum keeps the compiler from removing the work. */
struct found {
	size_t sum;
	size_t memory;
};

static size_t held(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void add_object(struct buf *out, size_t i)
{
	buf_printf(
		out,
		"%s{\"metadata\":{\"name\":\"web-%zu\",\"namespace\":\"default\","
		"\"uid\":\"9e107d9d-372b-4a6c-8f4e-%012zx\",\"resourceVersion\":\"%zu\","
		"\"creationTimestamp\":\"2026-04-15T10:00:00Z\","
		"\"labels\":{\"app\":\"web\",\"tier\":\"front\",\"hash\":\"%zx\"},"
		"\"managedFields\":[{\"manager\":\"kube-controller\",\"operation\":\"Update\","
		"\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:app\":{}}},"
		"\"f:spec\":{\"f:ports\":{\"k:{\\\"port\\\":80}\":{\".\":{},\"f:port\":{}}}}}}]},"
		"\"spec\":{\"clusterIP\":\"10.96.%zu.%zu\",\"ports\":[{\"name\":\"http\","
		"\"port\":80,\"targetPort\":8080,\"protocol\":\"TCP\"}],"
		"\"sessionAffinity\":\"None\",\"weight\":%zu.5,\"ready\":true},\"status\":null}",
		i ? "," : "", i, i, i * 7, i * 2654435761u, i / 250 % 250, i % 250, i % 100);
}

static void make_text(struct buf *out)
{
	buf_adds(out, "{\"kind\":\"ServiceList\",\"items\":[");
	for (size_t i = 0; out->n < BYTES; i++)
		add_object(out, i);
	buf_adds(out, "]}\n");
}

/* ---- ways of reading ---- */

static struct found read_tokens(struct str text, size_t piece)
{
	_cleanup_(json_reader_freep) struct json_reader *r = NULL;
	struct found f = { .memory = held() };
	struct json_token t;

	r = json_reader_new(&options);
	while (text.n) {
		size_t n = text.n < piece ? text.n : piece;

		json_feed(r, text.p, n);
		text = (struct str){ text.p + n, text.n - n };
		while (json_next(r, &t) > 0)
			f.sum += t.text.n;
	}
	assert(!json_error(r));
	f.memory = held() - f.memory;
	return f;
}

static struct found tokens_whole(struct str text)
{
	return read_tokens(text, text.n);
}

static struct found tokens_in_pieces(struct str text)
{
	return read_tokens(text, PIECE);
}

static struct found skip_all(struct str text)
{
	_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(&options);
	struct found f = { 0 };
	struct json_token t;

	json_feed(r, text.p, text.n);
	while (json_next(r, &t) > 0) {
		f.sum++;
		json_skip(r);
	}
	assert(!json_error(r));
	return f;
}

/* Reads only the name and address of each object, as a projection does. */
static struct found project(struct str text)
{
	_cleanup_(json_reader_freep) struct json_reader *r = json_reader_new(&options);
	struct found f = { 0 };
	struct json_token t;

	json_feed(r, text.p, text.n);
	while (json_next(r, &t) > 0) {
		if (t.kind == JSON_TOKEN_STRING)
			f.sum += t.text.n;
		if (t.kind != JSON_TOKEN_KEY || json_depth(r) < 3)
			continue;
		if (!str_eq(t.text, STR("metadata")) && !str_eq(t.text, STR("spec")) &&
		    !str_eq(t.text, STR("name")) && !str_eq(t.text, STR("clusterIP")))
			json_skip(r);
	}
	assert(!json_error(r));
	return f;
}

static struct found build_tree(struct str text)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new(), *words = arena_new();
	struct errs errors = { .arena = words };
	const struct json_node *tree = NULL;
	struct found f = { .memory = held() };
	int r = json_parse(text, &options, arena, &tree, &errors);

	assert(r == 0);
	f.sum = json_find(tree, "items")->n + (size_t)r;
	f.memory = held() - f.memory;
	return f;
}

static struct found build_jansson(struct str text)
{
	struct found f = { .memory = held() };
	json_t *tree = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, NULL);

	assert(tree);
	f.sum = json_array_size(json_object_get(tree, "items"));
	f.memory = held() - f.memory;
	json_decref(tree);
	return f;
}

static const struct {
	const char *name;
	struct found (*read)(struct str text);
} ways[] = {
	{ "jansson, tree", build_jansson },
	{ "tree", build_tree },
	{ "tokens", tokens_whole },
	{ "tokens, pieces of 16 KiB", tokens_in_pieces },
	{ "projection of two fields", project },
	{ "skipped as a whole", skip_all },
};

/* ---- measuring ---- */

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double least_ms(struct found (*read)(struct str text), struct str text, struct found *ret)
{
	double least = 1e9;

	for (int i = 0; i < RUNS; i++) {
		double start = now_ms(), took;

		*ret = read(text);
		took = now_ms() - start;
		least = took < least ? took : least;
	}
	return least;
}

int main(void)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	double base = 0;

	make_text(&text);
	printf("A list of %.1f MB.\n\n| way | ms | MB/s | time, jansson is 1 | MB held |\n"
	       "|---|---|---|---|---|\n",
	       (double)text.n / 1e6);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct found f;
		double ms = least_ms(ways[i].read, (struct str){ text.p, text.n }, &f);

		base = i ? base : ms;
		printf("| %s | %.1f | %.0f | %.3f | %.2f |\n", ways[i].name, ms,
		       (double)text.n / 1e3 / ms, ms / base, (double)f.memory / 1e6);
		fflush(stdout);
	}
	return 0;
}
