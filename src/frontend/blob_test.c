/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/blob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/http/server.h"
#include "lib/http/testkit.h"
#include "lib/page/reply.h"

#define LARGE (BLOBS_BYTES_MAX / 4)

static struct blob *text_of(struct blobs *set, size_t n)
{
	struct buf text = { 0 };

	buf_reserve(&text, n);
	if (n)
		memset(text.p, 'x', n);
	text.n = n;
	return blob_new(set, &text);
}

static void a_text_lives_as_long_as_its_readers(void **state)
{
	struct blobs set;
	struct blob *b;

	blobs_init(&set);
	b = blob_ref(text_of(&set, 1000));
	blob_unref(b);
	assert_int_equal(set.bytes, 1000);
	assert_int_equal(b->bytes[999], 'x');
	blob_unref(b);
	assert_int_equal(set.bytes, 0);
	blob_unref(NULL);
}

static void an_empty_text_is_one_too(void **state)
{
	struct blobs set;
	struct blob *b;

	blobs_init(&set);
	b = text_of(&set, 0);
	assert_non_null(b->bytes);
	blob_unref(b);
}

/* The bound holds whatever readers hold, and in whatever order they release it. */
static void beyond_the_bound_the_oldest_goes(void **state)
{
	struct blob *all[6];
	struct blobs set;

	blobs_init(&set);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		all[i] = text_of(&set, LARGE);
		assert_true(set.bytes <= BLOBS_BYTES_MAX);
	}
	assert_int_equal(set.bytes, 4 * LARGE);
	assert_int_equal(set.dropped, 2);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(!all[i]->bytes, i < 2);
	blob_unref(all[3]);
	blob_unref(all[0]);
	assert_int_equal(set.bytes, 3 * LARGE);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (i != 0 && i != 3)
			blob_unref(all[i]);
	assert_int_equal(set.bytes, 0);
	assert_true(TAILQ_EMPTY(&set.all));
}

static void the_newest_is_there_however_large(void **state)
{
	struct blob *small, *large;
	struct blobs set;

	blobs_init(&set);
	small = text_of(&set, 10);
	large = text_of(&set, BLOBS_BYTES_MAX + 1);
	assert_null(small->bytes);
	assert_non_null(large->bytes);
	blob_unref(large);
	blob_unref(small);
	assert_int_equal(set.bytes, 0);
}

static void on_text(struct http_exchange *x, const struct http_request *request, void *user)
{
	blob_reply(x, user);
}

/* A reader that continues at once gets the whole text; one that is too late notices the loss. */
static void a_text_that_was_let_go_ends_the_answers(void **state)
{
	static const struct http_route routes[] = { { HTTP_GET, "/", on_text } };
	struct client *quick, *slow;
	struct blob *old, *new;
	struct blobs set;
	struct kit kit;

	blobs_init(&set);
	old = text_of(&set, LARGE);
	kit_start(&kit, (struct http_server_config){
				.routes = routes, .n_routes = ARRAY_SIZE(routes), .user = old });
	quick = client_new(&kit);
	slow = client_new(&kit);
	client_set_reading(slow, false);
	client_send(slow, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	client_send(quick, "GET / HTTP/1.0\r\n\r\n");
	client_expect_close(quick);
	assert_true(quick->in.n > LARGE);
	new = text_of(&set, BLOBS_BYTES_MAX);
	assert_null(old->bytes);
	client_set_reading(slow, true);
	client_expect_close(slow);
	assert_int_equal(client_count(slow, "Content-Length: 16777216\r\n"), 1);
	assert_true(slow->in.n < LARGE);
	client_free(quick);
	client_free(slow);
	kit_stop(&kit);
	blob_unref(old);
	blob_unref(new);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_lives_as_long_as_its_readers),
		cmocka_unit_test(an_empty_text_is_one_too),
		cmocka_unit_test(beyond_the_bound_the_oldest_goes),
		cmocka_unit_test(the_newest_is_there_however_large),
		cmocka_unit_test(a_text_that_was_let_go_ends_the_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
