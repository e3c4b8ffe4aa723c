/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/action.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "proto/maglev.pb-c.h"
#include "proto/router.pb-c.h"
#include "proto/speaker.pb-c.h"

#define NOW ((int64_t)1000)

/* The request for the command of these words; the caller frees it. */
static void *request_of(const char *const *words, size_t n)
{
	static struct command c;
	_cleanup_(buf_free) struct buf why = { 0 };

	if (command_parse(words, n, false, &c, &why) < 0)
		fail_msg("%s", buf_cstr(&why));
	return action_request(action_of(c.act), &c, &(struct action_input){ .now = NOW });
}

#define REQUEST(...)                                                                               \
	request_of((const char *const[]){ __VA_ARGS__ },                                           \
		   ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

static const struct action *find_action(const char *path)
{
	for (size_t i = 0; i < ACTS; i++)
		if (action_of(i) && strcmp(action_of(i)->method->path, path) == 0)
			return action_of(i);
	return NULL;
}

static void check_service(const ProtobufCServiceDescriptor *service, enum server server)
{
	unsigned known = 0;

	for (unsigned i = 0; i < service->n_methods; i++) {
		const ProtobufCMethodDescriptor *m = &service->methods[i];
		const struct action *a;
		char path[128];

		snprintf(path, sizeof(path), "/%s/%s", service->name, m->name);
		a = find_action(path);
		if (!a) {
			fail_msg("no command calls %s", path);
			return;
		}
		assert_ptr_equal(a->method->request, m->input);
		assert_ptr_equal(a->method->response, m->output);
		assert_true(a->render || a == action_of(ACT_VERSION)); /* has its own views */
		assert_int_equal(a->server, server);
	}
	for (size_t i = 0; i < ACTS; i++)
		known += action_of(i) && action_of(i)->server == server;
	assert_int_equal(known, service->n_methods);
}

/*
 * NFR-5.4: maglevc can call every method of maglevd, of maglev-speaker and of maglev-router, and no
 * other.
 */
static void every_method_of_the_services_has_its_command(void **state)
{
	check_service(&maglev__maglev__descriptor, SERVER_MAGLEVD);
	check_service(&maglev__speaker__descriptor, SERVER_SPEAKER);
	check_service(&maglev__router__descriptor, SERVER_ROUTER);
}

static void what_needs_no_server_has_no_action(void **state)
{
	assert_null(action_of(ACT_HELP));
	assert_null(action_of(ACT_EXIT));
}

static void a_name_goes_into_its_request(void **state)
{
	_cleanup_(cleanup_free) Maglev__GetFrontendRequest *f = REQUEST("show", "frontends", "www");
	_cleanup_(cleanup_free) Maglev__GetBackendRequest *b = REQUEST("show", "backends", "web1");
	_cleanup_(cleanup_free) Maglev__GetHealthCheckRequest *h =
		REQUEST("show", "healthchecks", "ping");

	assert_string_equal(f->name, "www");
	assert_string_equal(b->name, "web1");
	assert_string_equal(h->name, "ping");
}

static void the_past_is_that_of_a_name(void **state)
{
	_cleanup_(cleanup_free) Maglev__GetHistoryRequest *f =
		REQUEST("show", "history", "frontend", "www", "day");
	_cleanup_(cleanup_free) Maglev__GetHistoryRequest *b =
		REQUEST("show", "history", "backend", "web1");

	assert_int_equal(f->n_frontends, 1);
	assert_int_equal(f->n_backends, 0);
	assert_string_equal(f->span, "day");
	assert_int_equal(b->n_backends, 1);
	assert_string_equal(b->span, "hour");
}

static void a_request_that_is_explained_has_all_its_parts(void **state)
{
	_cleanup_(cleanup_free) Maglev__ExplainRequestRequest *plain =
		REQUEST("show", "route-for", "GET", "a.example", "/x?y=1");
	_cleanup_(cleanup_free) Maglev__ExplainRequestRequest *full =
		REQUEST("show", "route-for", "POST", "a.example", "/", "listener", "http", "header",
			"X-Canary: 1");

	assert_string_equal(plain->method, "GET");
	assert_string_equal(plain->host, "a.example");
	assert_string_equal(plain->path, "/x?y=1");
	assert_string_equal(plain->listener, "");
	assert_int_equal(plain->n_headers, 0);
	assert_string_equal(full->listener, "http");
	assert_int_equal(full->n_headers, 1);
}

static void a_rollback_may_name_a_generation(void **state)
{
	_cleanup_(cleanup_free) Maglev__RollbackRequest *last = REQUEST("rollback", "router");
	_cleanup_(cleanup_free) Maglev__RollbackRequest *one =
		REQUEST("rollback", "router", "to", "12345678901");

	assert_int_equal(last->number, 0);
	assert_int_equal(one->number, UINT64_C(12345678901));
}

static void an_act_has_its_reason_and_its_end(void **state)
{
	_cleanup_(cleanup_free) Maglev__BackendRequest *plain =
		REQUEST("set", "backend", "web1", "pause");
	_cleanup_(cleanup_free) Maglev__BackendRequest *full =
		REQUEST("set", "backend", "web1", "disable", "for", "1m", "reason", "new disk");
	_cleanup_(cleanup_free) Maglev__BackendRequest *forever =
		REQUEST("set", "backend", "web1", "pause", "for", "2562047h47m16.8s");

	assert_string_equal(plain->name, "web1");
	assert_string_equal(plain->reason, "");
	assert_int_equal(plain->until, 0);
	assert_string_equal(full->reason, "new disk");
	assert_int_equal(full->until, NOW + 60 * NSEC_PER_SEC);
	assert_true(forever->until > 0);
}

static void a_weight_names_frontend_pool_and_backend(void **state)
{
	_cleanup_(cleanup_free) Maglev__SetWeightRequest *m = REQUEST(
		"set", "frontend", "www", "pool", "primary", "backend", "web1", "weight", "42");
	_cleanup_(cleanup_free) Maglev__SetWeightRequest *flush =
		REQUEST("set", "frontend", "www", "pool", "primary", "backend", "web1", "weight",
			"0", "flush");

	assert_string_equal(m->frontend, "www");
	assert_string_equal(m->pool, "primary");
	assert_string_equal(m->backend, "web1");
	assert_int_equal(m->weight, 42);
	assert_false(m->flush);
	assert_int_equal(flush->weight, 0);
	assert_true(flush->flush);
}

static void a_watch_asks_for_what_was_named(void **state)
{
	_cleanup_(cleanup_free) Maglev__WatchRequest *all = REQUEST("watch", "events", "num", "3");
	_cleanup_(cleanup_free) Maglev__WatchRequest *some =
		REQUEST("watch", "events", "log", "level", "debug", "frontend");
	_cleanup_(cleanup_free) Maglev__WatchRequest *backend =
		REQUEST("watch", "events", "backend");
	_cleanup_(cleanup_free) Maglev__WatchRequest *whole =
		REQUEST("watch", "events", "config", "info");
	_cleanup_(cleanup_free) Maglev__WatchRequest *plane =
		REQUEST("watch", "events", "probes", "dataplane");

	assert_false(all->log || all->backend || all->frontend || all->config || all->dataplane);
	assert_false(all->info || all->probes);
	assert_true(whole->config && whole->info && !whole->dataplane && !whole->probes);
	assert_true(plane->dataplane && plane->probes && !plane->config && !plane->info);
	assert_false(plane->log || plane->backend || plane->frontend);
	assert_string_equal(all->log_level, "");
	assert_true(some->log && some->frontend && !some->backend);
	assert_string_equal(some->log_level, "debug");
	assert_true(backend->backend && !backend->log && !backend->frontend);
}

static void a_sync_is_a_plan_only_when_it_says_so(void **state)
{
	_cleanup_(cleanup_free) Maglev__SyncVPPLBStateRequest *all = REQUEST("sync", "lb", "state");
	_cleanup_(cleanup_free) Maglev__SyncVPPLBStateRequest *plan =
		REQUEST("sync", "vpp", "lb", "state", "www", "plan");

	assert_string_equal(all->frontend, "");
	assert_false(all->plan);
	assert_string_equal(plan->frontend, "www");
	assert_true(plan->plan);
}

static void a_file_with_mistakes_is_not_accepted(void **state)
{
	Maglev__CheckConfigResponse check;
	Maglev__ReloadConfigResponse reload;

	maglev__check_config_response__init(&check);
	maglev__reload_config_response__init(&reload);
	assert_false(action_of(ACT_CONFIG_CHECK)->accepted(&check.base));
	assert_false(action_of(ACT_CONFIG_RELOAD)->accepted(&reload.base));
	check.ok = reload.ok = true;
	assert_true(action_of(ACT_CONFIG_CHECK)->accepted(&check.base));
	assert_true(action_of(ACT_CONFIG_RELOAD)->accepted(&reload.base));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_method_of_the_services_has_its_command),
		cmocka_unit_test(what_needs_no_server_has_no_action),
		cmocka_unit_test(a_name_goes_into_its_request),
		cmocka_unit_test(the_past_is_that_of_a_name),
		cmocka_unit_test(a_request_that_is_explained_has_all_its_parts),
		cmocka_unit_test(a_rollback_may_name_a_generation),
		cmocka_unit_test(an_act_has_its_reason_and_its_end),
		cmocka_unit_test(a_weight_names_frontend_pool_and_backend),
		cmocka_unit_test(a_watch_asks_for_what_was_named),
		cmocka_unit_test(a_sync_is_a_plan_only_when_it_says_so),
		cmocka_unit_test(a_file_with_mistakes_is_not_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
