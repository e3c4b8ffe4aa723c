/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks web (https) and ping, backends a (web), b (ping, in no frontend) and s (static),
 * frontend www with pools primary (a 100, s 0) and fallback (s 50). Messages are compared as
 * JSON, which shows every field.
 */
#include "wire/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/fixture.h"
#include "core/l4/override.h"
#include "lib/pb/pb.h"

struct world {
	struct fixture *fixture;
	struct arena *arena;
	struct l4_model model;
	struct l4_backend_state *a, *b, *s;
};

static struct l4_config *file(struct fixture *f)
{
	static const struct l4_code_range codes[] = { { 200, 299 }, { 404, 404 } };
	struct l4_check *web = fixture_check(f, "web", 2, 3);

	web->type = L4_CHECK_HTTPS;
	web->port = 443;
	web->keep_alive = true;
	web->http = (struct l4_http_params){ "/up",	   NULL, "www.example",	    "^OK",
					     { codes, 2 }, true, { "/ca.pem", "x" } };
	web->src4 = (struct addr){ AF_INET, { 192, 0, 2, 1 } };
	fixture_check(f, "ping", 1, 1);
	fixture_backend(f, "a", "10.0.0.1", "web");
	fixture_backend(f, "b", "2001:db8::2", "ping");
	fixture_backend(f, "s", "10.0.0.3", NULL);
	fixture_frontend(f, "www", "198.51.100.1", 80)->description = "public";
	fixture_pool(f, "primary");
	fixture_member(f, "a", 100);
	fixture_member(f, "s", 0);
	fixture_pool(f, "fallback");
	fixture_member(f, "s", 50);
	return fixture_config(f);
}

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));

	w->fixture = fixture_new();
	w->arena = arena_new();
	l4_model_init(&w->model, file(w->fixture), 1);
	w->a = w->model.backends[0];
	w->b = w->model.backends[1];
	w->s = w->model.backends[2];
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	l4_model_free(&w->model);
	fixture_free(w->fixture);
	arena_free(w->arena);
	free(w);
	return 0;
}

static void assert_json(const ProtobufCMessage *message, const char *wanted)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	pb_json_write(message, PB_JSON_COMPACT, &text);
	assert_string_equal(buf_cstr(&text), wanted);
}

/* A result with all its details, as the engine records it. */
static void record(struct world *w, struct l4_backend_state *b, enum health_code code,
		   const char *reason, int64_t now)
{
	struct health_change change;
	bool changed = l4_backend_record(&w->model, b, code, false, now, &change);

	l4_backend_note_probe(b, reason, now, 7);
	if (changed)
		l4_backend_remember(b, &change, reason);
}

#define NOBODY "\"operator\":\"\",\"operator_address\":\"\""

/* FR-6.3 */
static void a_frontend_shows_its_pools_and_what_their_weights_come_to(void **state)
{
	struct world *w = *state;
	enum l4_frontend_health from;

	record(w, w->a, CODE_L7OK, "", 5);
	record(w, w->s, CODE_STATIC, "", 6);
	l4_model_set_weight(&w->model, "www", "primary", "a", 30);
	l4_model_judge_frontend(&w->model, 0, 9, &from);
	w->model.frontends[0].released = w->model.frontends[0].written = true;
	assert_json(&wire_frontend(&w->model, 0, w->arena)->base,
		    "{\"name\":\"www\",\"address\":\"198.51.100.1\",\"protocol\":\"tcp\","
		    "\"port\":80,\"pools\":["
		    "{\"name\":\"primary\",\"backends\":["
		    "{\"name\":\"a\",\"weight\":30,\"effective_weight\":30,"
		    "\"configured_weight\":100,\"state\":\"up\",\"mutated\":true,\"slow_start_"
		    "until\":\"0\"},"
		    "{\"name\":\"s\",\"weight\":0,\"effective_weight\":0,"
		    "\"configured_weight\":0,\"state\":\"up\",\"mutated\":false,\"slow_start_"
		    "until\":\"0\"}],"
		    "\"active\":true,\"slow_start\":\"0\"},"
		    "{\"name\":\"fallback\",\"backends\":["
		    "{\"name\":\"s\",\"weight\":50,\"effective_weight\":0,"
		    "\"configured_weight\":50,\"state\":\"up\",\"mutated\":false,\"slow_start_"
		    "until\":\"0\"}],"
		    "\"active\":false,\"slow_start\":\"0\"}],"
		    "\"description\":\"public\",\"src_ip_sticky\":false,\"flush_on_down\":true,"
		    "\"state\":\"up\",\"since\":\"9\",\"active_pool\":\"primary\","
		    "\"released\":true,\"pending\":false}");
}

