/* SPDX-License-Identifier: Apache-2.0 */
/* Frontend www with backends a and b, frontend other with twin, which has the address of a. */
#include <inttypes.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/fixture.h"
#include "lib/pb/pb.h"
#include "wire/api.h"

struct world {
	struct fixture *fixture;
	struct arena *arena;
	const struct l4_config *config;
	struct lb_counters counters;
};

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));

	w->fixture = fixture_new();
	w->arena = arena_new();
	fixture_backend(w->fixture, "a", "10.0.0.2", NULL);
	fixture_backend(w->fixture, "b", "10.0.0.1", NULL);
	fixture_backend(w->fixture, "twin", "10.0.0.2", NULL);
	fixture_frontend(w->fixture, "www", "198.51.100.5", 80);
	fixture_pool(w->fixture, "primary");
	fixture_member(w->fixture, "a", 100);
	fixture_member(w->fixture, "b", 100);
	fixture_frontend(w->fixture, "other", "198.51.100.4", 80);
	fixture_pool(w->fixture, "primary");
	fixture_member(w->fixture, "twin", 100);
	w->config = fixture_config(w->fixture);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	lb_counters_free(&w->counters);
	fixture_free(w->fixture);
	arena_free(w->arena);
	free(w);
	return 0;
}

static Maglev__VPPLBCounters *rows(struct world *w, const char *dataplane, size_t first, size_t max)
{
	const struct wire_counted from = { dataplane, w->config, &w->counters };

	return wire_lb_counters(&from, first, max, w->arena);
}

static Maglev__VPPLBCounters *show(struct world *w, const char *dataplane)
{
	return rows(w, dataplane, 0, SIZE_MAX);
}

static struct addr ip(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static struct lb_vip_counters *count_vip(struct world *w, const char *address)
{
	struct lb_vip_key key = { ip(address), IPPROTO_TCP, 80 };

	return lb_counters_put_vip(&w->counters, &key);
}

static struct lb_as_counters *count_as(struct lb_vip_counters *v, const char *address)
{
	struct addr a = ip(address);

	return lb_counters_put_as(v, &a);
}

static void assert_json(const ProtobufCMessage *message, const char *wanted)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	pb_json_write(message, PB_JSON_COMPACT, &text);
	assert_string_equal(buf_cstr(&text), wanted);
}

static void every_figure_gets_into_its_field(void **state)
{
	struct world *w = *state;
	struct lb_vip_counters *v = count_vip(w, "198.51.100.5");
	Maglev__VPPLBCounters *all;

	v->packets[LB_PACKETS_NEXT] = 1;
	v->packets[LB_PACKETS_FIRST] = 2;
	v->packets[LB_PACKETS_UNTRACKED] = 3;
	v->packets[LB_PACKETS_NO_SERVER] = 4;
	v->bytes = 5;
	v->buckets = 6;
	*count_as(v, "10.0.0.1") =
		(struct lb_as_counters){ ip("10.0.0.1"), UINT64_MAX, 8, UINT32_MAX, 10 };
	w->counters.at = 77;
	w->counters.has = LB_HAS_VIP_BYTES | LB_HAS_AS_FLOWS;
	all = show(w, "xdp");
	assert_json(&all->base,
		    "{\"dataplane\":\"xdp\",\"at\":\"77\",\"vips\":[{\"address\":\"198.51.100.5\","
		    "\"protocol\":\"tcp\",\"port\":80,\"frontend\":\"www\",\"next_packets\":\"1\","
		    "\"first_packets\":\"2\",\"untracked_packets\":\"3\","
		    "\"no_server_packets\":\"4\",\"bytes\":\"5\",\"application_servers\":["
		    "{\"address\":\"10.0.0.1\",\"backend\":\"b\","
		    "\"packets\":\"18446744073709551615\",\"bytes\":\"8\",\"buckets\":4294967295,"
		    "\"flows\":10}],\"buckets\":6}],\"has_vip_bytes\":true,"
		    "\"has_as_traffic\":false,\"has_as_buckets\":false,\"has_as_flows\":true,"
		    "\"has_server_traffic\":false,\"servers\":[],\"events\":[]}");
}

/* Each flag is set alone, so that no flag is mistaken for another. */
static void what_the_data_plane_has_is_told(void **state)
{
	struct world *w = *state;

	for (unsigned bit = 0; bit < 5; bit++) {
		const Maglev__VPPLBCounters *all;

		w->counters.has = 1u << bit;
		all = show(w, "vpp");
		assert_int_equal(all->has_vip_bytes, w->counters.has == LB_HAS_VIP_BYTES);
		assert_int_equal(all->has_as_traffic, w->counters.has == LB_HAS_AS_TRAFFIC);
		assert_int_equal(all->has_as_buckets, w->counters.has == LB_HAS_AS_BUCKETS);
		assert_int_equal(all->has_as_flows, w->counters.has == LB_HAS_AS_FLOWS);
		assert_int_equal(all->has_server_traffic, w->counters.has == LB_HAS_SERVER_TRAFFIC);
	}
}

