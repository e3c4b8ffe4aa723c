/* SPDX-License-Identifier: Apache-2.0 */
/* From messages to a way, and from a way to a message. */
#include "wire/way.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "lib/pb/pb.h"

static const char frontend_json[] = "{\"name\":\"l7\",\"address\":\"198.51.100.20\",\"protocol\":"
				    "\"tcp\",\"port\":80,\"state\":\"up\","
				    "\"since\":5,\"pools\":[{\"name\":\"routers\",\"active\":true,"
				    "\"backends\":[{\"name\":\"rt1\","
				    "\"weight\":100,\"effective_weight\":100,\"state\":\"up\"}]}]}";
static const char backend_json[] =
	"{\"name\":\"rt1\",\"address\":\"10.0.21.2\",\"state\":\"up\",\"last_code\":\"L7OK\"}";
static const char plane_json[] = "{\"dataplane\":\"xdp\",\"connected\":true}";
static const char announcement_json[] =
	"{\"vip\":\"l7\",\"address\":\"198.51.100.20\",\"state\":\"announced\",\"attracts\":true,"
	"\"since\":7,\"summary\":\"announced to tor\",\"bgp\":{\"peers\":[\"tor\"]}}";
static const char session_json[] =
	"{\"peer\":\"tor\",\"up\":true,\"state\":\"Established\",\"since\":9}";
static const char listener_json[] =
	"{\"name\":\"http\",\"address\":\":80\",\"protocol\":\"http\",\"routes\":1,\"streams\":7}";
static const char route_json[] =
	"{\"name\":\"api\",\"rules\":[{\"matches\":[\"prefix /a\",\"exact /b\"],\"backends\":["
	"{\"pool\":\"blue\",\"share\":1}]}],\"traffic\":{\"rate\":10,\"error_share\":0.5}}";
static const char pool_json[] =
	"{\"name\":\"blue\",\"usable\":1,\"servers\":[{\"host\":\"10.1.0.1\",\"port\":8080,"
	"\"state\":\"up\",\"share\":1,\"traffic\":{\"rate\":4}}]}";
static const char explanation_json[] =
	"{\"outcome\":\"forward\",\"listener\":\"http\",\"route\":\"api\",\"match\":\"prefix /a\","
	"\"backends\":[{\"pool\":\"blue\",\"share\":1}]}";

static const void *read_json(const ProtobufCMessageDescriptor *type, const char *json,
			     struct arena *arena)
{
	ProtobufCMessage *m = NULL;
	char reason[128];

	assert_int_equal(pb_json_read(type, str_of(json), arena, &m, reason, sizeof(reason)), 0);
	return m;
}

#define READ(name, json) read_json(&maglev__##name##__descriptor, json, arena)

struct all {
	struct way_frontend frontend;
	struct way_backend backend;
	struct way_maglevd maglevd;
	struct way_announcement announcement;
	struct way_session session;
	struct way_speaker speaker;
	struct way_listener listener;
	struct way_route route;
	struct way_router_pool pool;
	struct way_explanation explanation;
	struct way_router router;
};

static struct way_facts read_all(struct all *a, struct arena *arena)
{
	*a = (struct all){
		.maglevd = { .source = { "lb1", "10.0.2.2:9090", true, "" } },
		.speaker = { .source = { "lb1", "10.0.2.2:9095", true, "" }, .problem = "" },
		.router = { .source = { "edge", "10.0.21.2:9096", true, "" } },
	};
	a->frontend = wire_way_frontend(READ(frontend_info, frontend_json), arena);
	a->backend = wire_way_backend(READ(backend_info, backend_json));
	wire_way_plane(READ(vpplbstate, plane_json), &a->maglevd);
	a->maglevd.frontends = &a->frontend;
	a->maglevd.backends = &a->backend;
	a->maglevd.n_frontends = a->maglevd.n_backends = 1;
	a->announcement = wire_way_announcement(READ(announcement_info, announcement_json));
	a->session = wire_way_session(READ(session_info, session_json));
	wire_way_speaker(READ(speaker_info, "{\"maglevds\":[{\"address\":\"127.0.0.1:9090\"}]}"),
			 arena, &a->speaker);
	a->speaker.announcements = &a->announcement;
	a->speaker.sessions = &a->session;
	a->speaker.n_announcements = a->speaker.n_sessions = 1;
	a->listener = wire_way_listener(READ(router_listener, listener_json));
	a->route = wire_way_route(READ(router_route, route_json), arena);
	a->pool = wire_way_pool(READ(router_pool, pool_json), arena);
	a->explanation = wire_way_explanation(READ(request_explanation, explanation_json), arena);
	wire_way_router(READ(router_info, "{\"traffic\":{\"rate\":12}}"), &a->router);
	a->router.listeners = &a->listener;
	a->router.routes = &a->route;
	a->router.pools = &a->pool;
	a->router.n_listeners = a->router.n_routes = a->router.n_pools = 1;
	a->router.explanation = &a->explanation;
	return (struct way_facts){ &a->maglevd, 1, &a->speaker, 1, &a->router, 1 };
}