static void a_frontend_without_an_up_backend_has_no_active_pool(void **state)
{
	struct world *w = *state;
	Maglev__FrontendInfo *info = wire_frontends(&w->model, 0, SIZE_MAX, w->arena)->frontends[0];

	assert_string_equal(info->active_pool, "");
	assert_false(info->pools[0]->active);
	assert_string_equal(info->state, "unknown");
}

static void a_backend_shows_its_probe_and_its_history_newest_first(void **state)
{
	struct world *w = *state;

	record(w, w->a, CODE_L7OK, "", 5);
	for (int64_t i = 0; i < 4; i++)
		record(w, w->a, CODE_L7STS, "503 instead of 200-299,404", 6 + i);
	assert_json(&wire_backend(&w->model, 0, w->arena)->base,
		    "{\"name\":\"a\",\"address\":\"10.0.0.1\",\"healthcheck\":\"web\","
		    "\"state\":\"down\",\"enabled\":true,\"counter\":0,\"rise\":2,\"fall\":3,"
		    "\"since\":\"6\",\"last_code\":\"L7STS\","
		    "\"last_reason\":\"503 instead of 200-299,404\",\"transitions\":["
		    "{\"from\":\"up\",\"to\":\"down\",\"code\":\"L7STS\",\"at\":\"6\","
		    "\"reason\":\"503 instead of 200-299,404\"," NOBODY "},"
		    "{\"from\":\"unknown\",\"to\":\"up\",\"code\":\"L7OK\",\"at\":\"5\",\"reason\":"
		    "\"\"," NOBODY "}],"
		    "\"frontends\":[\"www\"],\"last_probe\":\"9\",\"last_duration\":\"7\","
		    "\"overrides_kept\":false,\"slow_start_until\":\"0\"}");
}

static void a_backend_without_a_result_has_no_code(void **state)
{
	struct world *w = *state;

	assert_json(&wire_backend(&w->model, 1, w->arena)->base,
		    "{\"name\":\"b\",\"address\":\"2001:db8::2\",\"healthcheck\":\"ping\","
		    "\"state\":\"unknown\",\"enabled\":true,\"counter\":0,\"rise\":1,\"fall\":1,"
		    "\"since\":\"1\",\"last_code\":\"\",\"last_reason\":\"\",\"transitions\":[],"
		    "\"frontends\":[],\"last_probe\":\"0\",\"last_duration\":\"0\","
		    "\"overrides_kept\":false,\"slow_start_until\":\"0\"}");
}

#define DISABLED                                                                                   \
	"{\"act\":\"disabled\",\"reason\":\"new disk\",\"at\":\"5\",\"until\":\"99\"," NOBODY      \
	",\"from\":\"0\"}"

static void a_backend_shows_what_the_operator_said(void **state)
{
	struct world *w = *state;
	struct health_change change;
	const Maglev__BackendInfo *info;

	l4_backend_disable(&w->model, w->s, 5, &change);
	l4_backend_annotate(w->s, L4_ACT_DISABLED,
			    &(struct l4_note){ .reason = "new disk", .until = 99 });
	info = wire_backends(&w->model, 0, SIZE_MAX, w->arena)->backends[2];
	assert_string_equal(info->healthcheck, "");
	assert_string_equal(info->state, "disabled");
	assert_false(info->enabled);
	assert_json(&info->override->base, DISABLED);
}

