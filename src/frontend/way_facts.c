/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for items goes from what the query names to what belongs to it: backends -> frontends
 * that have them -> all their backends, and the announcements of their addresses. Marks say which
 * items of a list are parsed in the end; parsing keeps the order of the lists.
 */
#include "src/frontend/way_facts.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/json/json.h"
#include "lib/pb/pb.h"
#include "proto/maglev.pb-c.h"
#include "proto/speaker.pb-c.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/members.h"
#include "src/frontend/upstream.h"
#include "wire/way.h"

#define ADDRESSES_MAX 16 /* different ones of the listeners of a router that are looked for */

/* An upstream and the items of its lists that matter. */
struct marked {
	const struct upstream_view *view;
	bool *items[UPSTREAM_LISTS];
};

struct collecting {
	const struct way_query *query;
	struct arena *arena;
	struct marked *servers, *speakers, *routers;
	size_t n_servers, n_speakers, n_routers;
	bool about_routers; /* the query names a request or a part of a router */
	size_t left_out;
};

/* ---- marks ---- */

static struct marked *mark_none(const struct dashboard__set *set, struct arena *arena)
{
	struct marked *all = arena_array_of(arena, set->n, struct marked);

	for (size_t i = 0; i < set->n; i++) {
		all[i].view = upstream_view(set->items[i]);
		for (size_t k = 0; k < UPSTREAM_LISTS; k++)
			all[i].items[k] =
				arena_array_of(arena, all[i].view->lists[k].items.n, bool);
	}
	return all;
}

/* Returns whether there is such an item. */
static bool mark_named(struct marked *m, enum upstream_list list, const char *name)
{
	const struct listing *l = &m->view->lists[list];
	bool found = false;

	for (size_t i = 0; i < l->items.n; i++)
		if (strcmp(l->items.items[i].name, name) == 0)
			m->items[list][i] = found = true;
	return found;
}

/* Marks items whose text has a member with this value, at any depth. */
static bool mark_having(struct marked *m, enum upstream_list list, const char *key,
			const char *value)
{
	const struct listing *l = &m->view->lists[list];
	_cleanup_(buf_free) struct buf needle = { 0 };
	bool found = false;

	buf_printf(&needle, "\"%s\":", key);
	json_write_string(&needle, value, strlen(value));
	for (size_t i = 0; i < l->items.n; i++) {
		const struct buf *json = &l->items.items[i].json;

		if (memmem(json->p, json->n, needle.p, needle.n))
			m->items[list][i] = found = true;
	}
	return found;
}

/* ---- parsing ---- */

/* The texts are our own, so they can be read; NULL all the same if not. */
static const void *parse(const ProtobufCMessageDescriptor *type, struct str json,
			 struct arena *arena)
{
	ProtobufCMessage *message = NULL;
	char reason[128];

	if (!json.n || pb_json_read(type, json, arena, &message, reason, sizeof(reason)) < 0)
		return NULL;
	return message;
}

static const void *parse_item(const struct collecting *c, const struct marked *m,
			      enum upstream_list list, size_t i)
{
	static const ProtobufCMessageDescriptor *const types[UPSTREAM_LISTS] = {
		[UPSTREAM_FRONTENDS] = &maglev__frontend_info__descriptor,
		[UPSTREAM_BACKENDS] = &maglev__backend_info__descriptor,
		[UPSTREAM_ANNOUNCEMENTS] = &maglev__announcement_info__descriptor,
		[UPSTREAM_SESSIONS] = &maglev__session_info__descriptor,
		[UPSTREAM_LISTENERS] = &maglev__router_listener__descriptor,
		[UPSTREAM_ROUTES] = &maglev__router_route__descriptor,
		[UPSTREAM_POOLS] = &maglev__router_pool__descriptor,
	};
	const struct buf *json = &m->view->lists[list].items.items[i].json;

	return parse(types[list], (struct str){ json->p, json->n }, c->arena);
}

