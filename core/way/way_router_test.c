/* SPDX-License-Identifier: Apache-2.0 */
/* Ways that lead to a router: what of it is shown, and which sentence says why it does not work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/way/fixture.h"
#include "core/way/way.h"

static void a_request_goes_through_the_vip_that_leads_to_its_router(void **state)
{
	struct fixture *f = *state;
	struct way way = fixture_ask(f, "www.example.com/api/1");

	assert_int_equal(way.state, WAY_GOOD);
	assert_string_equal(fixture_steps(f, &way, WAY_VIP), "198.51.100.20:80/tcp good");
	assert_string_equal(fixture_steps(f, &way, WAY_BACKEND), "lb1/rt1 good, lb2/rt1 good");
	assert_string_equal(fixture_steps(f, &way, WAY_ROUTER), "edge/http good, edge/http good");
	assert_string_equal(fixture_steps(f, &way, WAY_ROUTE), "edge/api good, edge/api good");
	assert_string_equal(way.steps[way.n - 1].name, "10.1.0.2:8080");
	assert_int_equal(way.steps[way.n - 1].depth, 8);
	assert_true(way.steps[way.n - 1].traffic.rate == 10);
}

/* The listener has the address of the backend, of the VIP, or none; the port has to be the same. */
static void a_listener_is_behind_a_backend_by_its_address_and_port(void **state)
{
	static const struct {
		const char *listener, *api, *name;
		bool reached;
	} cases[] = {
		{ ":80", "10.0.21.2:9096", "edge", true },
		{ "198.51.100.20:80", "10.0.21.2:9096", "edge", true },
		{ "10.0.21.2:80", "localhost:9096", "edge", true },
		{ ":80", "localhost:9096", "rt1", true },
		{ ":80", "localhost:9096", "edge", false },
		{ ":8080", "10.0.21.2:9096", "edge", false },
		{ "127.0.0.1:80", "10.0.21.2:9096", "edge", false },
		{ "10.0.22.2:80", "localhost:9096", "edge", false },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct way way;

		f->listeners[0].address = cases[i].listener;
		f->router[0].source.address = cases[i].api;
		f->router[0].source.name = cases[i].name;
		way = fixture_ask(f, "198.51.100.20:80");
		assert_int_equal(*fixture_steps(f, &way, WAY_ROUTER) != '\0', cases[i].reached);
	}
}

static void a_listener_for_datagrams_is_not_behind_a_frontend_of_tcp(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->listeners[0].protocol = "udp";
	way = fixture_ask(f, "198.51.100.20:80");
	assert_string_equal(fixture_steps(f, &way, WAY_ROUTER), "");
	f->frontends[0][0].protocol = f->frontends[1][0].protocol = "udp";
	way = fixture_ask(f, "198.51.100.20:80/udp");
	assert_string_equal(fixture_steps(f, &way, WAY_ROUTER), "edge/http good, edge/http good");
}

static void a_request_that_no_route_matches_is_broken_at_the_router(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->explanation = (struct way_explanation){ .outcome = "answer",
						   .status = 404,
						   .summary = "answered with 404: no route matches",
						   .listener = "http",
						   .route = "",
						   .match = "" };
	way = fixture_ask(f, "www.example.com/nothing");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why,
			    "router edge: the request is answered with 404: no route matches");
	assert_int_equal(way.steps[way.broken].kind, WAY_ROUTER);
}

static void a_redirect_is_a_whole_way(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->explanation.outcome = "redirect";
	f->explanation.summary = "redirected: 301 to https";
	way = fixture_ask(f, "http://www.example.com");
	assert_int_equal(way.state, WAY_GOOD);
	assert_string_equal(fixture_steps(f, &way, WAY_SERVER), "");
	assert_string_equal(way.steps[way.n - 1].reason, "redirected: 301 to https");
}

static void a_pool_without_servers_breaks_the_way(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->router_pools[0].n_servers = f->router_pools[0].usable = 0;
	way = fixture_ask(f, "www.example.com/api/1");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why, "pool blue of router edge: it has no servers");
	assert_int_equal(way.steps[way.broken].kind, WAY_ROUTER_POOL);
}

