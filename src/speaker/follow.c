/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow: the life of a connection to one maglevd.
 *
 *	stream and list -> connected -> any sign of trouble -> lost -> a second later again
 *
 * A gRPC client lives for one connection. Any sign that it is of no use (refused, reset, silent
 * past a deadline, a stream that ends) leads to lose(), which frees the client with all its calls.
 * Reports survive: they are what was last said.
 */
#include "src/speaker/follow.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/cli/cli.h"
#include "lib/grpc/client.h"
#include "lib/log/log.h"
#include "lib/loop/backoff.h"
#include "lib/tls/tls.h"
#include "wire/api_methods.h"

#define CONNECT_TIMEOUT (3 * NSEC_PER_SEC)
#define LIST_TIMEOUT (3 * NSEC_PER_SEC)
#define LIST_EVERY 5. /* s */
#define FRONTENDS_MAX 100000

static const struct backoff_policy retry_policy = { .first = NSEC_PER_SEC / 2,
						    .last = NSEC_PER_SEC,
						    .jitter = 20 };
static const struct pb_bounds bounds = { .memory = (size_t)64 * 1024 * 1024,
					 .text = (size_t)1024 * 1024 };

struct said {
	bool known, up;
	bool written; /* the data plane has its VIP */
	uint32_t servers;
};

/* What one maglevd says about one frontend. */
struct report {
	char *name;
	bool heard;	      /* `last` is valid */
	bool early;	      /* not written, or a server of it has not been probed yet */
	struct said now;      /* what it says, while connected */
	struct said last;     /* the last that it said when it was not early */
	int64_t silent_since; /* not connected, or early; 0: neither */
	bool listed;	      /* in the list that is being read */
};

struct follow {
	struct ev_loop *loop;
	struct follow_config config;
	struct bgp_maglevd maglevd;
	struct tls_context *tls; /* NULL: plaintext, or no usable certificate */
	struct grpc_client *client;
	bool connected; /* the first list has arrived */
	bool tried;
	bool listing; /* a list is being read */
	bool relist;  /* and must be read again */
	char *error;
	struct map reports; /* by name */
	VEC(struct report *) all;
	ev_timer list_timer;
	struct backoff retry;
	struct follow_stats stats;
};

static void lose(struct follow *f, const char *why);

/* ---- reports ---- */

static struct report *report_of(struct follow *f, const char *name)
{
	struct report *r = map_get(&f->reports, name);

	if (r || f->all.n >= FRONTENDS_MAX)
		return r;
	r = mem_zalloc(sizeof(*r));
	r->name = mem_strdup(name);
	r->silent_since = loop_monotonic();
	map_put(&f->reports, r->name, r);
	vec_push(&f->all, r);
	return r;
}

/* The report is changed in this function only, except by the loss of the connection. */
static void say(struct report *r, const struct said *said, bool early)
{
	r->now = *said;
	r->early = early;
	if (!early) {
		r->last = *said;
		r->heard = true;
		r->silent_since = 0;
	} else if (!r->silent_since) {
		r->silent_since = loop_monotonic();
	}
}

static void take_info(struct follow *f, const Maglev__FrontendInfo *info)
{
	struct said said = { .known = true,
			     .written = !info->pending,
			     .up = strcmp(info->state, "up") == 0 };
	struct report *r = report_of(f, info->name);
	bool early = info->pending || strcmp(info->state, "unknown") == 0;

	if (!r)
		return;
	for (size_t p = 0; p < info->n_pools; p++)
		for (size_t i = 0; i < info->pools[p]->n_backends; i++) {
			const Maglev__PoolBackendInfo *b = info->pools[p]->backends[i];

			said.servers += b->effective_weight > 0;
			early |= strcmp(b->state, "unknown") == 0;
		}
	say(r, &said, early);
	r->listed = true;
}

/* A transition arrives before the item: going down must not wait for it. */
static void take_transition(struct follow *f, const Maglev__FrontendEvent *e)
{
	struct report *r = map_get(&f->reports, e->frontend);
	struct said said;

	if (e->replay || !r || r->early || r->silent_since || strcmp(e->to, "down") != 0)
		return;
	said = r->now;
	said.up = false;
	said.servers = 0;
	say(r, &said, false);
}

