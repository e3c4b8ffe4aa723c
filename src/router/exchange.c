/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange: one request, passed on to a server, and its answer.
 *
 *	begin -> [connecting] -> sending -> waiting -> answering -> end
 *	            ^               |          |
 *	            +--- again -----+----------+   at another server, while that is safe
 *
 * Bytes of bodies are passed on as they came: their framing is checked while they pass. Only where
 * the two sides cannot have the same framing is it changed (enum head_framing). Nothing is stored
 * but what one side has sent and the other has not taken yet; then the sender is not read from.
 *
 * The request stays in the client's buffer until its answer begins, as long as it fits there: so it
 * can be sent again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "core/l7/ejection.h"
#include "src/router/internal.h"

/* ---- the end ---- */

/* The request no longer counts at its pool. */
static void uncount(struct exchange *x)
{
	quota_count(&x->side->active, -1);
	if (x->again)
		quota_count(&x->side->tried, -1);
	if (x->admitted)
		quota_dismiss(x->side->quota);
}

static void release(struct exchange *x)
{
	struct worker *w = exchange__worker(x);

	if (x->place.side)
		exchange__stop_waiting(x);
	if (x->side)
		uncount(x);
	mirror_abandon(x);
	account_end(x);
	journal_write(x);
	free(x->kept_head);
	buf_free(&x->cors);
	buf_free(&x->trailers);
	worker_release_era(w, x->era);
	x->next = w->spare;
	w->spare = x;
}

void exchange__drop_link(struct exchange *x)
{
	if (!x->link)
		return;
	account_left(x);
	link_free(TAKE_PTR(x->link));
}

/* The client gets no proper end: what it has got so far must not look complete. */
void exchange_drop(struct exchange *x)
{
	struct client *c = x->client;

	if (!x->why)
		x->why = "client-gone";
	exchange__drop_link(x);
	if (!x->tunnel)
		count(&c->worker->counters.aborts, 1);
	if (x->answering && x->framing == HEAD_CLOSE)
		stream_reset(&c->stream); /* otherwise the end would look like that of the body */
	release(x);
	c->x = NULL;
	client_free(c);
}

/* Nothing is left of the request but what may follow it. */
void exchange__leave(struct exchange *x, bool keep)
{
	struct client *c = x->client;

	exchange__disarm(x);
	c->leaves &= x->up.done;
	if (c->in)
		c->in->at = x->sent;
	release(x);
	c->x = NULL;
	if (keep)
		client_next(c);
	else
		client_leave(c);
}

/* Answers without a server. The rest of a body that was not read ends the connection. */
static void answer(struct exchange *x, struct client_answer a)
{
	struct client *c = x->client;
	ssize_t sent;

	if (x->grpc && a.status >= 400)
		call_answer(x, &a);

	a.keep = x->keep && x->up.done && !x->old && !c->ended && !c->last;
	a.head = str_eq(exchange__method(x), STR("HEAD"));
	exchange__drop_link(x);
	exchange__disarm(x);
	x->status = a.status;
	x->done = true;
	sent = client_answer(c, &a);
	x->out = (uint64_t)(sent < 0 ? 0 : sent);
	exchange__leave(x, a.keep && sent >= 0);
}

void exchange__answer_with(struct exchange *x, unsigned status, struct str lines)
{
	answer(x, (struct client_answer){ .status = status, .lines = lines });
}

void exchange__answer(struct exchange *x, unsigned status)
{
	answer(x, (struct client_answer){ .status = status });
}

void exchange__refuse(struct exchange *x, enum refusal why)
{
	const struct refusal_words *words = &refusal_words[why];

	count(&exchange__worker(x)->counters.refusals[why], 1);
	x->keep = false;
	x->why = words->label;
	if (x->answering || !words->status)
		exchange_drop(x);
	else
		answer(x, (struct client_answer){ .status = words->status, .text = words->text });
}

/* ---- time ---- */

/* The client's stream has one deadline for all that the exchange waits for. */
void exchange__arm(struct exchange *x)
{
	int64_t at = x->due, now = loop_monotonic();

	if (x->retry_at && (!at || x->retry_at < at))
		at = x->retry_at;
	if (x->wait_due && (!at || x->wait_due < at))
		at = x->wait_due;
	if (at)
		stream_set_deadline(&x->client->stream, at > now ? at - now : 1);
}

void exchange__disarm(struct exchange *x)
{
	if (x->due || x->retry_at || x->wait_due)
		stream_set_deadline(&x->client->stream, 0);
	x->due = x->retry_at = x->wait_due = 0;
}

void exchange__move(struct exchange *x)
{
	x->moved = ev_now(exchange__worker(x)->loop);
}

