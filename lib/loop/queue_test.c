/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "base/units.h"

#define KEYS 5

struct key {
	struct queue_item item;
	char name;
	enum queue_result answer; /* result of its next turn; then QUEUE_DONE */
	bool adds_itself;
};

struct fixture {
	struct ev_loop *loop;
	struct queue q;
	struct key keys[KEYS]; /* a, b, ... */
	char worked[64];
	unsigned wakes;
};

static enum queue_result on_step(struct queue_item *item, void *user)
{
	struct fixture *f = user;
	struct key *k = container_of(item, struct key, item);
	enum queue_result answer = k->answer;
	size_t n = strlen(f->worked);

	assert_int_equal(item->state, QUEUE_RUNNING);
	assert_true(n + 1 < sizeof(f->worked));
	f->worked[n] = k->name;
	f->worked[n + 1] = '\0';
	k->answer = QUEUE_DONE;
	if (k->adds_itself)
		queue_add(&f->q, item, item->rank);
	k->adds_itself = false;
	return answer;
}

static void on_wake(void *user)
{
	((struct fixture *)user)->wakes++;
}

static int setup(void **state)
{
	static struct fixture f;
	const struct queue_spec spec = { .step = on_step,
					 .wake = on_wake,
					 .user = &f,
					 .parallel = 2,
					 .retry = { .first = 2 * NSEC_PER_MSEC,
						    .last = 8 * NSEC_PER_MSEC } };

	f = (struct fixture){ .loop = ev_loop_new(EVFLAG_AUTO) };
	for (size_t i = 0; i < KEYS; i++)
		f.keys[i].name = (char)('a' + i);
	queue_init(&f.q, f.loop, &spec);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	queue_stop(&f->q);
	ev_run(f->loop, 0); /* returns: no watcher is left */
	ev_loop_destroy(f->loop);
	return 0;
}

static struct queue_item *item(struct fixture *f, char name)
{
	return &f->keys[name - 'a'].item;
}

static void add(struct fixture *f, const char *names, uint64_t rank)
{
	for (; *names; names++)
		queue_add(&f->q, item(f, *names), rank);
}

/* Runs all turns that are possible now. */
static const char *work(struct fixture *f)
{
	f->worked[0] = '\0';
	while (queue_run(&f->q))
		;
	return f->worked;
}

static void within_a_rank_the_first_comes_first(void **state)
{
	struct fixture *f = *state;

	add(f, "cab", 1);
	assert_string_equal(work(f), "cab");
	assert_string_equal(work(f), "");
}

static void a_lower_rank_goes_before_whoever_waits(void **state)
{
	struct fixture *f = *state;

	add(f, "ab", 1);
	add(f, "c", 0);
	add(f, "d", 2);
	add(f, "e", 1);
	assert_string_equal(work(f), "cabed");
}

static void a_key_that_waits_is_added_once_and_keeps_its_place(void **state)
{
	struct fixture *f = *state;

	add(f, "abc", 1);
	add(f, "aac", 1);
	add(f, "b", 2);
	assert_string_equal(work(f), "abc");
	add(f, "abc", 1);
	add(f, "c", 0); /* it has become urgent */
	assert_string_equal(work(f), "cab");
}

static void a_key_that_is_added_during_its_turn_has_one_more(void **state)
{
	struct fixture *f = *state;

	f->keys[0].adds_itself = true;
	add(f, "ab", 1);
	assert_string_equal(work(f), "aba");
	assert_int_equal(item(f, 'a')->state, QUEUE_IDLE);
}

static void a_key_is_worked_on_once_at_a_time(void **state)
{
	struct fixture *f = *state;

	f->keys[0].answer = QUEUE_PENDING;
	add(f, "a", 1);
	assert_string_equal(work(f), "a");
	add(f, "aa", 1);
	assert_string_equal(work(f), "");
	assert_int_equal(item(f, 'a')->state, QUEUE_RERUN);
	assert_int_equal(queue_done(&f->q, item(f, 'a'), QUEUE_DONE), 0);
	assert_string_equal(work(f), "a");
	assert_string_equal(work(f), "");
}

