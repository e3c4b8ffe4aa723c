/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot: read-copy-update, with liburcu's QSBR flavour; the only room that includes it.
 *
 * Each object has a struct snapshot_version, to which `newest` points. A replaced version goes
 * through three places: `retired`, where the reaper finds it; `passed`, where the reaper puts it
 * after every data thread was quiescent; and `waiting`, a list of the control thread, where it
 * stays while a thread holds it. The reaper is a thread of its own because it waits for the others.
 *
 * The holds of a thread are counted in its own cache line of the version, which no other thread
 * writes. Once a version has passed, no thread can take a new hold, so the counts only fall. A
 * thread that gives up its last hold of a replaced version wakes the control thread, which adds up
 * the counts again. It cannot miss that: if it releases after its last quiescent state, it sees
 * `replaced`, which was set before; if it releases before, the control thread sees the count.
 *
 * ThreadSanitizer does not see the synchronization inside liburcu, so it is told: everything before
 * a quiescent state happens before the end of the reaper's wait.
 */
#include "lib/snapshot/snapshot.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <urcu/urcu-qsbr.h>

#include "base/cleanup.h"
#include "base/mem.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TELL_RELEASE() __tsan_release(&told)
#define TELL_ACQUIRE() __tsan_acquire(&told)
static char told;
#endif
#endif
#ifndef TELL_RELEASE
#define TELL_RELEASE() ((void)0)
#define TELL_ACQUIRE() ((void)0)
#endif

#define CACHE_LINE 64

struct holds {
	alignas(CACHE_LINE) _Atomic unsigned n; /* written by one thread */
};

struct snapshot_version {
	void *object;
	struct snapshot *snapshot;
	struct snapshot_version *next; /* in one of the lists */
	_Atomic bool replaced;
	struct holds holds[]; /* one for each thread */
};

struct snapshot {
	_Atomic(struct snapshot_version *) newest;
	struct ev_loop *loop;
	unsigned threads;
	snapshot_destroy_fn destroy;
	void *user;
	ev_async passing; /* something may be destroyed */
	struct snapshot_version *waiting;
	size_t n_waiting; /* in all three lists */
	pthread_t reaper;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t work;
	struct snapshot_version *retired, *passed;
	bool ending;
};

/* ---- the reaper ---- */

/* Waits for retired versions; NULL at the end. */
static struct snapshot_version *take_retired(struct snapshot *s)
{
	struct snapshot_version *v;

	pthread_mutex_lock(&s->lock);
	while (!s->retired && !s->ending)
		pthread_cond_wait(&s->work, &s->lock);
	v = TAKE_PTR(s->retired);
	pthread_mutex_unlock(&s->lock);
	return v;
}

static void append(struct snapshot_version **list, struct snapshot_version *more)
{
	while (*list)
		list = &(*list)->next;
	*list = more;
}

static void *reap(void *user)
{
	struct snapshot *s = user;
	struct snapshot_version *v;

	while ((v = take_retired(s))) {
		urcu_qsbr_synchronize_rcu();
		TELL_ACQUIRE();
		pthread_mutex_lock(&s->lock);
		append(&v, s->passed);
		s->passed = v;
		pthread_mutex_unlock(&s->lock);
		ev_async_send(s->loop, &s->passing);
	}
	return NULL;
}

/* Signals are for the main thread. */
static void start_reaper(struct snapshot *s)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&s->reaper, NULL, reap, s) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void end_reaper(struct snapshot *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->reaper, NULL);
}

/* ---- the control thread ---- */

static struct snapshot_version *new_version(struct snapshot *s, void *object)
{
	size_t size = sizeof(struct snapshot_version) + s->threads * sizeof(struct holds);
	struct snapshot_version *v = aligned_alloc(CACHE_LINE, size);

	if (!v)
		abort();
	memset(v, 0, size);
	v->object = object;
	v->snapshot = s;
	return v;
}

static void destroy(struct snapshot *s, struct snapshot_version *v)
{
	if (v->object)
		s->destroy(v->object, s->user);
	free(v);
}

static bool is_held(const struct snapshot_version *v)
{
	for (unsigned i = 0; i < v->snapshot->threads; i++)
		if (atomic_load_explicit(&v->holds[i].n, memory_order_acquire))
			return true;
	return false;
}

/* The callback of the owner may publish, so it is called when the list is consistent. */
static void destroy_unheld(struct snapshot *s)
{
	for (struct snapshot_version **at = &s->waiting, *v; (v = *at);) {
		if (is_held(v)) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		s->n_waiting--;
		destroy(s, v);
	}
}