/* "vip=frontend: as=backend ..." */
static void names_are_those_of_the_frontend(void **state)
{
	struct world *w = *state;
	_cleanup_(buf_free) struct buf text = { 0 };
	const Maglev__VPPLBCounters *all;

	count_as(count_vip(w, "198.51.100.4"), "10.0.0.2");
	count_as(count_vip(w, "198.51.100.4"), "10.0.0.1");
	count_as(count_vip(w, "198.51.100.5"), "10.0.0.2");
	count_as(count_vip(w, "198.51.100.6"), "10.0.0.2");
	all = show(w, "vpp");
	for (size_t i = 0; i < all->n_vips; i++) {
		const Maglev__VPPLBVIPCounters *v = all->vips[i];

		buf_printf(&text, "%s=%s:", v->address, v->frontend);
		for (size_t j = 0; j < v->n_application_servers; j++)
			buf_printf(&text, " %s=%s", v->application_servers[j]->address,
				   v->application_servers[j]->backend);
		buf_addc(&text, '\n');
	}
	assert_string_equal(buf_cstr(&text), "198.51.100.4=other: 10.0.0.1= 10.0.0.2=twin\n"
					     "198.51.100.5=www: 10.0.0.2=a\n"
					     "198.51.100.6=: 10.0.0.2=\n");
}

static void a_server_names_every_backend_that_has_its_address(void **state)
{
	static const char *const addresses[] = { "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3" };
	struct world *w = *state;
	_cleanup_(buf_free) struct buf text = { 0 };
	const Maglev__VPPLBCounters *all;

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct addr a = ip(addresses[i]);
		struct lb_server_counters *s = lb_counters_put_server(&w->counters, &a);

		s->packets = i;
		s->bytes = 100 * i;
	}
	all = show(w, "vpp");
	for (size_t i = 0; i < all->n_servers; i++) {
		const Maglev__VPPLBServerCounters *s = all->servers[i];

		buf_printf(&text, "%s %" PRIu64 " %" PRIu64, s->address, s->packets, s->bytes);
		for (size_t j = 0; j < s->n_backends; j++)
			buf_printf(&text, " %s", s->backends[j]);
		buf_addc(&text, '\n');
	}
	assert_string_equal(buf_cstr(&text), "10.0.0.0 0 0\n10.0.0.1 1 100 b\n"
					     "10.0.0.2 2 200 a twin\n10.0.0.3 3 300\n");
}

static void events_keep_their_order(void **state)
{
	struct world *w = *state;
	const Maglev__VPPLBCounters *all;

	vec_push(&w->counters.events, (struct lb_event_counter){ "too-big", 3 });
	vec_push(&w->counters.events, (struct lb_event_counter){ "fragment", 0 });
	all = show(w, "xdp");
	assert_int_equal(all->n_events, 2);
	assert_string_equal(all->events[0]->name, "too-big");
	assert_int_equal(all->events[0]->packets, 3);
	assert_string_equal(all->events[1]->name, "fragment");
}

/* Parts of any size, concatenated, equal the whole. */
static void rows_come_in_parts(void **state)
{
	struct world *w = *state;

	count_vip(w, "198.51.100.4");
	count_vip(w, "198.51.100.5");
	for (unsigned i = 0; i < 3; i++) {
		struct addr a = ip("10.0.0.0");

		a.bytes[3] = (uint8_t)i;
		lb_counters_put_server(&w->counters, &a);
	}
	for (size_t max = 1; max <= 6; max++) {
		size_t vips = 0, servers = 0, heads = 0, first = 0;
		const Maglev__VPPLBCounters *part;

		for (; (part = rows(w, "vpp", first, max)); first += max) {
			assert_true(part->n_vips + part->n_servers <= max);
			heads += *part->dataplane != 0;
			vips += part->n_vips;
			servers += part->n_servers;
		}
		assert_int_equal(vips, 2);
		assert_int_equal(servers, 3);
		assert_int_equal(heads, 1);
	}
	lb_counters_free(&w->counters);
	assert_non_null(rows(w, "vpp", 0, 1));
	assert_null(rows(w, "vpp", 1, 1));
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(every_figure_gets_into_its_field),
		STORY(what_the_data_plane_has_is_told),
		STORY(names_are_those_of_the_frontend),
		STORY(a_server_names_every_backend_that_has_its_address),
		STORY(events_keep_their_order),
		STORY(rows_come_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