struct announce_source follow_source(const struct follow *f, const char *frontend,
				     uint32_t min_servers)
{
	const struct report *r = map_get(&f->reports, frontend);
	const struct said *s;
	bool fit;

	if (!r) /* connected: the list does not have it */
		return (struct announce_source){ .reachable = f->connected, .heard = f->connected };
	fit = f->connected && r->now.known && r->now.written && r->now.up &&
	      r->now.servers >= min_servers;
	s = fit ? &r->now : &r->last;
	return (struct announce_source){ .reachable = fit || !r->silent_since,
					 .heard = fit || r->heard,
					 .known = s->known,
					 .up = s->up,
					 .servers = s->servers,
					 .lost_at = r->silent_since };
}

bool follow_is_complete(const struct follow *f, const char *frontend)
{
	const struct report *r = map_get(&f->reports, frontend);

	return f->connected && r && r->now.known && !r->early;
}

/* ---- the list ---- */

static void changed(struct follow *f)
{
	f->config.changed(f->config.user);
}

static void on_list(const ProtobufCMessage *message, void *user)
{
	const Maglev__ListFrontendsResponse *list = (const Maglev__ListFrontendsResponse *)message;
	static const struct said none = { 0 };
	struct follow *f = user;

	for (size_t i = 0; i < f->all.n; i++)
		f->all.items[i]->listed = false;
	for (size_t i = 0; i < list->n_frontends; i++)
		take_info(f, list->frontends[i]);
	for (size_t i = 0; i < f->all.n; i++)
		if (!f->all.items[i]->listed)
			say(f->all.items[i], &none, false);
	if (!f->connected) {
		f->connected = f->tried = true;
		f->stats.connections++;
		free(f->error);
		f->error = mem_strdup("");
		backoff_reset(&f->retry);
		log_info("maglevd-connected", LOG_S("maglevd", f->maglevd.name),
			 LOG_U("frontends", list->n_frontends));
	}
	changed(f);
}

static void list(struct follow *f);

static void on_list_done(enum grpc_status status, const char *text, void *user)
{
	struct follow *f = user;

	f->listing = false;
	if (status != GRPC_OK) {
		lose(f, *text ? text : grpc_status_name(status));
		return;
	}
	if (f->relist)
		list(f);
}

static void list(struct follow *f)
{
	Maglev__ListFrontendsRequest request;

	f->relist = f->listing;
	if (f->listing)
		return;
	f->listing = true;
	maglev__list_frontends_request__init(&request);
	grpc_client_call(f->client, &api_methods[API_LIST_FRONTENDS], &request.base, LIST_TIMEOUT,
			 &(struct grpc_client_events){
				 .message = on_list, .done = on_list_done, .user = f });
}

static void on_list_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct follow *f = container_of(timer, struct follow, list_timer);

	if (!f->listing)
		list(f);
}

/* ---- the stream ---- */

static void on_event(const ProtobufCMessage *message, void *user)
{
	const Maglev__Event *e = (const Maglev__Event *)message;
	struct follow *f = user;

	f->stats.events++;
	if (!f->connected)
		return; /* the list is not older than this event */
	if (e->event_case == MAGLEV__EVENT__EVENT_FRONTEND)
		take_transition(f, e->frontend);
	else if (e->event_case == MAGLEV__EVENT__EVENT_FRONTEND_INFO)
		take_info(f, e->frontend_info);
	else if (e->event_case == MAGLEV__EVENT__EVENT_CONFIG && !e->config->replay)
		list(f);
	changed(f);
}

static void on_watch_done(enum grpc_status status, const char *text, void *user)
{
	lose(user, *text ? text : "it ended the stream of events");
}

static void watch(struct follow *f)
{
	Maglev__WatchRequest request;

	maglev__watch_request__init(&request);
	request.frontend = request.config = request.info = true;
	grpc_client_call(f->client, &api_methods[API_WATCH_EVENTS], &request.base, 0,
			 &(struct grpc_client_events){
				 .message = on_event, .done = on_watch_done, .user = f });
}

/* ---- the connection ---- */

/* Without usable certificates there is no connection: never plaintext instead. */
static int read_certificates(struct follow *f, char *reason, size_t size)
{
	const struct tls_config config = {
		.role = TLS_CLIENT,
		.pairs = &(struct tls_pair){ f->maglevd.certificate, f->maglevd.key, NULL },
		.n_pairs = 1,
		.ca = f->maglevd.ca,
		.protocols = "h2",
	};
	struct tls_context *fresh;
	struct tls_refusal why;
	int r;

	if (!f->maglevd.tls)
		return 0;
	r = tls_context_new(&config, &fresh, &why);
	if (r < 0) {
		snprintf(reason, size, "%s", why.reason);
		return r;
	}
	if (f->client)
		grpc_client_set_tls(f->client, fresh);
	if (f->tls)
		tls_context_free(f->tls);
	f->tls = fresh;
	return 0;
}

