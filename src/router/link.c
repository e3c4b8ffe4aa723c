/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: connections to servers.
 *
 * A link is a connection of its own, with HTTP/1.1, or a stream of a trunk (trunk.c). What uses it
 * speaks HTTP/1.1 in both cases.
 *
 * A link that is kept still waits for input: a server that ends it, or sends what nobody asked for,
 * is noticed at once, and the link is closed. Answers are read into the worker's scratch memory and
 * passed on from there, so a link holds memory only for the start of a head that is not complete.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "lib/stream/proxy.h"
#include "lib/tls/tls.h"
#include "src/router/internal.h"
#include "src/router/secures.h"
#include "src/router/trunk.h"

#define LEAVE_TIME (1 * NSEC_PER_SEC)  /* for the server to end its side */
#define FLUSH_TIME (60 * NSEC_PER_SEC) /* to take what is queued, too */

#define SESSION_TIME 300. /* s after a whole handshake in which its session is resumed */
#define TELL_TIME 1.	  /* s between two lines about failures of TLS */

void link__show(const struct slot *slot)
{
	stats_set(slot->stats, STATS_ACTIVE, slot->active);
	stats_set(slot->stats, STATS_OPEN, slot->n_open);
	stats_set(slot->stats, STATS_KEPT, slot->n_kept + slot->n_idle);
	stats_set(slot->stats, STATS_SHARED, slot->n_trunks);
}

static bool is_used(const struct link *l)
{
	return l->x || l->mirror || l->relay;
}

static void unkeep(struct link *l)
{
	TAILQ_REMOVE(&l->slot->kept, l, kept);
	l->slot->n_kept--;
	quota_unkeep(l->slot->side);
}

void link_free(struct link *l)
{
	struct seats *seats = l->seats;
	bool leaving = l->leaving, known = link_is_known(l);

	if (l->trunk) {
		trunk_release(l, false);
		return;
	}
	if (leaving)
		TAILQ_REMOVE(&l->worker->leaving, l, kept);
	else if (is_used(l))
		l->slot->active -= known;
	else
		unkeep(l);
	l->slot->n_open -= known;
	if (known)
		link__show(l->slot);
	count(&l->worker->counters.links, -1);
	buffers_give(&l->worker->buffers, l->in);
	stream_end(&l->stream);
	free(l);
	if (!leaving)
		seats_close(seats);
	seats_release(seats);
}

void link_limit(struct link *l, int64_t ns)
{
	if (!ns && !l->limited)
		return;
	stream_set_deadline(&l->stream, ns);
	l->limited = ns != 0;
}

/* ---- as streams ---- */

int link_sendv(struct link *l, const struct str *pieces, size_t n)
{
	return l->trunk ? trunk_sendv(l, pieces, n) : stream_sendv(&l->stream, pieces, n);
}

bool link_is_full(const struct link *l)
{
	return l->trunk ? trunk_is_full(l) : stream_is_full(&l->stream);
}

size_t link_unsent(const struct link *l)
{
	return l->trunk ? trunk_unsent(l) : stream_unsent(&l->stream);
}

void link_want(struct link *l, unsigned what)
{
	if (l->trunk)
		trunk_want(l, what);
	else
		stream_want(&l->stream, what);
}

void link_shutdown(struct link *l)
{
	if (l->trunk)
		trunk_shutdown(l);
	else
		stream_shutdown(&l->stream);
}

/* ---- failures ---- */

/* One line per second is enough: all requests for the server would say the same. */
static void tell(struct worker *w, const char *server, const char *reason)
{
	ev_tstamp now = ev_now(w->loop);

	if (now - w->told < TELL_TIME) {
		w->untold++;
		return;
	}
	log_warn("server-tls-failed", LOG_S("server", server), LOG_S("error", reason),
		 LOG_U("untold", w->untold));
	w->told = now;
	w->untold = 0;
}

void link__blame(struct link *l, const struct stream *s, int error)
{
	struct worker *w = l->worker;
	bool refused = error == -EKEYREJECTED;

	if (s->failed_in != STREAM_SECURING)
		return;
	l->failed = L7_NOT_SECURED;
	l->why = refused ? "tls-verify" : "tls-failed";
	count(&w->counters.server_handshakes[refused ? WORKER_TLS_REFUSED : WORKER_TLS_FAILED], 1);
	tell(w, l->x ? l->x->server->authority : "-", stream_reason(s, error));
}

