/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/k8s/feed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/vec.h"
#include "lib/k8s/testkit.h"

/* What a feed reported. */
struct seen {
	struct k8s_names *names;
	struct k8s_kind *kind;
	VEC(struct test_thing *) things;
	VEC(struct k8s_feed_event) events; /* without object and texts */
	struct buf words;		   /* reason and message of errors */
	size_t stop_after;
};

static bool on_event(const struct k8s_feed_event *e, void *user)
{
	struct seen *seen = user;
	struct k8s_feed_event copy = *e;

	if (e->type == K8S_FEED_ERROR)
		buf_printf(&seen->words, "%s: %s", e->reason, e->message);
	else
		vec_push(&seen->things,
			 (struct test_thing *)k8s_object_keep(seen->kind, e->object));
	copy.object = NULL;
	vec_push(&seen->events, copy);
	return !seen->stop_after || seen->events.n < seen->stop_after;
}

static int set_up(void **state)
{
	struct seen *seen = mem_zalloc(sizeof(*seen));

	seen->names = k8s_names_new();
	seen->kind = k8s_kind_new(&test_thing_layout, seen->names);
	*state = seen;
	return 0;
}

static void forget(struct seen *seen)
{
	for (size_t i = 0; i < seen->things.n; i++)
		k8s_object_unref(seen->kind, &seen->things.items[i]->object);
	vec_free(&seen->things);
	vec_free(&seen->events);
	seen->words.n = 0;
}

static int tear_down(void **state)
{
	struct seen *seen = *state;

	forget(seen);
	assert_int_equal(k8s_names_count(seen->names), 0); /* nothing is left of shared names */
	k8s_kind_free(seen->kind);
	k8s_names_free(seen->names);
	buf_free(&seen->words);
	free(seen);
	return 0;
}

/* Feeds the text in pieces; returns what the last call returned. */
static int feed(struct seen *seen, enum k8s_feed_mode mode, const char *text, size_t piece,
		struct k8s_feed **ret)
{
	struct k8s_feed *f = k8s_feed_new(seen->kind, mode, on_event, seen);
	size_t n = strlen(text);
	int r = 0;

	for (size_t at = 0; r == 0 && at < n; at += piece)
		r = k8s_feed_take(f, text + at, n - at < piece ? n - at : piece);
	if (r == 0)
		r = k8s_feed_end(f);
	if (ret)
		*ret = f;
	else
		k8s_feed_free(f);
	return r;
}

