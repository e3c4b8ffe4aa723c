/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of three items: 0 never changes, 1 follows 2, and 2 changes without a word. */
#include "lib/service/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/grpc/testkit.h"
#include "lib/pb/pb.h"

#define ITEMS 3

struct bench {
	struct kit kit;
	struct service_watch *watch;
	uint32_t value;	       /* of items 1 and 2 */
	uint32_t next;	       /* if not 0: it becomes so when item 2 is encoded the next time */
	uint32_t heard[ITEMS]; /* the newest values that have come */
	int events;
};

static uint64_t generation(void *user)
{
	return 1;
}

static size_t items(void *user)
{
	return ITEMS;
}

static size_t polled(void *user)
{
	return 2;
}

static void encode(size_t i, bool figures, struct arena *arena, struct buf *out, void *user)
{
	struct bench *b = user;
	GrpcTest__Item item;

	if (i == 2 && b->next) {
		b->value = b->next;
		b->next = 0;
	}
	grpc_test__item__init(&item);
	item.number = (uint32_t)i;
	item.value = i ? b->value : 1;
	pb_encode(&item.base, out);
}

static void on_watch(struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	service_watch_subscribe(((struct bench *)user)->watch, call, false);
}

static void on_item(const ProtobufCMessage *message, void *user)
{
	const GrpcTest__Item *item = (const GrpcTest__Item *)message;
	struct bench *b = user;

	b->heard[item->number] = item->value;
	b->events++;
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
}

static const struct grpc_method method = { "/grpc_test.Test/Items", &grpc_test__note__descriptor,
					   &grpc_test__item__descriptor, true };

static void start(struct bench *b)
{
	const struct grpc_route route = { method, on_watch };
	const struct service_watch_config config = { .generation = generation,
						     .items = items,
						     .encode = encode,
						     .polled = polled,
						     .user = b };
	const struct grpc_server_config server = { .listen.addr = { AF_INET, { 127, 0, 0, 1 } },
						   .routes = &route,
						   .n_routes = 1,
						   .user = b };
	const struct grpc_client_events events = { .message = on_item, .done = on_done, .user = b };
	GrpcTest__Note nothing;

	*b = (struct bench){ .value = 7, .kit.loop = ev_loop_new(EVFLAG_AUTO) };
	b->watch = service_watch_new(b->kit.loop, &config);
	assert_int_equal(grpc_server_new(b->kit.loop, &server, &b->kit.server), 0);
	b->kit.client = kit_client(&b->kit, (struct grpc_client_config){ 0 });
	grpc_test__note__init(&nothing);
	assert_non_null(grpc_client_call(b->kit.client, &method, &nothing.base, 0, &events));
}

static void stop(struct bench *b)
{
	grpc_client_free(b->kit.client);
	grpc_server_free(b->kit.server);
	service_watch_free(b->watch);
	ev_loop_destroy(b->kit.loop);
}

static bool all_have_come(void *arg)
{
	const struct bench *b = arg;

	return b->heard[0] == 1 && b->heard[1] == b->value && b->heard[2] == b->value;
}

static void every_item_comes_first(void **state)
{
	struct bench b;

	start(&b);
	kit_wait(&b.kit, all_have_come, &b);
	assert_int_equal(b.events, ITEMS);
	stop(&b);
}

static void a_change_without_a_word_is_found(void **state)
{
	struct bench b;

	start(&b);
	kit_wait(&b.kit, all_have_come, &b);
	b.value = 8;
	kit_wait(&b.kit, all_have_come, &b);
	stop(&b);
}

/* Item 2 changes between the looks of one walk at items 1 and 2. */
static void a_change_in_the_middle_of_a_walk_is_not_lost(void **state)
{
	struct bench b;

	start(&b);
	kit_wait(&b.kit, all_have_come, &b);
	b.next = 9;
	service_watch_changed(b.watch);
	kit_wait_int(&b.kit, (const int *)&b.heard[2], 9);
	kit_wait(&b.kit, all_have_come, &b);
	stop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_item_comes_first),
		cmocka_unit_test(a_change_without_a_word_is_found),
		cmocka_unit_test(a_change_in_the_middle_of_a_walk_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
