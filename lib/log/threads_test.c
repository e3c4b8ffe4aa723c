/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads log at once; also run under ThreadSanitizer. */
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/log/log.h"

#define THREADS 4
#define PATIENCE 20000 /* ms */

/* ---- the wraps count rings ---- */

static _Atomic(void *) rings[2 * THREADS];

void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);

static void exchange_ring(void *old, void *new)
{
	for (size_t i = 0; i < ARRAY_SIZE(rings); i++) {
		void *found = old;

		if (atomic_compare_exchange_strong(&rings[i], &found, new))
			return;
	}
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	void *p = __real_aligned_alloc(alignment, size);

	exchange_ring(NULL, p);
	return p;
}

void __wrap_free(void *p)
{
	if (p)
		exchange_ring(p, NULL);
	__real_free(p);
}

static size_t count_rings(void)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rings); i++)
		n += atomic_load(&rings[i]) != NULL;
	return n;
}

/* ---- the fixture: a file for the log, and an eventfd instead of a loop ---- */

struct desk {
	FILE *file;
	int woken;
	pthread_barrier_t barrier;
	unsigned lines; /* of each thread */
	_Atomic unsigned running, next_number, written;
};

struct thread {
	struct desk *desk;
	pthread_t id;
	unsigned number;
};

static void on_wake(void *user)
{
	struct desk *d = user;
	uint64_t one = 1;

	if (write(d->woken, &one, sizeof(one)) != sizeof(one))
		abort();
}

static int setup(void **state)
{
	static struct desk d;

	d = (struct desk){ .file = tmpfile(), .woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_barrier_init(&d.barrier, NULL, THREADS + 1);
	log_to_fd(fileno(d.file), LOG_INFO);
	log_accept_threads(on_wake, &d);
	while (log_take_gap())
		;
	*state = &d;
	return 0;
}

static int teardown(void **state)
{
	struct desk *d = *state;

	log_to_fd(-1, LOG_INFO);
	pthread_barrier_destroy(&d->barrier);
	close(d->woken);
	fclose(d->file);
	return 0;
}

/* Waits for wake(). A lost wake-up ends the test. */
static void wait_for_wake(struct desk *d)
{
	struct pollfd p = { .fd = d->woken, .events = POLLIN };
	uint64_t n;

	assert_int_equal(poll(&p, 1, PATIENCE), 1);
	assert_int_equal(read(d->woken, &n, sizeof(n)), sizeof(n));
}

static void start(struct desk *d, struct thread *threads, size_t n, void *(*work)(void *))
{
	for (size_t i = 0; i < n; i++) {
		threads[i] = (struct thread){ .desk = d, .number = (unsigned)i };
		atomic_fetch_add(&d->running, 1);
		assert_int_equal(pthread_create(&threads[i].id, NULL, work, &threads[i]), 0);
	}
}

static void join(struct thread *threads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i].id, NULL);
}

/* As a loop does: sleeps until it is woken, then collects until there is nothing. */
static void collect_until_all_ended(struct desk *d)
{
	bool last;

	do {
		last = atomic_load(&d->running) == 0;
		if (!last)
			wait_for_wake(d);
		while (log_collect())
			;
	} while (!last);
}

/* The last call of a thread; its wake() comes before, so another one makes the main thread look. */
static void finish(struct desk *d)
{
	log_thread_end();
	atomic_fetch_sub(&d->running, 1);
	on_wake(d);
}

/* Reads the lines of the file. */
static size_t read_lines(struct desk *d, void (*each)(json_t *line, void *user), void *user)
{
	_cleanup_(cleanup_free) char *text = NULL;
	size_t room = 0, n = 0;
	ssize_t length;

	rewind(d->file);
	while ((length = getline(&text, &room, d->file)) > 0) {
		json_t *line = json_loadb(text, (size_t)length, 0, NULL);

		assert_non_null(line);
		each(line, user);
		json_decref(line);
		n++;
	}
	return n;
}

static json_int_t number_in(json_t *line, const char *key)
{
	return json_integer_value(json_object_get(line, key));
}

/* ---- tests ---- */

static void *log_many(void *user)
{
	struct thread *t = user;
	char path[300];

	memset(path, '/', sizeof(path));
	log_thread_start();
	pthread_barrier_wait(&t->desk->barrier);
	for (unsigned i = 0; i < t->desk->lines; i++)
		log_info("request", LOG_U("thread", t->number), LOG_U("n", i),
			 LOG_SN("path", path, i % sizeof(path)), LOG_T("took", i));
	finish(t->desk);
	return NULL;
}

