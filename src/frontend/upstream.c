/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream: the life of a connection to one maglevd, maglev-speaker or maglev-router.
 *
 *	connected by the first call -> lists and the stream of events -> lost -> connected ...
 *
 * A gRPC client lives for one connection. Any sign that the connection is of no use (refused,
 * reset, silent past a deadline) leads to upstream__lose(), which frees the client with all its
 * calls, even if the connection might recover. Calls made for other code end with an error.
 *
 * The stream is opened before lists are read, so that no change falls between the two. items.c
 * applies events about single items, query.c makes the queries. maglevd.c, speaker.c and
 * router.c are the kinds of server: which queries there are, and what events mean.
 */
#include "src/frontend/upstream.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/who.h"
#include "lib/cli/cli.h"
#include "lib/json/json.h"
#include "src/frontend/upstream_private.h"

#define CONNECT_TIMEOUT (5 * NSEC_PER_SEC)
#define STREAM_STANDS (2 * NSEC_PER_SEC) /* after this time a stream counts as accepted */

/*
 * For the connection and for its stream. The jitter keeps many dashboards that lost the same
 * maglevd from returning at the same moment.
 */
static const struct backoff_policy retry_policy = { .first = NSEC_PER_SEC,
						    .last = NSEC_PER_SEC,
						    .jitter = 20 };

/*
 * Minimal gap and period of each round. Lists have no period: they are read at the start, after
 * a reload and with a new stream of events.
 */
static const struct {
	int64_t gap, period;
} paces[UPSTREAM__ROUNDS] = {
	[UPSTREAM__LISTS] = { 200 * NSEC_PER_MSEC, 0 },
	[UPSTREAM__LIVE] = { 200 * NSEC_PER_MSEC, NSEC_PER_SEC },
	[UPSTREAM__LB] = { NSEC_PER_SEC, 5 * NSEC_PER_SEC },
	[UPSTREAM__COUNTERS] = { NSEC_PER_SEC, 2 * NSEC_PER_SEC },
};

/* ---- what is published ---- */

void upstream__tell(struct upstream *u, const char *type, int64_t at, struct str payload)
{
	u->config.changed(&u->view, type, at, payload, u->config.user);
}

static void set_error(struct upstream *u, const char *error)
{
	free(u->error);
	u->view.error = u->error = mem_strdup(error);
}

void upstream__set_connected(struct upstream *u, bool connected, const char *error)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	int64_t now = loop_realtime();

	if (u->view.connected == connected && strcmp(u->view.error, error) == 0)
		return;
	if (u->view.connected != connected)
		u->view.since = now;
	u->stats.losses += !connected && u->view.connected;
	u->view.connected = connected;
	set_error(u, error);
	buf_printf(&out, "{\"connected\":%s,\"error\":", connected ? "true" : "false");
	json_write_string(&out, error, strlen(error));
	buf_printf(&out, ",\"since_ns\":%lld}", (long long)u->view.since);
	upstream__tell(u, u->config.kind->word, now, (struct str){ out.p, out.n });
}

/* ---- the stream ---- */

void upstream__want(struct upstream *u, enum upstream__round round)
{
	pace_want(&u->rounds[round]);
}

/* After a reload or a gap in the events anything may have changed. */
void upstream__want_all(struct upstream *u)
{
	for (enum upstream__round i = 0; i < u->config.kind->rounds; i++)
		upstream__want(u, i);
}

static void on_event(const ProtobufCMessage *message, void *user)
{
	struct upstream *u = user;

	u->stats.events++;
	u->config.kind->event(u, message);
}

/*
 * Without a stream but with a connection the server may be an old version or over its limit: the
 * state is still read, and the error says that events are missing.
 */
static void on_watch_done(enum grpc_status status, const char *text, void *user)
{
	struct upstream *u = user;

	if (!u->open) {
		upstream__lose(u, text);
		return;
	}
	u->stats.refusals += status != GRPC_OK;
	u->watching = 0;
	u->no_stream.n = 0;
	buf_printf(&u->no_stream, "it sends no events: %s", *text ? text : "it ended the stream");
	backoff_start(&u->rewatch);
}

const char *upstream__no_stream(struct upstream *u)
{
	if (u->watching && loop_monotonic() - u->watching > STREAM_STANDS)
		u->no_stream.n = 0;
	return buf_cstr(&u->no_stream);
}