enum l7_ending link_ending(const struct link *l)
{
	if (l->failed)
		return l->failed;
	return l->stream.failed_in == STREAM_CONNECTING || l->stream.failed_in == STREAM_PROXY
		       ? L7_NOT_REACHED
		       : L7_BROKEN;
}

/* ---- TLS ---- */

void link__secured(struct slot *slot, struct worker *w, const struct stream *s)
{
	bool resumed = tls_resumed(s->tls);

	count(&w->counters.server_handshakes[resumed ? WORKER_TLS_RESUMED : WORKER_TLS_FULL], 1);
	if (!resumed)
		slot->verified = ev_now(w->loop);
}

/* The server offers sessions when it likes to. */
void link__keep_session(struct slot *slot, const struct stream *s, uint64_t secure)
{
	struct tls_session *session = s->tls ? tls_take_session(s->tls) : NULL;

	if (!session)
		return;
	tls_session_free(slot->session);
	slot->session = session;
	slot->session_of = secure;
}

/* A session that was resumed for too long would never show a certificate that has expired. */
static const struct tls_session *session_for(struct slot *slot, const struct link_call *c)
{
	if (slot->session_of == c->wish->secure->id &&
	    ev_now(c->worker->loop) - slot->verified < SESSION_TIME)
		return slot->session;
	return NULL;
}

static void secure(struct stream *s, const struct link_call *c)
{
	const struct secure *how = c->wish->secure;
	const char *name = how->name ?: c->server->host;
	struct tls *tls;

	if (s->fd < 0)
		return; /* it has failed, and says so in its next step */
	if (!how->context ||
	    tls_connect(how->context, s->fd, name, session_for(c->slot, c), &tls) < 0)
		stream_fail(s, -EINVAL);
	else
		stream_secure(s, tls);
}

/* ---- input ---- */

/* Keeps what was not used: the start of a head. */
static void hold(struct link *l, const char *p, size_t n)
{
	if (!l->in)
		l->in = buffers_take(&l->worker->buffers);
	memmove(l->in->p, p, n);
	l->in->n = n;
}

static void take(struct link *l, char *p, size_t n)
{
	struct worker *w = l->worker;
	struct buffer *in = TAKE_PTR(l->in); /* the link may be given back or freed */
	ssize_t used = l->x ? exchange_pull(l->x, p, n) : mirror_pull(l->mirror, p, n);

	if (used < 0 || (size_t)used == n) {
		buffers_give(&w->buffers, in);
		return;
	}
	l->in = in;
	hold(l, p + used, n - (size_t)used);
}

bool link_rescue(struct link *l)
{
	struct worker *w = l->worker;
	ssize_t n = l->in || l->trunk ? -EAGAIN
				      : stream_read(&l->stream, w->scratch, sizeof(w->scratch));

	if (n <= 0)
		return false;
	take(l, w->scratch, (size_t)n);
	return true;
}

void link_lose(struct link *l, int error)
{
	if (l->x)
		exchange_lost(l->x, error);
	else if (l->relay)
		relay_lost(l->relay, error);
	else if (l->mirror)
		mirror_lost(l->mirror, error);
	else
		link_free(l);
}

static void on_ready(struct stream *s, unsigned what)
{
	struct link *l = container_of(s, struct link, stream);
	struct worker *w = l->worker;
	size_t held = l->in ? l->in->n : 0;
	char *p = l->in ? l->in->p : w->scratch;
	size_t size = l->in ? BUFFER_SIZE : sizeof(w->scratch);
	ssize_t n;

	if (l->relay) {
		relay_link_ready(l->relay, what);
		return;
	}
	if ((what & STREAM_WRITE) && l->x)
		exchange_flushed(l->x);
	if (!(what & STREAM_READ))
		return;
	n = stream_read(s, p + held, size - held);
	if (n == -EAGAIN)
		return;
	if (n <= 0)
		link_lose(l, (int)n);
	else if (l->x || l->mirror)
		take(l, p, held + (size_t)n);
	else
		link_free(l);
}

void link__opened(struct link *l)
{
	if (l->x)
		exchange_connected(l->x);
	else if (l->relay)
		relay_connected(l->relay);
	else
		mirror_connected(l->mirror);
}

