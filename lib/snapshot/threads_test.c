/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and a writer in their own threads; also run under ThreadSanitizer. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/snapshot/snapshot.h"

#define READERS 4
#define PUBLISHED 10000
#define LIVE_MAX 256 /* the writer waits for the loop above this */
#define WORDS 64
#define PATIENCE 20. /* s */

/* All words of an object have its number, until it is destroyed. */
struct object {
	uint64_t words[WORDS];
};

struct stage {
	struct ev_loop *loop; /* of the control thread, which is the main thread */
	struct snapshot *snapshot;
	ev_timer patience;
	ev_async told; /* a reader has something to say */
	size_t live;   /* objects; changed in the control thread only */
	_Atomic bool over;
	_Atomic uint64_t reads;
	pthread_barrier_t barrier;
	struct reader *readers;
};

/* A thread with a loop, or without. */
struct reader {
	struct stage *stage;
	pthread_t id;
	unsigned index;
	struct ev_loop *loop;
	ev_async go, stop;
	struct snapshot_thread thread;
	struct snapshot_version *held;
	uint64_t wrong;
	_Atomic uint64_t seen;
};

static struct object *make(struct stage *s, uint64_t number)
{
	struct object *o = malloc(sizeof(*o));

	for (size_t i = 0; i < WORDS; i++)
		o->words[i] = number;
	s->live++;
	return o;
}

static void on_destroy(void *object, void *user)
{
	struct stage *s = user;

	memset(object, 0xdd, sizeof(struct object));
	free(object);
	s->live--;
}

static void on_told(struct ev_loop *loop, ev_async *w, int revents)
{
}

static void on_patience_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	abort();
}

static int setup(void **state)
{
	struct stage *s = mem_zalloc(sizeof(*s));

	s->loop = ev_loop_new(EVFLAG_AUTO);
	s->snapshot = snapshot_new(s->loop, READERS, on_destroy, s);
	ev_timer_init(&s->patience, on_patience_over, PATIENCE, 0.);
	ev_timer_start(s->loop, &s->patience);
	ev_async_init(&s->told, on_told);
	ev_async_start(s->loop, &s->told);
	pthread_barrier_init(&s->barrier, NULL, READERS + 1);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct stage *s = *state;

	snapshot_free(s->snapshot);
	assert_int_equal(s->live, 0);
	ev_timer_stop(s->loop, &s->patience);
	ev_async_stop(s->loop, &s->told);
	assert_int_equal(ev_run(s->loop, 0), 0); /* nothing keeps it alive */
	ev_loop_destroy(s->loop);
	pthread_barrier_destroy(&s->barrier);
	free(s);
	return 0;
}

/* Runs the loop of the control thread until so many objects are left. */
static void run_until_live(struct stage *s, size_t most)
{
	ev_now_update(s->loop);
	ev_timer_stop(s->loop, &s->patience);
	ev_timer_set(&s->patience, PATIENCE, 0.);
	ev_timer_start(s->loop, &s->patience);
	while (s->live > most)
		ev_run(s->loop, EVRUN_ONCE);
}

static void start(struct stage *s, struct reader *readers, size_t n, void *(*work)(void *))
{
	s->readers = readers;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pthread_create(&readers[i].id, NULL, work, &readers[i]), 0);
}

static uint64_t join(struct reader *readers, size_t n)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		pthread_join(readers[i].id, NULL);
		wrong += readers[i].wrong;
	}
	return wrong;
}

/* ---- many reads, many publications ---- */

/* Others run while it reads, also on a machine with one processor. */
static uint64_t check(struct reader *r, const struct object *o, uint64_t last)
{
	for (size_t i = 1; i < WORDS; i++) {
		r->wrong += o->words[i] != o->words[0];
		if (i == WORDS / 2)
			sched_yield();
	}
	r->wrong += o->words[0] < last;
	return o->words[0];
}