static void on_passing(struct ev_loop *loop, ev_async *w, int revents)
{
	struct snapshot *s = container_of(w, struct snapshot, passing);
	struct snapshot_version *passed;

	pthread_mutex_lock(&s->lock);
	passed = TAKE_PTR(s->passed);
	pthread_mutex_unlock(&s->lock);
	append(&passed, s->waiting);
	s->waiting = passed;
	destroy_unheld(s);
}

struct snapshot *snapshot_new(struct ev_loop *loop, unsigned threads,
			      snapshot_destroy_fn destroy_fn, void *user)
{
	struct snapshot *s = mem_zalloc(sizeof(*s));

	assert(loop && destroy_fn && threads <= SNAPSHOT_THREADS_MAX);
	*s = (struct snapshot){
		.loop = loop, .threads = threads, .destroy = destroy_fn, .user = user
	};
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	atomic_store(&s->newest, new_version(s, NULL));
	ev_async_init(&s->passing, on_passing);
	ev_async_start(loop, &s->passing);
	ev_unref(loop);
	start_reaper(s);
	return s;
}

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	end_reaper(s);
	on_passing(s->loop, &s->passing, 0);
	assert(!s->waiting && !s->retired);
	ev_ref(s->loop);
	ev_async_stop(s->loop, &s->passing);
	destroy(s, atomic_load(&s->newest));
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void snapshot_publish(struct snapshot *s, void *object)
{
	struct snapshot_version *old;

	assert(s);
	old = atomic_exchange(&s->newest, new_version(s, object));
	atomic_store(&old->replaced, true);
	s->n_waiting++;
	pthread_mutex_lock(&s->lock);
	old->next = s->retired;
	s->retired = old;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

size_t snapshot_waiting(const struct snapshot *s)
{
	return s->n_waiting;
}

/* ---- data threads ---- */

/* Before the poll; the lowest priority, so that every other callback comes before. */
static void on_before_poll(struct ev_loop *loop, ev_prepare *w, int revents)
{
	TELL_RELEASE();
	urcu_qsbr_thread_offline();
}

static void on_after_poll(struct ev_loop *loop, ev_check *w, int revents)
{
	urcu_qsbr_thread_online();
}

void snapshot_thread_start(struct snapshot_thread *t, struct ev_loop *loop, unsigned index)
{
	assert(t && index < SNAPSHOT_THREADS_MAX);
	*t = (struct snapshot_thread){ .loop = loop, .index = index };
	urcu_qsbr_register_thread();
	if (!loop)
		return;
	ev_prepare_init(&t->before, on_before_poll);
	ev_set_priority(&t->before, EV_MINPRI);
	ev_prepare_start(loop, &t->before);
	ev_unref(loop);
	ev_check_init(&t->after, on_after_poll);
	ev_set_priority(&t->after, EV_MAXPRI);
	ev_check_start(loop, &t->after);
	ev_unref(loop);
}

void snapshot_thread_end(struct snapshot_thread *t)
{
	TELL_RELEASE();
	urcu_qsbr_unregister_thread();
	if (!t->loop)
		return;
	ev_ref(t->loop);
	ev_check_stop(t->loop, &t->after);
	ev_ref(t->loop);
	ev_prepare_stop(t->loop, &t->before);
	t->loop = NULL;
}

void snapshot_quiescent(void)
{
	TELL_RELEASE();
	urcu_qsbr_quiescent_state();
}

const void *snapshot_read(const struct snapshot *s)
{
	return atomic_load_explicit(&s->newest, memory_order_acquire)->object;
}

struct snapshot_version *snapshot_hold(struct snapshot *s, const struct snapshot_thread *t)
{
	struct snapshot_version *v = atomic_load_explicit(&s->newest, memory_order_acquire);
	_Atomic unsigned *n = &v->holds[t->index].n;

	assert(t->index < s->threads);
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	return v;
}

const void *snapshot_object(const struct snapshot_version *v)
{
	return v->object;
}

/* The version may be destroyed as soon as the count is 0, so it is not used after that. */
void snapshot_release(struct snapshot_version *v, const struct snapshot_thread *t)
{
	struct snapshot *s = v->snapshot;
	unsigned left = atomic_load_explicit(&v->holds[t->index].n, memory_order_relaxed);
	bool replaced = atomic_load(&v->replaced);

	assert(left > 0);
	atomic_store_explicit(&v->holds[t->index].n, left - 1, memory_order_release);
	if (left == 1 && replaced)
		ev_async_send(s->loop, &s->passing);
}