/* ---- further tries ---- */

void exchange__judge(struct exchange *x, const struct l7_try *t)
{
	worker_judge(exchange__worker(x), x->server,
		     &x->era->generation->pools[x->backend->pool].config->ejection,
		     l7_try_failed(t));
}

/* Whether the pool can bear another try. */
static bool in_budget(struct exchange *x, const struct l7_try *t)
{
	const struct l7_limits *limits =
		&x->era->generation->pools[x->backend->pool].config->limits;
	struct quota_load load;

	if (!l7_retry_costs(t))
		return true;
	load = quota_load(x->side->quota);
	if (!l7_retry_in_budget(limits->retries, load.active, load.tried - x->again)) {
		count(&exchange__worker(x)->counters.overflows[WORKER_RETRIES], 1);
		return false;
	}
	if (!x->again)
		quota_count(&x->side->tried, 1);
	x->again = true;
	return true;
}

/* Tries again after a while, or returns false. */
static bool try_again(struct exchange *x, const struct l7_try *t)
{
	const struct l7_retry *policy = &x->target->rule->retry;
	struct worker *w = exchange__worker(x);
	int64_t wait;

	if (!l7_retry_again(policy, t) || !in_budget(x, t))
		return false;
	wait = l7_retry_wait(policy, t, random_next(&w->random));
	if (t->ending == L7_ANSWERED)
		account_answered(x, t->status);
	exchange__drop_link(x);
	x->full_up = x->full_down = x->cut = false;
	x->code = L7_GRPC_NONE;
	count(&w->counters.retries, 1);
	x->retry_at = loop_monotonic() + wait;
	account_again(x);
	exchange__arm(x);
	return true;
}

/* An answer that has begun cannot go on. */
static void give_up(struct exchange *x, unsigned status)
{
	if (!x->grpc || !call_end(x, status))
		exchange_drop(x);
}

void exchange__fail(struct exchange *x, enum l7_ending ending)
{
	static const struct {
		enum stats_counter kind;
		const char *why;
	} failures[] = { [L7_NOT_REACHED] = { STATS_CONNECT, "connect-failed" },
			 [L7_NOT_SECURED] = { STATS_CONNECT, "tls-failed" },
			 [L7_NOT_TAKEN] = { STATS_BROKEN, "server-broken" },
			 [L7_BROKEN] = { STATS_BROKEN, "server-broken" },
			 [L7_TIMED_OUT] = { STATS_TIMEOUT, "server-timeout" } };
	const struct l7_try t = { .ending = ending,
				  .number = x->tries,
				  .repeatable = x->repeatable,
				  .answering = x->answering };

	account_failure(x, failures[ending].kind,
			(x->link && x->link->why) ? x->link->why : failures[ending].why);
	exchange__judge(x, &t);
	if (x->answering)
		give_up(x, l7_retry_status(&t));
	else if (!try_again(x, &t))
		exchange__answer(x, l7_retry_status(&t));
}

static bool again_after(struct exchange *x, unsigned status)
{
	const struct l7_try t = { .ending = L7_ANSWERED,
				  .status = status,
				  .number = x->tries,
				  .repeatable = x->repeatable };

	exchange__judge(x, &t);
	return status >= 400 && try_again(x, &t);
}

bool exchange__retry_status(struct exchange *x)
{
	unsigned status = exchange__worker(x)->head.status;

	return again_after(x, x->grpc ? call_read_head(x, status) : status);
}

void exchange_late(struct exchange *x)
{
	exchange__fail(x, link_is_open(x->link) ? L7_TIMED_OUT : L7_NOT_REACHED);
}

/* The time of the request is over. It counts against a server that has got all of the request. */
static void end_late(struct exchange *x)
{
	const struct l7_try t = { .ending = L7_TIMED_OUT,
				  .number = x->tries,
				  .answering = x->answering };

	if (x->link && x->up.done)
		exchange__judge(x, &t);
	account_failure(x, STATS_TIMEOUT, "request-timeout");
	if (x->answering)
		give_up(x, 504);
	else
		exchange__answer(x, 504);
}

void exchange_expired(struct exchange *x)
{
	int64_t now = loop_monotonic();

	if (x->due && x->due <= now) {
		end_late(x);
	} else if (x->wait_due && x->wait_due <= now) {
		exchange__overflow(x, WORKER_CONNECTIONS);
	} else if (x->retry_at && x->retry_at <= now) {
		x->retry_at = 0;
		exchange__arm(x);
		exchange__try_server(x, false);
	} else {
		exchange__arm(x);
	}
}

