/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/mux/show.h"
#include "src/mux/show_world_test.h"

#define NOW (1700000000 * NSEC_PER_SEC)

/* The document, read part by part. between(): called after each part. */
static json_t *read_with(const struct show *s, enum show_document document, void (*between)(int))
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct show_reader r;
	json_error_t error;
	json_t *json;
	int parts = 0;

	show_read_start(&r, s, document);
	while (show_read(&r, &out)) {
		assert_true(++parts < 1000);
		if (between)
			between(parts);
	}
	json = json_loadb(out.p, out.n, JSON_REJECT_DUPLICATES, &error);
	if (!json)
		fail_msg("%s in %s", error.text, buf_cstr(&out));
	return json;
}

static void expect(const json_t *json, const char *path, const char *want)
{
	_cleanup_(buf_free) struct buf parts = { 0 };
	struct str rest, part;
	char *text;

	buf_adds(&parts, path);
	rest = (struct str){ parts.p, parts.n };
	while (str_cut(&rest, '.', &part)) {
		char name[128];

		snprintf(name, sizeof(name), "%.*s", (int)part.n, part.p);
		json = json_is_array(json) ? json_array_get(json, (size_t)(name[0] - '0'))
					   : json_object_get(json, name);
		if (!json)
			fail_msg("no %s in %s", name, path);
	}
	text = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, want);
	free(text);
}

static struct show *new_show(void)
{
	world_reset();
	return show_new(&world_source, NOW);
}

static void the_state_has_the_members_of_the_original(void **state)
{
	struct show *s = new_show();
	json_t *json = read_with(s, SHOW_STATE, NULL);

	expect(json, "mux_services.lb/edge.has_queue", "true");
	expect(json, "mux_services.lb/edge.external_dns_hostname", "\"edge.example\"");
	expect(json, "mux_services.lb/edge.status_ingress", "\"203.0.113.10\"");
	assert_null(json_object_get(json_object_get(json, "mux_services"), "lb/none"));
	expect(json, "channel_services.app/api.mux_namespace", "\"lb\"");
	expect(json, "channel_services.app/api.mux_name", "\"edge\"");
	expect(json, "channel_services.app/api.lb_class", "\"svc-mux.nowake.ai/edge.lb\"");
	expect(json, "channel_services.app/api.external_dns", "\"edge.example\"");
	expect(json, "channel_services.app/api.custom_dns", "null");
	expect(json, "channel_services.app/api.ports.0.name", "\"http\"");
	expect(json, "channel_services.app/api.ports.0.port", "80");
	expect(json, "channel_services.app/api.ports.0.node_port", "30080");
	expect(json, "channel_services.app/api.ports.0.protocol", "\"TCP\"");
	expect(json, "channel_services.app/api.ports.0.mux_port", "20000");
	expect(json, "channel_services.app/api.ports.0.source", "\"auto\"");
	expect(json, "endpoints.app/api.ready_count", "1");
	expect(json, "endpoints.app/api.not_ready_count", "1");
	expect(json, "endpoints.app/api.pods", "[\"app/api-1\"]");
	expect(json, "events", "[]");
	json_decref(json);
	show_free(s);
}

static void refusals_and_conditions_say_why(void **state)
{
	struct show *s = new_show();
	json_t *json;

	world_views[0].condition = MUX_FROZEN;
	world_views[0].reason = "PortAllocationStoreInvalid";
	world_views[0].message = "Invalid mux state ConfigMap JSON";
	json = read_with(s, SHOW_STATE, NULL);
	expect(json, "mux_services.lb/edge.has_queue", "false");
	expect(json, "mux_services.lb/edge.condition", "\"frozen\"");
	expect(json, "mux_services.lb/edge.reason", "\"PortAllocationStoreInvalid\"");
	expect(json, "channel_services.app/api.ports.0.source", "null"); /* not known now */
	expect(json, "channel_services.app/web.state", "\"refused\"");
	expect(json, "channel_services.app/web.reason", "\"MuxPortConflict\"");
	expect(json, "channel_services.app/web.message",
	       "\"80/TCP is already claimed by app/api:bcaefde\"");
	expect(json, "channel_services.app/web.ports.0.mux_port", "null");
	expect(json, "channel_services.app/web.external_dns", "\"web.example\"");
	expect(json, "channel_services.app/web.custom_dns", "\"web.example\"");
	expect(json, "controller.dry_run", "true");
	expect(json, "controller.leader", "\"other\"");
	json_decref(json);
	show_free(s);
}