static void encode_backends(struct world *w, size_t first, size_t n, struct buf *out)
{
	pb_encode(&wire_backends(&w->model, first, n, w->arena)->base, out);
}

static void parts_of_a_list_one_behind_the_other_are_the_list(void **state)
{
	_cleanup_(buf_free) struct buf whole = { 0 }, parts = { 0 };
	struct world *w = *state;
	size_t n = w->model.config->n_backends;

	encode_backends(w, 0, SIZE_MAX, &whole);
	encode_backends(w, 0, 1, &parts);
	encode_backends(w, 1, n - 2, &parts);
	encode_backends(w, n - 1, 100, &parts);
	encode_backends(w, n, 100, &parts);
	assert_int_equal(whole.n, parts.n);
	assert_memory_equal(whole.p, parts.p, whole.n);
	assert_int_equal(wire_frontends(&w->model, 0, 1, w->arena)->n_frontends, 1);
	assert_int_equal(wire_frontends(&w->model, 1000, 1, w->arena)->n_frontends, 0);
}

static void a_frontend_shows_what_the_operator_said_of_its_backends(void **state)
{
	struct world *w = *state;
	struct health_change change;
	const Maglev__FrontendInfo *info;

	l4_backend_disable(&w->model, w->s, 5, &change);
	l4_backend_annotate(w->s, L4_ACT_DISABLED,
			    &(struct l4_note){ .reason = "new disk", .until = 99 });
	info = wire_frontends(&w->model, 0, SIZE_MAX, w->arena)->frontends[0];
	assert_null(info->pools[0]->backends[0]->override);
	assert_json(&info->pools[1]->backends[0]->override->base, DISABLED);
}

static void a_check_shows_its_parameters_and_who_uses_it(void **state)
{
	struct world *w = *state;
	Maglev__ListHealthChecksResponse *all = wire_checks(w->model.config, w->arena);

	assert_int_equal(all->n_healthchecks, 2);
	assert_json(
		&all->healthchecks[1]->base,
		"{\"name\":\"web\",\"type\":\"https\",\"port\":443,"
		"\"interval\":\"2000000000\",\"fast_interval\":\"1000000000\","
		"\"down_interval\":\"5000000000\",\"timeout\":\"1000000000\",\"rise\":2,"
		"\"fall\":3,\"probe_ipv4_src\":\"192.0.2.1\",\"probe_ipv6_src\":\"\","
		"\"path\":\"/up\",\"host\":\"\",\"response_code\":\"200-299,404\","
		"\"response_regexp\":\"^OK\",\"server_name\":\"www.example\","
		"\"insecure_skip_verify\":true,\"keep_alive\":true,\"backends\":[\"a\"],"
		"\"ca_file\":\"/"
		"ca.pem\",\"send\":\"\",\"send_hex\":\"\",\"expect\":\"\",\"expect_regexp\":\"\","
		"\"query_name\":\"\",\"query_type\":\"\",\"expect_rcode\":\"\","
		"\"expect_address\":\"\",\"ports\":\"\"}");
	assert_string_equal(all->healthchecks[0]->path, "");
	assert_string_equal(all->healthchecks[0]->response_code, "");
	assert_string_equal(all->healthchecks[0]->backends[0], "b");
}

static void a_transition_is_an_event_for_each_frontend_or_one_without(void **state)
{
	struct world *w = *state;
	struct health_change change = { HEALTH_UP, HEALTH_DOWN, CODE_L4CON, 8 };
	struct wire_events events;

	l4_backend_note_probe(w->a, "refused", 8, 1);
	events = wire_backend_events(&w->model, w->a, &change, w->arena);
	assert_int_equal(events.n, 1);
	assert_json(&events.items[0]->base,
		    "{\"seq\":\"0\",\"at\":\"8\",\"backend\":{\"backend\":\"a\","
		    "\"frontend\":\"www\",\"from\":\"up\",\"to\":\"down\",\"code\":\"L4CON\","
		    "\"replay\":false,\"reason\":\"refused\"," NOBODY "}}");
	events = wire_backend_events(&w->model, w->b, &change, w->arena);
	assert_int_equal(events.n, 1);
	assert_string_equal(events.items[0]->backend->frontend, "");
	w->a->index = SIZE_MAX; /* removed */
	events = wire_backend_events(&w->model, w->a, &change, w->arena);
	w->a->index = 0;
	assert_int_equal(events.n, 1);
	assert_string_equal(events.items[0]->backend->frontend, "");
}