static void messages_become_a_way_and_the_way_a_message(void **state)
{
	static const char *const parts[] = {
		"{\"query\":\"www.example.com/"
		"a\",\"state\":\"good\",\"whole\":true,\"why\":\"\",\"broken\":-1,",
		"{\"kind\":\"vip\",\"depth\":0,\"place\":\"\",\"name\":\"198.51.100.20:80/tcp\",",
		"{\"kind\":\"announcement\",\"depth\":2,\"place\":\"lb1\",\"name\":\"l7\","
		"\"detail\":\"198.51.100.20\",\"state\":\"good\",\"word\":\"announced\","
		"\"reason\":\"announced to tor\",\"since\":\"7\"}",
		"{\"kind\":\"session\",\"depth\":3,\"place\":\"lb1\",\"name\":\"tor\"",
		"{\"kind\":\"backend\",\"depth\":4,\"place\":\"lb1\",\"name\":\"rt1\",\"detail\":"
		"\"10.0.21.2\","
		"\"state\":\"good\",\"word\":\"up\",\"reason\":\"\",\"since\":\"0\",\"share\":{"
		"\"of_step\":1}}",
		"\"traffic\":{\"unit\":\"requests\",\"rate\":10,\"errors\":5}",
		"\"name\":\"10.1.0.1:8080\"",
		"\"notes\":[],\"at\":\"42\"}",
	};
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf json = { 0 };
	struct way_query q;
	struct all all;
	struct way_facts facts = read_all(&all, arena);
	const char *why;
	struct way way;

	assert_int_equal(way_query_parse("www.example.com/a", arena, &q, &why), 0);
	way = way_find(&facts, &q, arena);
	pb_json_write(&wire_way(&way, &q, 42, arena)->base, PB_JSON_COMPACT, &json);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strstr(buf_cstr(&json), parts[i]))
			fail_msg("%s is not in %s", parts[i], buf_cstr(&json));
}

static void what_a_listener_has_depends_on_its_protocol(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct way_listener http = wire_way_listener(READ(router_listener, listener_json));
	struct way_listener tcp = wire_way_listener(
		READ(router_listener, "{\"protocol\":\"tcp\",\"routes\":1,\"streams\":7}"));

	assert_int_equal(http.routes, 1);
	assert_int_equal(tcp.routes, 7);
}

static void all_matches_of_a_rule_are_shown(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct way_route route = wire_way_route(READ(router_route, route_json), arena);

	assert_string_equal(route.rules[0].match, "prefix /a or exact /b");
	assert_true(route.traffic.known && route.traffic.errors == 5);
}

static void a_query_becomes_the_request_of_an_explanation(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	Maglev__ExplainRequestRequest m;
	struct way_query q;
	const char *why;

	maglev__explain_request_request__init(&m);
	assert_int_equal(way_query_parse("www.example.com/a?b", arena, &q, &why), 0);
	wire_way_fill_explain(&q, &(struct wire_way_request){ "POST", "x-a: 1", NULL }, arena, &m);
	assert_string_equal(m.host, "www.example.com");
	assert_string_equal(m.path, "/a?b");
	assert_string_equal(m.method, "POST");
	assert_string_equal(m.listener, "");
	assert_int_equal(m.n_headers, 1);
	assert_string_equal(m.headers[0], "x-a: 1");
}

static void figures_of_the_past_become_those_of_the_steps(void **state)
{
	static const char json[] =
		"{\"frontends\":[{\"name\":\"l7\",\"lines\":[{\"name\":\"next\",\"values\":[1,40]},"
		"{\"name\":\"first\",\"values\":[2]},{\"name\":\"no-server\",\"values\":[3]}]}],"
		"\"backends\":[{\"name\":\"rt1\",\"lines\":[{\"name\":\"packets\",\"values\":["
		"\"NaN\"]}]}]}";
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	Maglev__GetHistoryRequest request;
	struct all all;
	struct way_facts facts = read_all(&all, arena);
	struct way_query q;
	const char *why;
	struct way way;

	assert_int_equal(way_query_parse("l7", arena, &q, &why), 0);
	way = way_find(&facts, &q, arena);
	maglev__get_history_request__init(&request);
	assert_false(wire_way_fill_history(&way, "lb2", arena, &request));
	assert_true(wire_way_fill_history(&way, "lb1", arena, &request));
	assert_int_equal(request.n_frontends, 1);
	assert_string_equal(request.frontends[0], "l7");
	assert_string_equal(request.backends[0], "rt1");
	wire_way_take_history(READ(history_response, json), arena, &all.maglevd);
	assert_true(all.maglevd.frontends[0].traffic.known);
	assert_true(all.maglevd.frontends[0].traffic.rate == 45);
	assert_true(all.maglevd.frontends[0].traffic.errors == 3);
	assert_false(all.maglevd.backends[0].traffic.known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_become_a_way_and_the_way_a_message),
		cmocka_unit_test(what_a_listener_has_depends_on_its_protocol),
		cmocka_unit_test(all_matches_of_a_rule_are_shown),
		cmocka_unit_test(a_query_becomes_the_request_of_an_explanation),
		cmocka_unit_test(figures_of_the_past_become_those_of_the_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