/* A pod with an address of each family is one pod; an address without a pod stands for itself. */
static void pods_count_once(void **state)
{
	struct show *s = new_show();
	json_t *json;

	world_dual_stack();
	json = read_with(s, SHOW_STATE, NULL);
	expect(json, "endpoints.app/api.ready_count", "1");
	expect(json, "endpoints.app/api.not_ready_count", "1");
	expect(json, "endpoints.app/api.addresses.2.address", "\"fd00::1\"");
	expect(json, "endpoints.app/web.pods", "[\"10.0.9.9\"]");
	json_decref(json);
	show_free(s);
}

static void the_topology_has_muxes_with_channels_only(void **state)
{
	struct show *s = new_show();
	json_t *json = read_with(s, SHOW_TOPOLOGY, NULL);

	assert_int_equal(json_object_size(json), 2);
	expect(json, "lb/edge.mux_external_dns", "\"edge.example\"");
	expect(json, "lb/edge.mux_external_ip", "\"203.0.113.10\"");
	expect(json, "lb/edge.mux_missing", "false");
	expect(json, "lb/edge.channels.1.name", "\"web\"");
	expect(json, "lb/edge.channels.0.ports.0.mux_port", "20000");
	expect(json, "lb/none.mux_missing", "true");
	expect(json, "lb/none.mux_external_ip", "null");
	expect(json, "lb/none.has_queue", "false");
	json_decref(json);
	show_free(s);
}

static int change_at;

static void change(int part)
{
	if (part == change_at)
		world_shrink();
}

/* Whatever goes away between two parts, the rest is a whole document. */
static void a_document_is_whole_whatever_changes_meanwhile(void **state)
{
	for (change_at = 1; change_at < 40; change_at++) {
		struct show *s = new_show();

		json_decref(read_with(s, SHOW_STATE, change));
		world_reset();
		json_decref(read_with(s, SHOW_TOPOLOGY, change));
		show_free(s);
	}
}

static struct mux_event event_of(const char *name, const char *note)
{
	return (struct mux_event){
		.namespace = "app", .name = name, .warning = true, .reason = "Bad", .note = note
	};
}

static void equal_events_are_counted_and_become_the_newest(void **state)
{
	struct mux_event a = event_of("a", "x"), b = event_of("b", "x");
	struct show *s = new_show();
	json_t *json;

	show_event(s, &a, NOW);
	show_event(s, &b, NOW + NSEC_PER_SEC);
	show_event(s, &a, NOW + 2 * NSEC_PER_SEC);
	json = read_with(s, SHOW_STATE, NULL);
	assert_int_equal(json_array_size(json_object_get(json, "events")), 2);
	expect(json, "events.0.resource", "\"app/a\"");
	expect(json, "events.0.count", "2");
	expect(json, "events.0.message", "\"Bad: x\"");
	expect(json, "events.0.type", "\"Warning\"");
	expect(json, "events.0.first_timestamp", "\"2023-11-14T22:13:20.000000000Z\"");
	expect(json, "events.0.last_timestamp", "\"2023-11-14T22:13:22.000000000Z\"");
	expect(json, "events.0.timestamp", "\"2023-11-14T22:13:22.000000000Z\"");
	expect(json, "events.1.resource", "\"app/b\"");
	json_decref(json);
	show_free(s);
}