static void no_more_keys_are_running_than_allowed(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++)
		f->keys[i].answer = QUEUE_PENDING;
	add(f, "abcd", 1);
	assert_string_equal(work(f), "ab");
	queue_done(&f->q, item(f, 'a'), QUEUE_DONE);
	assert_string_equal(work(f), "c");
	queue_done(&f->q, item(f, 'b'), QUEUE_DONE);
	assert_string_equal(work(f), "d");
	queue_done(&f->q, item(f, 'c'), QUEUE_DONE);
	assert_int_equal(f->q.running, 0);
}

static void a_key_that_is_not_done_yet_lets_others_go_first(void **state)
{
	struct fixture *f = *state;

	f->keys[0].answer = QUEUE_AGAIN;
	add(f, "abc", 1);
	add(f, "d", 2);
	assert_string_equal(work(f), "abcad");
}

/* ---- failures ---- */

static void run_loop_until_woken(struct fixture *f)
{
	unsigned before = f->wakes;

	while (f->wakes == before) {
		assert_true(ev_is_active(&f->q.due));
		ev_run(f->loop, EVRUN_ONCE);
	}
}

static void a_failed_key_is_tried_again_later_and_later(void **state)
{
	static const int64_t ms[] = { 2, 4, 8, 8 };
	struct fixture *f = *state;

	add(f, "a", 1);
	for (unsigned i = 0; i < ARRAY_SIZE(ms); i++) {
		int64_t before;

		f->keys[0].answer = QUEUE_PENDING;
		assert_string_equal(work(f), "a");
		before = loop_monotonic();
		assert_int_equal(queue_done(&f->q, item(f, 'a'), QUEUE_FAILED),
				 ms[i] * NSEC_PER_MSEC);
		assert_string_equal(work(f), "");
		run_loop_until_woken(f);
		assert_true(loop_monotonic() - before >= ms[i] * NSEC_PER_MSEC);
	}
	assert_string_equal(work(f), "a"); /* it succeeds */
	assert_int_equal(item(f, 'a')->failures, 0);
}

static void others_do_not_wait_for_a_failed_key(void **state)
{
	struct fixture *f = *state;

	f->keys[0].answer = f->keys[1].answer = QUEUE_FAILED;
	add(f, "abc", 1);
	assert_string_equal(work(f), "abc");
	add(f, "d", 1);
	assert_string_equal(work(f), "d");
	run_loop_until_woken(f);
	while (item(f, 'b')->state == QUEUE_DELAYED)
		run_loop_until_woken(f);
	assert_string_equal(work(f), "ab");
}

static void news_of_a_failed_key_are_looked_at_at_once(void **state)
{
	struct fixture *f = *state;

	f->keys[0].answer = QUEUE_FAILED;
	add(f, "a", 1);
	work(f);
	assert_int_equal(item(f, 'a')->failures, 1);
	add(f, "a", 1);
	assert_int_equal(item(f, 'a')->failures, 0);
	f->keys[0].answer = QUEUE_PENDING;
	assert_string_equal(work(f), "a");
	add(f, "a", 1); /* during its turn, which then fails: no delay either */
	assert_int_equal(queue_done(&f->q, item(f, 'a'), QUEUE_FAILED), 0);
	assert_string_equal(work(f), "a");
}

/* ---- out of turn ---- */

static void a_key_taken_out_of_turn_keeps_its_failures(void **state)
{
	struct fixture *f = *state;

	f->keys[0].answer = QUEUE_FAILED;
	add(f, "a", 1);
	work(f);
	add(f, "bc", 1);
	queue_take(&f->q, item(f, 'a'));
	queue_take(&f->q, item(f, 'b'));
	assert_true(queue_is_running(item(f, 'a')));
	assert_string_equal(work(f), ""); /* two are running */
	assert_int_equal(queue_done(&f->q, item(f, 'a'), QUEUE_FAILED), 4 * NSEC_PER_MSEC);
	assert_int_equal(queue_done(&f->q, item(f, 'b'), QUEUE_FAILED), 2 * NSEC_PER_MSEC);
	assert_string_equal(work(f), "c");
}