/* Walks the marked items of a list: parsed items, in order; returns how many there are. */
static size_t parse_marked(const struct collecting *c, const struct marked *m,
			   enum upstream_list list, size_t most, const void ***ret)
{
	const struct listing *l = &m->view->lists[list];
	size_t n = 0, count = 0;

	for (size_t i = 0; i < l->items.n; i++)
		count += m->items[list][i];
	count = count < most ? count : most;
	*ret = arena_array_of(c->arena, count, const void *);
	for (size_t i = 0; i < l->items.n && n < count; i++) {
		const void *item = m->items[list][i] ? parse_item(c, m, list, i) : NULL;

		if (item)
			(*ret)[n++] = item;
	}
	return n;
}

static struct way_source source_of(const struct collecting *c, const struct upstream_view *v)
{
	return (struct way_source){ v->name, v->address, v->connected,
				    arena_strdup(c->arena, v->error) };
}

/* ---- what the query names ---- */

static void mark_by_name(struct collecting *c)
{
	const char *name = c->query->name, *colon = strrchr(name, ':');
	const char *host = colon ? arena_strndup(c->arena, name, (size_t)(colon - name)) : name;

	for (size_t i = 0; i < c->n_servers; i++) {
		mark_named(&c->servers[i], UPSTREAM_FRONTENDS, name);
		mark_named(&c->servers[i], UPSTREAM_BACKENDS, name);
	}
	for (size_t i = 0; i < c->n_speakers; i++)
		mark_named(&c->speakers[i], UPSTREAM_ANNOUNCEMENTS, name);
	for (size_t i = 0; i < c->n_routers; i++) {
		c->about_routers |= mark_named(&c->routers[i], UPSTREAM_ROUTES, name);
		c->about_routers |= mark_named(&c->routers[i], UPSTREAM_POOLS, name);
		c->about_routers |= mark_having(&c->routers[i], UPSTREAM_POOLS, "host", host);
	}
}

static void mark_by_address(struct collecting *c)
{
	char address[ADDR_STRLEN];

	addr_format(&c->query->addr, address);
	for (size_t i = 0; i < c->n_servers; i++) {
		mark_having(&c->servers[i], UPSTREAM_FRONTENDS, "address", address);
		mark_having(&c->servers[i], UPSTREAM_BACKENDS, "address", address);
	}
	for (size_t i = 0; i < c->n_speakers; i++)
		mark_having(&c->speakers[i], UPSTREAM_ANNOUNCEMENTS, "address", address);
	for (size_t i = 0; i < c->n_routers; i++)
		c->about_routers |= mark_having(&c->routers[i], UPSTREAM_POOLS, "host", address);
}

/* ---- what belongs to it ---- */

static void mark_backends_at(struct collecting *c, const char *address)
{
	for (size_t i = 0; i < c->n_servers; i++)
		mark_having(&c->servers[i], UPSTREAM_BACKENDS, "address", address);
}

/* Backends at which a router may be: of its name, or at an address of its API or its listeners. */
static void mark_before_router(struct collecting *c, const struct way_router *r)
{
	struct addr seen[ADDRESSES_MAX];
	char text[ADDR_STRLEN];
	struct endpoint at;
	size_t n = 0;

	for (size_t i = 0; i < c->n_servers; i++)
		mark_named(&c->servers[i], UPSTREAM_BACKENDS, r->source.name);
	for (size_t i = 0; i <= r->n_listeners && n < ADDRESSES_MAX; i++) {
		const char *address = i ? r->listeners[i - 1].address : r->source.address;
		size_t k = 0;

		if (endpoint_parse(address, &at) < 0 || !addr_is_set(&at.addr))
			continue;
		while (k < n && addr_cmp(&seen[k], &at.addr) != 0)
			k++;
		if (k < n)
			continue;
		seen[n++] = at.addr;
		mark_backends_at(c, addr_format(&at.addr, text));
	}
}

