/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads: the lines of other threads, which the main thread writes.
 *
 * Each thread has a ring of bytes. It formats a line, copies it into its ring and moves `tail`; the
 * main thread delivers the line and moves `head`. Nobody else writes these two, so there is no lock
 * and no call of the kernel. A line that finds no room is dropped and counted.
 *
 * A record is a header, the JSON text and the message. It never wraps around the end of the ring:
 * if it does not fit there, an empty record fills the end.
 *
 * Waking the main thread costs about as much as formatting a line, so it is done only if it would
 * not come by itself. `expected` says that it will: the thread that sets it wakes the main thread,
 * which then calls log_collect() every few milliseconds, and clears it when it finds nothing. Both
 * sides write one variable and then read the other's (`tail` and `expected`), in sequentially
 * consistent order: either the thread sees that it has to wake, or the main thread sees the line.
 * A ring that is half full wakes in any case.
 *
 * The list of threads has a lock, which only the main thread and threads that start or end take.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log_private.h"

#define MASK (LOG_RING_SIZE - 1)
#define CACHE_LINE 64
#define COLLECT_MAX ((size_t)256 * 1024) /* bytes of one log_collect(): some 0.3 ms */

static_assert((LOG_RING_SIZE & MASK) == 0, "a power of two");

struct record {
	uint32_t size;	 /* of all of it, a multiple of the alignment */
	uint32_t json_n; /* 0: only fills the end of the ring */
	int64_t at;
	enum log_level level;
	char text[]; /* JSON, message, NUL */
};

struct log__thread {
	/* of the thread */
	alignas(CACHE_LINE) _Atomic size_t tail; /* counts bytes and never wraps, like head */
	_Atomic uint64_t lost;
	size_t head_seen; /* an older head; reading the new one costs a cache miss */
	struct buf line, cut;
	/* of the main thread */
	alignas(CACHE_LINE) _Atomic size_t head;
	uint64_t lost_seen;
	size_t end; /* the tail at the beginning of this log_collect() */
	struct log__thread *next;
	_Atomic bool ended; /* set by the thread: the main thread frees this struct */
	alignas(CACHE_LINE) char ring[LOG_RING_SIZE];
};

_Thread_local struct log__thread *log__own;

