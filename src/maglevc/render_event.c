/* SPDX-License-Identifier: Apache-2.0 */
/*
 * render_event: the events of a watch, a line each: time, kind, name, and what happened. The lines
 * of a stream come one at a time, so the columns have fixed widths; a longer name moves only the
 * rest of its own line.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "proto/router.pb-c.h"
#include "proto/speaker.pb-c.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

#define KIND_WIDTH 12
#define NAME_WIDTH 20
#define STATE_WIDTH 14

/* Begins a line: up to the name, which may be empty. */
static struct columns *begin(const struct render *r, int64_t at, const char *kind, const char *name)
{
	struct columns *c = columns_new(r->color);
	char time[TEXT_TIME_LEN];

	if (r->server_width)
		columns_cell(c, TINT_LABEL, "%-*s", (int)r->server_width, r->server);
	columns_cell(c, TINT_NONE, "%s", text_time(at, time));
	columns_cell(c, TINT_LABEL, "%-*s", KIND_WIDTH, kind);
	if (*name)
		columns_cell(c, TINT_NONE, "%-*s", NAME_WIDTH, name);
	return c;
}

static void end(struct columns *c, const struct render *r)
{
	columns_end_row(c);
	columns_write(c, 0, r->out);
	columns_free(c);
}

/*
 * "up -> down", or "is up" in the replay of the current states; then why, if there is more to say.
 */
static void add_states(struct columns *c, const char *from, const char *to, bool replay,
		       const char *why)
{
	_cleanup_(buf_free) struct buf states = { 0 };

	if (replay)
		buf_printf(&states, "is %s", to);
	else
		buf_printf(&states, "%s -> %s", from, to);
	columns_cell(c, render__tint(to), "%-*s", *why ? STATE_WIDTH : 0, buf_cstr(&states));
	columns_cell(c, TINT_NONE, "%s", why);
}

/* ---- maglevd ---- */

static void add_log(const Maglev__Event *e, const struct render *r)
{
	const Maglev__LogEvent *l = e->log;
	enum tint tint = strcmp(l->level, "error") == 0	 ? TINT_BAD
			 : strcmp(l->level, "warn") == 0 ? TINT_DOUBT
							 : TINT_NONE;
	struct columns *c = begin(r, e->at, "log", l->msg);
	_cleanup_(buf_free) struct buf attrs = { 0 };

	for (size_t i = 0; i < l->n_attrs; i++)
		buf_printf(&attrs, "%s%s=%s", i ? " " : "", l->attrs[i]->key, l->attrs[i]->value);
	columns_cell(c, tint, "%-5s", l->level);
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&attrs));
	end(c, r);
}

/* ", by alice from 192.0.2.7"; nothing if it was no operator. */
static void add_operator(struct buf *out, const char *operator, const char * address)
{
	if (!*operator&& !* address)
		return;
	buf_adds(out, out->n ? ", " : "");
	buf_adds(out, *operator? "by " : "");
	render__add_operator(operator, address, out);
}

static void add_backend(const Maglev__Event *e, const struct render *r)
{
	const Maglev__BackendEvent *b = e->backend;
	_cleanup_(buf_free) struct buf why = { 0 };
	struct columns *c = begin(r, e->at, "backend", b->backend);

	/* an operator's code is the state itself */
	if (strcmp(b->code, b->to) != 0)
		buf_adds(&why, b->code);
	if (*b->reason)
		buf_printf(&why, "%s%s", why.n ? ": " : "", b->reason);
	if (*b->frontend)
		buf_printf(&why, "%sin %s", why.n ? ", " : "", b->frontend);
	add_operator(&why, b->operator_, b->operator_address);
	add_states(c, b->from, b->to, b->replay, buf_cstr(&why));
	end(c, r);
}

static void add_frontend(const Maglev__Event *e, const struct render *r)
{
	const Maglev__FrontendEvent *f = e->frontend;
	struct columns *c = begin(r, e->at, "frontend", f->frontend);

	add_states(c, f->from, f->to, f->replay, "");
	end(c, r);
}

static void add_config(const Maglev__Event *e, const struct render *r)
{
	const Maglev__ConfigEvent *m = e->config;
	_cleanup_(buf_free) struct buf name = { 0 };
	struct columns *c;

	buf_printf(&name, "generation %" PRIu64, m->generation);
	c = begin(r, e->at, "config", buf_cstr(&name));
	if (!m->ok)
		columns_cell(c, TINT_BAD, "refused: %s%s", m->error,
			     m->errors > 1 ? " (and more)" : "");
	else
		columns_cell(c, TINT_GOOD, "frontends %u, backends %u, health checks %u",
			     m->frontends, m->backends, m->healthchecks);
	if (m->ok && (m->backends_added || m->backends_removed || m->backends_changed))
		columns_cell(c, TINT_NONE, "backends: %u added, %u removed, %u changed",
			     m->backends_added, m->backends_removed, m->backends_changed);
	end(c, r);
}

