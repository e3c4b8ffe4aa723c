/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: calls from the first wish to the last repetition.
 *
 *	WAITING -> RUNNING -> done
 *	   ^          |
 *	   '- PAUSED -'    the server asks for patience
 *
 * A waiting call needs an identity and, unless it is urgent, a token of the rate limit; calls go in
 * the order in which they came. drain() starts as many as it can; it is called by a timer when the
 * next token is there, and when a plugin has answered.
 *
 * The bytes of a request are kept until its call ends, because it may have to be sent again. A call
 * is repeated only if the server has said that it has done nothing (401, 429) or asks for it (5xx
 * with Retry-After), and only before the caller has got a byte of an answer.
 */
#include "lib/k8s/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/http/client.h"
#include "lib/k8s/identity.h"
#include "lib/k8s/request.h"
#include "lib/tls/tls.h"

#define REPEATS_MAX 8
#define PATIENCE_MAX (60 * NSEC_PER_SEC) /* of a Retry-After */
#define TIMEOUT (60 * NSEC_PER_SEC)
#define MAX_BODY ((size_t)16 << 20)
#define ERROR_MAX ((size_t)64 << 10) /* bytes of the body of a bad answer that are looked at */

static const struct k8s_client_options defaults = {
	.user_agent = "maglev",
	.rate = 50,
	.burst = 100,
	.max_calls = 10000,
};

enum state { WAITING, RUNNING, PAUSED };

struct k8s_call {
	struct k8s_client *client;
	TAILQ_ENTRY(k8s_call) next; /* in waiting or running */
	struct k8s_call_config config;
	struct k8s__request request;
	enum state state;
	struct http_call *http;
	struct tls_context *tls; /* of http: it may connect again */
	ev_timer pause;
	unsigned repeats;
	bool renewed; /* was sent again after 401 */
	unsigned status;
	int64_t retry_after; /* ns; -1: none */
	struct buf body;
	bool too_large;
	bool forbidden; /* may_write() said no when it was to be sent */
};

TAILQ_HEAD(calls, k8s_call);

struct k8s_client {
	struct ev_loop *loop;
	const struct k8s_config *config;
	struct k8s_client_options options;
	char *user_agent;
	char *proxy_authorization; /* NULL: none */
	struct http_client *http;
	struct k8s__identity *identity;
	struct calls waiting, running; /* paused ones are in running */
	double tokens;
	int64_t filled; /* monotonic ns of the last refill */
	ev_timer due;
	struct k8s_client_stats stats;
	bool draining;
};

/* ---- the end of a call ---- */

static void call_free(struct k8s_call *call)
{
	struct k8s_client *c = call->client;

	ev_timer_stop(c->loop, &call->pause);
	http_call_cancel(call->http);
	if (call->state == WAITING) {
		TAILQ_REMOVE(&c->waiting, call, next);
		c->stats.waiting--;
	} else {
		TAILQ_REMOVE(&c->running, call, next);
		c->stats.running--;
	}
	k8s__request_free(&call->request);
	tls_context_free(call->tls);
	buf_free(&call->body);
	free(call);
}

static void finish(struct k8s_call *call, const struct k8s_result *result)
{
	struct k8s_call_config config = call->config;
	struct buf body = call->body;

	call->client->stats.codes[result->code]++;
	call->body = (struct buf){ 0 };
	call_free(call);
	config.done(result, config.user);
	buf_free(&body);
}

static void fail(struct k8s_call *call, enum k8s_code code, const char *message)
{
	const struct k8s_result result = {
		.code = code, .status = call->status, .reason = "", .message = message
	};

	finish(call, &result);
}

static void forbid(struct k8s_call *call)
{
	fail(call, K8S_NOT_ALLOWED, "this program may not write now");
}

/* ---- answers ---- */

static void pause_for(struct k8s_call *call, int64_t ns)
{
	call->state = PAUSED;
	call->repeats++;
	call->client->stats.repeated++;
	ev_timer_set(&call->pause, loop_seconds(ns), 0);
	ev_timer_start(call->client->loop, &call->pause);
}

static bool asks_for_patience(const struct k8s_call *call)
{
	return call->status == 429 || (call->status >= 500 && call->retry_after >= 0);
}