static const char full[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\",\"namespace\":"
	"\"ns\","
	"\"uid\":\"u-1\",\"resourceVersion\":\"42\",\"generation\":7,\"deletionTimestamp\":\"2026-"
	"01-01T00:00:00Z\","
	"\"managedFields\":[{\"manager\":\"x\",\"fieldsV1\":{\"f:spec\":{}}}],"
	"\"labels\":{\"z\":\"1\",\"b\":\"2\",\"a\":\"\"},"
	"\"annotations\":{\"big\":\"left out\",\"test.example/x\":\"kept\",\"one\":\"kept "
	"\\u00e9\",\"one-more\":\"no\"}},"
	"\"spec\":{\"class\":\"gold\",\"title\":\"t\",\"unknown\":{\"deep\":[1,{\"a\":[]}]},"
	"\"raw\":{\"a\":[1,2.50,{\"b\":null,\"c\":\"\\\"\"}],\"d\":{},\"e\":[],\"f\":true},"
	"\"scale\":3,\"weight\":0,\"tls\":{\"mode\":\"Terminate\",\"x\":1},\"ips\":[\"10.0.0.1\","
	"\"fd00::1\"],"
	"\"ports\":[{\"name\":\"http\",\"port\":80,\"targetPort\":\"web\"},{\"targetPort\":8080,"
	"\"port\":null},{}]},"
	"\"status\":{\"ready\":false}}";

static void check_full(const struct test_thing *t)
{
	const struct test_port *ports = t->ports.items;

	assert_string_equal(t->object.namespace, "ns");
	assert_string_equal(t->object.name, "a");
	assert_string_equal(t->object.uid, "u-1");
	assert_int_equal(t->object.version, 42);
	assert_int_equal(t->object.generation, 7);
	assert_int_equal(t->object.deleting, K8S_YES);
	assert_false(t->object.odd);
	assert_int_equal(t->labels.n, 3);
	assert_string_equal(((const struct k8s_pair *)t->labels.items)[0].key, "a");
	assert_string_equal(k8s_map_get(&t->labels, "z"), "1");
	assert_string_equal(k8s_map_get(&t->labels, "a"), "");
	assert_null(k8s_map_get(&t->labels, "c"));
	assert_int_equal(t->annotations.n, 2);
	assert_string_equal(k8s_map_get(&t->annotations, "test.example/x"), "kept");
	assert_string_equal(k8s_map_get(&t->annotations, "one"), "kept \xc3\xa9");
	assert_string_equal(t->class, "gold");
	assert_string_equal(t->title, "t");
	assert_string_equal(
		t->raw,
		"{\"a\":[1,2.50,{\"b\":null,\"c\":\"\\\"\"}],\"d\":{},\"e\":[],\"f\":true}");
	assert_string_equal(t->scale, "3");
	assert_int_equal(t->weight, 0);
	assert_int_equal(t->has_tls, K8S_YES);
	assert_string_equal(t->tls_mode, "Terminate");
	assert_int_equal(t->ips.n, 2);
	assert_string_equal(k8s_string_at(&t->ips, 1), "fd00::1");
	assert_int_equal(t->ports.n, 3);
	assert_string_equal(ports[0].name, "http");
	assert_string_equal(ports[0].target, "web");
	assert_int_equal(ports[0].port, 80);
	assert_null(ports[1].name);
	assert_string_equal(ports[1].target, "8080");
	assert_int_equal(ports[1].port, -1);
	assert_null(ports[2].target);
	assert_int_equal(t->ready, K8S_NO);
}

/* However the bytes are cut, the same fields are kept and all others are not. */
static void an_object_has_the_fields_of_its_table(void **state)
{
	struct seen *seen = *state;

	for (size_t piece = 1; piece < sizeof(full); piece++) {
		assert_int_equal(feed(seen, K8S_FEED_OBJECT, full, piece, NULL), 0);
		assert_int_equal(seen->things.n, 1);
		check_full(seen->things.items[0]);
		forget(seen);
	}
}

static void a_block_is_not_larger_than_what_is_kept(void **state)
{
	struct seen *seen = *state;

	assert_int_equal(feed(seen, K8S_FEED_OBJECT, full, 4096, NULL), 0);
	assert_true(k8s_object_size(seen->kind, &seen->things.items[0]->object) <
		    sizeof(struct test_thing) + 3 * sizeof(struct test_port) + 320);
}

static void absent_and_null_values_are_presets(void **state)
{
	struct seen *seen = *state;
	const struct test_thing *t;

	assert_int_equal(
		feed(seen, K8S_FEED_OBJECT,
		     "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"1\",\"labels\":null},"
		     "\"spec\":{\"title\":null,\"raw\":null,\"tls\":null,\"ports\":null},"
		     "\"status\":null}",
		     7, NULL),
		0);
	t = seen->things.items[0];
	assert_string_equal(t->object.namespace, "");
	assert_int_equal(t->object.deleting, K8S_UNSET);
	assert_null(t->title);
	assert_null(t->raw);
	assert_null(t->class);
	assert_int_equal(t->weight, 1);
	assert_int_equal(t->has_tls, K8S_UNSET);
	assert_int_equal(t->ready, K8S_UNSET);
	assert_int_equal(t->ports.n + t->labels.n, 0);
	assert_false(t->object.odd);
}

/* Each of these spoils one value; the rest of the object is kept. */
static void a_value_of_another_type_counts_as_absent(void **state)
{
	static const char *const spoilt[] = {
		"\"class\":1",
		"\"title\":{\"a\":[1]}",
		"\"title\":[]",
		"\"weight\":\"1\"",
		"\"weight\":1.5",
		"\"tls\":{\"mode\":[]}",
		"\"ips\":{}",
		"\"ips\":[1]",
		"\"ips\":[[\"a\"]]",
		"\"ports\":{\"a\":{}}",
		"\"ports\":[1]",
		"\"ports\":[[{}]]",
		"\"ports\":[{\"port\":\"80\"}]",
		"\"ports\":[null]",
		"\"scale\":{}",
	};
	struct seen *seen = *state;

	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		struct buf text = { 0 };
		const struct test_thing *t;

		buf_printf(&text,
			   "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"1\"},\"spec\":{%s},"
			   "\"status\":{\"ready\":true}}",
			   spoilt[i]);
		assert_int_equal(feed(seen, K8S_FEED_OBJECT, buf_cstr(&text), 3, NULL), 0);
		t = seen->things.items[0];
		assert_true(t->object.odd);
		assert_int_equal(t->ready, K8S_YES);
		assert_null(t->title);
		assert_int_equal(t->weight, 1);
		buf_free(&text);
		forget(seen);
	}
}

