/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/history.h"

#include <math.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/fixture.h"

#define HOUR HISTORY_SPAN_HOUR
#define START (INT64_C(1000) * NSEC_PER_SEC)

/* Frontends api and www; backend web1 serves both, web2 www only. */
enum { API, WWW };
enum { WEB1, WEB2 };

struct world {
	struct fixture *fixture;
	struct l4_config *config;
	struct lb_counters counters;
	struct l4_history history;
	int64_t step;
};

static struct addr ip(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static struct lb_vip_counters *vip(struct world *w, size_t frontend)
{
	const struct l4_frontend *f = &w->config->frontends[frontend];
	struct lb_vip_key key = { f->address, IPPROTO_TCP, f->port };

	return lb_counters_put_vip(&w->counters, &key);
}

static struct lb_as_counters *as(struct world *w, size_t frontend, size_t backend)
{
	return lb_counters_put_as(vip(w, frontend), &w->config->backends[backend].address);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->fixture = fixture_new();
	fixture_backend(w->fixture, "web1", "10.0.0.1", NULL);
	fixture_backend(w->fixture, "web2", "10.0.0.2", NULL);
	fixture_frontend(w->fixture, "www", "192.0.2.1", 80);
	fixture_pool(w->fixture, "primary");
	fixture_member(w->fixture, "web1", 100);
	fixture_member(w->fixture, "web2", 100);
	fixture_frontend(w->fixture, "api", "192.0.2.2", 80);
	fixture_pool(w->fixture, "primary");
	fixture_member(w->fixture, "web1", 100);
	w->config = fixture_config(w->fixture);
	w->counters =
		(struct lb_counters){ .at = START, .has = LB_HAS_VIP_BYTES | LB_HAS_AS_TRAFFIC };
	l4_history_reload(&w->history, w->config);
	w->step = 100;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	l4_history_free(&w->history);
	lb_counters_free(&w->counters);
	fixture_free(w->fixture);
	free(w);
	return 0;
}

/* Records a step from the counters as they are; NULL: they were not read. */
static void record(struct world *w, const struct lb_counters *c)
{
	w->step++;
	l4_history_begin(&w->history, c);
	for (size_t i = 0; c && i < c->vips.n; i++)
		l4_history_add_vip(&w->history, w->config, &c->vips.items[i]);
	for (size_t i = 0; c && i < c->servers.n; i++)
		l4_history_add_server(&w->history, w->config, &c->servers.items[i]);
	for (size_t i = 0; i < w->config->n_frontends; i++)
		l4_history_put_frontend(&w->history, i, w->step);
	for (size_t i = 0; i < w->config->n_backends; i++)
		l4_history_put_backend(&w->history, i, w->step, HEALTH_UP);
}

static void record_later(struct world *w, int64_t seconds)
{
	w->counters.at += seconds * NSEC_PER_SEC;
	record(w, &w->counters);
}

static float of_frontend(const struct world *w, size_t frontend, size_t line)
{
	return history_get(&w->history.frontends.items[frontend].lines[line], HOUR, w->step);
}

static float of_backend(const struct world *w, size_t backend, size_t line)
{
	return history_get(&w->history.backends.items[backend].lines[line], HOUR, w->step);
}

static void traffic_is_a_rate_between_two_readings(void **state)
{
	struct world *w = *state;

	vip(w, WWW)->packets[LB_PACKETS_FIRST] = 1000;
	as(w, WWW, WEB1)->packets = 500;
	as(w, API, WEB1)->packets = 100;
	record(w, &w->counters);
	assert_true(isnan(of_frontend(w, WWW, LB_PACKETS_FIRST)));
	vip(w, WWW)->packets[LB_PACKETS_FIRST] += 50;
	vip(w, WWW)->bytes += 2000;
	as(w, WWW, WEB1)->packets += 30;
	as(w, API, WEB1)->packets += 20;
	record_later(w, 5);
	assert_true(of_frontend(w, WWW, LB_PACKETS_FIRST) == 10);
	assert_true(of_frontend(w, WWW, LB_PACKETS_NEXT) == 0);
	assert_true(of_frontend(w, WWW, L4_HISTORY_VIP_BYTES) == 400);
	assert_true(of_backend(w, WEB1, L4_HISTORY_PACKETS) == 10); /* of both frontends */
	assert_true(isnan(of_backend(w, WEB2, L4_HISTORY_PACKETS)));
}

/* A data plane that is gone, restarted, or was not read for long. */
static void what_is_not_known_is_a_gap(void **state)
{
	struct world *w = *state;

	vip(w, WWW)->packets[LB_PACKETS_NEXT] = 1000;
	record(w, &w->counters);
	record_later(w, 10);
	assert_true(of_frontend(w, WWW, LB_PACKETS_NEXT) == 0);
	record(w, &w->counters); /* the same reading again */
	assert_true(isnan(of_frontend(w, WWW, LB_PACKETS_NEXT)));
	record(w, NULL);
	assert_true(isnan(of_frontend(w, WWW, LB_PACKETS_NEXT)));
	record_later(w, 300);
	assert_true(isnan(of_frontend(w, WWW, LB_PACKETS_NEXT)));
	record_later(w, 10);
	assert_true(of_frontend(w, WWW, LB_PACKETS_NEXT) == 0);
	vip(w, WWW)->packets[LB_PACKETS_NEXT] = 5; /* it begins again */
	record_later(w, 10);
	assert_true(isnan(of_frontend(w, WWW, LB_PACKETS_NEXT)));
	assert_true(of_frontend(w, WWW, LB_PACKETS_FIRST) == 0);
}

static void a_data_plane_that_counts_servers_only_gives_the_traffic_of_backends(void **state)
{
	struct world *w = *state;
	struct addr web2 = ip("10.0.0.2");

	w->counters.has = LB_HAS_SERVER_TRAFFIC;
	vip(w, WWW)->bytes = 7;
	lb_counters_put_server(&w->counters, &web2)->packets = 1;
	record(w, &w->counters);
	lb_counters_put_server(&w->counters, &web2)->packets += 40;
	vip(w, WWW)->bytes += 7;
	record_later(w, 10);
	assert_true(of_backend(w, WEB2, L4_HISTORY_PACKETS) == 4);
	assert_true(isnan(of_backend(w, WEB1, L4_HISTORY_PACKETS)));
	assert_true(isnan(of_frontend(w, WWW, L4_HISTORY_VIP_BYTES))); /* not counted */
}

static void latency_is_the_mean_of_a_step_and_a_gap_without_a_pass(void **state)
{
	struct world *w = *state;

	l4_history_note_probe(&w->history, WEB1, 1000000);
	l4_history_note_probe(&w->history, WEB1, 3000000);
	record(w, NULL);
	assert_true(fabsf(of_backend(w, WEB1, L4_HISTORY_LATENCY) - 2e6F) <= 2e6F / 256);
	assert_true(isnan(of_backend(w, WEB2, L4_HISTORY_LATENCY)));
	record(w, NULL);
	assert_true(isnan(of_backend(w, WEB1, L4_HISTORY_LATENCY)));
}

static enum health_state state_of(const struct world *w, size_t backend)
{
	return l4_history_state(of_backend(w, backend, L4_HISTORY_STATE));
}

static void the_worst_state_of_a_step_is_kept(void **state)
{
	static const enum health_state worse[] = { HEALTH_UP, HEALTH_DISABLED, HEALTH_PAUSED,
						   HEALTH_UNKNOWN, HEALTH_DOWN };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(worse); i++) {
		for (size_t j = 0; j <= i; j++)
			l4_history_note_state(&w->history, WEB1, worse[j]);
		l4_history_note_state(&w->history, WEB1, HEALTH_UP);
		record(w, NULL);
		assert_int_equal(state_of(w, WEB1), worse[i]);
		assert_int_equal(state_of(w, WEB2), HEALTH_UP);
	}
	record(w, NULL);
	assert_int_equal(state_of(w, WEB1), HEALTH_UP);
}