/* True if the call is to be sent again. */
static bool repeats(struct k8s_call *call)
{
	if (call->status == 401 && !call->renewed) {
		call->renewed = true;
		k8s__identity_refused(call->client->identity);
		pause_for(call, 0);
		return true;
	}
	if (!asks_for_patience(call) || call->repeats >= REPEATS_MAX)
		return false;
	/* a 429 without a time would be repeated at once */
	pause_for(call, call->retry_after > 0 ? call->retry_after : NSEC_PER_SEC);
	return true;
}

static void conclude(struct k8s_call *call)
{
	struct k8s_result result = { .status = call->status, .reason = "", .message = "" };
	struct k8s_status status;

	if (call->status / 100 == 2) {
		result.body = (struct str){ call->body.p, call->body.n };
		finish(call, &result);
		return;
	}
	k8s_status_parse(call->status, (struct str){ call->body.p, call->body.n }, &status);
	result.code = status.code;
	result.reason = status.reason;
	result.message = status.message;
	finish(call, &result);
}

static void on_head(const struct http_head *head, void *user)
{
	struct k8s_call *call = user;
	uint64_t seconds;

	call->status = head->status;
	call->body.n = 0;
	call->retry_after = -1;
	if (str_to_u64(http_header(head, STR("retry-after")), UINT32_MAX, &seconds) == 0)
		call->retry_after = seconds > PATIENCE_MAX / NSEC_PER_SEC
					    ? PATIENCE_MAX
					    : (int64_t)seconds * NSEC_PER_SEC;
}

/* The rest is not read. done() follows from the loop, since this is a callback of the call. */
static void end_large(struct k8s_call *call)
{
	call->too_large = true;
	http_call_cancel(TAKE_PTR(call->http));
	ev_timer_set(&call->pause, 0, 0);
	ev_timer_start(call->client->loop, &call->pause);
}

static size_t on_piece(struct str piece, void *user)
{
	struct k8s_call *call = user;
	bool good = call->status / 100 == 2;
	size_t max = good ? call->config.max_body : ERROR_MAX;

	if (good && call->config.take) {
		call->config.take(piece, call->config.user);
		return piece.n;
	}
	if (piece.n <= max - call->body.n)
		buf_add(&call->body, piece.p, piece.n);
	else if (good)
		end_large(call);
	return piece.n;
}

static void on_done(const struct http_result *result, void *user)
{
	struct k8s_call *call = user;

	call->http = NULL;
	if (call->forbidden)
		forbid(call);
	else if (result->error)
		fail(call, result->error == -EBADMSG ? K8S_MALFORMED : K8S_NETWORK, result->reason);
	else if (!repeats(call))
		conclude(call);
}

/* ---- sending ---- */

static bool is_write(const struct k8s_call *call)
{
	return call->config.verb != K8S_VERB_GET && call->config.verb != K8S_VERB_LIST;
}

static bool is_allowed(const struct k8s_call *call)
{
	const struct k8s_client_options *o = &call->client->options;

	return !is_write(call) || call->config.ungated || !o->may_write || o->may_write(o->user);
}

/*
 * Looking up the name, connecting and the handshake take time, and the process may be stopped
 * meanwhile for longer than its lease lasts.
 */
static bool may_send(void *user)
{
	struct k8s_call *call = user;

	call->forbidden = !is_allowed(call);
	return !call->forbidden;
}

static size_t fill_headers(const struct k8s_call *call, struct field *out)
{
	const struct k8s_client *c = call->client;
	const char *authorization = k8s__identity_header(c->identity);
	size_t n = 0;

	out[n++] = (struct field){ STR("Accept"), STR("application/json") };
	out[n++] = (struct field){ STR("User-Agent"), str_of(c->user_agent) };
	if (call->request.content_type)
		out[n++] =
			(struct field){ STR("Content-Type"), str_of(call->request.content_type) };
	if (authorization)
		out[n++] = (struct field){ STR("Authorization"), str_of(authorization) };
	if (c->config->as)
		out[n++] = (struct field){ STR("Impersonate-User"), str_of(c->config->as) };
	return n;
}

static void take_tls(struct k8s_call *call)
{
	struct tls_context *tls = k8s__identity_tls(call->client->identity);

	tls_context_free(call->tls);
	call->tls = tls ? tls_context_ref(tls) : NULL;
}