/*
 * Opens the stream of events. Browsers apply events to their state, so changes that fall between
 * two streams are repaired by sending whole lists. These must be requested after this call.
 */
static void watch(struct upstream *u)
{
	const struct upstream_kind *kind = u->config.kind;
	union upstream__request request = { 0 };

	for (size_t i = 0; u->told && i < UPSTREAM_LISTS; i++)
		listing_doubt(&u->view.lists[i]);
	u->told = false;
	u->watching = loop_monotonic();
	upstream__init_request(kind->watch, &request);
	if (kind->fill_watch)
		kind->fill_watch(u, &request.base);
	u->stats.calls++;
	grpc_client_call(u->client, kind->watch, &request.base, 0,
			 &(struct grpc_client_events){
				 .message = on_event, .done = on_watch_done, .user = u });
}

static void on_rewatch(void *user)
{
	struct upstream *u = user;

	watch(u);
	upstream__want_all(u);
}

/* ---- the connection ---- */

static void on_state(bool connected, const char *why, void *user)
{
	((struct upstream *)user)->open = connected;
}

static struct grpc_client *make_client(struct upstream *u)
{
	char user_agent[64];
	const struct grpc_client_config config = {
		.target = u->address,
		.tls = u->config.tls,
		.user_agent = user_agent,
		.bounds = upstream__bounds,
		.connect_timeout = CONNECT_TIMEOUT,
		.state = on_state,
		.user = u,
	};
	struct grpc_client *client = NULL;
	int r;

	snprintf(user_agent, sizeof(user_agent), "maglevd-frontend/%s", cli_version.version);
	r = grpc_client_new(u->loop, &config, &client);
	assert(r == 0); /* the address was checked with the options */
	return client;
}

static void on_retry(void *user)
{
	struct upstream *u = user;

	u->client = make_client(u);
	u->no_stream.n = 0;
	watch(u);
	for (enum upstream__round i = 0; i < u->config.kind->rounds; i++)
		pace_start(&u->rounds[i]);
}

/* ---- calls for others ---- */

/* The call is freed before done(), because done() may start another. */
static void end_call(struct upstream_call *c, enum grpc_status status, const char *text)
{
	struct grpc_client_events events = c->events;
	struct upstream *u = c->upstream;

	TAILQ_REMOVE(&u->calls, c, all);
	free(c);
	events.done(status, text, events.user);
}

/*
 * Ends a call whose request was sent but not answered: it is unknown whether it was carried out.
 */
static void end_in_doubt(struct upstream_call *c, enum grpc_status status, const char *text)
{
	_cleanup_(buf_free) struct buf doubt = { 0 };

	buf_printf(&doubt, "%s; it may have been done all the same", text);
	end_call(c, status, buf_cstr(&doubt));
}

static void on_call_message(const ProtobufCMessage *message, void *user)
{
	struct upstream_call *c = user;

	if (c->events.message)
		c->events.message(message, c->events.user);
}

static void on_call_done(enum grpc_status status, const char *text, void *user)
{
	struct upstream_call *c = user;
	struct upstream *u = c->upstream;

	u->stats.refusals += status != GRPC_OK;
	if (status == GRPC_DEADLINE_EXCEEDED || (status == GRPC_UNAVAILABLE && !u->open))
		end_in_doubt(c, status, text);
	else
		end_call(c, status, text);
}

bool upstream_call(struct upstream *u, const struct grpc_method *method,
		   const ProtobufCMessage *request, int64_t timeout,
		   const struct grpc_client_events *events)
{
	struct upstream_call *c;

	if (!u->client || !u->view.connected)
		return false;
	c = mem_zalloc(sizeof(*c));
	c->upstream = u;
	c->events = *events;
	TAILQ_INSERT_TAIL(&u->calls, c, all);
	u->stats.calls++;
	grpc_client_call(u->client, method, request, timeout,
			 &(struct grpc_client_events){
				 .message = on_call_message, .done = on_call_done, .user = c });
	return true;
}

/* The metadata is that of this call alone: other calls of the client are nobody's. */
bool upstream_call_for(struct upstream *u, const struct upstream_user *by,
		       const struct grpc_method *method, const ProtobufCMessage *request,
		       int64_t timeout, const struct grpc_client_events *events)
{
	const struct grpc_metadata fields[] = { { WHO_METADATA, by->name },
						{ WHO_METADATA_ADDRESS, by->address } };
	bool begun;

	if (!u->client)
		return false;
	grpc_client_set_metadata(u->client, fields, ARRAY_SIZE(fields));
	begun = upstream_call(u, method, request, timeout, events);
	grpc_client_set_metadata(u->client, NULL, 0);
	return begun;
}

