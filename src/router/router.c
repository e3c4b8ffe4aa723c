/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/router.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/log/log.h"
#include "lib/stream/listener.h"
#include "src/router/care.h"

struct router {
	struct ev_loop *loop;
	struct router_config config;
	struct worker **workers;
	struct servers *servers;
	struct care *care;
	struct generation *current; /* with a reference of its own */
	uint64_t number;
	size_t generations;
	ev_async said;			      /* a thread has something to say */
	_Atomic(struct generation *) retired; /* list: to be freed */
	_Atomic(struct server *) suspects;    /* list: servers that fail requests */
	atomic_uint drained;		      /* threads that have ended */
	bool draining;			      /* until all threads have ended */
	bool stopping;			      /* from the beginning of the drain on */
};

/* ---- what data threads say ---- */

static void on_suspect(struct server *s, void *user)
{
	struct router *r = user;

	if (atomic_exchange(&s->suspected, true))
		return;
	s->next = atomic_load(&r->suspects);
	while (!atomic_compare_exchange_weak(&r->suspects, &s->next, s))
		;
	ev_async_send(r->loop, &r->said);
}

static void judge_suspects(struct router *r)
{
	struct server *s = atomic_exchange(&r->suspects, NULL);

	while (s) {
		struct server *next = s->next;

		atomic_store(&s->suspected, false);
		care_suspect(s);
		s = next;
	}
}

/*
 * A thread reports a server before it releases the generation that holds it. So after the retired
 * ones were taken, all suspects that they hold are in the list.
 */
static void free_retired(struct router *r)
{
	struct generation *g = atomic_exchange(&r->retired, NULL);

	judge_suspects(r);
	while (g) {
		struct generation *next = g->next;

		generation_free(g);
		r->generations--;
		g = next;
	}
}

static void on_retired(struct generation *g, void *user)
{
	struct router *r = user;

	g->next = atomic_load(&r->retired);
	while (!atomic_compare_exchange_weak(&r->retired, &g->next, g))
		;
	ev_async_send(r->loop, &r->said);
}

/* Said by one data thread to another. */
static void on_call(unsigned thread, struct quota_side *side, void *user)
{
	struct router *r = user;

	worker_call(r->workers[thread], side);
}

static void on_drained(void *user)
{
	struct router *r = user;

	atomic_fetch_add(&r->drained, 1);
	ev_async_send(r->loop, &r->said);
}

static void on_said(struct ev_loop *loop, ev_async *async, int revents)
{
	struct router *r = container_of(async, struct router, said);

	free_retired(r);
	if (r->draining && atomic_load(&r->drained) == r->config.threads) {
		r->draining = false;
		r->config.drained(r->config.user);
	}
}

/* ---- sockets ---- */

/* Sockets that were opened for a generation: `threads` for each new address. */
struct opened {
	struct endpoint at, bound; /* as configured, and with the real port */
	int fd;
};

struct opened_list {
	struct opened *items;
	size_t n, cap;
};

static void close_all(struct opened_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		close(list->items[i].fd);
}

/* With port 0 all threads share the port that the first one got. */
static int open_port(struct router *r, const struct endpoint *at, struct opened_list *list,
		     struct buf *why)
{
	struct stream_listener_config config = { .at = *at, .reuse_port = true };
	char text[ENDPOINT_STRLEN];

	for (unsigned i = 0; i < r->config.threads; i++) {
		struct endpoint bound;
		int fd = stream_listen(&config, &bound);

		if (fd < 0) {
			buf_printf(why, "cannot listen on %s: %s", endpoint_format(at, text),
				   strerror(-fd));
			return fd;
		}
		config.at.port = bound.port;
		vec_push(list, ((struct opened){ *at, config.at, fd }));
	}
	return 0;
}

static int open_ports(struct router *r, const struct generation *g, struct opened_list *list,
		      struct buf *why)
{
	for (size_t i = 0; i < g->n_ports; i++) {
		int error = 0;

		if (!r->current || !generation_port(r->current, &g->ports[i].at))
			error = open_port(r, &g->ports[i].at, list, why);
		if (error < 0)
			return error;
	}
	return 0;
}

/* ---- generations ---- */

static void retire(struct router *r, struct generation *g)
{
	if (!generation_release(g))
		return;
	judge_suspects(r);
	generation_free(g);
	r->generations--;
}