static struct {
	pthread_mutex_t lock; /* of the list */
	struct log__thread *list;
	bool open; /* other threads may log */
	pthread_t main;
	void (*wake)(void *user);
	void *user;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static alignas(CACHE_LINE) _Atomic int floor_level = LOG_ERROR + 1;
static alignas(CACHE_LINE) _Atomic bool expected; /* see above */

/* ---- in the other threads ---- */

void log__set_floor(int level)
{
	atomic_store_explicit(&floor_level, level, memory_order_relaxed);
}

bool log__thread_wants(enum log_level level)
{
	return (int)level >= atomic_load_explicit(&floor_level, memory_order_relaxed);
}

/* Room for n bytes in one piece, behind the returned number of bytes that do not fit. -1: none. */
static ssize_t find_room(struct log__thread *t, size_t tail, size_t n)
{
	size_t left = LOG_RING_SIZE - (tail & MASK);
	size_t skip = n > left ? left : 0;

	if (tail + skip + n - t->head_seen > LOG_RING_SIZE)
		t->head_seen = atomic_load_explicit(&t->head, memory_order_acquire);
	return tail + skip + n - t->head_seen > LOG_RING_SIZE ? -1 : (ssize_t)skip;
}

static struct record *record_at(struct log__thread *t, size_t at)
{
	return (struct record *)(void *)(t->ring + (at & MASK));
}

static bool push(struct log__thread *t, const struct log_line *line)
{
	size_t tail = atomic_load_explicit(&t->tail, memory_order_relaxed);
	size_t msg_n = strlen(line->msg) + 1;
	size_t size = sizeof(struct record) + line->json.n + msg_n;
	struct record *r;
	ssize_t skip;

	size = (size + alignof(struct record) - 1) & ~(alignof(struct record) - 1);
	if (size > LOG_RING_LINE_MAX)
		return false;
	skip = find_room(t, tail, size);
	if (skip < 0)
		return false;
	if (skip > 0) { /* the alignment leaves room for size and json_n */
		r = record_at(t, tail);
		r->size = (uint32_t)skip;
		r->json_n = 0;
		tail += (size_t)skip;
	}
	r = record_at(t, tail);
	*r = (struct record){ (uint32_t)size, (uint32_t)line->json.n, line->at, line->level };
	memcpy(r->text, line->json.p, line->json.n);
	memcpy(r->text + line->json.n, line->msg, msg_n);
	atomic_store(&t->tail, tail + size);
	return true;
}

static void wake_if_needed(struct log__thread *t, bool full)
{
	bool wakes = !atomic_load(&expected) && !atomic_exchange(&expected, true);

	if (!wakes && !full) {
		size_t tail = atomic_load_explicit(&t->tail, memory_order_relaxed);

		if (tail - t->head_seen <= LOG_RING_SIZE / 2)
			return;
		t->head_seen = atomic_load_explicit(&t->head, memory_order_acquire);
		wakes = tail - t->head_seen > LOG_RING_SIZE / 2;
	}
	if (wakes || full)
		all.wake(all.user);
}

void log__thread_write(struct log_line *line)
{
	struct log__thread *t = log__own;
	bool done;

	log__format(&t->line, &t->cut, line);
	line->json = (struct str){ t->line.p, t->line.n };
	done = push(t, line);
	if (!done) /* the only writer, so this is no read-modify-write */
		atomic_store_explicit(&t->lost,
				      atomic_load_explicit(&t->lost, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	wake_if_needed(t, !done);
}

void log_thread_start(void)
{
	struct log__thread *t;

	assert(all.open && !log__own && !pthread_equal(all.main, pthread_self()));
	t = aligned_alloc(CACHE_LINE, sizeof(*t));
	if (!t)
		abort();
	memset(t, 0, offsetof(struct log__thread, ring));
	pthread_mutex_lock(&all.lock);
	t->next = all.list;
	all.list = t;
	pthread_mutex_unlock(&all.lock);
	log__own = t;
}

void log_thread_end(void)
{
	struct log__thread *t = TAKE_PTR(log__own);

	assert(t);
	buf_free(&t->line);
	buf_free(&t->cut);
	atomic_store(&t->ended, true);
	if (!atomic_load(&expected) && !atomic_exchange(&expected, true))
		all.wake(all.user);
}

/* ---- in the main thread ---- */

bool log__is_main(void)
{
	return !all.open || pthread_equal(all.main, pthread_self());
}

void log_accept_threads(void (*wake)(void *user), void *user)
{
	assert(wake && log__is_main());
	all.open = true;
	all.main = pthread_self();
	all.wake = wake;
	all.user = user;
}

/* The next record before t->end, NULL if there is none. */
static struct record *peek(struct log__thread *t)
{
	size_t head = atomic_load_explicit(&t->head, memory_order_relaxed);
	struct record *r;

	while (head != t->end) {
		r = record_at(t, head);
		if (r->json_n)
			return r;
		head += r->size;
		atomic_store_explicit(&t->head, head, memory_order_release);
	}
	return NULL;
}

static void deliver(struct log__thread *t, struct record *r)
{
	static const struct log_field none = { 0 };
	const struct log_line line = {
		r->level, r->at, r->text + r->json_n, &none, { r->text, r->json_n }
	};
	size_t head = atomic_load_explicit(&t->head, memory_order_relaxed) + r->size;

	log__deliver(&line);
	atomic_store_explicit(&t->head, head, memory_order_release);
}

/* The oldest line of all rings; NULL if all are empty. */
static struct record *find_oldest(struct log__thread **ret)
{
	struct record *oldest = NULL;

	for (struct log__thread *t = all.list; t; t = t->next) {
		struct record *r = peek(t);

		if (!r || (oldest && r->at >= oldest->at))
			continue;
		oldest = r;
		*ret = t;
	}
	return oldest;
}

static void count_lost(struct log__thread *t)
{
	uint64_t lost = atomic_load_explicit(&t->lost, memory_order_relaxed);

	if (lost != t->lost_seen)
		log__lost_elsewhere(lost - t->lost_seen);
	t->lost_seen = lost;
}

/*
 * `ended` is read before `tail`: no line follows it. A thread that has ended and whose lines were
 * all delivered is freed.
 */
static void look_at_threads(void)
{
	for (struct log__thread **at = &all.list, *t; (t = *at);) {
		bool ended = atomic_load(&t->ended);

		t->end = atomic_load(&t->tail);
		count_lost(t);
		if (ended && !peek(t)) {
			*at = t->next;
			free(t);
		} else {
			at = &t->next;
		}
	}
}

/* Returns whether there was a line. */
static bool collect(void)
{
	struct log__thread *t;
	struct record *r;
	size_t bytes = 0;

	pthread_mutex_lock(&all.lock);
	look_at_threads();
	log_hold();
	while (bytes < COLLECT_MAX && (r = find_oldest(&t))) {
		bytes += r->size;
		deliver(t, r);
	}
	log_release();
	pthread_mutex_unlock(&all.lock);
	return bytes > 0;
}

bool log_collect(void)
{
	assert(log__is_main());
	if (collect())
		return true;
	atomic_store(&expected, false);
	if (!collect())
		return false;
	atomic_store(&expected, true);
	return true;
}