/* The frontends of all backends that are marked now. */
static void mark_users(struct collecting *c, struct marked *m)
{
	const struct listing *l = &m->view->lists[UPSTREAM_BACKENDS];

	for (size_t i = 0; i < l->items.n; i++) {
		const Maglev__BackendInfo *b = m->items[UPSTREAM_BACKENDS][i]
						       ? parse_item(c, m, UPSTREAM_BACKENDS, i)
						       : NULL;

		for (size_t k = 0; b && k < b->n_frontends; k++)
			mark_named(m, UPSTREAM_FRONTENDS, b->frontends[k]);
	}
}

/* The frontends with the addresses of all announcements that are marked now. */
static void mark_announced(struct collecting *c, struct marked *speaker)
{
	const void **items;
	size_t n = parse_marked(c, speaker, UPSTREAM_ANNOUNCEMENTS, SIZE_MAX, &items);

	for (size_t i = 0; i < n; i++) {
		const Maglev__AnnouncementInfo *a = items[i];

		for (size_t k = 0; k < c->n_servers; k++)
			mark_having(&c->servers[k], UPSTREAM_FRONTENDS, "address", a->address);
	}
}

/* ---- maglevds ---- */

/* The frontend's backends and announcements. */
static void mark_parts(struct collecting *c, struct marked *m, const Maglev__FrontendInfo *f)
{
	for (size_t i = 0; i < f->n_pools; i++)
		for (size_t k = 0; k < f->pools[i]->n_backends; k++)
			mark_named(m, UPSTREAM_BACKENDS, f->pools[i]->backends[k]->name);
	for (size_t i = 0; i < c->n_speakers; i++)
		mark_having(&c->speakers[i], UPSTREAM_ANNOUNCEMENTS, "address", f->address);
}

/* Only its first level is read: it lists all VIPs. */
static void read_plane(struct collecting *c, const struct upstream_view *v, struct way_maglevd *to)
{
	static const char *const keys[] = { "\"dataplane\"", "\"connected\"", "\"problem\"" };
	_cleanup_(buf_free) struct buf json = { 0 };
	const Maglev__VPPLBState *state;
	struct members members;

	to->dataplane = "";
	to->plane_problem = arena_strndup(c->arena, v->lb_error.p, v->lb_error.n);
	if (!v->lb.n)
		return;
	members_split(&members, (struct str){ v->lb.p, v->lb.n });
	buf_addc(&json, '{');
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct member *one = members_find(&members, str_of(keys[i]));

		if (one)
			members_add(&json, one->key, one->value);
	}
	buf_addc(&json, '}');
	state = parse(&maglev__vpplbstate__descriptor, (struct str){ json.p, json.n }, c->arena);
	if (state)
		wire_way_plane(state, to);
}

static void read_frontends(struct collecting *c, struct marked *m, struct way_maglevd *to)
{
	const void **items;
	size_t n = parse_marked(c, m, UPSTREAM_FRONTENDS, WAY_FACTS_FRONTENDS, &items), all = 0;
	struct way_frontend *frontends = arena_array_of(c->arena, n, struct way_frontend);

	for (size_t i = 0; i < m->view->lists[UPSTREAM_FRONTENDS].items.n; i++)
		all += m->items[UPSTREAM_FRONTENDS][i];
	c->left_out += all - n;
	for (size_t i = 0; i < n; i++) {
		frontends[i] = wire_way_frontend(items[i], c->arena);
		mark_parts(c, m, items[i]);
	}
	to->frontends = frontends;
	to->n_frontends = n;
}

static void read_backends(struct collecting *c, struct marked *m, struct way_maglevd *to)
{
	const void **items;
	size_t n = parse_marked(c, m, UPSTREAM_BACKENDS, SIZE_MAX, &items);
	struct way_backend *backends = arena_array_of(c->arena, n, struct way_backend);

	for (size_t i = 0; i < n; i++)
		backends[i] = wire_way_backend(items[i]);
	to->backends = backends;
	to->n_backends = n;
}

static struct way_maglevd read_maglevd(struct collecting *c, struct marked *m)
{
	struct way_maglevd to = { .source = source_of(c, m->view) };