static void a_pool_whose_servers_are_down_names_them(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->router_pools[0].usable = 0;
	for (size_t i = 0; i < 2; i++) {
		f->servers[i].state = "down";
		f->servers[i].reason = "connection refused";
		f->servers[i].share = 0;
	}
	way = fixture_ask(f, "198.51.100.20");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(
		way.why, "pool blue of router edge: none of its servers can be used: 10.1.0.1:8080 "
			 "down: connection refused, 10.1.0.2:8080 down: connection refused");
}

static void one_server_that_is_ejected_is_poor(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->router_pools[0].usable = 1;
	f->servers[0].state = "ejected";
	f->servers[0].share = 0;
	way = fixture_ask(f, "www.example.com/api/1");
	assert_int_equal(way.state, WAY_POOR);
	assert_string_equal(way.why, "");
}

/* Half of the requests go to a pool that is not valid. */
static void a_share_that_leads_nowhere_is_lost(void **state)
{
	struct fixture *f = *state;
	struct way_target both[] = { { "blue", .5 }, { "", .5 } };
	struct way way;

	f->explanation.targets = both;
	f->explanation.n_targets = 2;
	way = fixture_ask(f, "www.example.com/api/1");
	assert_int_equal(way.state, WAY_LOSSY);
	fixture_has(way.why, "router edge answers 50 % of the requests with 500");
}

static void a_target_without_a_share_loses_nothing(void **state)
{
	struct fixture *f = *state;
	struct way_target both[] = { { "blue", 1 }, { "", 0 } };
	struct way way;

	f->explanation.targets = both;
	f->explanation.n_targets = 2;
	way = fixture_ask(f, "www.example.com/api/1");
	assert_true(way_is_whole(&way));
	assert_string_equal(way.why, "");
}

static void a_pool_that_two_rules_use_is_shown_once(void **state)
{
	struct fixture *f = *state;
	struct way_rule two[] = { f->rules[0], f->rules[0] };
	struct way way;

	f->routes[0].rules = two;
	f->routes[0].n_rules = 2;
	f->facts.n_maglevds = 1;
	way = fixture_ask(f, "198.51.100.20");
	assert_string_equal(fixture_steps(f, &way, WAY_ROUTER_POOL), "edge/blue good");
}

static void a_listener_without_routes_breaks_the_way_to_it(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->router[0].n_routes = 0;
	f->listeners[0].routes = 0;
	way = fixture_ask(f, "198.51.100.20");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why, "listener http of router edge has no routes");
}

static void routes_of_a_vip_are_bounded_and_the_rest_is_counted(void **state)
{
	struct fixture *f = *state;
	struct way_route many[WAY_ROUTES_MAX + 4];
	struct way way;

	for (size_t i = 0; i < WAY_ROUTES_MAX + 4; i++)
		many[i] = f->routes[0];
	f->router[0].routes = many;
	f->router[0].n_routes = WAY_ROUTES_MAX + 4;
	f->listeners[0].routes = 1000;
	f->facts.n_maglevds = 1;
	way = fixture_ask(f, "198.51.100.20");
	fixture_has(fixture_notes(f, &way), "listener http of router edge has 984 more routes");
}

static void a_router_that_stops_breaks_the_way(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->router[0].draining = true;
	way = fixture_ask(f, "www.example.com/api/1");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why, "router edge stops and accepts no connections");
}

static void a_router_without_contact_is_unknown(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->router[0].source.connected = false;
	f->router[0].source.error = "connection refused";
	way = fixture_ask(f, "198.51.100.20");
	assert_int_equal(way.state, WAY_UNKNOWN);
	fixture_has(fixture_notes(f, &way), "router edge cannot be asked: connection refused");
}