static int send_call(struct k8s_call *call)
{
	const struct k8s_client *c = call->client;
	const struct k8s_config *k = c->config;
	const struct http_proxy proxy = { .host = k->proxy_host,
					  .port = k->proxy_port,
					  .authorization = c->proxy_authorization };
	struct field headers[5];
	struct http_call_config config = {
		.target = { .host = k->host,
			    .port = k->port,
			    .tls = call->tls,
			    .server_name = k->server_name,
			    .proxy = k->proxy_host ? &proxy : NULL },
		.method = call->request.method,
		.path = buf_cstr(&call->request.target),
		.headers = headers,
		.body = { call->request.body.p, call->request.body.n },
		.timeout = call->config.timeout,
		.head_timeout = call->config.timeout < TIMEOUT ? call->config.timeout : TIMEOUT,
		.may_send = may_send,
		.head = on_head,
		.take = on_piece,
		.done = on_done,
		.user = call,
	};

	config.n_headers = fill_headers(call, headers);
	return http_call(c->http, &config, &call->http);
}

/* The call has what it needs. */
static void start(struct k8s_call *call)
{
	struct k8s_client *c = call->client;

	call->state = RUNNING;
	TAILQ_REMOVE(&c->waiting, call, next);
	TAILQ_INSERT_TAIL(&c->running, call, next);
	c->stats.waiting--;
	c->stats.running++;
	if (!is_allowed(call)) {
		forbid(call);
		return;
	}
	c->stats.calls++;
	c->stats.writes += is_write(call);
	take_tls(call);
	if (send_call(call) < 0)
		fail(call, K8S_MALFORMED, "this request cannot be sent");
}

/* ---- the rate limit ---- */

static void refill(struct k8s_client *c)
{
	int64_t now = loop_monotonic();

	c->tokens += loop_seconds(now - c->filled) * c->options.rate;
	if (c->tokens > c->options.burst)
		c->tokens = c->options.burst;
	c->filled = now;
}

/*
 * The first call that may go now; NULL if none may. *ret_wait: seconds until one may; 0: unknown.
 */
static struct k8s_call *next_call(struct k8s_client *c, double *ret_wait)
{
	struct k8s_call *call;

	*ret_wait = 0;
	if (c->tokens >= 1)
		return TAILQ_FIRST(&c->waiting);
	for (call = TAILQ_FIRST(&c->waiting); call; call = TAILQ_NEXT(call, next))
		if (call->config.urgent)
			return call;
	if (TAILQ_FIRST(&c->waiting))
		*ret_wait = (1 - c->tokens) / c->options.rate;
	return NULL;
}

static void fail_all(struct k8s_client *c)
{
	struct k8s_call *call;
	char reason[512];

	snprintf(reason, sizeof(reason), "%s", k8s__identity_reason(c->identity));
	/* done() may add calls, which wait for the next time, and cancel others */
	for (size_t n = c->stats.waiting; n > 0 && (call = TAILQ_FIRST(&c->waiting)); n--)
		fail(call, K8S_NO_IDENTITY, reason);
}

/* Kept connections show who we were. */
static void note_renewal(struct k8s_client *c)
{
	uint64_t renewals = k8s__identity_renewals(c->identity);

	if (c->stats.renewed != renewals)
		http_client_close_idle(c->http);
	c->stats.renewed = renewals;
}

/* Starts what can be started. */
static void drain(struct k8s_client *c)
{
	struct k8s_call *call;
	double wait = 0;
	int r;

	if (!TAILQ_FIRST(&c->waiting))
		return;
	r = k8s__identity_ready(c->identity);
	note_renewal(c);
	if (r == -EAGAIN)
		return;
	if (r < 0) {
		fail_all(c);
		return;
	}
	refill(c);
	while ((call = next_call(c, &wait))) {
		if (!call->config.urgent)
			c->tokens -= 1;
		start(call);
	}
	if (wait > 0) {
		c->stats.throttled++;
		ev_timer_set(&c->due, wait, 0);
		ev_timer_start(c->loop, &c->due);
	}
}