static void *read_all_the_time(void *user)
{
	struct reader *r = user;
	struct stage *s = r->stage;
	uint64_t last = 0, reads = 0;

	snapshot_thread_start(&r->thread, NULL, r->index);
	pthread_barrier_wait(&s->barrier);
	while (!atomic_load(&s->over)) {
		last = check(r, snapshot_read(s->snapshot), last);
		if (++reads % 8 == 0) { /* some are kept longer */
			if (r->held)
				snapshot_release(r->held, &r->thread);
			r->held = reads % 16 ? snapshot_hold(s->snapshot, &r->thread) : NULL;
		}
		if (r->held)
			check(r, snapshot_object(r->held), 0);
		snapshot_quiescent();
	}
	if (r->held)
		snapshot_release(r->held, &r->thread);
	atomic_fetch_add(&s->reads, reads);
	snapshot_thread_end(&r->thread);
	return NULL;
}

static int64_t processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* Processor time, because other programs must not make the test fail. */
static int64_t publish(struct stage *s, uint64_t number)
{
	struct object *o = make(s, number);
	int64_t began = processor_time();

	snapshot_publish(s->snapshot, o);
	return processor_time() - began;
}

static void readers_never_see_an_object_that_is_gone(void **state)
{
	struct stage *s = *state;
	struct reader readers[READERS] = { 0 };
	int64_t longest = 0;

	publish(s, 0);
	for (unsigned i = 0; i < READERS; i++)
		readers[i] = (struct reader){ .stage = s, .index = i };
	start(s, readers, READERS, read_all_the_time);
	pthread_barrier_wait(&s->barrier);
	for (uint64_t i = 1; i <= PUBLISHED; i++) {
		int64_t took = publish(s, i);

		longest = took > longest ? took : longest;
		ev_run(s->loop, EVRUN_NOWAIT);
		run_until_live(s, LIVE_MAX);
		sched_yield();
	}
	atomic_store(&s->over, true);
	assert_int_equal(join(readers, READERS), 0);
	run_until_live(s, 1);
	assert_int_equal(snapshot_waiting(s->snapshot), 0);
	assert_true(atomic_load(&s->reads) > PUBLISHED / 10);
	assert_true(longest < NSEC_PER_MSEC);
}

/* ---- readers with loops ---- */

