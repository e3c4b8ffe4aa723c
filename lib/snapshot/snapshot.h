/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot: one object that many threads read and one thread replaces, without a lock.
 *
 * The control thread publishes an object, which must not change any more, such as a compiled
 * configuration. Data threads read the newest one; a read is a load of two pointers. An object that
 * was replaced is destroyed in the control thread, from its loop, when no data thread can use it
 * any more: each has ended the turn of its loop in which it may have read the object, and has
 * released its holds.
 *
 * A data thread announces itself with snapshot_thread_start(). From then on it may read during a
 * turn of its loop, and what it has read is valid until the turn ends. A request that takes longer
 * holds the object (snapshot_hold()). While the loop waits for events, the thread delays nothing.
 *
 * No function blocks, except snapshot_free(). There is no bound of time: objects wait for the
 * slowest turn and the longest hold, so the owner bounds both, and may watch snapshot_waiting().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct snapshot;
struct snapshot_version;

/* ---- the control thread ---- */

typedef void (*snapshot_destroy_fn)(void *object, void *user);

/*
 * threads is the number of data threads that may hold objects, at most SNAPSHOT_THREADS_MAX. The
 * loop is that of the control thread; the snapshot does not keep it alive. Starts a thread that
 * waits for the data threads.
 */
#define SNAPSHOT_THREADS_MAX 1024
struct snapshot *snapshot_new(struct ev_loop *loop, unsigned threads, snapshot_destroy_fn destroy,
			      void *user);
/* Every data thread has ended or will not read again, and holds nothing. Destroys all objects. */
void snapshot_free(struct snapshot *s);
/* Replaces the object; NULL is allowed. The snapshot owns it from now on. */
void snapshot_publish(struct snapshot *s, void *object);
/* Objects that were replaced and are not destroyed yet. */
size_t snapshot_waiting(const struct snapshot *s);

/* ---- data threads ---- */

/* Of one thread and its loop; must not move. */
struct snapshot_thread {
	struct ev_loop *loop; /* NULL: none */
	ev_prepare before;
	ev_check after;
	unsigned index;
};

/*
 * Called in the thread. index is smaller than `threads` above, and each thread has its own. With a
 * loop the thread is quiescent whenever that polls; without one it must call snapshot_quiescent()
 * again and again. Does not keep the loop alive.
 */
void snapshot_thread_start(struct snapshot_thread *t, struct ev_loop *loop, unsigned index);
void snapshot_thread_end(struct snapshot_thread *t);
/* The thread uses nothing that it has read before and does not hold. */
void snapshot_quiescent(void);

/*
 * The newest object, NULL before the first. Valid until the thread is quiescent; in the control
 * thread until it returns to its loop.
 */
const void *snapshot_read(const struct snapshot *s);
/*
 * Keeps the newest object beyond the end of the turn. The result is never NULL, and is released
 * once, in the same thread.
 */
struct snapshot_version *snapshot_hold(struct snapshot *s, const struct snapshot_thread *t);
/* NULL if no object had been published. */
const void *snapshot_object(const struct snapshot_version *v);
void snapshot_release(struct snapshot_version *v, const struct snapshot_thread *t);
