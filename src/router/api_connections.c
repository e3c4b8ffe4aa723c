/* SPDX-License-Identifier: Apache-2.0 */
/* GET /connections: the oldest connections of all threads. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "src/router/api_private.h"
#include "src/router/inquiry.h"

#define LIMIT 1000
#define LIMIT_MAX 10000

struct waiting {
	struct api *api;
	struct http_exchange *x; /* NULL: the client is gone */
	struct inquiry *inquiry;
};

/* An item, and the text that it is a part of. */
struct line {
	const struct inquiry_item *item;
	const char *text;
};

struct lines {
	struct line *items;
	size_t n, cap;
	uint64_t total;
};

static int by_age(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	return a->item->since < b->item->since ? -1 : a->item->since > b->item->since;
}

static void collect(struct lines *to, const struct inquiry_list *list, const char *text)
{
	to->total += list->total;
	for (size_t i = 0; i < list->n; i++)
		vec_push(to, ((struct line){ &list->items[i], text }));
}

/* At most limit lines, and no more than fit. Returns their number. */
static size_t add_lines(struct buf *out, const char *key, struct lines *lines, size_t limit,
			size_t max)
{
	size_t n = 0;

	if (lines->n)
		qsort(lines->items, lines->n, sizeof(*lines->items), by_age);
	api__key(out, key);
	buf_addc(out, '[');
	for (; n < lines->n && n < limit; n++) {
		const struct line *l = &lines->items[n];

		if (out->n + l->item->n + 1 > max)
			break;
		if (n)
			buf_addc(out, ',');
		buf_add(out, l->text + l->item->at, l->item->n);
	}
	buf_addc(out, ']');
	return n;
}

static void write_answer(struct buf *out, const struct inquiry *q, size_t max)
{
	struct lines clients = { 0 }, links = { 0 }, sessions = { 0 };
	size_t n;

	for (unsigned i = 0; i < q->n; i++) {
		const struct inquiry_part *p = &q->parts[i];

		collect(&clients, &p->clients, p->text.p);
		collect(&links, &p->links, p->text.p);
		collect(&sessions, &p->sessions, p->text.p);
	}
	buf_addc(out, '{');
	/* each list gets a third of what an answer may have, less what follows */
	n = add_lines(out, "clients", &clients, q->limit, max / 3);
	n += add_lines(out, "sessions", &sessions, q->limit, max / 3 * 2);
	n += add_lines(out, "servers", &links, q->limit, max - 200);
	api__number(out, "clients_total", clients.total);
	api__number(out, "sessions_total", sessions.total);
	api__number(out, "servers_total", links.total);
	api__flag(out, "truncated", n < clients.total + sessions.total + links.total);
	buf_addc(out, '}');
	vec_free(&clients);
	vec_free(&links);
	vec_free(&sessions);
}

static void on_done(struct inquiry *q, void *user)
{
	_cleanup_(cleanup_free) struct waiting *w = user;
	_cleanup_(buf_free) struct buf body = { 0 };

	if (w->x) {
		write_answer(&body, q, w->api->config.max_answer);
		api__reply(w->api, w->x, 200, &body);
	}
	inquiry_free(q);
}

static void on_gone(void *user)
{
	struct waiting *w = user;

	w->x = NULL;
}

void api__on_connections(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct api *a = user;
	uint64_t limit = LIMIT;
	struct waiting *w;

	if (!api__number_parameter(x, request, "limit", LIMIT_MAX, &limit))
		return;
	w = mem_zalloc(sizeof(*w));
	*w = (struct waiting){ a, x, router_inquiry(a->config.router, limit) };
	if (!w->inquiry) {
		api__refuse(x, 503, "ShuttingDown", STR("the router is stopping"));
		free(w);
		return;
	}
	w->inquiry->done = on_done;
	w->inquiry->user = w;
	http_reply_later(x, on_gone, w);
	router_inquire(a->config.router, w->inquiry);
}