/* aaa is new, api is gone, www and web2 stay; web1 is replaced. */
static void a_reload_keeps_the_names_that_stay(void **state)
{
	_cleanup_(fixture_freep) struct fixture *next = fixture_new();
	struct world *w = *state;

	vip(w, WWW)->packets[LB_PACKETS_NEXT] = 100;
	record(w, &w->counters);
	record_later(w, 10);
	fixture_backend(next, "web0", "10.0.0.1", NULL);
	fixture_backend(next, "web2", "10.0.0.2", NULL);
	fixture_frontend(next, "www", "192.0.2.1", 80);
	fixture_frontend(next, "aaa", "192.0.2.9", 80);
	w->config = fixture_config(next);
	l4_history_reload(&w->history, w->config);
	assert_int_equal(w->history.frontends.n, 2);
	assert_string_equal(w->history.frontends.items[0].name, "aaa");
	assert_null(w->history.frontends.items[0].lines[LB_PACKETS_NEXT].values);
	assert_true(of_frontend(w, 1, LB_PACKETS_NEXT) == 0);
	assert_null(w->history.backends.items[0].lines[L4_HISTORY_STATE].values);
	assert_int_equal(state_of(w, 1), HEALTH_UP);
	vip(w, 1)->packets[LB_PACKETS_NEXT] += 50; /* the reading before still counts */
	record_later(w, 10);
	assert_true(of_frontend(w, 1, LB_PACKETS_NEXT) == 5);
}

/* The figure of docs/design/history.md. */
static void memory_is_bounded(void **state)
{
	assert_in_range(L4_HISTORY_FRONTEND_BYTES, 10000, 11200);
	assert_in_range(L4_HISTORY_BACKEND_BYTES, 8000, 9000);
	assert_true(1000 * L4_HISTORY_FRONTEND_BYTES + 3000 * L4_HISTORY_BACKEND_BYTES <
		    (size_t)38000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(traffic_is_a_rate_between_two_readings, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_a_gap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_data_plane_that_counts_servers_only_gives_the_traffic_of_backends, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			latency_is_the_mean_of_a_step_and_a_gap_without_a_pass, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_worst_state_of_a_step_is_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_reload_keeps_the_names_that_stay, set_up,
						tear_down),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests_name("core/l4/history", tests, NULL, NULL);
}
