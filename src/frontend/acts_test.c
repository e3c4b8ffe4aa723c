/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "proto/maglev.pb-c.h"
#include "proto/router.pb-c.h"
#include "proto/speaker.pb-c.h"
#include "src/frontend/acts.h"

struct made {
	struct arena *arena;
	struct acts_words words;
	const struct act *act;
	ProtobufCMessage *request;
	struct buf reason;
	int r;
};

static struct made make(const char *path, const char *body)
{
	struct made m = { .arena = arena_new(), .r = -ENOENT };

	assert_int_equal(acts_split(str_of(path), m.arena, &m.words), 0);
	m.act = acts_find(&m.words);
	if (m.act)
		m.r = act_request(m.act, &m.words, str_of(body), m.arena, &m.request, &m.reason);
	return m;
}

static void drop(struct made *m)
{
	arena_free(m->arena);
	buf_free(&m->reason);
}

static void an_act_on_a_backend_is_its_call(void **state)
{
	struct made m = make("lon/backends/web%2F1/pause", "{\"reason\":\"disk\",\"until_s\":100}");
	const Maglev__BackendRequest *r = (const Maglev__BackendRequest *)m.request;

	assert_int_equal(m.r, 0);
	assert_string_equal(act_method(m.act)->path, "/maglev.Maglev/PauseBackend");
	assert_ptr_equal(r->base.descriptor, &maglev__backend_request__descriptor);
	assert_string_equal(r->name, "web/1");
	assert_string_equal(r->reason, "disk");
	assert_int_equal(r->until, 100 * NSEC_PER_SEC);
	drop(&m);
}

static void an_empty_body_leaves_everything_as_it_is(void **state)
{
	struct made m = make("lon/backends/b/enable", "");
	const Maglev__BackendRequest *r = (const Maglev__BackendRequest *)m.request;

	assert_int_equal(m.r, 0);
	assert_string_equal(r->reason, "");
	assert_int_equal(r->until, 0);
	drop(&m);
}

static void an_end_in_the_far_future_does_not_wrap(void **state)
{
	struct made m = make("lon/backends/b/disable", "{\"until_s\":9223372036854775807}");

	assert_int_equal(((const Maglev__BackendRequest *)m.request)->until, INT64_MAX);
	drop(&m);
}

static void a_weight_names_frontend_pool_and_backend(void **state)
{
	struct made m =
		make("lon/frontends/f/pools/p/backends/b/weight", "{\"weight\":30,\"flush\":true}");
	const Maglev__SetWeightRequest *r = (const Maglev__SetWeightRequest *)m.request;

	assert_int_equal(m.r, 0);
	assert_string_equal(r->frontend, "f");
	assert_string_equal(r->pool, "p");
	assert_string_equal(r->backend, "b");
	assert_int_equal(r->weight, 30);
	assert_true(r->flush);
	drop(&m);
}

static void the_rest_is_of_the_whole_server(void **state)
{
	struct made m = make("lon/sync", "{\"frontend\":\"www\",\"plan\":true}");
	const Maglev__SyncVPPLBStateRequest *r = (const Maglev__SyncVPPLBStateRequest *)m.request;

	assert_int_equal(m.r, 0);
	assert_string_equal(r->frontend, "www");
	assert_true(r->plan);
	drop(&m);
	m = make("lon/check", "{}");
	assert_string_equal(act_method(m.act)->path, "/maglev.Maglev/CheckConfig");
	drop(&m);
	m = make("lon/reload", "{}");
	assert_string_equal(act_method(m.act)->path, "/maglev.Maglev/ReloadConfig");
	assert_true(act_timeout(m.act) > 0);
	drop(&m);
}

static void what_is_no_act_is_not_found(void **state)
{
	static const char *const paths[] = { "",
					     "lon",
					     "lon/",
					     "lon/backends/b",
					     "lon/backends/b/destroy",
					     "lon/backends/b/pause/",
					     "lon/check/x",
					     "lon/frontends/f/pools/p/backends/b" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct made m = make(paths[i], "{}");

		assert_null(m.act);
		drop(&m);
	}
}

static void a_path_of_too_many_or_bad_words_is_refused(void **state)
{
	struct arena *arena = arena_new();
	struct acts_words words = { .n = 77 };

	assert_int_equal(acts_split(STR("1/2/3/4/5/6/7/8/9"), arena, &words), -EINVAL);
	assert_int_equal(acts_split(STR("a/%00"), arena, &words), -EINVAL);
	assert_int_equal(acts_split(STR("a/%zz"), arena, &words), -EINVAL);
	assert_int_equal(words.n, 77);
	arena_free(arena);
}

