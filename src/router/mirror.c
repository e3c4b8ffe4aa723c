/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mirror: copies of requests for other pools, whose answers are dropped.
 *
 * A copy begins when its request is sent to a server for the first time, with the same head, and
 * gets the same bytes of the body. It never delays the request: what the server of the copy has not
 * taken waits in a bounded queue, and a copy whose queue is full is given up. When it has got the
 * whole request, it belongs to the thread alone and waits for its answer.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "src/router/internal.h"

#define COPIES_MAX 1024		       /* of a thread at once */
#define UNSENT_MAX ((size_t)64 * 1024) /* bytes of a copy that wait */

struct mirror {
	union {
		struct mirror *next; /* among the spare ones */
		struct worker *worker;
	};
	TAILQ_ENTRY(mirror) all;
	LIST_ENTRY(mirror) of_exchange;
	struct exchange *x; /* NULL: the whole request was passed on */
	struct era *era;
	const struct l7_limits *limits; /* of the pool */
	struct link *link;
	struct buf held; /* bytes for a server that is being connected to */
	struct http_body down;
	ev_tstamp moved; /* when bytes passed last */
	bool is_head;	 /* the method is HEAD */
	bool answering, keep;
};

/* ---- the end ---- */

static void end(struct mirror *m, enum worker_copy how)
{
	struct worker *w = m->worker;

	count(&w->counters.copies[how], 1);
	if (m->x)
		LIST_REMOVE(m, of_exchange);
	TAILQ_REMOVE(&w->mirrors, m, all);
	w->n_mirrors--;
	if (how == WORKER_ANSWERED && m->keep && !m->x)
		link_give(m->link, m->limits);
	else
		link_free(m->link);
	worker_release_era(w, m->era);
	buf_free(&m->held);
	m->next = w->spare_mirrors;
	w->spare_mirrors = m;
}

void mirror_abandon(struct exchange *x)
{
	while (!LIST_EMPTY(&x->mirrors))
		end(LIST_FIRST(&x->mirrors), WORKER_CUT);
}

void mirror_lost(struct mirror *m, int error)
{
	bool whole = m->answering && error == 0 && http_body_eof(&m->down);

	m->keep = false;
	end(m, whole ? WORKER_ANSWERED : WORKER_FAILED);
}

void mirror_sweep(struct worker *w, ev_tstamp now)
{
	double limit = loop_seconds(w->config.limits.stall_time);
	struct mirror *m, *next;

	for (m = TAILQ_FIRST(&w->mirrors); m; m = next) {
		next = TAILQ_NEXT(m, all);
		if (now - m->moved >= limit)
			end(m, WORKER_FAILED);
	}
}

void mirror_clean_up(struct worker *w)
{
	while (!TAILQ_EMPTY(&w->mirrors))
		end(TAILQ_FIRST(&w->mirrors), WORKER_CUT);
	while (w->spare_mirrors) {
		struct mirror *m = w->spare_mirrors;

		w->spare_mirrors = m->next;
		free(m);
	}
}

const struct link *mirror_next(const struct worker *w, const struct mirror **m)
{
	*m = *m ? TAILQ_NEXT(*m, all) : TAILQ_FIRST(&w->mirrors);
	return *m ? (*m)->link : NULL;
}

/* ---- the answer ---- */

/* Reads the head. 0: it is not complete; below 0: it is none. */
static ssize_t pull_head(struct mirror *m, const char *p, size_t n)
{
	struct http_head *h = &m->worker->head;
	size_t used = 0;

	while (!m->answering) {
		int r = http_parse_response(p + used, n - used, NULL, h);

		if (r < 0 || (r == 0 && n - used == BUFFER_SIZE) || (r > 0 && h->status == 101))
			return -EBADMSG;
		if (r == 0)
			return (ssize_t)used;
		used += (size_t)r;
		m->answering = h->status >= 200;
	}
	http_body_init(&m->down, h, m->is_head ? STR("HEAD") : (struct str){ 0 });
	m->keep = h->keep_alive && m->down.kind != HTTP_BODY_CLOSE;
	return (ssize_t)used;
}