/* The numbers of a thread only grow. */
struct order {
	json_int_t next[THREADS];
	size_t lines[THREADS];
};

static void on_request(json_t *line, void *user)
{
	struct order *o = user;
	json_int_t thread = number_in(line, "thread"), n = number_in(line, "n");

	assert_string_equal(json_string_value(json_object_get(line, "msg")), "request");
	assert_in_range(thread, 0, THREADS - 1);
	assert_true(n >= o->next[thread]);
	o->next[thread] = n + 1;
	o->lines[thread]++;
}

static void four_threads_log_whole_lines_in_their_order(void **state)
{
	struct desk *d = *state;
	struct thread threads[THREADS];
	struct order order = { 0 };
	uint64_t before = log_dropped();
	size_t lines;

	d->lines = 20000;
	start(d, threads, THREADS, log_many);
	pthread_barrier_wait(&d->barrier);
	collect_until_all_ended(d);
	join(threads, THREADS);
	lines = read_lines(d, on_request, &order);
	assert_int_equal(lines + (log_dropped() - before), THREADS * d->lines);
	for (size_t i = 0; i < THREADS; i++)
		assert_true(order.lines[i] > 0);
	assert_int_equal(count_rings(), 0);
}

static void *log_and_wait(void *user)
{
	struct thread *t = user;

	log_thread_start();
	pthread_barrier_wait(&t->desk->barrier);
	for (unsigned i = 0; i < t->desk->lines; i++) {
		log_info("one");
		for (unsigned spins = 0; atomic_load(&t->desk->written) <= i; spins++)
			if (spins > 1000)
				sched_yield();
		/* the next line comes at varying moments of the main thread's way to sleep */
		for (unsigned spins = 0; spins < i % 512; spins++)
			atomic_load(&t->desk->written);
	}
	finish(t->desk);
	return NULL;
}

static void on_one(const struct log_line *line, void *user)
{
	struct desk *d = user;

	atomic_fetch_add(&d->written, 1);
}

/* The thread goes on only when its line was written, so a line that waits for ever is noticed. */
static void no_line_is_left_behind(void **state)
{
	struct desk *d = *state;
	struct thread thread;
	int sink = log_add_sink(LOG_INFO, on_one, d);

	d->lines = 10000;
	pthread_barrier_destroy(&d->barrier);
	pthread_barrier_init(&d->barrier, NULL, 2);
	start(d, &thread, 1, log_and_wait);
	pthread_barrier_wait(&d->barrier);
	collect_until_all_ended(d);
	join(&thread, 1);
	log_remove_sink(sink);
	assert_int_equal(atomic_load(&d->written), d->lines);
}

static void *overfill(void *user)
{
	struct thread *t = user;
	char text[1500];

	memset(text, 'x', sizeof(text));
	log_thread_start();
	for (unsigned i = 0; i < t->desk->lines; i++)
		log_info("request", LOG_U("thread", t->number), LOG_U("n", i),
			 LOG_SN("text", text, sizeof(text)));
	finish(t->desk);
	return NULL;
}

/* Nobody collects while the threads log. */
static void a_full_ring_drops_lines_and_counts_them(void **state)
{
	struct desk *d = *state;
	struct thread threads[THREADS];
	struct order order = { 0 };
	uint64_t before = log_dropped(), dropped;
	size_t lines;

	d->lines = 3000; /* about 4.5 MB */
	start(d, threads, THREADS, overfill);
	join(threads, THREADS);
	assert_int_equal(log_dropped(), before);
	while (log_collect())
		;
	lines = read_lines(d, on_request, &order);
	dropped = log_dropped() - before;
	assert_true(dropped > 0 && lines > 0);
	assert_int_equal(lines + dropped, THREADS * d->lines);
	assert_int_equal(log_take_gap(), dropped); /* without another line */
	assert_int_equal(log_take_gap(), 0);
	for (size_t i = 0; i < THREADS; i++) /* the oldest lines are kept */
		assert_int_equal(order.lines[i], order.next[i]);
	assert_int_equal(count_rings(), 0);
}