static void forgotten_keys_have_no_turn(void **state)
{
	struct fixture *f = *state;

	f->keys[0].answer = QUEUE_PENDING;
	f->keys[1].answer = f->keys[2].answer = QUEUE_FAILED;
	add(f, "abcde", 1);
	work(f);
	add(f, "de", 1);
	queue_forget(&f->q, item(f, 'a'));
	queue_forget(&f->q, item(f, 'b'));
	queue_forget(&f->q, item(f, 'd'));
	queue_forget(&f->q, item(f, 'd'));
	queue_forget_delayed(&f->q);
	assert_int_equal(item(f, 'c')->state, QUEUE_IDLE);
	assert_int_equal(f->q.running, 0);
	assert_string_equal(work(f), "e");
	add(f, "abc", 1);
	queue_clear(&f->q);
	assert_string_equal(work(f), "");
	add(f, "abc", 1);
	assert_string_equal(work(f), "abc");
}

static void it_says_when_there_is_work(void **state)
{
	struct fixture *f = *state;

	add(f, "a", 1);
	assert_int_equal(f->wakes, 1);
	f->keys[0].answer = QUEUE_PENDING;
	work(f);
	add(f, "a", 1);
	assert_int_equal(f->wakes, 1);
	queue_done(&f->q, item(f, 'a'), QUEUE_DONE);
	assert_int_equal(f->wakes, 2);
}

static void states_have_names(void **state)
{
	for (enum queue_state s = QUEUE_IDLE; s <= QUEUE_DELAYED; s++)
		assert_true(strlen(queue_state_name(s)) > 0);
	assert_string_equal(queue_state_name(QUEUE_DELAYED), "delayed");
}

/* ---- random operations ---- */

/* Every key that was added gets a turn afterwards, whatever else happens. */
static void no_addition_is_lost(void **state)
{
	struct fixture *f = *state;
	bool owed[KEYS] = { 0 };
	uint64_t random = 3;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t dice = random_next(&random);
		size_t k = (size_t)(dice >> 32) % KEYS;
		struct key *key = &f->keys[k];

		if (dice % 4 == 0) {
			queue_add(&f->q, &key->item, dice % 3);
			owed[k] = true;
		} else if (dice % 4 == 1 && queue_is_running(&key->item)) {
			queue_done(&f->q, &key->item, dice % 8 < 4 ? QUEUE_DONE : QUEUE_FAILED);
		} else {
			key->answer = dice & 16 ? QUEUE_PENDING : QUEUE_DONE;
			f->worked[0] = '\0';
			queue_run(&f->q);
			if (f->worked[0])
				owed[f->worked[0] - 'a'] = false;
		}
		for (k = 0; k < KEYS; k++)
			assert_true(!owed[k] || f->keys[k].item.state == QUEUE_WAITING ||
				    f->keys[k].item.state == QUEUE_RERUN);
	}
	for (size_t k = 0; k < KEYS; k++)
		queue_forget(&f->q, &f->keys[k].item);
	assert_int_equal(f->q.running, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(within_a_rank_the_first_comes_first),
		T(a_lower_rank_goes_before_whoever_waits),
		T(a_key_that_waits_is_added_once_and_keeps_its_place),
		T(a_key_that_is_added_during_its_turn_has_one_more),
		T(a_key_is_worked_on_once_at_a_time),
		T(no_more_keys_are_running_than_allowed),
		T(a_key_that_is_not_done_yet_lets_others_go_first),
		T(a_failed_key_is_tried_again_later_and_later),
		T(others_do_not_wait_for_a_failed_key),
		T(news_of_a_failed_key_are_looked_at_at_once),
		T(a_key_taken_out_of_turn_keeps_its_failures),
		T(forgotten_keys_have_no_turn),
		T(it_says_when_there_is_work),
		T(states_have_names),
		T(no_addition_is_lost),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
