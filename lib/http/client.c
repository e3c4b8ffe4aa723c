/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: calls, and the connections that outlive them.
 *
 * A call has a connection (struct http__link) from its start, even before it is connected, because
 * the stream in it also serves as the call's task and deadline. After a complete response the
 * connection is put into the pool, if both sides allow it, and is found there by its key.
 *
 * Nothing is expected on a connection in the pool: any event, also input, closes it.
 */
#include "lib/http/client.h"

#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/client_private.h"

static const struct http_client_config defaults = {
	.max_calls = 1000,
	.max_idle = 64,
	.max_idle_per_target = 8,
	.idle_timeout = 30 * NSEC_PER_SEC,
};

#define CONNECT_TIMEOUT (5 * NSEC_PER_SEC)
#define HEAD_TIMEOUT (30 * NSEC_PER_SEC)
#define TIMEOUT (60 * NSEC_PER_SEC)
#define MAX_BODY ((size_t)1024 * 1024)

/* ---- connections ---- */

static struct http__link *link_new(struct http_client *c, const char *key)
{
	struct http__link *l = mem_zalloc(sizeof(*l));

	l->client = c;
	l->key = mem_strdup(key);
	stream_init(&l->stream, c->loop, TASK_ORDINARY, &http__link_events);
	stream_set_marks(&l->stream, HTTP_SLICE, SIZE_MAX); /* report all progress */
	return l;
}

static void link_free(struct http__link *l)
{
	stream_end(&l->stream);
	buf_free(&l->in);
	free(l->key);
	free(l);
}

static void drop_idle(struct http__link *l)
{
	TAILQ_REMOVE(&l->client->idle, l, idle);
	l->client->stats.idle--;
	link_free(l);
}

/* Takes the newest of that target, so that surplus ones reach their idle timeout. */
static struct http__link *find_idle(struct http_client *c, const char *key)
{
	struct http__link *l;

	for (l = TAILQ_FIRST(&c->idle); l; l = TAILQ_NEXT(l, idle))
		if (strcmp(l->key, key) == 0)
			return l;
	return NULL;
}

/* Makes room for one more connection with that key. */
static void bound_idle(struct http_client *c, const char *key)
{
	struct http__link *l, *oldest = NULL;
	size_t same = 0;

	for (l = TAILQ_FIRST(&c->idle); l; l = TAILQ_NEXT(l, idle))
		if (strcmp(l->key, key) == 0) {
			same++;
			oldest = l;
		}
	if (same >= c->config.max_idle_per_target)
		drop_idle(oldest);
	else if (c->stats.idle >= c->config.max_idle)
		drop_idle(TAILQ_LAST(&c->idle, http__links));
}

static void keep(struct http__link *l)
{
	struct http_client *c = l->client;

	bound_idle(c, l->key);
	TAILQ_INSERT_HEAD(&c->idle, l, idle);
	c->stats.idle++;
	l->call = NULL;
	l->used = true;
	buf_free(&l->in);
	stream_shrink(&l->stream);
	stream_want(&l->stream, STREAM_READ);
	stream_set_deadline(&l->stream, c->config.idle_timeout);
}

void http__link_take(struct http_call *call, bool fresh)
{
	struct http_client *c = call->client;
	struct http__link *l = fresh ? NULL : find_idle(c, call->key);

	if (l) {
		TAILQ_REMOVE(&c->idle, l, idle);
		c->stats.idle--;
		c->stats.reused++;
	} else {
		l = link_new(c, call->key);
	}
	l->call = call;
	call->link = l;
	stream_wake(&l->stream);
}

void http__link_give(struct http_call *call, bool keep_it)
{
	struct http__link *l = TAKE_PTR(call->link);

	if (!l)
		return;
	if (keep_it)
		keep(l);
	else
		link_free(l);
}

void http__link_drop(struct http__link *l)
{
	drop_idle(l);
}

/* ---- calls ---- */