	read_plane(c, m->view, &to);
	read_frontends(c, m, &to);
	read_backends(c, m, &to);
	return to;
}

/* ---- speakers ---- */

static struct way_speaker read_speaker(struct collecting *c, struct marked *m)
{
	struct way_speaker to = { .source = source_of(c, m->view), .problem = "" };
	const struct upstream_view *v = m->view;
	const Maglev__SpeakerInfo *info = parse(&maglev__speaker_info__descriptor,
						(struct str){ v->info.p, v->info.n }, c->arena);
	const void **items;
	size_t n = parse_marked(c, m, UPSTREAM_ANNOUNCEMENTS, SIZE_MAX, &items);
	struct way_announcement *announcements =
		arena_array_of(c->arena, n, struct way_announcement);
	struct way_session *sessions;

	if (info)
		wire_way_speaker(info, c->arena, &to);
	for (size_t i = 0; i < n; i++)
		announcements[i] = wire_way_announcement(items[i]);
	to.announcements = announcements;
	to.n_announcements = n;
	for (size_t i = 0; n && i < v->lists[UPSTREAM_SESSIONS].items.n; i++)
		m->items[UPSTREAM_SESSIONS][i] = true;
	n = parse_marked(c, m, UPSTREAM_SESSIONS, SIZE_MAX, &items);
	sessions = arena_array_of(c->arena, n, struct way_session);
	for (size_t i = 0; i < n; i++)
		sessions[i] = wire_way_session(items[i]);
	to.sessions = sessions;
	to.n_sessions = n;
	return to;
}

/* ---- routers ---- */

static void read_listeners(struct collecting *c, struct marked *m, struct way_router *to)
{
	struct way_listener *listeners;
	const void **items;
	size_t n;

	for (size_t i = 0; i < m->view->lists[UPSTREAM_LISTENERS].items.n; i++)
		m->items[UPSTREAM_LISTENERS][i] = true;
	n = parse_marked(c, m, UPSTREAM_LISTENERS, WAY_FACTS_LISTENERS, &items);
	listeners = arena_array_of(c->arena, n, struct way_listener);
	for (size_t i = 0; i < n; i++)
		listeners[i] = wire_way_listener(items[i]);
	to->listeners = listeners;
	to->n_listeners = n;
}

/* The router as far as it is needed to find what leads to it. */
static struct way_router read_outline(struct collecting *c, struct marked *m,
				      const Maglev__RequestExplanation *explained)
{
	struct way_router to = { .source = source_of(c, m->view), .problem = "" };
	const struct upstream_view *v = m->view;
	const Maglev__RouterInfo *info = parse(&maglev__router_info__descriptor,
					       (struct str){ v->info.p, v->info.n }, c->arena);

	if (info)
		wire_way_router(info, &to);
	read_listeners(c, m, &to);
	if (explained) {
		struct way_explanation *e = arena_new_of(c->arena, struct way_explanation);

		*e = wire_way_explanation(explained, c->arena);
		to.explanation = e;
	}
	return to;
}

/* The routes that lead to pools that are marked. */
static void mark_routes(struct collecting *c, struct marked *m)
{
	const void **items;
	size_t n = parse_marked(c, m, UPSTREAM_POOLS, SIZE_MAX, &items);

	for (size_t i = 0; i < n; i++) {
		const Maglev__RouterPool *p = items[i];

		for (size_t k = 0; k < p->n_routes; k++)
			mark_named(m, UPSTREAM_ROUTES, p->routes[k]);
	}
}

static void choose_routes(struct collecting *c, struct marked *m, const struct way_router *r)
{
	size_t n = m->view->lists[UPSTREAM_ROUTES].items.n;

	if (r->explanation)
		mark_named(m, UPSTREAM_ROUTES, r->explanation->route);
	else if (c->about_routers)
		mark_routes(c, m);
	else
		memset(m->items[UPSTREAM_ROUTES], true,
		       n < WAY_FACTS_ROUTES ? n : WAY_FACTS_ROUTES);
}

static void mark_targets(struct marked *m, const struct way_target *targets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mark_named(m, UPSTREAM_POOLS, targets[i].pool);
}