static void a_list_reports_items_and_its_version(void **state)
{
	static const char text[] =
		"{\"kind\":\"ThingList\",\"metadata\":{\"resourceVersion\":\"900\",\"continue\":"
		"\"tok en\",\"remainingItemCount\":5},"
		"\"items\":[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}},"
		"{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"2\"},\"reason\":{}}]}";
	struct seen *seen = *state;
	struct k8s_feed *f;

	assert_int_equal(feed(seen, K8S_FEED_LIST, text, 5, &f), 0);
	assert_int_equal(seen->things.n, 2);
	assert_int_equal(seen->events.items[0].type, K8S_FEED_ITEM);
	assert_string_equal(seen->things.items[1]->object.name, "b");
	assert_false(seen->things.items[1]->object.odd);
	assert_int_equal(k8s_feed_list(f)->version, 900);
	assert_string_equal(k8s_feed_list(f)->more, "tok en");
	k8s_feed_free(f);
}

static void an_empty_list_may_have_no_items(void **state)
{
	struct seen *seen = *state;

	assert_int_equal(feed(seen, K8S_FEED_LIST,
			      "{\"items\":null,\"metadata\":{\"resourceVersion\":\"1\"}}", 9, NULL),
			 0);
	assert_int_equal(feed(seen, K8S_FEED_LIST,
			      "{\"items\":[],\"metadata\":{\"resourceVersion\":\"1\"}}", 9, NULL),
			 0);
	assert_int_equal(seen->things.n, 0);
}

static void a_watch_reports_events(void **state)
{
	static const char text[] =
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":"
		"\"1\"}}}\n"
		"{\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"2\"}},\"type\":"
		"\"MODIFIED\"}\n"
		"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\","
		"\"resourceVersion\":\"3\"}}}\n"
		"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Thing\",\"metadata\":{"
		"\"resourceVersion\":\"4\",\"creationTimestamp\":null}}}\n"
		"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\","
		"\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"metadata\":{},\"status\":"
		"\"Failure\",\"message\":\"too old\",\"reason\":\"Expired\",\"code\":410}}\n";
	static const enum k8s_feed_type types[] = { K8S_FEED_ADDED,    K8S_FEED_MODIFIED,
						    K8S_FEED_DELETED,  K8S_FEED_BOOKMARK,
						    K8S_FEED_BOOKMARK, K8S_FEED_ERROR };
	struct seen *seen = *state;

	for (size_t piece = 1; piece < 200; piece++) {
		assert_int_equal(feed(seen, K8S_FEED_WATCH, text, piece, NULL), 0);
		assert_int_equal(seen->events.n, 6);
		for (size_t i = 0; i < 6; i++)
			assert_int_equal(seen->events.items[i].type, types[i]);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(seen->things.items[i]->object.version, i + 1);
		assert_false(seen->events.items[3].initial_end);
		assert_true(seen->events.items[4].initial_end);
		assert_int_equal(seen->events.items[5].code, 410);
		assert_string_equal(buf_cstr(&seen->words), "Expired: too old");
		forget(seen);
	}
}

