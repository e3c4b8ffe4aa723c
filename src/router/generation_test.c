/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/generation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static struct generation_shared shared;

static void on_call(unsigned thread, struct quota_side *side, void *user)
{
	fail();
}

static int start(void **state)
{
	shared = (struct generation_shared){ .servers = servers_new(),
					     .routes = names_new(),
					     .pools = names_new(),
					     .streams = names_new(),
					     .tables = tables_new(),
					     .secures = secures_new(),
					     .threads = 1,
					     .call = on_call };
	return 0;
}

/* It checks that all references were released. */
static int end(void **state)
{
	servers_free(shared.servers);
	names_free(shared.routes);
	names_free(shared.streams);
	names_free(shared.pools);
	tables_free(shared.tables);
	secures_free(shared.secures);
	return 0;
}

static struct generation *compile(const char *text, uint64_t number)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	_cleanup_(buf_free) struct buf out = { 0 };
	struct settings *s;
	_cleanup_(settings_doc_free) struct settings_doc doc = { 0 };

	if (settings_parse(str_of(text), ROUTER_YAML, &doc, &errors, &warnings, &s) != CONFIG_OK) {
		errs_print(&errors, "f", &out);
		fail_msg("%s", buf_cstr(&out));
	}
	return generation_new(plan_new(s), &shared, number);
}

/* The name of the rule for a request to the first port; NULL: none. */
static const char *find(const struct generation *g, const char *host, const char *path)
{
	const struct l7_request r = { .host = str_of(host),
				      .path = str_of(path),
				      .method = STR("GET") };
	const struct generation_listener *l = generation_listener(g, &g->ports[0], r.host);
	const struct l7_target *t = l ? generation_find(g, l, &r) : NULL;

	return t ? t->rule->name : NULL;
}

static void servers_outlive_generations_and_numbers_are_used_again(void **state)
{
	struct generation *one = compile("pools: [{name: p, servers: ['10.0.0.1:80']}]", 1);
	struct generation *two =
		compile("pools: [{name: p, servers: ['10.0.0.2:80', '10.0.0.1:80']},\n"
			"        {name: q, servers: ['10.0.0.1:80']}]",
			2);
	const struct server *same = one->pools[0].servers[0];
	uint32_t number = same->number;
	uint64_t id = same->id;
	struct generation *three;

	assert_ptr_equal(two->pools[0].servers[1], same);
	assert_ptr_not_equal(two->pools[1].servers[0], same); /* of another pool */
	generation_free(one);
	assert_int_equal(two->pools[0].servers[1]->id, id);
	generation_free(two);
	three = compile("pools: [{name: p, servers: ['10.0.0.3:80', '10.0.0.4:80']}]", 3);
	assert_int_equal(servers_bound(shared.servers), 3);
	for (size_t i = 0; i < 2; i++)
		if (three->pools[0].servers[i]->number == number)
			assert_int_not_equal(three->pools[0].servers[i]->id, id);
	generation_free(three);
}

static void generations_share_tables_of_the_same_servers(void **state)
{
	struct generation *one = compile(
		"pools: [{name: p, balance: maglev, servers: ['10.0.0.1:80', '10.0.0.2:80']},\n"
		"        {name: q, balance: maglev, servers: ['10.0.0.1:80', '10.0.0.2:80']},\n"
		"        {name: r, servers: ['10.0.0.1:80']}]",
		1);
	struct generation *two = compile(
		"pools: [{name: p, balance: maglev, servers: ['10.0.0.1:80', '10.0.0.2:80']},\n"
		"        {name: q, balance: maglev, servers: ['10.0.0.1:80', '10.0.0.2:81']}]",
		2);
	const struct table *table = one->pools[0].table;

	assert_ptr_equal(one->pools[1].table, table);
	assert_null(one->pools[2].table);
	generation_free(one);
	assert_ptr_equal(two->pools[0].table, table);
	assert_ptr_not_equal(two->pools[1].table, table);
	assert_int_equal(table->size, 8191);
	for (size_t i = 0; i < table->size; i++)
		assert_true(table->slots[i] < 2);
	assert_int_equal(tables_built(shared.tables), 2);
	generation_free(two);
}

static void the_default_route_is_for_the_rest(void **state)
{
	struct generation *g = compile("listeners: [{name: l, address: ':80'}]\n"
				       "routes: [{name: a, path_prefix: /a, pool: p}]\n"
				       "default_route: {pool: p}\n"
				       "pools: [{name: p, servers: []}]",
				       1);

	assert_string_equal(find(g, "h", "/a/b"), "a");
	assert_string_equal(find(g, "h", "/b"), "default");
	generation_free(g);
}

static void listeners_of_one_address_are_told_apart_by_host(void **state)
{
	struct generation *g = compile("listeners: [{name: a, address: ':80', host: a.example},\n"
				       "            {name: b, address: ':80', host: '*.example'},\n"
				       "            {name: c, address: '127.0.0.1:81'}]\n"
				       "routes: [{name: a, listeners: [a], pool: p},\n"
				       "         {name: b, listeners: [b], pool: p}]\n"
				       "default_route: {pool: p}\n"
				       "pools: [{name: p, servers: []}]",
				       1);
	struct endpoint at = { .port = 80 };

	assert_int_equal(g->n_ports, 2);
	assert_non_null(generation_port(g, &at));
	at.port = 82;
	assert_null(generation_port(g, &at));
	assert_string_equal(find(g, "a.example", "/"), "a");
	assert_string_equal(find(g, "b.example", "/"), "b");
	assert_null(find(g, "elsewhere", "/")); /* of no listener */
	generation_free(g);
}