ssize_t mirror_pull(struct mirror *m, const char *p, size_t n)
{
	ssize_t r = m->answering ? 0 : pull_head(m, p, n);
	size_t used = (size_t)r;
	struct str content;

	m->moved = ev_now(m->worker->loop);
	if (r >= 0 && !m->answering)
		return r;
	while (r >= 0 && used < n && !m->down.done) {
		r = http_body_feed(&m->down, p + used, n - used, &content);
		used += (size_t)r;
	}
	if (r < 0) {
		end(m, WORKER_FAILED);
		return -1;
	}
	if (!m->down.done)
		return (ssize_t)used;
	m->keep &= used == n;
	end(m, WORKER_ANSWERED);
	return -1;
}

/* ---- the request ---- */

static void pass(struct mirror *m, struct str bytes)
{
	m->moved = ev_now(m->worker->loop);
	if (!link_is_open(m->link)) {
		if (m->held.n + bytes.n > UNSENT_MAX)
			end(m, WORKER_CUT);
		else
			buf_add(&m->held, bytes.p, bytes.n);
		return;
	}
	if (link_unsent(m->link) + bytes.n > UNSENT_MAX)
		end(m, WORKER_CUT);
	else if (bytes.n && link_sendv(m->link, &bytes, 1) < 0)
		end(m, WORKER_FAILED);
}

void mirror_connected(struct mirror *m)
{
	struct buf held = m->held;

	m->held = (struct buf){ 0 };
	link_limit(m->link, 0);
	pass(m, (struct str){ held.p, held.n });
	buf_free(&held);
}

/* A body that is sent again, to another server, was passed on already. */
void mirror_feed(struct exchange *x, struct str body)
{
	size_t before = x->pushed;
	struct mirror *m, *next;

	x->pushed += body.n;
	if (x->pushed > x->fed) {
		size_t known = x->fed - before;

		x->fed = x->pushed;
		body = (struct str){ body.p + known, body.n - known };
		for (m = LIST_FIRST(&x->mirrors); m; m = next) {
			next = LIST_NEXT(m, of_exchange);
			pass(m, body);
		}
	}
	while (x->up.done && (m = LIST_FIRST(&x->mirrors))) {
		LIST_REMOVE(m, of_exchange);
		m->x = NULL;
	}
}

/* ---- the beginning ---- */

static struct link *find_link(struct exchange *x, const struct generation_pool *pool)
{
	struct worker *w = exchange__worker(x);
	const struct l7_limits *limits = &pool->config->limits;
	const struct link_wish wish = { .pool = pool->config,
					.secure = pool->secure,
					.client = x->client };
	struct server *server;

	if (w->n_mirrors >= COPIES_MAX || (limits->connections && quota_is_crowded(pool->quota)))
		return NULL;
	server = choose_any(w, x->era, pool);
	return server ? link_take(w, server, &wish) : NULL;
}

static struct mirror *make(struct exchange *x, struct link *link, const struct l7_limits *limits)
{
	struct worker *w = exchange__worker(x);
	struct mirror *m = w->spare_mirrors;

	if (m)
		w->spare_mirrors = m->next;
	else
		m = mem_alloc(sizeof(*m));
	x->era->users++;
	*m = (struct mirror){ .worker = w,
			      .x = x,
			      .era = x->era,
			      .limits = limits,
			      .link = link,
			      .is_head = str_eq(exchange__method(x), STR("HEAD")) };
	link->mirror = m;
	TAILQ_INSERT_TAIL(&w->mirrors, m, all);
	w->n_mirrors++;
	LIST_INSERT_HEAD(&x->mirrors, m, of_exchange);
	return m;
}

static void copy_to(struct exchange *x, const struct l7_mirror *to, struct str head)
{
	const struct generation_pool *pool = &x->era->generation->pools[to->pool];
	struct worker *w = exchange__worker(x);
	struct link *link;

	if (!l7_mirror_takes(to, random_next(&w->random)))
		return;
	link = find_link(x, pool);
	if (!link) {
		count(&w->counters.copies[WORKER_CUT], 1);
		return;
	}
	if (!link_is_open(link))
		link_limit(link, pool->config->connect_timeout);
	pass(make(x, link, &pool->config->limits), head);
}

void mirror_begin(struct exchange *x, struct str head)
{
	const struct l7_filters *filters[] = { &x->target->rule->filters, &x->backend->filters };

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		for (size_t k = 0; k < filters[i]->n_mirrors; k++)
			copy_to(x, &filters[i]->mirrors[k], head);
}