static void connect_now(void *user)
{
	struct follow *f = user;
	char user_agent[64], reason[256] = "";
	struct grpc_client_config config = { .target = f->maglevd.address,
					     .user_agent = user_agent,
					     .bounds = bounds,
					     .connect_timeout = CONNECT_TIMEOUT };
	int r;

	if (f->maglevd.tls && !f->tls && read_certificates(f, reason, sizeof(reason)) < 0) {
		lose(f, reason);
		return;
	}
	config.tls = f->tls;
	snprintf(user_agent, sizeof(user_agent), "maglev-speaker/%s", cli_version.version);
	r = grpc_client_new(f->loop, &config, &f->client);
	if (r < 0) {
		lose(f, "the address is malformed");
		return;
	}
	watch(f);
	list(f);
	ev_timer_again(f->loop, &f->list_timer);
}

static void disconnect(struct follow *f)
{
	ev_timer_stop(f->loop, &f->list_timer);
	grpc_client_free(TAKE_PTR(f->client));
	f->listing = f->relist = false;
}

static void lose(struct follow *f, const char *why)
{
	char *text = mem_strdup(why); /* it may belong to the client */
	bool was = f->connected;
	int64_t now = loop_monotonic();

	disconnect(f);
	if (was || strcmp(f->error, text) != 0)
		log_warn("maglevd-lost", LOG_S("maglevd", f->maglevd.name),
			 LOG_S("address", f->maglevd.address), LOG_S("reason", text));
	free(f->error);
	f->error = text;
	f->tried = true;
	f->connected = false;
	f->stats.losses += was;
	for (size_t i = 0; i < f->all.n; i++)
		if (!f->all.items[i]->silent_since)
			f->all.items[i]->silent_since = now;
	backoff_start(&f->retry);
	changed(f);
}

/* ---- the door ---- */

static char *copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

struct follow *follow_new(struct ev_loop *loop, const struct follow_config *config)
{
	const struct bgp_maglevd *m = config->maglevd;
	struct follow *f = mem_zalloc(sizeof(*f));

	f->loop = loop;
	f->config = *config;
	f->maglevd = (struct bgp_maglevd){ copy(m->name), copy(m->address),	m->tls,
					   copy(m->ca),	  copy(m->certificate), copy(m->key) };
	f->error = mem_strdup("not connected yet");
	ev_init(&f->list_timer, on_list_timer);
	f->list_timer.repeat = LIST_EVERY;
	backoff_init(&f->retry, loop, &retry_policy, connect_now, f);
	backoff_now(&f->retry);
	return f;
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	disconnect(f);
	backoff_stop(&f->retry);
	if (f->tls)
		tls_context_free(f->tls);
	for (size_t i = 0; i < f->all.n; i++) {
		free(f->all.items[i]->name);
		free(f->all.items[i]);
	}
	vec_free(&f->all);
	map_free(&f->reports);
	free((char *)(uintptr_t)f->maglevd.name);
	free((char *)(uintptr_t)f->maglevd.address);
	free((char *)(uintptr_t)f->maglevd.ca);
	free((char *)(uintptr_t)f->maglevd.certificate);
	free((char *)(uintptr_t)f->maglevd.key);
	free(f->error);
	free(f);
}

bool follow_is(const struct follow *f, const struct bgp_maglevd *m)
{
	const struct bgp_maglevd *o = &f->maglevd;

	return cstr_eq(o->name, m->name) && cstr_eq(o->address, m->address) && o->tls == m->tls &&
	       cstr_eq(o->ca, m->ca) && cstr_eq(o->certificate, m->certificate) &&
	       cstr_eq(o->key, m->key);
}

void follow_renew(struct follow *f)
{
	char reason[256] = "";

	if (read_certificates(f, reason, sizeof(reason)) < 0)
		log_error("tls-failed", LOG_S("maglevd", f->maglevd.name), LOG_S("error", reason));
}

const char *follow_name(const struct follow *f)
{
	return f->maglevd.name;
}

bool follow_connected(const struct follow *f)
{
	return f->connected;
}

const char *follow_error(const struct follow *f)
{
	return f->error;
}

bool follow_tried(const struct follow *f)
{
	return f->tried;
}

const struct follow_stats *follow_stats(const struct follow *f)
{
	return &f->stats;
}