/* Callbacks come from the loop only, so a call starts in the next turn. */
static void wake(struct k8s_client *c)
{
	if (ev_is_active(&c->due))
		ev_timer_stop(c->loop, &c->due);
	ev_timer_set(&c->due, 0, 0);
	ev_timer_start(c->loop, &c->due);
}

static void on_due(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	drain(container_of(w, struct k8s_client, due));
}

static void on_identity(void *user)
{
	wake(user);
}

static void on_paused(struct ev_loop *loop, ev_timer *w, int events)
{
	struct k8s_call *call = container_of(w, struct k8s_call, pause);
	struct k8s_client *c = call->client;

	(void)loop;
	(void)events;
	if (call->too_large) {
		fail(call, K8S_TOO_LARGE, "the answer is too large");
		return;
	}
	TAILQ_REMOVE(&c->running, call, next);
	c->stats.running--;
	call->state = WAITING;
	TAILQ_INSERT_HEAD(&c->waiting, call, next); /* it has waited already */
	c->stats.waiting++;
	wake(c);
}

/* ---- public ---- */

int k8s_call(struct k8s_client *c, const struct k8s_call_config *config, struct k8s_call **ret)
{
	struct k8s_call *call;

	assert(c && config && config->done && ret);
	if (c->stats.waiting + c->stats.running >= c->options.max_calls)
		return -EBUSY;
	call = mem_zalloc(sizeof(*call));
	call->client = c;
	call->config = *config;
	if (k8s__request_make(&call->request, c->config->prefix, config) < 0) {
		k8s__request_free(&call->request);
		free(call);
		return -EINVAL;
	}
	if (!call->config.timeout)
		call->config.timeout = TIMEOUT;
	if (!call->config.max_body)
		call->config.max_body = MAX_BODY;
	ev_timer_init(&call->pause, on_paused, 0, 0);
	TAILQ_INSERT_TAIL(&c->waiting, call, next);
	c->stats.waiting++;
	wake(c);
	*ret = call;
	return 0;
}

void k8s_call_cancel(struct k8s_call *call)
{
	if (call)
		call_free(call);
}

static char *basic_authorization(const char *user)
{
	struct buf b = { 0 };
	char *text;

	if (!user)
		return NULL;
	buf_adds(&b, "Basic ");
	base64_encode(&b, str_of(user));
	text = mem_strdup(buf_cstr(&b));
	buf_free(&b);
	return text;
}

struct k8s_client *k8s_client_new(struct ev_loop *loop, const struct k8s_config *config,
				  const struct k8s_client_options *options)
{
	struct k8s_client *c = mem_zalloc(sizeof(*c));
	struct k8s_client_options *o = &c->options;

	assert(loop && config);
	if (options)
		*o = *options;
	o->rate = o->rate ? o->rate : defaults.rate;
	o->burst = o->burst ? o->burst : defaults.burst;
	o->max_calls = o->max_calls ? o->max_calls : defaults.max_calls;
	c->user_agent = mem_strdup(o->user_agent ? o->user_agent : defaults.user_agent);
	c->proxy_authorization = basic_authorization(config->proxy_user);
	c->loop = loop;
	c->config = config;
	c->http = http_client_new(loop, &(struct http_client_config){ .max_calls = o->max_calls });
	c->identity = k8s__identity_new(loop, config, on_identity, c);
	TAILQ_INIT(&c->waiting);
	TAILQ_INIT(&c->running);
	c->tokens = o->burst;
	c->filled = loop_monotonic();
	ev_timer_init(&c->due, on_due, 0, 0);
	return c;
}

void k8s_client_free(struct k8s_client *c)
{
	struct k8s_call *call;

	if (!c)
		return;
	while ((call = TAILQ_FIRST(&c->waiting)) || (call = TAILQ_FIRST(&c->running)))
		call_free(call);
	ev_timer_stop(c->loop, &c->due);
	http_client_free(c->http);
	k8s__identity_free(c->identity);
	free(c->proxy_authorization);
	free(c->user_agent);
	free(c);
}

const struct k8s_client_stats *k8s_client_stats(const struct k8s_client *c)
{
	return &c->stats;
}

struct ev_loop *k8s_client_loop(const struct k8s_client *c)
{
	return c->loop;
}

const struct k8s_config *k8s_client_config(const struct k8s_client *c)
{
	return c->config;
}