static void a_replay_goes_from_a_state_to_itself(void **state)
{
	struct world *w = *state;
	struct wire_events events = wire_backend_events(&w->model, w->b, NULL, w->arena);

	assert_json(&events.items[0]->base,
		    "{\"seq\":\"0\",\"at\":\"1\",\"backend\":{\"backend\":\"b\","
		    "\"frontend\":\"\",\"from\":\"unknown\",\"to\":\"unknown\",\"code\":\"\","
		    "\"replay\":true,\"reason\":\"\"," NOBODY "}}");
	record(w, w->a, CODE_L4TOUT, "no answer", 5);
	events = wire_backend_events(&w->model, w->a, NULL, w->arena);
	assert_json(&events.items[0]->base,
		    "{\"seq\":\"0\",\"at\":\"5\",\"backend\":{\"backend\":\"a\","
		    "\"frontend\":\"www\",\"from\":\"down\",\"to\":\"down\",\"code\":\"L4TOUT\","
		    "\"replay\":true,\"reason\":\"no answer\"," NOBODY "}}");
}

static void an_act_carries_the_operators_reason_and_no_other(void **state)
{
	struct world *w = *state;
	struct health_change change;
	struct wire_events events;

	l4_backend_note_probe(w->a, "refused", 8, 1);
	l4_backend_pause(w->a, 5, &change);
	l4_backend_annotate(w->a, L4_ACT_PAUSED,
			    &(struct l4_note){ .reason = "kernel", .until = 0 });
	events = wire_backend_events(&w->model, w->a, &change, w->arena);
	assert_string_equal(events.items[0]->backend->reason, "kernel");
	l4_backend_resume(w->a, 6, &change);
	events = wire_backend_events(&w->model, w->a, &change, w->arena);
	assert_string_equal(events.items[0]->backend->code, "resumed");
	assert_string_equal(events.items[0]->backend->reason, "");
}

/* Whose command it was: in the history, in the event and in the override. */
static void an_act_carries_its_operator(void **state)
{
	struct world *w = *state;
	struct who alice = { .name = "alice via dash" };
	const Maglev__BackendInfo *info;
	struct health_change change;
	struct wire_events events;

	assert_int_equal(addr_parse("192.0.2.7", &alice.address), 0);
	l4_backend_pause(w->a, 5, &change);
	l4_backend_annotate(w->a, L4_ACT_PAUSED, &(struct l4_note){ .reason = "", .who = &alice });
	l4_backend_remember(w->a, &change, "operator");
	l4_backend_credit(w->a, &alice);
	info = wire_backend(&w->model, 0, w->arena);
	assert_string_equal(info->override->operator_, "alice via dash");
	assert_string_equal(info->override->operator_address, "192.0.2.7");
	assert_string_equal(info->transitions[0]->operator_, "alice via dash");
	events = wire_backend_events(&w->model, w->a, &change, w->arena);
	assert_string_equal(events.items[0]->backend->operator_, "alice via dash");
	assert_string_equal(events.items[0]->backend->operator_address, "192.0.2.7");
	/* a probe has no operator, although the last act of the history has one */
	change.why = CODE_L4CON;
	events = wire_backend_events(&w->model, w->a, &change, w->arena);
	assert_string_equal(events.items[0]->backend->operator_, "");
}