void exchange_sweep(struct exchange *x, ev_tstamp now)
{
	const struct worker_limits *limits = &exchange__worker(x)->config.limits;
	bool quiet = x->tunnel || call_may_be_quiet(x);
	int64_t limit = quiet ? limits->tunnel_time : limits->stall_time;

	x->lasting = true;
	exchange__steer_client(x);
	if (x->place.side)
		quota_call(x->place.side); /* servers may have come up */
	if (!exchange__is_sending(x) || now - x->moved < loop_seconds(limit))
		return;
	if (x->answering || (!x->up.done && !x->full_up))
		x->why = "stalled";
	if (x->answering)
		exchange_drop(x);
	else if (exchange_awaits_client(x))
		exchange__refuse(x, REFUSAL_BODY_TIME);
	else
		exchange__fail(x, L7_TIMED_OUT);
}

bool exchange_awaits_client(const struct exchange *x)
{
	return exchange__is_sending(x) && !x->up.done && !x->full_up && !x->tunnel &&
	       !call_may_be_quiet(x);
}

void exchange_too_slow(struct exchange *x)
{
	exchange__refuse(x, client_unsent(x->client) ? REFUSAL_READ_TIME : REFUSAL_BODY_TIME);
}

/* ---- who is read from ---- */

/*
 * Of a client that sends nothing more, only the end is left to be seen. That is looked for from the
 * next sweep on: most answers come before, and then the socket is never added to the set of epoll.
 */
static bool has_said_all(const struct exchange *x)
{
	return x->client->leaves && x->up.done && !x->upgrade && !x->lasting;
}

void exchange__steer_client(struct exchange *x)
{
	struct client *c = x->client;
	bool read = !c->ended && !x->full_up && client_has_room(c) && !has_said_all(x);

	client_want(c, (read ? STREAM_READ : 0U) | (x->full_down ? STREAM_WRITE : 0U));
}

void exchange__steer_server(struct exchange *x)
{
	if (exchange__is_sending(x))
		link_want(x->link, (x->full_down || x->server_ended ? 0U : STREAM_READ) |
					   (x->full_up && !x->cut ? STREAM_WRITE : 0U));
}

void exchange_steer(struct exchange *x)
{
	exchange__steer_client(x);
	exchange__steer_server(x);
}

void exchange_resume(struct exchange *x)
{
	exchange__move(x);
	x->full_down = false;
	exchange_steer(x);
}

void exchange_flushed(struct exchange *x)
{
	exchange__move(x);
	x->full_up = x->cut;
	exchange_steer(x);
}

/* Does not read from the server until the client has taken what is queued. */
void exchange__slow_down(struct exchange *x)
{
	if (!client_is_full(x->client))
		return;
	x->full_down = true;
	exchange_steer(x);
}

/* ---- the beginning ---- */

/* The connection ends after the last request that one may have. */
static void count_request(struct client *c)
{
	struct client *all = client_connection(c);
	unsigned most = worker_clients(c->worker)->requests;

	count(&c->worker->counters.requests, 1);
	c->debt = 0;
	if (++all->requests == most)
		all->last = true;
}

static struct exchange *make(struct client *c, size_t n)
{
	struct worker *w = c->worker;
	const struct http_head *h = &w->head;
	struct era *era = w->trial ? worker_trial_era(w, &c->peer) : w->era;
	struct exchange *x = w->spare;

	if (x)
		w->spare = x->next;
	else
		x = mem_alloc(sizeof(*x));
	era->users++;
	c->leaves = !h->keep_alive;
	*x = (struct exchange){ .client = c,
				.era = era,
				.start = c->in->at,
				.head = n,
				.sent = c->in->at + n,
				.in = n,
				.old = h->minor == 0,
				.room = worker_clients(w)->body ?: UINT64_MAX,
				.keep = h->keep_alive,
				.repeatable = true,
				.code = L7_GRPC_NONE };
	x->n_method = (uint8_t)(h->method.n < ROUTER__METHOD ? h->method.n : ROUTER__METHOD);
	memcpy(x->method, h->method.p, x->n_method);
	http_body_init(&x->up, h, (struct str){ 0 });
	x->upgrade = head_wants_upgrade(h);
	exchange__steer_client(x);
	x->moved = ev_now(w->loop);
	x->began = x->try_began = task_began(w->loop);
	return x;
}

