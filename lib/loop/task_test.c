/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"

/* A task that writes its letter with every step, and optionally keeps the loop busy for a while. */
struct worker {
	struct task task;
	struct buf *out;
	char letter;
	int steps;    /* steps that it needs; -1: endless */
	int64_t spin; /* ns that each step takes */
};

static void spin(int64_t ns)
{
	int64_t end = loop_monotonic() + ns;

	while (loop_monotonic() < end)
		;
}

static bool on_step(struct task *t)
{
	struct worker *w = container_of(t, struct worker, task);

	buf_addc(w->out, w->letter);
	spin(w->spin);
	if (w->steps > 0)
		w->steps--;
	return w->steps != 0;
}

struct bench {
	struct ev_loop *loop;
	struct buf out;
	int64_t began; /* of a step */
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->loop = ev_loop_new(EVFLAG_AUTO);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	ev_loop_destroy(b->loop);
	buf_free(&b->out);
	free(b);
	return 0;
}

static struct worker worker(struct bench *b, char letter, int steps)
{
	return (struct worker){ .out = &b->out, .letter = letter, .steps = steps };
}

static void start(struct bench *b, struct worker *w, enum task_rank rank)
{
	task_init(&w->task, b->loop, rank, on_step);
	task_wake(&w->task);
}

static void tasks_take_turns_in_the_order_of_waking(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', 3), y = worker(b, 'y', 1), z = worker(b, 'z', 2);

	start(b, &x, TASK_ORDINARY);
	start(b, &y, TASK_ORDINARY);
	start(b, &z, TASK_ORDINARY);
	assert_false(ev_run(b->loop, 0)); /* returns: finished tasks do not keep the loop alive */
	assert_string_equal(buf_cstr(&b->out), "xyzxzx");
}

static void urgent_tasks_go_first(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', 1), u = worker(b, 'U', 1);

	start(b, &x, TASK_ORDINARY);
	start(b, &u, TASK_URGENT);
	ev_run(b->loop, 0);
	assert_string_equal(buf_cstr(&b->out), "Ux");
}

static void others_get_one_step_in_a_turn_that_urgent_ones_fill(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', -1), y = worker(b, 'y', -1), u = worker(b, 'U', -1);

	u.spin = TASK_TURN_TIME;
	start(b, &x, TASK_ORDINARY);
	start(b, &y, TASK_ORDINARY);
	start(b, &u, TASK_URGENT);
	for (int i = 0; i < 3; i++)
		ev_run(b->loop, EVRUN_NOWAIT);
	assert_string_equal(buf_cstr(&b->out), "UxUyUx");
	task_cancel(&x.task);
	task_cancel(&y.task);
	task_cancel(&u.task);
}

static unsigned count(const struct bench *b, char letter)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->out.n; i++)
		n += b->out.p[i] == letter;
	return n;
}

/* 50 of them are ready, and each turn takes one or two: a poll never waits for all. */
static void patient_tasks_get_a_bounded_part_of_a_turn(void **state)
{
	struct bench *b = *state;
	struct worker patient[50];
	unsigned turns;

	for (size_t i = 0; i < ARRAY_SIZE(patient); i++) {
		patient[i] = worker(b, 'p', 1);
		patient[i].spin = TASK_STEP_TIME * 6 / 10;
		start(b, &patient[i], TASK_PATIENT);
	}
	for (turns = 0; count(b, 'p') < ARRAY_SIZE(patient) && turns < 100; turns++)
		ev_run(b->loop, EVRUN_NOWAIT);
	assert_in_range(turns, ARRAY_SIZE(patient) / 2, ARRAY_SIZE(patient));
}

static void patient_tasks_run_after_all_others_in_every_turn(void **state)
{
	struct bench *b = *state;
	struct worker p = worker(b, 'p', -1), x = worker(b, 'x', -1), u = worker(b, 'U', 1);

	p.spin = TASK_STEP_TIME;
	x.spin = TASK_TURN_TIME;
	start(b, &p, TASK_PATIENT);
	start(b, &x, TASK_ORDINARY);
	start(b, &u, TASK_URGENT);
	for (int i = 0; i < 3; i++)
		ev_run(b->loop, EVRUN_NOWAIT);
	assert_string_equal(buf_cstr(&b->out), "Uxpxpxp");
	task_cancel(&p.task);
	task_cancel(&x.task);
}

static void a_rank_can_change_while_a_task_waits(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', 1), y = worker(b, 'y', 1);

	start(b, &x, TASK_ORDINARY);
	start(b, &y, TASK_PATIENT);
	task_set_rank(&x.task, TASK_PATIENT);
	task_set_rank(&y.task, TASK_URGENT);
	ev_run(b->loop, 0);
	assert_string_equal(buf_cstr(&b->out), "yx");
}

static void all_tasks_share_the_time_of_a_turn(void **state)
{
	struct bench *b = *state;
	struct worker w[50];
	size_t n = b->out.n;

	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		w[i] = worker(b, 'x', -1);
		w[i].spin = TASK_TURN_TIME / 4;
		start(b, &w[i], TASK_ORDINARY);
	}
	ev_run(b->loop, EVRUN_NOWAIT);
	assert_in_range(b->out.n - n, 1, 4);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		task_cancel(&w[i].task);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct bench *b = timer->data;

	buf_addc(&b->out, 'T');
}

