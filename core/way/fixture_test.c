/* SPDX-License-Identifier: Apache-2.0 */
#include "core/way/fixture.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"

static const char *const names[LBS] = { "lb1", "lb2" };
static const char *const apis[LBS] = { "10.0.2.2:9090", "10.0.3.2:9090" };
static const char *const speaker_apis[LBS] = { "10.0.2.2:9095", "10.0.3.2:9095" };

static struct way_backend backend(const char *name, const char *address)
{
	return (struct way_backend){ .name = name,
				     .address = address,
				     .state = "up",
				     .since = 1,
				     .code = "L7OK",
				     .reason = "",
				     .override_reason = "" };
}

static struct way_member member(const char *name, uint32_t effective)
{
	return (struct way_member){
		.backend = name, .weight = 100, .effective_weight = effective, .state = "up"
	};
}

static void fill_maglevd(struct fixture *f, size_t i)
{
	f->backends[i][0] = backend("rt1", "10.0.21.2");
	f->backends[i][1] = backend("web1", "10.0.11.2");
	f->backends[i][2] = backend("web2", "10.0.12.2");
	f->backends[i][3] = backend("web9", "10.0.19.2");
	f->primary[i][0] = member("web1", 100);
	f->primary[i][1] = member("web2", 100);
	f->fallback[i][0] = member("web9", 0);
	f->routers[i][0] = member("rt1", 100);
	f->pools[i][0] = (struct way_pool){ "primary", true, f->primary[i], 2 };
	f->pools[i][1] = (struct way_pool){ "fallback", false, f->fallback[i], 1 };
	f->l7_pools[i][0] = (struct way_pool){ "routers", true, f->routers[i], 1 };
	f->frontends[i][0] = (struct way_frontend){ .name = "l7",
						    .address = "198.51.100.20",
						    .protocol = "tcp",
						    .port = 80,
						    .state = "up",
						    .pools = f->l7_pools[i],
						    .n_pools = 1 };
	f->frontends[i][1] = (struct way_frontend){ .name = "www",
						    .address = "198.51.100.10",
						    .protocol = "tcp",
						    .port = 80,
						    .state = "up",
						    .since = 2,
						    .pools = f->pools[i],
						    .n_pools = 2,
						    .traffic = { true, 100, 0 } };
	f->maglevds[i] = (struct way_maglevd){ .source = { names[i], apis[i], true, "" },
					       .dataplane = "xdp",
					       .plane_connected = true,
					       .plane_problem = "",
					       .frontends = f->frontends[i],
					       .n_frontends = 2,
					       .backends = f->backends[i],
					       .n_backends = 4 };
}

static struct way_announcement announcement(struct fixture *f, const char *vip, const char *address)
{
	return (struct way_announcement){ .vip = vip,
					  .address = address,
					  .state = "announced",
					  .reason = "frontend-up",
					  .culprit = "",
					  .since = 3,
					  .drain_reason = "",
					  .attracts = true,
					  .summary = "announced to tor",
					  .peers = f->peers,
					  .n_peers = 1,
					  .owner = "" };
}

static void fill_speaker(struct fixture *f, size_t i)
{
	f->sessions[i][0] = (struct way_session){ "tor", true, "Established", "", 4 };
	f->announcements[i][0] = announcement(f, "l7", "198.51.100.20");
	f->announcements[i][1] = announcement(f, "www", "198.51.100.10");
	f->speakers[i] = (struct way_speaker){ .source = { names[i], speaker_apis[i], true, "" },
					       .problem = "",
					       .announcements = f->announcements[i],
					       .n_announcements = 2,
					       .sessions = f->sessions[i],
					       .n_sessions = 1 };
}

static struct way_server server(const char *host)
{
	return (struct way_server){ .host = host,
				    .port = 8080,
				    .state = "up",
				    .reason = "",
				    .share = .5,
				    .traffic = { true, 10, 1 } };
}

static void fill_router(struct fixture *f)
{
	f->servers[0] = server("10.1.0.1");
	f->servers[1] = server("10.1.0.2");
	f->router_pools[0] = (struct way_router_pool){ "blue", 2, f->servers, 2, { true, 20, 2 } };
	f->targets[0] = (struct way_target){ "blue", 1 };
	f->rules[0] = (struct way_rule){ "prefix /api", "", f->targets, 1 };
	f->routes[0] = (struct way_route){
		.name = "api", .rules = f->rules, .n_rules = 1, .traffic = { true, 20, 2 }
	};
	f->listeners[0] = (struct way_listener){ "http", ":80", "http", 1 };
	f->explanation = (struct way_explanation){ .outcome = "forward",
						   .summary = "to pool blue",
						   .listener = "http",
						   .route = "api",
						   .match = "prefix /api",
						   .targets = f->targets,
						   .n_targets = 1 };
	f->router[0] = (struct way_router){ .source = { "edge", "10.0.21.2:9096", true, "" },
					    .problem = "",
					    .listeners = f->listeners,
					    .n_listeners = 1,
					    .routes = f->routes,
					    .n_routes = 1,
					    .pools = f->router_pools,
					    .n_pools = 1,
					    .explanation = &f->explanation,
					    .traffic = { true, 20, 2 } };
}

void fixture_init(struct fixture *f)
{
	*f = (struct fixture){ .peers = { "tor" }, .arena = arena_new() };
	for (size_t i = 0; i < LBS; i++) {
		fill_maglevd(f, i);
		fill_speaker(f, i);
	}
	fill_router(f);
	f->facts = (struct way_facts){ f->maglevds, LBS, f->speakers, LBS, f->router, 1 };
}

struct way fixture_ask(struct fixture *f, const char *query)
{
	struct way_query *q = arena_new_of(f->arena, struct way_query);
	const char *why;
	int r = way_query_parse(query, f->arena, q, &why);

	assert(r == 0);
	return way_find(&f->facts, q, f->arena);
}

const char *fixture_steps(struct fixture *f, const struct way *way, enum way_kind kind)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	for (size_t i = 0; i < way->n; i++) {
		const struct way_step *s = &way->steps[i];

		if (s->kind == kind)
			buf_printf(&out, "%s%s%s%s %s", out.n ? ", " : "", s->place,
				   *s->place ? "/" : "", s->name, way_state_name(s->state));
	}
	return arena_strdup(f->arena, buf_cstr(&out));
}

const char *fixture_notes(struct fixture *f, const struct way *way)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	for (size_t i = 0; i < way->n_notes; i++)
		buf_printf(&out, "%s%s", i ? "\n" : "", way->notes[i]);
	return arena_strdup(f->arena, buf_cstr(&out));
}

void fixture_down(struct fixture *f, size_t lb, size_t backend, const char *code,
		  const char *reason)
{
	struct way_backend *b = &f->backends[lb][backend];
	struct way_member *members[] = { &f->primary[lb][0], &f->primary[lb][1],
					 &f->fallback[lb][0], &f->routers[lb][0] };

	b->state = "down";
	b->code = code;
	b->reason = reason;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (strcmp(members[i]->backend, b->name) == 0) {
			members[i]->state = "down";
			members[i]->effective_weight = 0;
		}
}

int fixture_setup(void **state)
{
	static struct fixture f;

	fixture_init(&f);
	*state = &f;
	return 0;
}

int fixture_teardown(void **state)
{
	arena_free(((struct fixture *)*state)->arena);
	return 0;
}

void fixture_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}