static void a_router_behind_a_backend_that_is_down_is_not_to_blame(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->router_pools[0].n_servers = f->router_pools[0].usable = 0;
	for (size_t i = 0; i < LBS; i++) {
		fixture_down(f, i, 0, "L4CON", "connection refused");
		f->frontends[i][0].state = "down";
		f->l7_pools[i][0].active = false;
	}
	way = fixture_ask(f, "198.51.100.20");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why, "frontend l7 at lb1 is down: no server can be used: rt1 down "
				     "(L4CON connection refused)");
}

static void a_router_that_no_frontend_leads_to_has_a_way_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->facts.n_maglevds = f->facts.n_speakers = 0;
	way = fixture_ask(f, "www.example.com/api/1");
	assert_int_equal(way.state, WAY_GOOD);
	assert_int_equal(way.steps[0].kind, WAY_ROUTER);
	fixture_has(fixture_notes(f, &way),
		    "no frontend that is known here leads to listener http");
}

static void parts_of_a_router_are_found_by_their_names(void **state)
{
	struct fixture *f = *state;
	static const char *const queries[] = { "api", "blue", "10.1.0.1:8080" };

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		struct way way = fixture_ask(f, queries[i]);

		assert_int_equal(way.state, WAY_GOOD);
		assert_string_equal(fixture_steps(f, &way, WAY_VIP), "198.51.100.20:80/tcp good");
		assert_string_equal(fixture_steps(f, &way, WAY_SERVER),
				    i < 2 ? "edge/10.1.0.1:8080 good, edge/10.1.0.2:8080 good, "
					    "edge/10.1.0.1:8080 good, edge/10.1.0.2:8080 good"
					  : "edge/10.1.0.1:8080 good, edge/10.1.0.1:8080 good");
	}
}

static void a_request_without_a_router_that_answers_is_said_so(void **state)
{
	struct fixture *f = *state;
	struct way way;

	f->facts.n_routers = 0;
	way = fixture_ask(f, "www.example.com/");
	assert_int_equal(way.state, WAY_BROKEN);
	assert_string_equal(way.why,
			    "no router that answers was asked where www.example.com/ goes");
}

static void steps_are_bounded(void **state)
{
	struct fixture *f = *state;
	static struct way_server many[WAY_STEPS_MAX];
	struct way way;

	for (size_t i = 0; i < WAY_STEPS_MAX; i++)
		many[i] = f->servers[0];
	f->router_pools[0].servers = many;
	f->router_pools[0].n_servers = f->router_pools[0].usable = WAY_STEPS_MAX;
	way = fixture_ask(f, "www.example.com/api/1");
	assert_int_equal(way.n, WAY_STEPS_MAX);
	assert_true(way.left_out > 0);
	assert_int_equal(way.state, WAY_GOOD);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_goes_through_the_vip_that_leads_to_its_router),
		TEST(a_listener_is_behind_a_backend_by_its_address_and_port),
		TEST(a_listener_for_datagrams_is_not_behind_a_frontend_of_tcp),
		TEST(a_request_that_no_route_matches_is_broken_at_the_router),
		TEST(a_redirect_is_a_whole_way),
		TEST(a_pool_without_servers_breaks_the_way),
		TEST(a_pool_whose_servers_are_down_names_them),
		TEST(one_server_that_is_ejected_is_poor),
		TEST(a_share_that_leads_nowhere_is_lost),
		TEST(a_target_without_a_share_loses_nothing),
		TEST(a_pool_that_two_rules_use_is_shown_once),
		TEST(a_listener_without_routes_breaks_the_way_to_it),
		TEST(routes_of_a_vip_are_bounded_and_the_rest_is_counted),
		TEST(a_router_that_stops_breaks_the_way),
		TEST(a_router_without_contact_is_unknown),
		TEST(a_router_behind_a_backend_that_is_down_is_not_to_blame),
		TEST(a_router_that_no_frontend_leads_to_has_a_way_of_its_own),
		TEST(parts_of_a_router_are_found_by_their_names),
		TEST(a_request_without_a_router_that_answers_is_said_so),
		TEST(steps_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