static void read_routes(struct collecting *c, struct marked *m, struct way_router *to)
{
	const void **items;
	size_t n = parse_marked(c, m, UPSTREAM_ROUTES, WAY_FACTS_ROUTES, &items);
	struct way_route *routes = arena_array_of(c->arena, n, struct way_route);

	for (size_t i = 0; i < n; i++) {
		routes[i] = wire_way_route(items[i], c->arena);
		for (size_t k = 0; k < routes[i].n_rules; k++)
			mark_targets(m, routes[i].rules[k].targets, routes[i].rules[k].n_targets);
	}
	to->routes = routes;
	to->n_routes = n;
}

static void read_content(struct collecting *c, struct marked *m, struct way_router *to)
{
	struct way_router_pool *pools;
	const void **items;
	size_t n;

	choose_routes(c, m, to);
	read_routes(c, m, to);
	if (to->explanation)
		mark_targets(m, to->explanation->targets, to->explanation->n_targets);
	n = parse_marked(c, m, UPSTREAM_POOLS, SIZE_MAX, &items);
	pools = arena_array_of(c->arena, n, struct way_router_pool);
	for (size_t i = 0; i < n; i++)
		pools[i] = wire_way_pool(items[i], c->arena);
	to->pools = pools;
	to->n_pools = n;
}

static bool is_behind(const struct way_router *r, const struct way_facts *facts)
{
	for (size_t i = 0; i < facts->n_maglevds; i++)
		for (size_t k = 0; k < facts->maglevds[i].n_backends; k++) {
			const struct way_backend *b = &facts->maglevds[i].backends[k];

			if (way_router_is_at(r, b->name, b->address))
				return true;
		}
	return false;
}

/* ---- the whole ---- */

static void mark_direct(struct collecting *c)
{
	c->about_routers = c->query->kind == WAY_REQUEST;
	if (c->query->kind == WAY_NAME)
		mark_by_name(c);
	else if (c->query->kind == WAY_ADDRESS)
		mark_by_address(c);
}

struct way_facts way_facts_read(const struct dashboard *d, const struct way_query *q,
				const Maglev__RequestExplanation *const *explained,
				struct arena *arena, size_t *ret_left_out)
{
	struct collecting c = { .query = q,
				.arena = arena,
				.servers = mark_none(&d->servers, arena),
				.speakers = mark_none(&d->speakers, arena),
				.routers = mark_none(&d->routers, arena),
				.n_servers = d->servers.n,
				.n_speakers = d->speakers.n,
				.n_routers = d->routers.n };
	struct way_maglevd *maglevds = arena_array_of(arena, c.n_servers, struct way_maglevd);
	struct way_speaker *speakers = arena_array_of(arena, c.n_speakers, struct way_speaker);
	struct way_router *routers = arena_array_of(arena, c.n_routers, struct way_router);
	struct way_facts facts = { maglevds,	 c.n_servers, speakers,
				   c.n_speakers, routers,     c.n_routers };

	mark_direct(&c);
	for (size_t i = 0; i < c.n_routers; i++) {
		routers[i] = read_outline(&c, &c.routers[i], explained[i]);
		if (c.about_routers)
			mark_before_router(&c, &routers[i]);
	}
	for (size_t i = 0; i < c.n_servers; i++)
		mark_users(&c, &c.servers[i]);
	for (size_t i = 0; i < c.n_speakers; i++)
		mark_announced(&c, &c.speakers[i]);
	for (size_t i = 0; i < c.n_servers; i++)
		maglevds[i] = read_maglevd(&c, &c.servers[i]);
	for (size_t i = 0; i < c.n_speakers; i++)
		speakers[i] = read_speaker(&c, &c.speakers[i]);
	for (size_t i = 0; i < c.n_routers; i++)
		if (c.about_routers || is_behind(&routers[i], &facts))
			read_content(&c, &c.routers[i], &routers[i]);
	*ret_left_out = c.left_out;
	return facts;
}