static void on_opened(struct stream *s)
{
	struct link *l = container_of(s, struct link, stream);

	stream_want(s, STREAM_READ);
	if (s->tls)
		link__secured(l->slot, l->worker, s);
	link__opened(l);
}

static void on_closed(struct stream *s, int error)
{
	struct link *l = container_of(s, struct link, stream);

	if (!l->leaving)
		link__blame(l, s, error);
	link_lose(l, error);
}

static void on_expired(struct stream *s)
{
	struct link *l = container_of(s, struct link, stream);

	l->limited = false;
	if (l->x)
		exchange_late(l->x);
	else if (l->relay)
		relay_late(l->relay);
	else if (l->mirror)
		mirror_lost(l->mirror, -ETIMEDOUT);
}

const struct stream_events link__events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

/* ---- names ---- */

/* Copies the addresses of the server's name if they have changed. Each thread begins at any. */
static void look_at_name(struct worker *w, struct slot *slot, struct server *server)
{
	struct addresses *a = slot->addresses;

	if (a && a->version == atomic_load_explicit(&server->version, memory_order_relaxed))
		return;
	if (!a) {
		a = slot->addresses = mem_zalloc(sizeof(*a));
		a->turn = random_next(&w->random);
	}
	a->n = server_get_addresses(server, a->list, &a->version);
}

bool link__is_current(const struct slot *slot, const struct addr *to, unsigned *version)
{
	const struct addresses *a = slot->addresses;

	for (size_t i = 0; i < a->n && *version != a->version; i++)
		if (addr_cmp(&a->list[i], to) == 0)
			*version = a->version;
	return *version == a->version;
}

static struct endpoint next_address(struct slot *slot, const struct server *server)
{
	struct addresses *a = slot->addresses;

	return (struct endpoint){ a->list[a->turn++ % a->n], server->port };
}

/* ---- the door ---- */

struct endpoint link_address(struct worker *w, struct slot *slot, struct server *server)
{
	if (!server_has_name(server))
		return server->at;
	look_at_name(w, slot, server);
	return next_address(slot, server);
}

/* The port of a client behind a trusted proxy is not known. */
static struct endpoint source_of(const struct client *c)
{
	if (addr_cmp(&c->from, &c->source.addr) == 0)
		return c->source;
	return (struct endpoint){ .addr = c->from };
}

/*
 * The newest kept link for the client: a connection with a PROXY header serves only the client that
 * is named there. Links to addresses that the name no longer has are closed, and so are those that
 * were secured by other rules.
 */
struct link *link__find_kept(const struct link_call *c)
{
	struct link *l = TAILQ_FIRST(&c->slot->kept), *next;
	bool named = server_has_name(c->server);

	for (; l; l = next) {
		next = TAILQ_NEXT(l, kept);
		if (l->secure != link__secure_id(c) ||
		    (named && !link__is_current(c->slot, &l->to, &l->version)))
			link_free(l);
		else if (endpoint_cmp(&l->whose, &c->whose) == 0)
			break;
	}
	return l;
}

/* Where the client came to, if that is of the same family. */
static void send_proxy(struct stream *s, const struct link_call *c)
{
	struct stream_proxy header = { .version = 2,
				       .kind = STREAM_PROXY_IP,
				       .source = c->whose,
				       .destination = {
					       .addr = { .family = c->whose.addr.family } } };
	struct endpoint local;

	if (stream_local(client_transport(c->wish->client), &local) == 0 &&
	    local.addr.family == header.source.addr.family)
		header.destination = local;
	if (stream_send_proxy(s, &header) < 0)
		stream_fail(s, -EINVAL);
}

/* A kept link that this request cannot use, because it is for another client, gives way. */
bool link__find_seat(struct slot *slot, unsigned limit)
{
	if (seats_open(slot->seats, limit))
		return true;
	if (TAILQ_EMPTY(&slot->kept))
		return false;
	link_free(TAILQ_LAST(&slot->kept, links));
	return seats_open(slot->seats, limit);
}

struct addr link__connect(struct stream *s, const struct link_call *c)
{
	struct endpoint at = link_address(c->worker, c->slot, c->server);
	struct sockaddr_storage to;
	socklen_t len = endpoint_to_sockaddr(&at, &to);

	stream_connect(s, (const struct sockaddr *)&to, len);
	if (c->wish->pool->send_proxy)
		send_proxy(s, c);
	if (c->server->tls)
		secure(s, c);
	return at.addr;
}

