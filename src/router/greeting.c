/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greeting: what a new connection becomes, by the listener that it belongs to: requests of HTTP,
 * with or without TLS, or a relay.
 *
 * Where one of the listeners of an address passes TLS on as it is, the client's first message is
 * read before anything is decided, because the name in it chooses the listener. The bytes are kept:
 * they go to the server first, or to TLS.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/tls/hello.h"
#include "lib/tls/tls.h"
#include "src/router/internal.h"

_Static_assert(BUFFER_SIZE >= TLS_HELLO_MAX, "a hello fits in a buffer");

static struct era *era_of(const struct client *c)
{
	struct worker *w = c->worker;

	return w->trial ? worker_trial_era(w, &c->peer) : w->era;
}

static const struct generation_port *rules_of(const struct client *c, const struct era *era)
{
	return era == c->worker->trial ? c->port->trial : c->port->rules;
}

/* Ends a connection that cannot be answered. */
static void reset(struct client *c)
{
	stream_reset(&c->stream);
	client_free(c);
}

static void begin_relay(struct client *c, struct era *era, const struct generation_listener *l,
			struct str host)
{
	relay_begin(c, &(struct relay_wish){ .era = era, .listener = l, .host = host });
}

/* ---- the first message ---- */

/* The message is no use. There is no TLS here yet in which the client could be told why. */
static void refuse(struct client *c, const char *why)
{
	count(&c->worker->counters.refusals[REFUSAL_TLS], 1);
	journal_refused(c, 0, why);
	free(TAKE_PTR(c->hello));
	reset(c);
}

/* TLS ends here, and gets the bytes that were read. */
static void secure(struct client *c)
{
	struct buffer *in = TAKE_PTR(c->in);

	secure_begin(c);
	tls_feed(c->stream.tls, in->p, in->n);
	buffers_give(&c->worker->buffers, in);
}

/* The name has chosen a listener: one that passes TLS on, or one that ends it here. */
static void go_on(struct client *c)
{
	struct era *era = era_of(c);
	const struct generation_port *rules = rules_of(c, era);
	_cleanup_(cleanup_free) struct tls_hello *hello = TAKE_PTR(c->hello);
	struct str name = str_of(hello->name);
	const struct generation_listener *l =
		rules ? generation_listener(era->generation, rules, name) : NULL;

	if (!l)
		refuse(c, "no-host");
	else if (l->config->tls.mode == L7_TLS_PASSTHROUGH)
		relay_begin(c, &(struct relay_wish){ era, l, name });
	else
		secure(c);
}

static void look(struct client *c)
{
	switch (tls_hello_look(c->hello, c->in->p, c->in->n)) {
	case 1:
		go_on(c);
		break;
	case 0:
		stream_want(&c->stream, STREAM_READ);
		break;
	case -EPROTO:
		refuse(c, "no-tls");
		break;
	default:
		refuse(c, "malformed");
		break;
	}
}

void greeting_read(struct client *c)
{
	struct buffer *in = c->in ?: (c->in = buffers_take(&c->worker->buffers));
	ssize_t n = stream_read(&c->stream, in->p + in->n, BUFFER_SIZE - in->n);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		client_free(c);
		return;
	}
	in->n += (size_t)n;
	c->received += (uint64_t)n;
	look(c);
}

void greeting_late(struct client *c)
{
	refuse(c, "head_time");
}

/* ---- the door ---- */

bool greeting_begin(struct client *c)
{
	struct era *era = era_of(c);
	const struct generation_port *rules = rules_of(c, era);
	enum generation_opening opening = rules ? rules->opening : c->port->opening;
	bool open = c->stream.state == STREAM_OPEN; /* else a PROXY header comes first */

	if (opening == OPENING_HTTP)
		return false;
	if (!rules) { /* its listener has gone */
		reset(c);
	} else if (opening == OPENING_TLS) {
		secure_begin(c);
	} else if (open && opening == OPENING_TCP) {
		begin_relay(c, era, &era->generation->listeners[rules->listeners[0]], STR(""));
	} else if (open) {
		c->hello = mem_zalloc(sizeof(*c->hello));
		stream_want(&c->stream, STREAM_READ);
		stream_wake(&c->stream); /* most clients have sent it by now */
	}
	return true;
}

bool greeting_secured(struct client *c)
{
	struct era *era = era_of(c);
	const struct generation_listener *l = secure_listener(c, era);

	if (!l || l->config->protocol == L7_HTTP)
		return false;
	begin_relay(c, era, l, tls_server_name(c->stream.tls));
	return true;
}