static void the_oldest_events_are_dropped(void **state)
{
	struct show *s = new_show();
	json_t *json, *events;

	for (int i = 0; i < SHOW_EVENTS_MAX + 20; i++) {
		char name[16];
		struct mux_event e;

		snprintf(name, sizeof(name), "s%d", i);
		e = event_of(name, "x");
		show_event(s, &e, NOW);
	}
	json = read_with(s, SHOW_STATE, NULL);
	events = json_object_get(json, "events");
	assert_int_equal(json_array_size(events), SHOW_EVENTS_MAX);
	expect(json_array_get(events, 0), "resource", "\"app/s119\"");
	expect(json_array_get(events, SHOW_EVENTS_MAX - 1), "resource", "\"app/s20\"");
	json_decref(json);
	show_free(s);
}

static void a_long_message_is_cut_and_says_so(void **state)
{
	_cleanup_(buf_free) struct buf note = { 0 };
	struct show *s = new_show();
	const char *message;
	struct mux_event e;
	json_t *json;

	while (note.n < SHOW_MESSAGE_MAX + 100)
		buf_addc(&note, 'x');
	e = event_of("a", buf_cstr(&note));
	show_event(s, &e, NOW);
	json = read_with(s, SHOW_STATE, NULL);
	message = json_string_value(
		json_object_get(json_array_get(json_object_get(json, "events"), 0), "message"));
	assert_int_equal(strlen(message), SHOW_MESSAGE_MAX + strlen("... [truncated 105 chars]"));
	assert_non_null(strstr(message, "x... [truncated 105 chars]"));
	json_decref(json);
	show_free(s);
}

static void a_version_lasts_until_something_changes(void **state)
{
	struct buf before = { 0 }, after = { 0 };
	struct show *s = new_show();

	show_version(s, &before);
	show_version(s, &after);
	assert_string_equal(buf_cstr(&before), buf_cstr(&after));
	show_changed(s);
	after.n = 0;
	show_version(s, &after);
	assert_string_not_equal(buf_cstr(&before), buf_cstr(&after));
	buf_free(&before);
	buf_free(&after);
	show_free(s);
}

static bool is_target(const struct show *s, const char *host, uint16_t port, const char *owner)
{
	struct show_target t;
	char text[128];

	if (show_find_target(s, host, port, &t) < 0)
		return false;
	snprintf(text, sizeof(text), "%s/%s", t.namespace, t.name);
	assert_string_equal(text, owner);
	return true;
}

static void only_what_is_published_can_be_tested(void **state)
{
	struct show *s = new_show();

	assert_true(is_target(s, "203.0.113.10", 20000, "lb/edge"));
	assert_false(is_target(s, "203.0.113.10", 80, "")); /* not a port of the mux */
	assert_true(is_target(s, "10.0.0.1", 8080, "app/api"));
	assert_true(is_target(s, "10.0.0.2", 8080, "app/api")); /* not ready, but its own */
	assert_false(is_target(s, "10.0.0.1", 22, ""));
	assert_false(is_target(s, "10.0.0.1", 53, "")); /* UDP */
	assert_false(is_target(s, "127.0.0.1", 8080, ""));
	assert_false(is_target(s, "169.254.169.254", 80, ""));
	assert_false(is_target(s, "localhost", 8080, ""));
	world_dual_stack();
	assert_true(is_target(s, "fd00:0:0::1", 8080, "app/api")); /* another text of it */
	show_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_state_has_the_members_of_the_original),
		cmocka_unit_test(refusals_and_conditions_say_why),
		cmocka_unit_test(pods_count_once),
		cmocka_unit_test(the_topology_has_muxes_with_channels_only),
		cmocka_unit_test(a_document_is_whole_whatever_changes_meanwhile),
		cmocka_unit_test(equal_events_are_counted_and_become_the_newest),
		cmocka_unit_test(the_oldest_events_are_dropped),
		cmocka_unit_test(a_long_message_is_cut_and_says_so),
		cmocka_unit_test(a_version_lasts_until_something_changes),
		cmocka_unit_test(only_what_is_published_can_be_tested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
