/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/k8s/feed.h"

struct thing {
	struct k8s_object object;
	struct k8s_list labels, several;
	struct wire_selector one;
};

static const struct k8s_field fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct thing, labels),
	K8S_FIELD("spec.several", K8S_LIST, struct thing, several, .of = &wire_selector_layout),
	WIRE_SELECTOR("spec.one", struct thing, one),
};
static const struct k8s_layout layout = K8S_LAYOUT(struct thing, fields);

struct seen {
	struct arena *arena;
	struct labels_selector one;
	struct buf texts;
	bool has_one, matches;
};

static bool on_object(const struct k8s_feed_event *e, void *user)
{
	const struct thing *t = (const struct thing *)e->object;
	struct labels_selectors several;
	struct labels labels = wire_labels(&t->labels);
	struct seen *seen = user;

	seen->has_one = t->one.present == K8S_YES;
	seen->one = wire_selector(&t->one, seen->arena);
	several = wire_selectors(&t->several, seen->arena);
	seen->matches = labels_match_any(&several, &labels);
	labels_selector_format(&seen->one, &seen->texts);
	for (size_t i = 0; i < several.n; i++) {
		buf_adds(&seen->texts, " | ");
		labels_selector_format(&several.items[i], &seen->texts);
	}
	return true;
}

static void read_object(struct seen *seen, const char *json)
{
	struct k8s_names *names = k8s_names_new();
	struct k8s_kind *kind = k8s_kind_new(&layout, names);
	struct k8s_feed *feed = k8s_feed_new(kind, K8S_FEED_OBJECT, on_object, seen);

	assert_int_equal(k8s_feed_take(feed, json, strlen(json)), 0);
	assert_int_equal(k8s_feed_end(feed), 0);
	k8s_feed_free(feed);
	k8s_kind_free(kind);
	k8s_names_free(names);
}

#define METADATA                                                                                   \
	"\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"1\",\"labels\":{\"tier\":\"front\","   \
	"\"app\":\"web\"}}"

static void selectors_are_read_from_objects(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct seen seen = { .arena = arena };

	read_object(&seen, "{" METADATA ",\"spec\":{"
			   "\"one\":{\"matchLabels\":{\"b\":\"1\"},\"matchExpressions\":["
			   "{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"y\",\"x\"]},"
			   "{\"key\":\"c\",\"operator\":\"Exists\"}]},"
			   "\"several\":[{\"matchLabels\":{\"app\":\"db\"}},"
			   "{\"matchLabels\":{\"app\":\"web\",\"tier\":\"front\"}}]}}");
	assert_true(seen.has_one);
	assert_true(seen.matches);
	assert_string_equal(buf_cstr(&seen.texts),
			    "a notin (x,y),b=1,c | app=db | app=web,tier=front");
	buf_free(&seen.texts);
}

static void an_absent_selector_is_not_an_empty_one(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct seen seen = { .arena = arena };

	read_object(&seen, "{" METADATA ",\"spec\":{}}");
	assert_false(seen.has_one);
	assert_false(seen.matches);
	read_object(&seen, "{" METADATA ",\"spec\":{\"one\":{},\"several\":[{}]}}");
	assert_true(seen.has_one);
	assert_true(seen.matches);
	buf_free(&seen.texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selectors_are_read_from_objects),
		cmocka_unit_test(an_absent_selector_is_not_an_empty_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