static void overrides_are_listed_with_weights_and_plans(void **state)
{
	struct world *w = *state;
	const struct l4_note later = { .reason = "rack", .from = 50, .until = 60 };
	const struct l4_note slow = { .reason = "slow" };
	Maglev__ListOverridesResponse *list;
	struct health_change change;

	l4_backend_disable(&w->model, w->s, 5, &change);
	l4_backend_plan(w->a, &later, 6);
	l4_model_set_weight(&w->model, "www", "primary", "a", 30);
	l4_weight_annotate(l4_model_weight(&w->model, "www", "primary", "a"), &slow, 7);
	w->model.overrides_kept = true;
	list = wire_overrides(&w->model, 0, 100, w->arena);
	assert_true(list->kept);
	assert_int_equal(list->n_overrides, 3);
	assert_string_equal(list->overrides[0]->backend, "a");
	assert_string_equal(list->overrides[0]->override->act, "paused");
	assert_int_equal(list->overrides[0]->override->from, 50);
	assert_string_equal(list->overrides[1]->override->act, "disabled");
	assert_json(&list->overrides[2]->base,
		    "{\"backend\":\"a\",\"frontend\":\"www\",\"pool\":\"primary\",\"weight\":30,"
		    "\"configured_weight\":100,\"override\":{\"act\":\"weight\","
		    "\"reason\":\"slow\",\"at\":\"7\",\"until\":\"0\"," NOBODY ",\"from\":\"0\"}}");
	assert_null(wire_overrides(&w->model, 4, 100, w->arena));
	assert_int_equal(wire_backend(&w->model, 0, w->arena)->scheduled->from, 50);
	assert_string_equal(wire_frontend(&w->model, 0, w->arena)
				    ->pools[0]
				    ->backends[0]
				    ->weight_override->reason,
			    "slow");
}

static void an_outcome_names_backends_and_frontends(void **state)
{
	struct world *w = *state;
	const size_t first = 0;
	const struct l4_selection one = { &first, 1 };
	struct l4_outcome o;
	size_t refused;

	record(w, w->a, CODE_L7OK, "", 5);
	assert_int_equal(l4_foresee(&w->model, &one, L4_PAUSE, w->arena, &o, &refused), 0);
	assert_json(&wire_outcome(&w->model, &one, &o, w->arena)->base,
		    "{\"backends\":[{\"name\":\"a\",\"address\":\"10.0.0.1\",\"before\":\"up\","
		    "\"after\":\"paused\"}],\"frontends\":[{\"frontend\":\"www\","
		    "\"kind\":\"down\",\"pool_before\":\"primary\",\"pool_after\":\"\","
		    "\"servers_before\":1,\"servers_after\":0,\"members\":2}],"
		    "\"unaffected\":0,\"dry_run\":false}");
}

static void a_frontend_has_its_events_too(void **state)
{
	struct world *w = *state;
	enum l4_frontend_health from;

	assert_true(
		wire_frontend_event(&w->model, 0, L4_FRONTEND_UNKNOWN, w->arena)->frontend->replay);
	record(w, w->a, CODE_L7OK, "", 5);
	assert_true(l4_model_judge_frontend(&w->model, 0, 5, &from));
	assert_json(&wire_frontend_event(&w->model, 0, from, w->arena)->base,
		    "{\"seq\":\"0\",\"at\":\"5\",\"frontend\":{\"frontend\":\"www\","
		    "\"from\":\"unknown\",\"to\":\"up\",\"replay\":false}}");
}

static void a_configuration_event_says_what_is_in_force(void **state)
{
	struct world *w = *state;
	struct wire_config_status status = { .at = 9,
					     .since = 9,
					     .generation = 2,
					     .config = w->model.config,
					     .added = 1,
					     .removed = 2,
					     .changed = 3 };

	assert_json(&wire_config_event(&status, w->arena)->base,
		    "{\"seq\":\"0\",\"at\":\"9\",\"config\":{\"generation\":\"2\",\"ok\":true,"
		    "\"error\":\"\",\"errors\":0,\"since\":\"9\",\"frontends\":1,\"backends\":3,"
		    "\"healthchecks\":2,\"backends_added\":1,\"backends_removed\":2,"
		    "\"backends_changed\":3,\"replay\":false}}");
	status = (struct wire_config_status){ .at = 10,
					      .since = 9,
					      .generation = 2,
					      .config = w->model.config,
					      .error = "m.yaml:1:2: x: no such key",
					      .n_errors = 4,
					      .replay = true };
	assert_json(&wire_config_event(&status, w->arena)->base,
		    "{\"seq\":\"0\",\"at\":\"10\",\"config\":{\"generation\":\"2\",\"ok\":false,"
		    "\"error\":\"m.yaml:1:2: x: no such key\",\"errors\":4,\"since\":\"9\","
		    "\"frontends\":1,\"backends\":3,\"healthchecks\":2,\"backends_added\":0,"
		    "\"backends_removed\":0,\"backends_changed\":0,\"replay\":true}}");
}