/* What rules look at. Returns 0, or the status to refuse the request with. */
static unsigned view(const struct http_head *h, struct l7_request *ret)
{
	struct str target;
	const char *query;
	unsigned status;

	*ret = (struct l7_request){ .method = h->method,
				    .headers = h->headers,
				    .n_headers = h->n_headers };
	status = h->expect_other ? 417 : head_read_target(h, &ret->host, &target);
	if (status)
		return status;
	query = memchr(target.p, '?', target.n);
	ret->path = target.p[0] == '*' ? STR("/") : target;
	if (query) {
		ret->path.n = (size_t)(query - target.p);
		ret->query = (struct str){ query + 1, target.n - ret->path.n - 1 };
	}
	return 0;
}

static void redirect(struct exchange *x, const struct l7_request *r)
{
	const struct l7_redirect *to = x->target->rule->filters.redirect;
	const struct l7_place from = { .scheme = x->client->secure ? STR("https") : STR("http"),
				       .host = r->host,
				       .port = x->client->port->at.port,
				       .path = r->path,
				       .query = r->query };
	struct buf *path = &exchange__worker(x)->path;

	path->n = 0;
	buf_add_lit(path, "location: ");
	l7_redirect_location(to, x->target->match->path, &from, path);
	buf_add_lit(path, "\r\n");
	x->why = "redirect";
	exchange__answer_with(x, to->status, (struct str){ path->p, path->n });
}

/* Writes the lines for the answer. Returns true if the request is a preflight. */
static bool apply_cors(struct exchange *x, const struct l7_cors *cors)
{
	const struct http_head *h = &exchange__worker(x)->head;
	const struct l7_cors_request r = {
		.method = h->method,
		.origin = http_header(h, STR("origin")),
		.wants_method = http_header(h, STR("access-control-request-method")),
		.wants_headers = http_header(h, STR("access-control-request-headers")),
	};
	struct buf *scratch = &exchange__worker(x)->path;
	struct field fields[L7_CORS_FIELDS];
	size_t n;

	scratch->n = 0;
	n = l7_cors_fields(cors, &r, scratch, fields);
	for (size_t i = 0; i < n; i++) {
		buf_add(&x->cors, fields[i].name.p, fields[i].name.n);
		buf_add_lit(&x->cors, ": ");
		buf_add(&x->cors, fields[i].value.p, fields[i].value.n);
		buf_add_lit(&x->cors, "\r\n");
	}
	return l7_cors_is_preflight(&r);
}

/* The request counts at its pool. False: there are too many. */
static bool admit(struct exchange *x)
{
	const struct generation_pool *pool = &x->era->generation->pools[x->backend->pool];
	unsigned limit = pool->config->limits.requests;

	if (limit && !quota_admit(pool->quota, limit))
		return false;
	x->admitted = limit;
	x->side = &pool->quota->sides[exchange__worker(x)->config.number];
	quota_count(&x->side->active, 1);
	return true;
}

static void pass_on(struct exchange *x)
{
	const struct l7_rule *rule = x->target->rule;
	const struct l7_cors *cors = rule->filters.cors ?: x->backend->filters.cors;
	int64_t limit;

	if (cors && apply_cors(x, cors)) {
		x->why = "preflight";
		exchange__answer_with(x, 204, (struct str){ x->cors.p, x->cors.n });
		return;
	}
	if (!admit(x)) {
		exchange__overflow(x, WORKER_REQUESTS);
		return;
	}
	limit = x->grpc ? call_time(x) : rule->request_timeout;
	if (limit) {
		x->due = loop_monotonic() + limit;
		exchange__arm(x);
	}
	exchange__try_server(x, false);
}

void exchange_begin(struct client *c, size_t n)
{
	struct worker *w = c->worker;
	struct exchange *x = c->x = make(c, n);
	struct l7_request r;
	unsigned status = view(&w->head, &r);
	enum choice choice = CHOICE_ANSWER;

	count_request(c);
	x->grpc = call_is(&w->head);
	if (status) {
		x->keep = false;
		x->why = "bad-request";
	} else {
		choice = choose_rule(x, &r, &status);
		x->web = x->target && x->target->rule->grpc_web && call_is_web(&w->head);
		x->grpc |= x->web || (x->target && x->target->match->grpc);
	}
	account_begin(x);
	switch (choice) {
	case CHOICE_SERVER:
		if (w->head.has_length && w->head.length > x->room) {
			exchange__refuse(x, REFUSAL_BODY_BYTES);
			break;
		}
		w->head_of = x;
		pass_on(x);
		w->head_of = NULL;
		break;
	case CHOICE_REDIRECT:
		redirect(x, &r);
		break;
	case CHOICE_ANSWER:
		if (status == 400)
			exchange__refuse(x, REFUSAL_MALFORMED);
		else
			exchange__answer(x, status);
		break;
	case CHOICE_PATH_REFUSED:
		exchange__refuse(x, REFUSAL_PATH);
		break;
	}
}
