/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: the connection of a client, and the calls that use it.
 *
 * A call is in one of three lists: waiting for the connection, running in one of its streams, or
 * ended with its done() still to be called. The addresses of the target are looked up and tried in
 * order; if none answers, all waiting calls end with UNAVAILABLE, and the next call tries again.
 * After GOAWAY a connection keeps its running calls, and new calls open a new connection.
 */
#include "lib/grpc/client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/grpc/client_private.h"

#define MAX_MESSAGE ((size_t)16 * 1024 * 1024)
#define CONNECT_TIMEOUT (5 * NSEC_PER_SEC)

/* ---- the target ---- */

/* Splits "host:port" or "[v6]:port". The caller frees *ret_host. */
static int split_target(const char *target, char **ret_host, uint16_t *ret_port)
{
	const char *colon = strrchr(target, ':');
	struct str host;
	uint64_t port;

	if (!colon || colon == target)
		return -EINVAL;
	host = (struct str){ target, (size_t)(colon - target) };
	if (str_to_u64(str_of(colon + 1), UINT16_MAX, &port) < 0 || port == 0)
		return -EINVAL;
	if (host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = (struct str){ host.p + 1, host.n - 2 };
	else if (memchr(host.p, ':', host.n))
		return -EINVAL;
	if (!host.n)
		return -EINVAL;
	*ret_host = mem_zalloc(host.n + 1);
	memcpy(*ret_host, host.p, host.n);
	*ret_port = (uint16_t)port;
	return 0;
}

/* ---- the connection ---- */

static void tell_state(struct grpc_client *c, bool connected, const char *why)
{
	if (c->config.state)
		c->config.state(connected, why, c->config.user);
}

/* h2_connect() never fails at once: on_lost() is called from the loop. */
static void dial(struct grpc_client *c)
{
	struct endpoint to = c->addresses[c->next_address];

	c->open = false;
	c->conn = h2_connect(c->host, to, c->config.tls, c->config.tls_name);
}

/* Only waiting calls: running ones get the result of their own stream. */
static void fail_waiting(struct grpc_client *c, const char *why)
{
	struct grpc_client_call *call;

	while ((call = TAILQ_FIRST(&c->waiting)))
		grpc__call_end(call, GRPC_UNAVAILABLE, "cannot reach %s: %s", c->config.target,
			       why);
}

static void dial_first(struct grpc_client *c, const struct endpoint *addresses, size_t n)
{
	memcpy(c->addresses, addresses, n * sizeof(*addresses));
	c->n_addresses = n;
	c->next_address = 0;
	dial(c);
}

/* n is at most NET_LOOKUP_MAX; 0 means that the lookup has failed. */
static void on_looked_up(const struct endpoint *found, size_t n, const char *why, void *user)
{
	struct grpc_client *c = user;

	c->lookup = NULL;
	if (n) {
		dial_first(c, found, n);
		return;
	}
	fail_waiting(c, why);
	tell_state(c, false, why);
}

static void look_up(struct grpc_client *c)
{
	const struct net_lookup_query query = { .host = c->name,
						.port = c->port,
						.timeout = c->config.connect_timeout,
						.done = on_looked_up,
						.user = c };
	int r = net_lookup_start(c->loop, &query, &c->lookup);

	if (r < 0)
		fail_waiting(c, strerror(-r));
}

/* A name is looked up again for each connection, because its addresses may have changed. */
void grpc__client_connect(struct grpc_client *c)
{
	struct endpoint plain = { .port = c->port };

	if (c->conn || c->lookup)
		return;
	if (addr_parse(c->name, &plain.addr) == 0)
		dial_first(c, &plain, 1);
	else
		look_up(c);
}

/* grpc__call_start() moves each call out of waiting, also when it fails, so the loop ends. */
static void on_open(struct h2_conn *conn, void *user)
{
	struct grpc_client *c = user;
	struct grpc_client_call *call;

	if (conn != c->conn)
		return;
	c->open = true;
	tell_state(c, true, "");
	while (c->open && (call = TAILQ_FIRST(&c->waiting)))
		grpc__call_start(call);
}

/* GOAWAY: the connection takes no new calls, so waiting calls need another one. */
static void on_going(struct h2_conn *conn, void *user)
{
	struct grpc_client *c = user;

	if (conn != c->conn)
		return;
	c->conn = NULL;
	c->open = false;
	h2_leave(conn);
	tell_state(c, false, "the server is shutting down");
	if (!TAILQ_EMPTY(&c->waiting))
		grpc__client_connect(c);
}

/* Only a connection that was never open makes the client try the next address. */
static void on_lost(struct h2_conn *conn, const char *why, void *user)
{
	struct grpc_client *c = user;
	bool was_open = c->open;

	if (conn != c->conn)
		return;
	c->conn = NULL;
	c->open = false;
	if (!was_open && ++c->next_address < c->n_addresses) {
		dial(c);
		return;
	}
	fail_waiting(c, why);
	tell_state(c, false, why);
}

static const struct h2_events host_events = {
	.open = on_open,
	.going = on_going,
	.lost = on_lost,
	.header = grpc__on_header,
	.headers = grpc__on_headers,
	.data = grpc__on_data,
	.closed = grpc__on_closed,
};

/* ---- the client ---- */

/*
 * Calls one done() per event. done() may free the client with all its calls, so everything needed
 * is copied before and nothing of the client is used after it.
 */
static void on_deliver(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct grpc_client *c = container_of(w, struct grpc_client, deliver);
	struct grpc_client_call *call = TAILQ_FIRST(&c->ended);
	struct grpc_client_events events;
	enum grpc_status status;
	struct buf text;

	if (!call)
		return;
	events = call->events;
	status = call->status;
	text = call->text;
	call->text = (struct buf){ 0 };
	grpc__call_free(call);
	if (!TAILQ_EMPTY(&c->ended))
		ev_feed_event(loop, w, EV_CUSTOM);
	events.done(status, buf_cstr(&text), events.user);
	buf_free(&text);
}

/* A larger window than the default: responses may be megabytes, and the client reads at once. */
static void init(struct grpc_client *c, struct ev_loop *loop)
{
	struct h2_config host = {
		.events = &host_events,
		.user = c,
		.stream_area = sizeof(struct grpc_client_call *),
		.window = 1024 * 1024,
		.handshake_timeout = c->config.connect_timeout,
	};

	c->loop = loop;
	c->host = h2_host_new(loop, &host);
	c->scratch = arena_new();
	TAILQ_INIT(&c->waiting);
	TAILQ_INIT(&c->running);
	TAILQ_INIT(&c->ended);
	ev_init(&c->deliver, on_deliver);
}

/* The server's certificate is verified for the host of the target unless tls_name is set. */
static void copy_config(struct grpc_client *c, const struct grpc_client_config *config)
{
	c->config = *config;
	c->config.target = mem_strdup(config->target);
	c->config.tls_name = mem_strdup(config->tls_name ? config->tls_name : c->name);
	c->config.user_agent = mem_strdup(config->user_agent ? config->user_agent : "maglev");
	if (!c->config.max_message)
		c->config.max_message = MAX_MESSAGE;
	if (!c->config.connect_timeout)
		c->config.connect_timeout = CONNECT_TIMEOUT;
}

int grpc_client_new(struct ev_loop *loop, const struct grpc_client_config *config,
		    struct grpc_client **ret)
{
	struct grpc_client *c;
	uint16_t port;
	char *name;

	assert(loop && config && config->target && ret);
	if (split_target(config->target, &name, &port) < 0)
		return -EINVAL;
	c = mem_zalloc(sizeof(*c));
	c->name = name;
	c->port = port;
	copy_config(c, config);
	init(c, loop);
	*ret = c;
	return 0;
}

static void drop_calls(struct grpc__calls *calls)
{
	struct grpc_client_call *call;

	while ((call = TAILQ_FIRST(calls)))
		grpc__call_free(call);
}

void grpc_client_free(struct grpc_client *c)
{
	if (!c)
		return;
	drop_calls(&c->waiting);
	drop_calls(&c->running);
	drop_calls(&c->ended);
	grpc__metadata_unref(c->metadata);
	net_lookup_cancel(c->lookup);
	c->conn = NULL; /* so that on_lost() does not call state() */
	h2_host_free(c->host);
	ev_clear_pending(c->loop, &c->deliver);
	arena_free(c->scratch);
	free(c->name);
	free((void *)(uintptr_t)c->config.target);
	free((void *)(uintptr_t)c->config.tls_name);
	free((void *)(uintptr_t)c->config.user_agent);
	free(c);
}

void grpc_client_set_tls(struct grpc_client *c, struct tls_context *tls)
{
	assert(!tls == !c->config.tls);
	c->config.tls = tls;
}