static void a_body_that_makes_no_sense_is_refused(void **state)
{
	static const char *const bodies[] = {
		"{\"weight\":\"x\"}", "{\"wieght\":1}",		 "[]", "{",
		"{\"weight\":-1}",    "{\"frontend\":\"other\"}"
	};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct made m = make("lon/frontends/f/pools/p/backends/b/weight", bodies[i]);

		assert_int_equal(m.r, -EINVAL);
		assert_true(m.reason.n > 0);
		drop(&m);
	}
}

/* 0 is a valid weight: it drains the backend. Leaving the weight out must not mean 0. */
static void a_weight_that_is_not_there_is_missed(void **state)
{
	static const char *const bodies[] = { "", "{}", "{\"flush\":true}", "{\"weight\":null}" };
	static const char path[] = "lon/frontends/f/pools/p/backends/b/weight";
	struct made m = make(path, "{\"weight\":0}");

	assert_int_equal(m.r, 0);
	drop(&m);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		m = make(path, bodies[i]);
		assert_int_equal(m.r, -EINVAL);
		assert_string_equal(buf_cstr(&m.reason), "weight: it is missing");
		assert_null(m.request);
		drop(&m);
	}
}

static void an_end_before_all_time_is_refused(void **state)
{
	struct made m = make("lon/backends/b/pause", "{\"until_s\":-5}");

	assert_int_equal(m.r, -EINVAL);
	assert_non_null(strstr(buf_cstr(&m.reason), "until_s"));
	drop(&m);
}

static void a_drain_is_a_call_to_its_speaker(void **state)
{
	struct made m = make("speakers/lb1/vips/www%2F1/drain", "{\"reason\":\"new switch\"}");
	const Maglev__DrainVIPRequest *r = (const Maglev__DrainVIPRequest *)m.request;
	const char *name;

	assert_int_equal(m.r, 0);
	assert_string_equal(act_method(m.act)->path, "/maglev.Speaker/DrainVIP");
	assert_int_equal(act_whose(m.act, &m.words, &name), ACTS_SPEAKER);
	assert_string_equal(name, "lb1");
	assert_ptr_equal(r->base.descriptor, &maglev__drain_viprequest__descriptor);
	assert_string_equal(r->vip, "www/1");
	assert_string_equal(r->reason, "new switch");
	drop(&m);
}

static void an_undrain_takes_no_reason(void **state)
{
	struct made m = make("speakers/lb1/vips/www/undrain", "");
	const Maglev__UndrainVIPRequest *r = (const Maglev__UndrainVIPRequest *)m.request;

	assert_int_equal(m.r, 0);
	assert_string_equal(act_method(m.act)->path, "/maglev.Speaker/UndrainVIP");
	assert_string_equal(r->vip, "www");
	drop(&m);
	m = make("speakers/lb1/vips/www/undrain", "{\"reason\":\"x\"}");
	assert_int_equal(m.r, -EINVAL);
	drop(&m);
}

static void a_rollback_names_its_generation(void **state)
{
	struct made m = make("routers/rt1/rollback", "{\"number\":12}");
	const char *name;

	assert_int_equal(m.r, 0);
	assert_string_equal(act_method(m.act)->path, "/maglev.Router/Rollback");
	assert_int_equal(act_whose(m.act, &m.words, &name), ACTS_ROUTER);
	assert_string_equal(name, "rt1");
	assert_int_equal(((const Maglev__RollbackRequest *)m.request)->number, 12);
	drop(&m);
	m = make("routers/rt1/rollback", "");
	assert_int_equal(m.r, -EINVAL);
	drop(&m);
}

/* The word is part of the path of speakers, and still a name that a server may have. */
static void a_server_may_be_named_speakers(void **state)
{
	struct made m = make("speakers/backends/b/pause", "");
	const char *name;

	assert_int_equal(m.r, 0);
	assert_int_equal(act_whose(m.act, &m.words, &name), ACTS_SERVER);
	assert_string_equal(name, "speakers");
	drop(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_act_on_a_backend_is_its_call),
		cmocka_unit_test(an_empty_body_leaves_everything_as_it_is),
		cmocka_unit_test(an_end_in_the_far_future_does_not_wrap),
		cmocka_unit_test(a_weight_names_frontend_pool_and_backend),
		cmocka_unit_test(the_rest_is_of_the_whole_server),
		cmocka_unit_test(what_is_no_act_is_not_found),
		cmocka_unit_test(a_path_of_too_many_or_bad_words_is_refused),
		cmocka_unit_test(a_body_that_makes_no_sense_is_refused),
		cmocka_unit_test(a_weight_that_is_not_there_is_missed),
		cmocka_unit_test(an_end_before_all_time_is_refused),
		cmocka_unit_test(a_drain_is_a_call_to_its_speaker),
		cmocka_unit_test(an_undrain_takes_no_reason),
		cmocka_unit_test(a_server_may_be_named_speakers),
		cmocka_unit_test(a_rollback_names_its_generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
