/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: the table of methods, and creation, drain and release of the server.
 *
 * The server owns an HTTP/2 host (lib/h2); its calls live in the streams of the host (call.c).
 * Methods are found by path in a map. It has the methods of the routes, of health and, if there is
 * a descriptor set, of reflection.
 */
#include "lib/grpc/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/server_private.h"

#define WINDOW (256 * 1024) /* of a stream: requests may be megabytes, and are taken at once */

static const struct grpc_server_config defaults = {
	.max_connections = 4096,
	.max_streams = 128,
	.max_message = (size_t)4 * 1024 * 1024,
	.max_queued = (size_t)1024 * 1024,
	.max_unread = (size_t)16 * 1024 * 1024,
	.max_unread_all = (size_t)256 * 1024 * 1024,
	.keepalive = 60 * NSEC_PER_SEC,
	.request_timeout = 20 * NSEC_PER_SEC,
};

static void apply_defaults(struct grpc_server_config *c)
{
	if (!c->max_connections)
		c->max_connections = defaults.max_connections;
	if (!c->max_streams)
		c->max_streams = defaults.max_streams;
	if (!c->max_message)
		c->max_message = defaults.max_message;
	if (!c->max_queued)
		c->max_queued = defaults.max_queued;
	if (!c->max_unread)
		c->max_unread = defaults.max_unread;
	if (!c->max_unread_all)
		c->max_unread_all = defaults.max_unread_all;
	if (!c->keepalive)
		c->keepalive = defaults.keepalive;
	if (!c->request_timeout)
		c->request_timeout = defaults.request_timeout;
}

bool grpc__has_service(const struct grpc_server *s, const char *name)
{
	for (size_t i = 0; i < s->services.n; i++)
		if (strcmp(s->services.items[i], name) == 0)
			return true;
	return false;
}

/* Adds "package.Service" of "/package.Service/Method", keeping the list sorted and unique. */
static void add_service(struct grpc_server *s, const char *path)
{
	const char *end = strrchr(path, '/');
	const char *name;
	size_t i = 0;

	assert(path[0] == '/' && end > path);
	name = arena_strndup(s->arena, path + 1, (size_t)(end - path) - 1);
	if (grpc__has_service(s, name))
		return;
	while (i < s->services.n && strcmp(s->services.items[i], name) < 0)
		i++;
	vec_insert_at(&s->services, i);
	s->services.items[i] = name;
}

/* Built-in methods get the server as user, those of routes the user of the configuration. */
static void add_entries(struct grpc_server *s, const struct grpc__entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		vec_push(&s->entries, entries[i]);
		s->entries.items[s->entries.n - 1].user = s;
	}
}

static void add_routes(struct grpc_server *s)
{
	for (size_t i = 0; i < s->config.n_routes; i++) {
		const struct grpc_route *r = &s->config.routes[i];

		vec_push(&s->entries,
			 (struct grpc__entry){ r->method, r->handler, s->config.user, false });
	}
}

/* Called after the last entry was added: the map points into the vector. */
static void index_entries(struct grpc_server *s)
{
	for (size_t i = 0; i < s->entries.n; i++) {
		struct grpc__entry *e = &s->entries.items[i];
		const void *twice = map_put(&s->by_path, e->method.path, e);

		assert(!twice);
		add_service(s, e->method.path);
	}
}

/* An invalid descriptor set is not fatal: reflection then knows the files before the error. */
static void add_methods(struct grpc_server *s)
{
	const struct str set = { s->config.descriptor_set, s->config.descriptor_set_size };

	add_routes(s);
	add_entries(s, grpc__health_entries, ARRAY_SIZE(grpc__health_entries));
	if (s->config.descriptor_set) {
		add_entries(s, grpc__reflection_entries, ARRAY_SIZE(grpc__reflection_entries));
		s->descriptors = grpc__descriptors_new(s->arena);
		grpc__descriptors_add_own(s->descriptors);
		grpc__descriptors_add(s->descriptors, set);
	}
	index_entries(s);
}

static struct h2_host *new_host(struct grpc_server *s)
{
	const struct h2_config config = {
		.server = true,
		.events = &grpc__server_events,
		.user = s,
		.conn_area = sizeof(struct grpc__peer),
		.stream_area = sizeof(struct grpc_call),
		.max_connections = s->config.max_connections,
		.max_per_source = s->config.max_per_source,
		.max_streams = (uint32_t)s->config.max_streams,
		.window = WINDOW,
		.keepalive = s->config.keepalive,
	};

	return h2_host_new(s->loop, &config);
}

int grpc_server_new(struct ev_loop *loop, const struct grpc_server_config *config,
		    struct grpc_server **ret)
{
	struct grpc_server *s = mem_zalloc(sizeof(*s));
	int r;

	assert(loop && config && ret && (config->routes || !config->n_routes));
	s->loop = loop;
	s->config = *config;
	apply_defaults(&s->config);
	s->arena = arena_new();
	s->scratch = arena_new();
	s->stats = mem_zalloc(sizeof(*s->stats));
	LIST_INIT(&s->calls);
	add_methods(s);
	s->host = new_host(s);
	h2_set_tls(s->host, config->tls);
	r = config->inherited ? h2_listen_on(s->host, config->inherited)
			      : h2_listen(s->host, config->listen);
	if (r < 0) {
		grpc_server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* Freeing the host closes all streams, and so cancels all calls. */
void grpc_server_free(struct grpc_server *s)
{
	if (!s)
		return;
	h2_host_free(s->host);
	assert(LIST_EMPTY(&s->calls) && s->held == 0);
	vec_free(&s->entries);
	vec_free(&s->services);
	map_free(&s->by_path);
	arena_free(s->arena);
	arena_free(s->scratch);
	free(s->stats);
	free(s);
}

struct endpoint grpc_server_endpoint(const struct grpc_server *s)
{
	return h2_endpoint(s->host);
}

int grpc_server_socket(const struct grpc_server *s)
{
	return h2_socket(s->host);
}

void grpc_server_hand_over(struct grpc_server *s)
{
	h2_hand_over(s->host);
}

/* calls and calls_started are kept by call.c; the rest is copied from the host on demand. */
const struct grpc_server_stats *grpc_server_stats(const struct grpc_server *s)
{
	const struct h2_stats *h = h2_host_stats(s->host);
	struct grpc_server_stats *stats = s->stats;

	stats->connections = h->connections;
	stats->accepted = h->accepted;
	stats->refused = h->refused;
	stats->evicted = h->evicted;
	stats->protocol_errors = h->protocol_errors + h->calmed + h->timeouts;
	stats->resets = h->resets;
	stats->bytes_in = h->bytes_in;
	stats->bytes_out = h->bytes_out;
	return stats;
}

void grpc_server_set_tls(struct grpc_server *s, struct tls_context *tls)
{
	h2_set_tls(s->host, tls);
}

void grpc_server_adopt(struct grpc_server *s, int fd, struct endpoint peer)
{
	h2_adopt(s->host, fd, peer);
}

/* grpc__end() removes the call from the list, so the next one is read first. */
void grpc_server_drain(struct grpc_server *s, void (*done)(void *user), void *user)
{
	struct grpc_call *call, *next;

	assert(s && done && !s->draining);
	s->draining = true;
	for (call = LIST_FIRST(&s->calls); call; call = next) {
		next = LIST_NEXT(call, all);
		if (grpc__is_stream(call->entry))
			grpc__end(call, GRPC_UNAVAILABLE, "the server is shutting down");
	}
	h2_drain(s->host, done, user);
}