/* ---- the end of a connection ---- */

static void drop_connection(struct upstream *u)
{
	for (enum upstream__round i = 0; i < UPSTREAM__ROUNDS; i++)
		pace_stop(&u->rounds[i]);
	upstream__forget(u);
	backoff_reset(&u->rewatch);
	grpc_client_free(TAKE_PTR(u->client));
	u->open = false;
}

void upstream__lose(struct upstream *u, const char *why)
{
	_cleanup_(cleanup_free) char *text =
		mem_strdup(why); /* the text may belong to the client */
	struct upstream_call *c;

	drop_connection(u);
	while ((c = TAILQ_FIRST(&u->calls)))
		end_in_doubt(c, GRPC_UNAVAILABLE, text);
	upstream__set_connected(u, false, text);
	backoff_start(&u->retry);
}

/* ---- the door ---- */

static void begin_lists(struct pace *p)
{
	upstream__begin(container_of(p, struct upstream, rounds[UPSTREAM__LISTS]), UPSTREAM__LISTS);
}

static void begin_live(struct pace *p)
{
	upstream__begin(container_of(p, struct upstream, rounds[UPSTREAM__LIVE]), UPSTREAM__LIVE);
}

static void begin_lb(struct pace *p)
{
	upstream__begin(container_of(p, struct upstream, rounds[UPSTREAM__LB]), UPSTREAM__LB);
}

static void begin_counters(struct pace *p)
{
	upstream__begin(container_of(p, struct upstream, rounds[UPSTREAM__COUNTERS]),
			UPSTREAM__COUNTERS);
}

static void (*const begins[UPSTREAM__ROUNDS])(struct pace *p) = {
	[UPSTREAM__LISTS] = begin_lists,
	[UPSTREAM__LIVE] = begin_live,
	[UPSTREAM__LB] = begin_lb,
	[UPSTREAM__COUNTERS] = begin_counters,
};

struct upstream *upstream_new(struct ev_loop *loop, const struct upstream_config *config)
{
	struct upstream *u = mem_zalloc(sizeof(*u));

	u->loop = loop;
	u->config = *config;
	u->view.kind = config->kind->word;
	u->view.name = u->name = mem_strdup(config->name);
	u->view.address = u->address = mem_strdup(config->address);
	u->view.since = loop_realtime();
	set_error(u, "not connected yet");
	TAILQ_INIT(&u->calls);
	for (enum upstream__round i = 0; i < UPSTREAM__ROUNDS; i++)
		pace_init(&u->rounds[i], loop, paces[i].gap, paces[i].period, begins[i]);
	backoff_init(&u->rewatch, loop, &retry_policy, on_rewatch, u);
	task_init(&u->reading, loop, TASK_ORDINARY, upstream__read_step);
	ev_init(&u->tell, upstream__on_tell);
	u->scratch = arena_new();
	backoff_init(&u->retry, loop, &retry_policy, on_retry, u);
	backoff_now(&u->retry);
	return u;
}

void upstream_free(struct upstream *u)
{
	struct upstream_call *c;

	if (!u)
		return;
	drop_connection(u);
	while ((c = TAILQ_FIRST(&u->calls)))
		end_in_doubt(c, GRPC_CANCELLED, "the dashboard ends");
	backoff_stop(&u->retry);
	for (size_t i = 0; i < UPSTREAM_LISTS; i++)
		listing_free(&u->view.lists[i]);
	buf_free(&u->view.vpp);
	buf_free(&u->view.lb);
	buf_free(&u->view.lb_error);
	buf_free(&u->view.counters);
	buf_free(&u->view.info);
	buf_free(&u->view.generations);
	buf_free(&u->updates);
	buf_free(&u->all_updates);
	buf_free(&u->no_stream);
	arena_free(u->scratch);
	free(u->name);
	free(u->address);
	free(u->error);
	free(u);
}

void upstream_set_tls(struct upstream *u, struct tls_context *tls)
{
	u->config.tls = tls;
	if (u->client)
		grpc_client_set_tls(u->client, tls);
}

const struct upstream_view *upstream_view(const struct upstream *u)
{
	return &u->view;
}

const struct upstream_stats *upstream_stats(const struct upstream *u)
{
	return &u->stats;
}