static void regular_expressions_match_the_whole_text(void **state)
{
	struct generation *g = compile("listeners: [{name: l, address: ':80'}]\n"
				       "routes: [{name: a, pool: p, matches: [{path: "
				       "{type: regex, value: '/a|/bc'}}]}]\n"
				       "pools: [{name: p, servers: []}]",
				       1);

	assert_string_equal(find(g, "h", "/a"), "a");
	assert_string_equal(find(g, "h", "/bc"), "a");
	assert_null(find(g, "h", "/ac"));
	assert_null(find(g, "h", "/x/a"));
	generation_free(g);
}

static struct settings *parse_servers(const char *pool, const char *text)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct settings *s;
	_cleanup_(settings_doc_free) struct settings_doc doc = { 0 };

	assert_int_equal(settings_parse_servers(str_of(text),
						&(struct settings_pool){ .name = pool, .first = 7 },
						&doc, &errors, &s),
			 CONFIG_OK);
	return s;
}

static struct generation *with_servers(const struct generation *from, size_t pool, const char *text)
{
	struct settings *s = parse_servers(from->config.pools[pool].name, text);

	return generation_with_servers(from, plan_with_servers(from->plan, pool, s), pool, &shared,
				       from->number + 1);
}

static void other_servers_of_one_pool_share_the_rest(void **state)
{
	struct generation *one =
		compile("listeners: [{name: l, address: ':80'}]\n"
			"routes: [{name: a, pool: p}]\n"
			"pools: [{name: p, servers: ['10.0.0.1:80'], balance: random},\n"
			"        {name: q, servers: ['10.0.0.1:80']}]",
			1);
	struct generation *two = with_servers(one, 0,
					      "{\"servers\":[\"10.0.0.2:80\","
					      "\"10.0.0.1:80\"]}");
	struct generation *three = with_servers(two, 1, "{\"servers\":[]}");
	const struct server *kept = one->pools[0].servers[0];

	assert_ptr_equal(one->listeners, two->listeners);
	assert_ptr_equal(one->pools[1].servers, two->pools[1].servers);
	assert_int_equal(two->pools[0].config->n_servers, 2);
	assert_int_equal(two->pools[0].schedule.n, 2);
	assert_int_equal(two->config.pools[0].servers[0].idx, 7);
	assert_int_equal(two->pools[0].config->balance, L7_RANDOM_TWO);
	assert_ptr_equal(two->pools[0].servers[1], kept); /* with its connections */
	generation_free(one);
	assert_string_equal(find(two, "h", "/"), "a");
	generation_free(two);
	assert_int_equal(three->pools[0].config->n_servers, 2);
	assert_string_equal(three->pools[0].servers[0]->host, "10.0.0.2");
	assert_int_equal(three->pools[1].config->n_servers, 0);
	assert_string_equal(three->config.pools[1].name, "q");
	assert_string_equal(find(three, "h", "/"), "a");
	generation_free(three);
}

/* A plan that is kept is compiled again, with servers that may have gone in between. */
static void a_plan_outlives_its_generation(void **state)
{
	struct generation *one = compile("pools: [{name: p, servers: ['10.0.0.1:80']}]", 1);
	struct generation *two = with_servers(one, 0, "{\"servers\":[\"10.0.0.2:80\"]}");
	struct plan *first = plan_hold(one->plan), *second = plan_hold(two->plan);

	generation_free(one);
	generation_free(two);
	two = generation_new(second, &shared, 3);
	assert_string_equal(two->pools[0].servers[0]->host, "10.0.0.2");
	one = generation_new(first, &shared, 4);
	assert_string_equal(one->pools[0].servers[0]->host, "10.0.0.1");
	generation_free(two);
	generation_free(one);
}

static void streams_keep_their_names_over_generations(void **state)
{
	static const char *const text = "listeners: [{name: l, address: ':1', protocol: tcp}]\n"
					"streams: [{name: s, listeners: [l], pool: p}]\n"
					"pools: [{name: p, servers: ['10.0.0.1:80']}]";
	struct generation *one = compile(text, 1), *two = compile(text, 2);
	const struct endpoint at = { .port = 1 };

	assert_ptr_equal(one->streams[0], two->streams[0]);
	assert_string_equal(one->streams[0]->text, "s");
	assert_int_equal(generation_stream(&one->listeners[0], STR("any")), 0);
	assert_int_equal(one->listeners[0].entries.n, 0);
	assert_non_null(generation_port(one, &at));
	assert_null(generation_udp_port(one, &at));
	generation_free(one);
	generation_free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			servers_outlive_generations_and_numbers_are_used_again, start, end),
		cmocka_unit_test_setup_teardown(generations_share_tables_of_the_same_servers, start,
						end),
		cmocka_unit_test_setup_teardown(the_default_route_is_for_the_rest, start, end),
		cmocka_unit_test_setup_teardown(listeners_of_one_address_are_told_apart_by_host,
						start, end),
		cmocka_unit_test_setup_teardown(other_servers_of_one_pool_share_the_rest, start,
						end),
		cmocka_unit_test_setup_teardown(streams_keep_their_names_over_generations, start,
						end),
		cmocka_unit_test_setup_teardown(a_plan_outlives_its_generation, start, end),
		cmocka_unit_test_setup_teardown(regular_expressions_match_the_whole_text, start,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