static void what_is_not_an_answer_is_refused(void **state)
{
	static const struct {
		enum k8s_feed_mode mode;
		const char *text;
	} bad[] = {
		{ K8S_FEED_LIST, "" },
		{ K8S_FEED_LIST, "[]" },
		{ K8S_FEED_LIST, "{}" },
		{ K8S_FEED_LIST, "{\"items\":[]}" },
		{ K8S_FEED_LIST, "{\"items\":{},\"metadata\":{\"resourceVersion\":\"1\"}}" },
		{ K8S_FEED_LIST, "{\"items\":[1],\"metadata\":{\"resourceVersion\":\"1\"}}" },
		{ K8S_FEED_LIST, "{\"items\":[],\"metadata\":{\"resourceVersion\":1}}" },
		{ K8S_FEED_LIST, "{\"items\":[],\"metadata\":{\"resourceVersion\":\"x\"}}" },
		{ K8S_FEED_LIST, "{\"items\":[],\"metadata\":[]}" },
		{ K8S_FEED_LIST, "{\"items\":[{\"metadata\":{\"resourceVersion\":\"1\"}}],"
				 "\"metadata\":{\"resourceVersion\":\"1\"}}" },
		{ K8S_FEED_LIST, "{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"metadata\":{"
				 "\"resourceVersion\":\"1\"}}" },
		{ K8S_FEED_LIST, "{\"items\":[],\"metadata\":{\"resourceVersion\":\"1\"}" },
		{ K8S_FEED_WATCH, "{}" },
		{ K8S_FEED_WATCH, "[]" },
		{ K8S_FEED_WATCH, "{\"type\":\"ADDED\"}" },
		{ K8S_FEED_WATCH, "{\"type\":\"STRANGE\",\"object\":{}}" },
		{ K8S_FEED_WATCH, "{\"type\":1,\"object\":{}}" },
		{ K8S_FEED_WATCH, "{\"type\":\"ADDED\",\"object\":[]}" },
		{ K8S_FEED_WATCH, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
				  "\"resourceVersion\":\"-1\"}}}" },
		{ K8S_FEED_WATCH, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"na" },
		{ K8S_FEED_OBJECT, "" },
		{ K8S_FEED_OBJECT, "null" },
		{ K8S_FEED_OBJECT,
		  "{\"metadata\":{\"name\":\"a\\u0000b\",\"resourceVersion\":\"1\"}}" },
	};
	struct seen *seen = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct k8s_feed *f;

		assert_int_equal(feed(seen, bad[i].mode, bad[i].text, 4, &f), -EBADMSG);
		assert_true(k8s_feed_reason(f)[0]);
		assert_int_equal(k8s_feed_take(f, "{}", 2), -EBADMSG);
		k8s_feed_free(f);
		forget(seen);
	}
}

static void the_receiver_can_stop(void **state)
{
	struct seen *seen = *state;

	seen->stop_after = 1;
	assert_int_equal(
		feed(seen, K8S_FEED_LIST,
		     "{\"items\":[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}},"
		     "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"1\"}}]}",
		     1000, NULL),
		-ECANCELED);
	assert_int_equal(seen->things.n, 1);
}

/* A value that never ends: refused when it is larger than any object can be. */
static void an_object_without_end_is_refused(void **state)
{
	static const char begin[] = "{\"type\":\"ADDED\",\"object\":{\"x\":[";
	struct seen *seen = *state;
	struct k8s_feed *f = k8s_feed_new(seen->kind, K8S_FEED_WATCH, on_event, seen);
	size_t fed = 0;
	char zeros[8192];
	int r = k8s_feed_take(f, begin, sizeof(begin) - 1);

	for (size_t i = 0; i < sizeof(zeros); i += 2)
		memcpy(zeros + i, "0,", 2);
	for (; r == 0 && fed < 3 * K8S_OBJECT_BYTES; fed += sizeof(zeros))
		r = k8s_feed_take(f, zeros, sizeof(zeros));
	assert_int_equal(r, -EBADMSG);
	assert_string_equal(k8s_feed_reason(f), "an object is too large");
	k8s_feed_free(f);
}

/* Tiny elements of a list take much more memory than text. */
static void an_object_that_takes_too_much_memory_is_refused(void **state)
{
	static const char begin[] = "{\"type\":\"ADDED\",\"object\":{\"spec\":{\"ports\":[{}";
	struct seen *seen = *state;
	struct k8s_feed *f = k8s_feed_new(seen->kind, K8S_FEED_WATCH, on_event, seen);
	int r = k8s_feed_take(f, begin, sizeof(begin) - 1);

	for (size_t i = 0; r == 0 && i < K8S_OBJECT_BYTES / 3; i++)
		r = k8s_feed_take(f, ",{}", 3);
	assert_int_equal(r, -EBADMSG);
	assert_string_equal(k8s_feed_reason(f), "an object is too large");
	k8s_feed_free(f);
}

int main(void)
{
#define STORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		STORY(an_object_has_the_fields_of_its_table),
		STORY(a_block_is_not_larger_than_what_is_kept),
		STORY(absent_and_null_values_are_presets),
		STORY(a_value_of_another_type_counts_as_absent),
		STORY(a_list_reports_items_and_its_version),
		STORY(an_empty_list_may_have_no_items),
		STORY(a_watch_reports_events),
		STORY(what_is_not_an_answer_is_refused),
		STORY(the_receiver_can_stop),
		STORY(an_object_without_end_is_refused),
		STORY(an_object_that_takes_too_much_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