static const char *listener_name(const struct generation *g, const struct endpoint *at)
{
	return g->config.listeners[generation_port(g, at)->listeners[0]].name;
}

/* Says which addresses are new in g, and which the one before had and g has not. */
static void log_ports(const struct router *r, const struct generation *g,
		      const struct generation *old, const struct opened_list *sockets)
{
	char text[ENDPOINT_STRLEN];

	for (size_t i = 0; i < sockets->n; i += r->config.threads)
		log_info("listening", LOG_S("for", listener_name(g, &sockets->items[i].at)),
			 LOG_S("addr", endpoint_format(&sockets->items[i].bound, text)));
	for (size_t i = 0; old && i < old->n_ports; i++)
		if (!generation_port(g, &old->ports[i].at))
			log_info("listener-closed",
				 LOG_S("for", listener_name(old, &old->ports[i].at)),
				 LOG_S("addr", endpoint_format(&old->ports[i].at, text)));
}

static void publish(struct router *r, struct generation *g, const struct opened_list *sockets)
{
	struct generation *old = r->current;

	for (size_t i = 0; i < sockets->n; i++)
		worker_give_socket(r->workers[i % r->config.threads], &sockets->items[i].at,
				   sockets->items[i].fd, g->number);
	r->current = g;
	care_follow(r->care, (const struct generation *const *)&r->current, 1);
	for (unsigned i = 0; i < r->config.threads; i++) {
		generation_hold(g);
		worker_publish(r->workers[i], g);
	}
	log_ports(r, g, old, sockets);
	if (old)
		retire(r, old);
}

int router_apply(struct router *r, struct settings *settings, struct buf *why)
{
	struct opened_list sockets = { 0 };
	struct generation *g;
	int error;

	if (r->stopping) { /* no thread would serve new addresses */
		buf_adds(why, "the router is stopping");
		settings_free(settings);
		return -ESHUTDOWN;
	}
	g = generation_new(settings, r->servers, r->number + 1);
	error = open_ports(r, g, &sockets, why);
	r->generations++;
	if (error < 0) {
		close_all(&sockets);
		retire(r, g);
	} else {
		r->number++;
		publish(r, g, &sockets);
	}
	vec_free(&sockets);
	return error;
}

const struct generation *router_current(const struct router *r)
{
	return r->current;
}

size_t router_generations(const struct router *r)
{
	return r->generations;
}

struct worker_totals router_totals(const struct router *r)
{
	struct worker_totals totals = { 0 };

	for (unsigned i = 0; i < r->config.threads; i++)
		worker_add_totals(r->workers[i], &totals);
	return totals;
}

/* ---- the door ---- */

static int start_workers(struct router *r)
{
	for (unsigned i = 0; i < r->config.threads; i++) {
		const struct worker_config config = { .number = i,
						      .limits = r->config.limits,
						      .retired = on_retired,
						      .suspect = on_suspect,
						      .drained = on_drained,
						      .user = r };
		int error;

		r->workers[i] = worker_new(&config);
		error = worker_start(r->workers[i]);
		if (error < 0)
			return error;
	}
	return 0;
}

int router_new(struct ev_loop *loop, const struct router_config *config, struct router **ret)
{
	struct router *r = mem_zalloc(sizeof(*r));
	int error;

	r->loop = loop;
	r->config = *config;
	r->servers = servers_new(config->threads, on_call, r);
	r->care = care_new(loop, r->servers, config->user_agent);
	r->workers = mem_zalloc(config->threads * sizeof(struct worker *));
	ev_async_init(&r->said, on_said);
	ev_async_start(loop, &r->said);
	error = start_workers(r);
	if (error < 0) {
		router_free(r);
		return error;
	}
	*ret = r;
	return 0;
}

void router_free(struct router *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_join(r->workers[i]); /* until all have ended they may call each other */
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_stop(r->workers[i]);
	care_free(r->care);
	free_retired(r);
	if (r->current)
		retire(r, r->current);
	ev_async_stop(r->loop, &r->said);
	servers_free(r->servers);
	free(r->workers);
	free(r);
}

void router_drain(struct router *r)
{
	r->draining = r->stopping = true;
	for (unsigned i = 0; i < r->config.threads; i++)
		worker_drain(r->workers[i]);
}