static void a_sync_counts_the_operations_that_there_were(void **state)
{
	struct world *w = *state;
	const uint64_t ops[LB_OP_KINDS] = { [LB_OP_VIP_ADD] = 1, [LB_OP_AS_WEIGHT] = 7 };
	const struct wire_dataplane_status status = { .at = 9,
						      .dataplane = "vpp",
						      .change = "synced",
						      .reason = "",
						      .problem = "",
						      .connected = true,
						      .status = LB_CONNECTED,
						      .since = 4,
						      .warmup = WARMUP_DONE,
						      .last_full_sync = 8,
						      .scope = "all",
						      .vips = 3,
						      .ops = ops };

	assert_json(&wire_dataplane_event(&status, w->arena)->base,
		    "{\"seq\":\"0\",\"at\":\"9\",\"dataplane\":{\"dataplane\":\"vpp\","
		    "\"change\":\"synced\",\"reason\":\"\",\"connected\":true,\"since\":\"4\","
		    "\"problem\":\"\",\"warmup\":\"done\",\"held\":false,\"last_full_sync\":\"8\","
		    "\"scope\":\"all\",\"vips\":\"3\",\"operations\":{\"as-weight\":\"7\","
		    "\"vip-add\":\"1\"},\"replay\":false,\"status\":\"connected\"}}");
}

static void the_replay_of_a_data_plane_has_no_change(void **state)
{
	struct world *w = *state;
	const struct wire_dataplane_status status = { .at = 4,
						      .dataplane = "vpp",
						      .reason = "",
						      .problem = "no such socket",
						      .guard = true,
						      .since = 4,
						      .warmup = WARMUP_HANDS_OFF };

	assert_json(&wire_dataplane_event(&status, w->arena)->base,
		    "{\"seq\":\"0\",\"at\":\"4\",\"dataplane\":{\"dataplane\":\"vpp\","
		    "\"change\":\"\",\"reason\":\"\",\"connected\":false,\"since\":\"4\","
		    "\"problem\":\"no such socket\",\"warmup\":\"hands-off\",\"held\":true,"
		    "\"last_full_sync\":\"0\",\"scope\":\"\",\"vips\":\"0\",\"operations\":{},"
		    "\"replay\":true,\"status\":\"disconnected\"}}");
}

static void an_info_is_the_row_of_the_list(void **state)
{
	struct world *w = *state;
	Maglev__Event *backend = wire_backend_info_event(&w->model, 0, 7, w->arena);
	Maglev__Event *frontend = wire_frontend_info_event(&w->model, 0, 7, w->arena);

	assert_int_equal(backend->event_case, MAGLEV__EVENT__EVENT_BACKEND_INFO);
	assert_int_equal(frontend->event_case, MAGLEV__EVENT__EVENT_FRONTEND_INFO);
	assert_int_equal(backend->at, 7);
	assert_string_equal(backend->backend_info->name, "a");
	assert_string_equal(frontend->frontend_info->name, "www");
	assert_int_equal(frontend->frontend_info->n_pools, 2);
}

static void probes_tell_what_they_changed_in_a_backend(void **state)
{
	struct world *w = *state;
	const size_t both[] = { 0, 2 };
	struct health_change change;

	l4_backend_record(&w->model, w->a, CODE_L7STS, false, 5, &change);
	l4_backend_note_probe(w->a, "503", 5, 1000);
	assert_json(&wire_probes_event(&w->model, both, 2, 6, w->arena)->base,
		    "{\"seq\":\"0\",\"at\":\"6\",\"probes\":{\"probes\":[{\"name\":\"a\","
		    "\"counter\":0,\"last_code\":\"L7STS\",\"last_reason\":\"503\","
		    "\"last_probe\":\"5\",\"last_duration\":\"1000\"},{\"name\":\"s\","
		    "\"counter\":0,\"last_code\":\"\",\"last_reason\":\"\",\"last_probe\":\"0\","
		    "\"last_duration\":\"0\"}]}}");
}