static void on_stop(struct ev_loop *loop, ev_async *w, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

static void tell(struct reader *r, uint64_t seen)
{
	atomic_store(&r->seen, seen);
	ev_async_send(r->stage->loop, &r->stage->told);
}

static void *run_loop(void *user)
{
	struct reader *r = user;

	snapshot_thread_start(&r->thread, r->loop, r->index);
	ev_run(r->loop, 0);
	snapshot_thread_end(&r->thread);
	return NULL;
}

static void prepare(struct stage *s, struct reader *r, unsigned index,
		    void (*on_go)(struct ev_loop *, ev_async *, int))
{
	*r = (struct reader){ .stage = s, .index = index, .loop = ev_loop_new(EVFLAG_AUTO) };
	ev_async_init(&r->go, on_go);
	ev_async_start(r->loop, &r->go);
	ev_async_init(&r->stop, on_stop);
	ev_async_start(r->loop, &r->stop);
}

static void wait_for(struct stage *s, struct reader *r, uint64_t seen)
{
	while (atomic_load(&r->seen) != seen)
		ev_run(s->loop, EVRUN_ONCE);
}

static void finish(struct reader *r)
{
	ev_async_send(r->loop, &r->stop);
	pthread_join(r->id, NULL);
	ev_loop_destroy(r->loop);
}

static void on_go_read(struct ev_loop *loop, ev_async *w, int revents)
{
	struct reader *r = container_of(w, struct reader, go);
	const struct object *o = snapshot_read(r->stage->snapshot);

	tell(r, o->words[0]);
}

/* A loop without events must not delay anything. */
static void an_idle_loop_delays_no_destruction(void **state)
{
	struct stage *s = *state;
	struct reader r;

	publish(s, 1);
	prepare(s, &r, 0, on_go_read);
	start(s, &r, 1, run_loop);
	ev_async_send(r.loop, &r.go);
	wait_for(s, &r, 1);
	for (uint64_t i = 2; i < 10; i++) {
		publish(s, i);
		run_until_live(s, 1);
	}
	ev_async_send(r.loop, &r.go);
	wait_for(s, &r, 9);
	finish(&r);
}

/* The turn lasts until the control thread says so. */
static void on_go_stay(struct ev_loop *loop, ev_async *w, int revents)
{
	struct reader *r = container_of(w, struct reader, go);
	const struct object *o = snapshot_read(r->stage->snapshot);

	tell(r, o->words[0]);
	pthread_barrier_wait(&r->stage->barrier);
	tell(r, o->words[WORDS - 1] + 100);
	pthread_barrier_wait(&r->stage->barrier);
}

static void on_enough(struct ev_loop *loop, ev_timer *w, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

/* Time for a destruction that must not happen. */
static void run_for_a_while(struct stage *s)
{
	ev_timer enough;

	ev_now_update(s->loop);
	ev_timer_init(&enough, on_enough, 0.05, 0.);
	ev_timer_start(s->loop, &enough);
	ev_run(s->loop, 0);
}

static void an_object_lives_until_the_turn_ends(void **state)
{
	struct stage *s = *state;
	struct reader r;

	pthread_barrier_destroy(&s->barrier);
	pthread_barrier_init(&s->barrier, NULL, 2);
	publish(s, 1);
	prepare(s, &r, 0, on_go_stay);
	start(s, &r, 1, run_loop);
	ev_async_send(r.loop, &r.go);
	wait_for(s, &r, 1);
	publish(s, 2); /* the turn still goes on */
	run_for_a_while(s);
	assert_int_equal(s->live, 2);
	pthread_barrier_wait(&s->barrier);
	wait_for(s, &r, 101);
	assert_int_equal(s->live, 2);
	pthread_barrier_wait(&s->barrier);
	run_until_live(s, 1);
	finish(&r);
}

/* Every other time it releases what it holds. */
static void on_go_hold(struct ev_loop *loop, ev_async *w, int revents)
{
	struct reader *r = container_of(w, struct reader, go);
	const struct object *o;

	if (!r->held) {
		r->held = snapshot_hold(r->stage->snapshot, &r->thread);
		o = snapshot_object(r->held);
		tell(r, o->words[0]);
		return;
	}
	o = snapshot_object(r->held);
	tell(r, o->words[WORDS - 1] + 100);
	snapshot_release(TAKE_PTR(r->held), &r->thread);
}

static void an_object_that_is_held_outlives_the_turn(void **state)
{
	struct stage *s = *state;
	struct reader r;

	publish(s, 1);
	prepare(s, &r, 0, on_go_hold);
	start(s, &r, 1, run_loop);
	ev_async_send(r.loop, &r.go);
	wait_for(s, &r, 1);
	for (uint64_t i = 2; i < 10; i++) {
		publish(s, i);
		run_until_live(s, 2); /* the newest and the one that is held */
	}
	assert_int_equal(snapshot_waiting(s->snapshot), 1);
	ev_async_send(r.loop, &r.go);
	run_until_live(s, 1);
	assert_int_equal(atomic_load(&r.seen), 101);
	finish(&r);
}

static void the_control_thread_reads_what_it_published(void **state)
{
	struct stage *s = *state;
	const struct object *o;

	assert_null(snapshot_read(s->snapshot));
	publish(s, 5);
	o = snapshot_read(s->snapshot);
	publish(s, 6);
	assert_int_equal(o->words[0], 5); /* until it returns to its loop */
	run_until_live(s, 1);
	snapshot_publish(s->snapshot, NULL);
	assert_null(snapshot_read(s->snapshot));
	run_until_live(s, 0);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(readers_never_see_an_object_that_is_gone),
		test(an_idle_loop_delays_no_destruction),
		test(an_object_lives_until_the_turn_ends),
		test(an_object_that_is_held_outlives_the_turn),
		test(the_control_thread_reads_what_it_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