static void on_any(json_t *line, void *user)
{
	struct buf *messages = user;

	buf_adds(messages, json_string_value(json_object_get(line, "msg")));
	buf_addc(messages, ' ');
}

static void *log_sizes(void *user)
{
	struct thread *t = user;
	char *text = calloc(1, 4096);
	struct log_field fields[19] = { { 0 } };

	log_thread_start();
	memset(text, 'x', 4096);
	for (size_t i = 0; i < ARRAY_SIZE(fields) - 1; i++)
		fields[i] = (struct log_field)LOG_SN("text", text, 4096);
	log_write(LOG_INFO, "too-long", fields); /* 18 times 4 KiB */
	log_write(LOG_INFO, "long", fields + ARRAY_SIZE(fields) - 3);
	log_write(LOG_INFO, "short", NULL);
	log_debug("unwanted");
	finish(t->desk);
	free(text);
	return NULL;
}

static void a_line_that_is_too_long_costs_only_itself(void **state)
{
	struct desk *d = *state;
	_cleanup_(buf_free) struct buf messages = { 0 };
	uint64_t before = log_dropped();
	struct thread thread;

	start(d, &thread, 1, log_sizes);
	collect_until_all_ended(d);
	join(&thread, 1);
	read_lines(d, on_any, &messages);
	assert_string_equal(buf_cstr(&messages), "long short ");
	assert_int_equal(log_dropped() - before, 1);
}

/* The threads take turns, so the order of their times is known. */
static void *log_in_turn(void *user)
{
	struct thread *t = user;
	char msg[16];

	log_thread_start();
	for (unsigned round = 0; round < t->desk->lines; round++) {
		unsigned number = round * THREADS + t->number;

		while (atomic_load(&t->desk->next_number) != number)
			sched_yield();
		snprintf(msg, sizeof(msg), "%u", number);
		log_write(LOG_INFO, msg, NULL);
		atomic_fetch_add(&t->desk->next_number, 1);
	}
	finish(t->desk);
	return NULL;
}

static void lines_that_are_collected_together_are_in_the_order_of_their_times(void **state)
{
	struct desk *d = *state;
	struct thread threads[THREADS];
	_cleanup_(buf_free) struct buf messages = { 0 }, want = { 0 };

	d->lines = 20;
	start(d, threads, THREADS, log_in_turn);
	join(threads, THREADS);
	while (log_collect())
		;
	read_lines(d, on_any, &messages);
	for (unsigned i = 0; i < THREADS * d->lines; i++) {
		buf_addu(&want, i);
		buf_addc(&want, ' ');
	}
	assert_string_equal(buf_cstr(&messages), buf_cstr(&want));
}

static void on_sink(const struct log_line *line, void *user)
{
	struct buf *seen = user;

	assert_int_equal(line->level, LOG_DEBUG);
	assert_int_equal(line->fields->kind, LOG_KIND_END);
	assert_true(line->at > 0);
	buf_adds(seen, line->msg);
	buf_add(seen, line->json.p + line->json.n - 12, 12);
}

static void *log_one_at_debug(void *user)
{
	struct thread *t = user;

	log_thread_start();
	pthread_barrier_wait(&t->desk->barrier);
	log_debug("detail", LOG_U("n", 12));
	finish(t->desk);
	return NULL;
}

/* The level is that of the moment; a sink may want more than the descriptor. */
static void a_sink_hears_other_threads(void **state)
{
	struct desk *d = *state;
	struct thread threads[THREADS];
	_cleanup_(buf_free) struct buf seen = { 0 }, messages = { 0 };
	int sink;

	start(d, threads, THREADS, log_one_at_debug);
	sink = log_add_sink(LOG_DEBUG, on_sink, &seen);
	pthread_barrier_wait(&d->barrier);
	collect_until_all_ended(d);
	join(threads, THREADS);
	log_remove_sink(sink);
	assert_int_equal(seen.n, THREADS * strlen("detailil\",\"n\":12}\n"));
	assert_memory_equal(seen.p, "detailil\",\"n\":12}\n", 18);
	assert_int_equal(read_lines(d, on_any, &messages), 0);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(four_threads_log_whole_lines_in_their_order),
		test(no_line_is_left_behind),
		test(a_full_ring_drops_lines_and_counts_them),
		test(a_line_that_is_too_long_costs_only_itself),
		test(lines_that_are_collected_together_are_in_the_order_of_their_times),
		test(a_sink_hears_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