static void errors_of_each_phase_stand_apart(void **state)
{
	struct world *w = *state;
	struct errs parse = { .arena = w->arena }, doubts = { .arena = w->arena };
	const char *lines[] = { "backend a: removed" };
	struct l4_changes changes = { lines, 1 };
	struct wire_config c = { .file = "m.yaml", .warnings = &doubts, .changes = &changes };

	errs_add(&doubts, (struct place){ .line = 3, .column = 1 }, "a", "doubtful");
	errs_add(&doubts, (struct place){ .line = 4, .column = 1 }, "b", "odd");
	assert_json(&wire_check_config(&c, w->arena)->base,
		    "{\"ok\":true,\"parse_error\":\"\",\"semantic_error\":\"\",\"warnings\":["
		    "\"m.yaml:3:1: a: doubtful\",\"m.yaml:4:1: b: odd\"],"
		    "\"changes\":[\"backend a: removed\"],\"reload_error\":\"\"}");
	errs_add(&parse, (struct place){ .line = 1, .column = 2 }, "x", "no such key");
	c = (struct wire_config){ .file = "m.yaml", .parse_errors = &parse };
	assert_json(
		&wire_reload_config(&c, w->arena)->base,
		"{\"ok\":false,\"parse_error\":\"m.yaml:1:2: x: no such key\","
		"\"semantic_error\":\"\",\"reload_error\":\"\",\"warnings\":[],\"changes\":[]}");
	c = (struct wire_config){ .file = "m.yaml", .semantic_errors = &parse };
	assert_string_equal(wire_check_config(&c, w->arena)->semantic_error,
			    "m.yaml:1:2: x: no such key");
	assert_false(wire_check_config(&c, w->arena)->ok);
	c = (struct wire_config){ .file = "m.yaml", .reload_error = "busy" };
	assert_false(wire_reload_config(&c, w->arena)->ok);
	assert_string_equal(wire_reload_config(&c, w->arena)->reload_error, "busy");
	c.changes = &changes;
	assert_json(&wire_check_config(&c, w->arena)->base,
		    "{\"ok\":false,\"parse_error\":\"\",\"semantic_error\":\"\",\"warnings\":[],"
		    "\"changes\":[\"backend a: removed\"],\"reload_error\":\"busy\"}");
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, build, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(a_frontend_shows_its_pools_and_what_their_weights_come_to),
		STORY(a_frontend_without_an_up_backend_has_no_active_pool),
		STORY(a_backend_shows_its_probe_and_its_history_newest_first),
		STORY(a_backend_without_a_result_has_no_code),
		STORY(a_backend_shows_what_the_operator_said),
		STORY(parts_of_a_list_one_behind_the_other_are_the_list),
		STORY(a_frontend_shows_what_the_operator_said_of_its_backends),
		STORY(a_check_shows_its_parameters_and_who_uses_it),
		STORY(a_transition_is_an_event_for_each_frontend_or_one_without),
		STORY(a_replay_goes_from_a_state_to_itself),
		STORY(an_act_carries_the_operators_reason_and_no_other),
		STORY(an_act_carries_its_operator),
		STORY(overrides_are_listed_with_weights_and_plans),
		STORY(an_outcome_names_backends_and_frontends),
		STORY(a_frontend_has_its_events_too),
		STORY(a_configuration_event_says_what_is_in_force),
		STORY(a_sync_counts_the_operations_that_there_were),
		STORY(the_replay_of_a_data_plane_has_no_change),
		STORY(an_info_is_the_row_of_the_list),
		STORY(probes_tell_what_they_changed_in_a_backend),
		STORY(errors_of_each_phase_stand_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