static void add_dataplane(const Maglev__Event *e, const struct render *r)
{
	const Maglev__DataplaneEvent *d = e->dataplane;
	struct columns *c = begin(r, e->at, "dataplane", d->dataplane);
	_cleanup_(buf_free) struct buf more = { 0 };

	for (size_t i = 0; i < d->n_operations; i++)
		buf_printf(&more, ", %" PRIu64 " %s", d->operations[i]->value,
			   d->operations[i]->key);
	if (*d->scope)
		buf_printf(&more, ", %" PRIu64 " VIPs compared", d->vips);
	if (strcmp(d->change, "warmup") == 0 || d->replay)
		buf_printf(&more, ", warm-up %s", d->warmup);
	if (d->held)
		buf_adds(&more, ", the all-down guard holds weights");
	if (*d->reason)
		buf_printf(&more, ", %s", d->reason);
	if (*d->problem)
		buf_printf(&more, ", %s", d->problem);
	columns_cell(c, d->connected && !*d->problem ? TINT_GOOD : TINT_BAD, "%s%s",
		     d->replay ? "is " : "", d->replay ? d->status : d->change);
	columns_cell(c, TINT_NONE, "%s", more.n ? buf_cstr(&more) + 2 : "");
	end(c, r);
}

static void add_backend_info(const Maglev__Event *e, const struct render *r)
{
	const Maglev__BackendInfo *b = e->backend_info;
	_cleanup_(buf_free) struct buf mark = { 0 };
	struct columns *c = begin(r, e->at, "back-info", b->name);

	render__add_mark(b->state, b->override, &mark);
	columns_cell(c, render__tint(b->state), "is %s", b->state);
	columns_cell(c, TINT_NONE, "%s, counter %u, last %s", b->address, b->counter,
		     render__or_dash(b->last_code));
	columns_cell(c, TINT_OFF, "%s", buf_cstr(&mark));
	end(c, r);
}

static void add_frontend_info(const Maglev__Event *e, const struct render *r)
{
	const Maglev__FrontendInfo *f = e->frontend_info;
	_cleanup_(buf_free) struct buf vip = { 0 };
	struct columns *c = begin(r, e->at, "front-info", f->name);

	render__add_vip(f->address, f->protocol, f->port, &vip);
	columns_cell(c, render__tint(f->state), "is %s", f->state);
	columns_cell(c, TINT_NONE, "%s, active pool %s", buf_cstr(&vip),
		     render__or_dash(f->active_pool));
	end(c, r);
}

static void add_probes(const Maglev__Event *e, const struct render *r)
{
	char took[DURATION_STRLEN];

	for (size_t i = 0; i < e->probes->n_probes; i++) {
		const Maglev__ProbeInfo *p = e->probes->probes[i];
		struct columns *c = begin(r, p->last_probe, "probe", p->name);

		columns_cell(c, *p->last_reason ? TINT_BAD : TINT_GOOD, "%-6s", p->last_code);
		columns_cell(c, TINT_NONE, "in %s, counter %u%s%s",
			     duration_format(p->last_duration / NSEC_PER_USEC * NSEC_PER_USEC,
					     took),
			     p->counter, *p->last_reason ? ", " : "", p->last_reason);
		end(c, r);
	}
}

/* A newer server may have events that are not known here; they are in the JSON. */
void render_event(const ProtobufCMessage *message, const struct render *r)
{
	static void (*const kinds[])(const Maglev__Event *e, const struct render *r) = {
		[MAGLEV__EVENT__EVENT_LOG] = add_log,
		[MAGLEV__EVENT__EVENT_BACKEND] = add_backend,
		[MAGLEV__EVENT__EVENT_FRONTEND] = add_frontend,
		[MAGLEV__EVENT__EVENT_CONFIG] = add_config,
		[MAGLEV__EVENT__EVENT_DATAPLANE] = add_dataplane,
		[MAGLEV__EVENT__EVENT_BACKEND_INFO] = add_backend_info,
		[MAGLEV__EVENT__EVENT_FRONTEND_INFO] = add_frontend_info,
		[MAGLEV__EVENT__EVENT_PROBES] = add_probes,
	};
	const Maglev__Event *e = (const void *)message;
	size_t kind = (size_t)e->event_case;

	if (kind < ARRAY_SIZE(kinds) && kinds[kind])
		kinds[kind](e, r);
}

/* ---- the speaker ---- */