void link__use(struct link *l)
{
	unkeep(l);
	l->slot->active++;
	link__show(l->slot);
}

struct link *link__open(const struct link_call *c)
{
	struct link *l = mem_zalloc(sizeof(*l));

	l->worker = c->worker;
	l->opened = ev_now(c->worker->loop);
	l->slot = c->slot;
	l->id = c->server->id;
	l->seats = c->slot->seats;
	seats_hold(l->seats);
	l->whose = c->whose;
	l->secure = link__secure_id(c);
	c->slot->active++;
	c->slot->n_open++;
	link__show(c->slot);
	count(&c->worker->counters.links, 1);
	stream_init(&l->stream, c->worker->loop, TASK_ORDINARY, &link__events);
	l->to = link__connect(&l->stream, c);
	return l;
}

/* Without TLS there is no ALPN; what is passed on as it is has a connection of its own. */
static enum l7_server_protocol protocol_of(const struct link_call *c)
{
	enum l7_server_protocol p = c->wish->pool->protocol;

	return c->wish->raw || (p == L7_AUTO && !c->server->tls) ? L7_HTTP1 : p;
}

struct link *link_take(struct worker *w, struct server *server, const struct link_wish *wish)
{
	struct link_call c = {
		.worker = w, .slot = worker_slot(w, server), .server = server, .wish = wish
	};
	struct link *l;

	if (server_has_name(server))
		look_at_name(w, c.slot, server);
	if (wish->pool->send_proxy)
		c.whose = source_of(wish->client);
	if (protocol_of(&c) != L7_HTTP1)
		return trunk_take(&c);
	l = wish->fresh ? NULL : link__find_kept(&c);
	if (l)
		link__use(l);
	else if (link__find_seat(c.slot, wish->pool->limits.connections))
		l = link__open(&c);
	return l;
}

bool link_is_spare(const struct slot *slot)
{
	return slot->n_kept || trunk_is_spare(slot);
}

void link_give(struct link *l, const struct l7_limits *limits)
{
	bool keep = limits && limits->idle && !l->in && !stream_unsent(&l->stream);
	struct slot *slot = l->slot;

	if (l->trunk) {
		trunk_release(l, limits);
		return;
	}
	link_limit(l, 0);
	if (l->stream.tls)
		link__keep_session(slot, &l->stream, l->secure);
	l->served++;
	slot->active--;
	l->x = NULL;
	l->mirror = NULL;
	TAILQ_INSERT_HEAD(&slot->kept, l, kept);
	slot->n_kept++;
	quota_keep(slot->side, keep && limits->connections);
	if (!keep) {
		link_free(l);
		return;
	}
	l->since = ev_now(l->worker->loop);
	l->idle_time = loop_seconds(limits->idle_time);
	stream_want(&l->stream, STREAM_READ);
	if (slot->n_kept > limits->idle)
		link_free(TAILQ_LAST(&slot->kept, links));
	else
		link__show(slot);
}

bool link_yield(struct quota_side *side)
{
	struct slot *slot;

	TAILQ_FOREACH(slot, &side->slots, of_side)
	{
		if (TAILQ_EMPTY(&slot->kept))
			continue;
		link_free(TAILQ_LAST(&slot->kept, links));
		return true;
	}
	return trunk_yield(side);
}

/* It has ended on both sides but for what is queued, so it does not count any more. */
void link_leave(struct link *l)
{
	if (l->trunk) {
		trunk_release(l, true);
		return;
	}
	seats_close(l->seats);
	l->slot->active -= link_is_known(l);
	l->x = NULL;
	l->relay = NULL;
	l->leaving = true;
	l->limited = false;
	TAILQ_INSERT_TAIL(&l->worker->leaving, l, kept);
	if (link_is_known(l))
		link__show(l->slot);
	stream_linger(&l->stream, stream_unsent(&l->stream) ? FLUSH_TIME : LEAVE_TIME);
}

void link_sweep(struct slot *slot, ev_tstamp now)
{
	struct link *l;

	while ((l = TAILQ_LAST(&slot->kept, links)) && now - l->since >= l->idle_time)
		link_free(l);
	trunk_sweep(slot, now);
}

void link_end_kept(struct slot *slot)
{
	struct link *l;

	while ((l = TAILQ_FIRST(&slot->kept)))
		link_free(l);
	trunk_end_all(slot);
}
