/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inheritance: how a new process takes over; see upgrade.h.
 *
 * It begins with the configuration that the old process has in force, not with the file: an upgrade
 * changes the program and nothing else. Until the old process has stopped accepting, nothing is
 * accepted here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/daemon/takeover.h"
#include "lib/log/log.h"
#include "src/router/care.h"
#include "src/router/upgrade.h"

struct inheritance {
	int channel;
	struct takeover_state state;
	struct arena *arena;
	struct router_handover handover;
};

static int fail(int error, const char *why)
{
	log_error("takeover-failed", LOG_S("error", why));
	return error;
}

static int parse(struct inheritance *i)
{
	struct str text = { i->state.bytes.p, i->state.bytes.n };
	int r = router_handover_parse(text, i->arena, &i->handover);

	if (r == 0 && i->handover.n != i->state.fds.n)
		r = -EBADMSG;
	return r;
}

int inheritance_receive(struct inheritance **ret)
{
	int channel = takeover_channel(), r;
	struct inheritance *i;

	*ret = NULL;
	if (channel < 0)
		return 0;
	i = mem_zalloc(sizeof(*i));
	i->channel = channel;
	i->arena = arena_new();
	r = takeover_receive(channel, &i->state);
	if (r == 0)
		r = parse(i);
	if (r < 0) {
		inheritance_free(i);
		return fail(r, strerror(-r));
	}
	*ret = i;
	return 0;
}

static int adopt_sockets(struct inheritance *i, struct router *r)
{
	int error = 0;

	for (size_t k = 0; k < i->handover.n && error == 0; k++) {
		const struct router_handover_socket *s = &i->handover.sockets[k];

		if (s->kind == ROUTER_HANDOVER_SESSIONS)
			router_expect(r, TAKE_FD(i->state.fds.items[k]));
		if (s->kind != ROUTER_HANDOVER_LISTENER && s->kind != ROUTER_HANDOVER_UDP)
			continue;
		error = router_inherit(r, &s->at, s->kind == ROUTER_HANDOVER_UDP,
				       i->state.fds.items[k]);
		if (error == 0)
			i->state.fds.items[k] = -1;
	}
	return error < 0 ? fail(error, "what was passed is not a listening socket") : 0;
}

/* A configuration that this version does not allow is the end of this process. */
static struct settings *read_settings(struct str text)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	_cleanup_(settings_doc_free) struct settings_doc doc = { 0 };
	struct settings *s;

	if (settings_parse(text, ROUTER_JSON, &doc, &errors, &warnings, &s) == CONFIG_OK)
		return s;
	log_error("takeover-failed", LOG_S("key", errors.items[0].key ?: ""),
		  LOG_S("error", errors.items[0].text));
	arena_free(arena);
	return NULL;
}

/* The configuration is the same, and so are the numbers. */
static void remember_servers(const struct inheritance *i, const struct generation *g)
{
	for (size_t k = 0; k < i->handover.n_servers; k++) {
		const struct router_handover_server *s = &i->handover.servers[k];

		if (s->pool < g->config.n_pools && s->server < g->config.pools[s->pool].n_servers)
			care_remember(g->pools[s->pool].servers[s->server], s->down, s->addresses,
				      s->n);
	}
}

/* Without keys that fit, clients cannot resume their sessions: they make full handshakes. */
static void take_tickets(const struct inheritance *i, struct router *r)
{
	if (i->handover.n_tickets &&
	    tls_tickets_load(router_tickets(r), i->handover.tickets, i->handover.n_tickets) < 0)
		log_warn("tickets-not-taken", LOG_U("bytes", i->handover.n_tickets));
}

int inheritance_apply(struct inheritance *i, struct router *r)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct settings *s;
	int error = adopt_sockets(i, r);

	if (error < 0 || !i->handover.generation)
		return error;
	s = read_settings(i->handover.config);
	if (!s)
		return -EINVAL;
	take_tickets(i, r);
	error = router_resume(r, s, i->handover.generation, i->handover.last, &why);
	if (error < 0)
		return fail(error, buf_cstr(&why));
	remember_servers(i, router_current(r));
	return 0;
}

int inheritance_socket(struct inheritance *i, enum router_handover_kind kind, const char *at)
{
	for (size_t k = 0; k < i->handover.n; k++) {
		const struct router_handover_socket *s = &i->handover.sockets[k];

		if (s->kind == kind && strcmp(s->text, at) == 0)
			return TAKE_FD(i->state.fds.items[k]);
	}
	return 0;
}

int inheritance_confirm(struct inheritance *i, struct router *r)
{
	int error = takeover_confirm(i->channel);

	if (error < 0)
		return fail(error, strerror(-error));
	log_info("taken-over", LOG_U("generation", i->handover.generation),
		 LOG_U("sockets", i->handover.n));
	router_accept(r);
	return 0;
}

void inheritance_free(struct inheritance *i)
{
	if (!i)
		return;
	takeover_state_close(&i->state);
	cleanup_fd(&i->channel);
	arena_free(i->arena);
	free(i);
}