static void add_speaker(const Maglev__SpeakerEvent *e, const struct render *r)
{
	const Maglev__SpeakerInfo *s = e->speaker;
	struct columns *c = begin(r, e->at, "speaker", s->name);

	columns_cell(c, *s->problem ? TINT_BAD : TINT_GOOD, "%s",
		     *s->problem ? s->problem : "all is well");
	columns_cell(c, TINT_NONE, "generation %" PRIu64 "%s%s", s->generation,
		     *s->config_error ? ", a newer file was refused: " : "", s->config_error);
	end(c, r);
}

static void add_announcement(const Maglev__SpeakerEvent *e, const struct render *r)
{
	const Maglev__AnnouncementInfo *a = e->announcement;
	struct columns *c = begin(r, e->at, "announcement", a->vip);

	columns_cell(c, render__tint(a->state), "is %s", a->state);
	columns_cell(c, TINT_NONE, "%s: %s", a->address, a->summary);
	end(c, r);
}

static void add_session(const Maglev__SpeakerEvent *e, const struct render *r)
{
	const Maglev__SessionInfo *s = e->session;
	struct columns *c = begin(r, e->at, "session", s->peer);

	columns_cell(c, s->up ? TINT_GOOD : TINT_BAD, "is %s", s->up ? "up" : "down");
	columns_cell(c, TINT_NONE, "%s %s, %" PRIu64 " prefixes sent%s%s", s->address,
		     render__or_dash(s->state), s->prefixes_sent,
		     !s->up && *s->last_error ? ": " : "", s->up ? "" : s->last_error);
	end(c, r);
}

void render_speaker_event(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__SpeakerEvent *e = (const void *)message;

	if (e->event_case == MAGLEV__SPEAKER_EVENT__EVENT_SPEAKER)
		add_speaker(e, r);
	else if (e->event_case == MAGLEV__SPEAKER_EVENT__EVENT_ANNOUNCEMENT)
		add_announcement(e, r);
	else if (e->event_case == MAGLEV__SPEAKER_EVENT__EVENT_SESSION)
		add_session(e, r);
}

/* ---- the router ---- */

/* Rates are 0 without figures. */
static void add_traffic(struct columns *c, const Maglev__RouterTraffic *t)
{
	if (t)
		columns_cell(c, TINT_NONE, "%.1f/s, %.1f%% errors", t->rate, 100. * t->error_share);
}

static void add_router(const Maglev__RouterEvent *e, const struct render *r)
{
	const Maglev__RouterInfo *i = e->router;
	struct columns *c = begin(r, e->at, "router", i->name);

	columns_cell(c, *i->problem || *i->config_error ? TINT_BAD : TINT_GOOD, "%s",
		     *i->problem	? i->problem
		     : *i->config_error ? i->config_error
					: "all is well");
	columns_cell(c, TINT_NONE, "generation %" PRIu64 ", %u routes, %u pools", i->generation,
		     i->routes, i->pools);
	add_traffic(c, i->traffic);
	end(c, r);
}

static void add_listener(const Maglev__RouterEvent *e, const struct render *r)
{
	const Maglev__RouterListener *l = e->listener;
	struct columns *c = begin(r, e->at, "listener", l->name);

	columns_cell(c, TINT_NONE, "%s %s, %u routes, %u streams", l->protocol, l->address,
		     l->routes, l->streams);
	end(c, r);
}

static void add_route(const Maglev__RouterEvent *e, const struct render *r)
{
	const Maglev__RouterRoute *t = e->route;
	_cleanup_(buf_free) struct buf hosts = { 0 };
	struct columns *c = begin(r, e->at, "route", t->name);

	render__add_list(t->hosts, t->n_hosts, &hosts);
	columns_cell(c, TINT_NONE, "%s", t->n_hosts ? buf_cstr(&hosts) : "every host");
	add_traffic(c, t->traffic);
	end(c, r);
}

static void add_pool(const Maglev__RouterEvent *e, const struct render *r)
{
	const Maglev__RouterPool *p = e->pool;
	struct columns *c = begin(r, e->at, "pool", p->name);

	columns_cell(c, p->usable ? TINT_GOOD : TINT_BAD, "%u/%zu servers", p->usable,
		     p->n_servers);
	add_traffic(c, p->traffic);
	end(c, r);
}

void render_router_event(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__RouterEvent *e = (const void *)message;

	if (e->event_case == MAGLEV__ROUTER_EVENT__EVENT_ROUTER)
		add_router(e, r);
	else if (e->event_case == MAGLEV__ROUTER_EVENT__EVENT_LISTENER)
		add_listener(e, r);
	else if (e->event_case == MAGLEV__ROUTER_EVENT__EVENT_ROUTE)
		add_route(e, r);
	else if (e->event_case == MAGLEV__ROUTER_EVENT__EVENT_POOL)
		add_pool(e, r);
}