void http__call_free(struct http_call *call)
{
	struct http_stream source = call->source;
	bool told = !call->sending;

	http__link_give(call, false);
	net_lookup_cancel(TAKE_PTR(call->lookup));
	buf_free(&call->request);
	buf_free(&call->tunnel);
	free(call->proxy);
	buf_free(&call->head);
	buf_free(&call->content);
	buf_free(&call->trailers);
	free(call->trouble);
	free(call->key);
	free(call->name);
	free(call->host);
	free(call->socket);
	free(call->server_name);
	free(call->method);
	free(call);
	if (!told)
		source.closed(false, source.user);
}

static void apply_defaults(struct http_call_config *c)
{
	if (!c->connect_timeout)
		c->connect_timeout = CONNECT_TIMEOUT;
	if (!c->head_timeout)
		c->head_timeout = HEAD_TIMEOUT;
	if (!c->timeout)
		c->timeout = TIMEOUT;
	if (!c->max_body)
		c->max_body = MAX_BODY;
}

/* HTTP_NO_TIMEOUT must not overflow. */
int64_t http__from_now(int64_t ns)
{
	int64_t now = loop_monotonic();

	return ns > INT64_MAX - now ? INT64_MAX : now + ns;
}

int http_call(struct http_client *c, const struct http_call_config *config, struct http_call **ret)
{
	struct http_call *call;

	assert(c && config && config->done && ret);
	if (c->closing || c->stats.calls >= c->config.max_calls)
		return -EBUSY;
	call = mem_zalloc(sizeof(*call));
	call->client = c;
	call->config = *config;
	apply_defaults(&call->config);
	if (http__call_prepare(call) < 0) {
		http__call_free(call);
		return -EINVAL;
	}
	if (config->source) {
		call->source = *config->source;
		call->sending = true;
	}
	call->phase_ends = http__from_now(call->config.connect_timeout);
	call->ends = http__from_now(call->config.timeout);
	TAILQ_INSERT_TAIL(&c->calls, call, all);
	c->stats.calls++;
	http__link_take(call, false);
	http__call_set_deadline(call);
	*ret = call;
	return 0;
}

void http_call_cancel(struct http_call *call)
{
	if (!call || call->cancelled)
		return;
	TAILQ_REMOVE(&call->client->calls, call, all);
	call->client->stats.calls--;
	call->cancelled = true;
	if (!call->running) /* otherwise its step frees it */
		http__call_free(call);
}

void http_call_resume(struct http_call *call)
{
	if (!call->paused)
		return;
	call->paused = false;
	stream_wake(&call->link->stream);
}

void http_call_wake(struct http_call *call)
{
	if (!call->waiting)
		return;
	call->waiting = false;
	stream_wake(&call->link->stream);
}

/* ---- the client ---- */

struct http_client *http_client_new(struct ev_loop *loop, const struct http_client_config *config)
{
	struct http_client *c = mem_zalloc(sizeof(*c));

	assert(loop);
	c->loop = loop;
	if (config)
		c->config = *config;
	if (!c->config.max_calls)
		c->config.max_calls = defaults.max_calls;
	if (!c->config.max_idle)
		c->config.max_idle = defaults.max_idle;
	if (!c->config.max_idle_per_target)
		c->config.max_idle_per_target = defaults.max_idle_per_target;
	if (!c->config.idle_timeout)
		c->config.idle_timeout = defaults.idle_timeout;
	TAILQ_INIT(&c->idle);
	TAILQ_INIT(&c->calls);
	return c;
}

void http_client_close_idle(struct http_client *c)
{
	struct http__link *l;

	while ((l = TAILQ_FIRST(&c->idle)))
		drop_idle(l);
}

void http_client_free(struct http_client *c)
{
	struct http_call *call;

	if (!c)
		return;
	c->closing = true; /* done() may try to call again */
	while ((call = TAILQ_FIRST(&c->calls)))
		http__call_fail(call, -ECANCELED, "the client is closing");
	http_client_close_idle(c);
	free(c);
}

const struct http_client_stats *http_client_stats(const struct http_client *c)
{
	return &c->stats;
}
