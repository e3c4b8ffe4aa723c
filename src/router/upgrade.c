/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/upgrade.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/daemon/daemon.h"
#include "lib/daemon/takeover.h"
#include "lib/log/log.h"
#include "wire/router_json.h"

struct upgrade {
	struct upgrade_config config;
	struct takeover *takeover; /* NULL: no new process */
	bool frozen;		   /* the state was passed */
	bool taken;
	bool reload;	      /* wanted while frozen */
	int sessions, theirs; /* a pair of sockets for sessions of datagrams; -1: none */
};

/* ---- what is passed ---- */

struct upgrade_sockets {
	struct takeover_state *state;
	VEC(struct router_handover_socket) lines; /* in the order of the descriptors */
};

void upgrade_add(struct upgrade_sockets *list, enum router_handover_kind kind, const char *at,
		 int fd)
{
	vec_push(&list->state->fds, fd);
	vec_push(&list->lines, ((struct router_handover_socket){ .kind = kind, .text = at }));
}

static void add_sockets(const struct upgrade *u, struct upgrade_sockets *list)
{
	const struct sockets *sockets = router_sockets(u->config.router);

	for (size_t i = 0; i < sockets->n; i++) {
		const struct router_socket *s = &sockets->items[i];

		if (s->leaving)
			continue;
		vec_push(&list->state->fds, s->fd);
		vec_push(&list->lines,
			 ((struct router_handover_socket){
				 .kind = s->udp ? ROUTER_HANDOVER_UDP : ROUTER_HANDOVER_LISTENER,
				 .at = s->at }));
	}
	u->config.add_sockets(list, u->config.user);
}

/* Sessions change until the new process takes over, so they follow after that. */
static void add_channel(struct upgrade *u, struct upgrade_sockets *list)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return;
	u->sessions = pair[0];
	u->theirs = pair[1];
	upgrade_add(list, ROUTER_HANDOVER_SESSIONS, "-", u->theirs);
}

static void close_channel(struct upgrade *u)
{
	cleanup_fd(&u->sessions);
	cleanup_fd(&u->theirs);
	u->sessions = u->theirs = -1;
}

struct servers_known {
	struct arena *arena; /* has the addresses */
	VEC(struct router_handover_server) items;
};

static void add_server(struct server *s, uint32_t pool, uint32_t number, struct servers_known *ret)
{
	unsigned flags = atomic_load_explicit(&s->flags, memory_order_relaxed), version;
	struct router_handover_server known = { .pool = pool,
						.server = number,
						.down = flags & SERVER_DOWN };
	struct addr list[SERVER_ADDRESSES];

	if (server_has_name(s)) {
		known.n = server_get_addresses(s, list, &version);
		known.addresses = arena_copy(ret->arena, list, known.n * sizeof(*list));
	}
	if (known.down || known.n)
		vec_push(&ret->items, known);
}

/* What is known about the servers, other than that they are up and have one address. */
static void add_servers(const struct generation *g, struct servers_known *ret)
{
	for (size_t p = 0; p < g->config.n_pools; p++)
		for (size_t i = 0; i < g->config.pools[p].n_servers; i++)
			add_server(g->pools[p].servers[i], (uint32_t)p, (uint32_t)i, ret);
}

static const char *on_asked(struct takeover_state *state, void *user)
{
	struct upgrade *u = user;
	const struct generation *g = router_current(u->config.router);
	_cleanup_(buf_free) struct buf config = { 0 };
	struct router_handover h = { .generation = g ? g->number : 0,
				     .last = router_last(u->config.router) };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct upgrade_sockets list = { .state = state };
	struct servers_known known = { .arena = arena };
	uint8_t tickets[TLS_TICKETS_SIZE];

	if (router_trial(u->config.router))
		return "a rollout is under way: promote or abort it first";
	u->frozen = true;
	router_freeze(u->config.router, true);
	if (g) {
		router_json_whole(&g->config, &config);
		add_servers(g, &known);
	}
	add_sockets(u, &list);
	add_channel(u, &list);
	h.sockets = list.lines.items;
	h.n = list.lines.n;
	h.servers = known.items.items;
	h.n_servers = known.items.n;
	h.tickets = tickets;
	h.n_tickets = tls_tickets_save(router_tickets(u->config.router), tickets);
	h.config = (struct str){ config.p, config.n };
	router_handover_write(&h, &state->bytes);
	vec_free(&list.lines);
	vec_free(&known.items);
	return NULL;
}

/* ---- the outcome ---- */

/* As if nothing had happened. */
static void resume(struct upgrade *u)
{
	bool reload = u->reload;

	takeover_free(TAKE_PTR(u->takeover));
	close_channel(u);
	router_freeze(u->config.router, false);
	u->frozen = u->reload = false;
	if (reload)
		u->config.reload(u->config.user);
}

static void fail(struct upgrade *u, const char *why)
{
	(*u->config.failures)++;
	log_error("upgrade-failed", LOG_S("error", why));
}

static void on_ended(const char *failure, void *user)
{
	struct upgrade *u = user;

	if (failure) {
		fail(u, failure);
		resume(u);
		return;
	}
	u->taken = true;
	daemon_hand_over(takeover_pid(u->takeover));
	log_info("upgrade-done", LOG_I("pid", takeover_pid(u->takeover)));
	if (u->reload)
		takeover_signal(u->takeover, SIGHUP);
	u->config.taken(u->sessions, u->config.user);
	close_channel(u);
}

/* ---- the door ---- */

struct upgrade *upgrade_new(const struct upgrade_config *config)
{
	struct upgrade *u = mem_zalloc(sizeof(*u));

	u->config = *config;
	u->sessions = u->theirs = -1;
	return u;
}

void upgrade_free(struct upgrade *u)
{
	if (!u)
		return;
	takeover_free(u->takeover);
	close_channel(u);
	free(u);
}

void upgrade_begin(struct upgrade *u)
{
	const struct takeover_calls calls = { on_asked, on_ended, u };
	int r;

	if (u->takeover) {
		log_warn("upgrade-ignored", LOG_I("pid", takeover_pid(u->takeover)));
		return;
	}
	r = takeover_start(u->config.loop, u->config.argv, &calls, &u->takeover);
	if (r < 0)
		fail(u, strerror(-r));
	else
		log_info("upgrade-started", LOG_S("program", u->config.argv[0]),
			 LOG_I("pid", takeover_pid(u->takeover)));
}

void upgrade_cancel(struct upgrade *u)
{
	if (!u->takeover || u->taken)
		return;
	fail(u, "the router is stopping");
	takeover_free(TAKE_PTR(u->takeover));
}

bool upgrade_may_reload(struct upgrade *u)
{
	if (u->taken)
		takeover_signal(u->takeover, SIGHUP);
	else if (u->frozen)
		u->reload = true;
	return !u->frozen;
}
