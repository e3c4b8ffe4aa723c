/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secure: TLS of clients.
 *
 * A connection begins with the door, a context without certificates. When the client has said which
 * server it wants, the listener of that name in the generation in force gives the context. So a
 * handshake uses the certificates of the moment, and connections that are open keep theirs.
 *
 * The listener of the connection is found by that name again in each generation: a request for a
 * host of another one is misdirected, because it did not pass that one's checks (RFC 9110, section
 * 15.5.20).
 */
#include <assert.h>
#include <stdio.h>

#include "lib/log/log.h"
#include "lib/tls/tls.h"
#include "src/router/internal.h"

void secure_begin(struct client *c)
{
	struct tls *tls = tls_accept(c->worker->config.door, c->stream.fd);

	tls_set_user(tls, c);
	stream_secure(&c->stream, tls);
}

static const struct generation_listener *find(const struct client *c, const struct era *era,
					      struct str name)
{
	const struct generation_port *rules;

	assert(era);
	rules = era == c->worker->trial ? c->port->trial : c->port->rules;
	return rules ? generation_listener(era->generation, rules, name) : NULL;
}

/* Requests of the connection may use another generation later. */
struct tls_context *worker_choose(void *client, struct str name)
{
	const struct client *c = client;
	const struct worker *w = c->worker;
	const struct era *era = w->trial ? worker_trial_era(w, &c->peer) : w->era;
	const struct generation_listener *l = find(c, era, name);
	const struct vault_item *item =
		l ? era->generation->secrets[l - era->generation->listeners] : NULL;

	return item ? item->context : NULL;
}

/* The streams of HTTP/2 share what their connection has found. */
const struct generation_listener *secure_listener(struct client *c, const struct era *era)
{
	struct client *all = client_connection(c);

	if (all->found_in == era->generation->number)
		return all->found;
	all->found = find(all, era, tls_server_name(client_transport(c)->tls));
	all->found_in = era->generation->number;
	return all->found;
}

bool secure_is_misdirected(struct client *c, const struct era *era,
			   const struct generation_listener *l)
{
	return client_transport(c)->tls && secure_listener(c, era) != l;
}

struct str secure_subject(const struct client *c)
{
	struct tls *tls = client_transport(c)->tls;
	const struct tls_certificate *peer = tls ? tls_peer(tls) : NULL;

	return peer ? str_of(peer->subject) : (struct str){ 0 };
}

/* A browser that was sent to the wrong scheme gets a sentence that it can show. */
static void answer_plainly(struct client *c)
{
	struct tls *tls;
	int fd = stream_release(&c->stream, &tls);

	tls_free(tls);
	stream_adopt(&c->stream, fd);
	client_refuse(c, REFUSAL_PLAIN);
}

static void log_failure(const struct client *c, int error)
{
	char peer[ENDPOINT_STRLEN], name[256];
	struct str wanted = tls_server_name(c->stream.tls);

	snprintf(name, sizeof(name), "%.*s", (int)wanted.n, wanted.p);
	log_debug("handshake-failed", LOG_S("peer", endpoint_format(&c->source, peer)),
		  LOG_S("name", name), LOG_S("error", stream_reason(&c->stream, error)));
}

bool secure_failed(struct client *c, int error)
{
	if (tls_got_http(c->stream.tls)) {
		answer_plainly(c);
		return true;
	}
	if (log_wants(LOG_DEBUG))
		log_failure(c, error);
	count(&c->worker->counters.refusals[REFUSAL_TLS], 1);
	return false;
}