/* Timers that are due run between the turns of an endless task. */
static void timers_do_not_wait_for_tasks(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', -1);
	ev_timer timer;

	x.spin = TASK_TURN_TIME;
	start(b, &x, TASK_ORDINARY);
	ev_timer_init(&timer, on_timer, 0., 0.);
	timer.data = b;
	ev_run(b->loop, EVRUN_NOWAIT);
	ev_timer_start(b->loop, &timer);
	ev_run(b->loop, EVRUN_NOWAIT);
	assert_string_equal(buf_cstr(&b->out), "xTx");
	task_cancel(&x.task);
}

static bool count_parts(struct task *t)
{
	struct worker *w = container_of(t, struct worker, task);
	struct bench *b = container_of(w->out, struct bench, out);

	b->began = task_began(b->loop);
	do
		w->steps++;
	while (task_has_time(b->loop));
	assert_int_equal(task_began(b->loop), b->began);
	return false;
}

static void a_step_knows_when_its_time_is_over(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', 0);
	int64_t before;

	assert_false(task_has_time(b->loop));
	task_init(&x.task, b->loop, TASK_ORDINARY, count_parts);
	task_wake(&x.task);
	before = loop_monotonic();
	ev_run(b->loop, 0);
	assert_true(loop_monotonic() - before >= TASK_STEP_TIME / 2);
	assert_true(x.steps > 0);
	assert_false(task_has_time(b->loop));
	assert_true(b->began >= before && task_began(b->loop) >= b->began + TASK_STEP_TIME / 2);
}

static bool free_myself(struct task *t)
{
	struct worker *w = container_of(t, struct worker, task);

	buf_addc(w->out, w->letter);
	task_cancel(&w->task);
	free(w);
	return true; /* ignored, since the task is cancelled */
}

static void a_task_may_go_in_its_own_step(void **state)
{
	struct bench *b = *state;
	struct worker *x = malloc(sizeof(*x));

	*x = worker(b, 'x', 1);
	task_init(&x->task, b->loop, TASK_ORDINARY, free_myself);
	task_wake(&x->task);
	ev_run(b->loop, 0);
	assert_string_equal(buf_cstr(&b->out), "x");
}

static struct task *other;

static bool cancel_other(struct task *t)
{
	task_cancel(other);
	return on_step(t);
}

static void a_cancelled_task_does_not_run(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', 1), y = worker(b, 'y', 1);

	task_init(&x.task, b->loop, TASK_ORDINARY, cancel_other);
	task_wake(&x.task);
	start(b, &y, TASK_ORDINARY);
	other = &y.task;
	ev_run(b->loop, 0);
	task_cancel(&y.task);
	assert_string_equal(buf_cstr(&b->out), "x");
}

static bool wake_myself(struct task *t)
{
	task_wake(t);
	return on_step(t);
}

static void waking_twice_is_one_step(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', 1);

	start(b, &x, TASK_ORDINARY);
	task_wake(&x.task);
	ev_run(b->loop, 0);
	assert_string_equal(buf_cstr(&b->out), "x");
	assert_false(task_is_woken(&x.task));
}

static void a_task_woken_in_its_step_runs_again(void **state)
{
	struct bench *b = *state;
	struct worker x = worker(b, 'x', 1);

	task_init(&x.task, b->loop, TASK_ORDINARY, wake_myself);
	task_wake(&x.task);
	ev_run(b->loop, EVRUN_NOWAIT);
	assert_true(b->out.n > 1);
	task_cancel(&x.task);
	ev_run(b->loop, 0); /* and without it ev_run() returns */
}

static void on_long_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	spin(3 * LOOP_LATE);
}

static void only_long_turns_are_late(void **state)
{
	struct bench *b = *state;
	ev_timer timer;

	assert_int_equal(loop_late(b->loop), 0);
	ev_timer_init(&timer, on_long_timer, 0., 0.);
	ev_timer_start(b->loop, &timer);
	ev_run(b->loop, 0);
	assert_true(loop_late(b->loop) >= 2 * LOOP_LATE);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(tasks_take_turns_in_the_order_of_waking),
		test(urgent_tasks_go_first),
		test(others_get_one_step_in_a_turn_that_urgent_ones_fill),
		test(patient_tasks_get_a_bounded_part_of_a_turn),
		test(patient_tasks_run_after_all_others_in_every_turn),
		test(a_rank_can_change_while_a_task_waits),
		test(all_tasks_share_the_time_of_a_turn),
		test(timers_do_not_wait_for_tasks),
		test(a_step_knows_when_its_time_is_over),
		test(a_task_may_go_in_its_own_step),
		test(a_cancelled_task_does_not_run),
		test(waking_twice_is_one_step),
		test(a_task_woken_in_its_step_runs_again),
		test(only_long_turns_are_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
