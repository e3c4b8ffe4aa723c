/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: `kept` is the text in the file, `writing` the one that a child writes now. A change marks
 * the store as dirty. The text is made when a write can begin, in a turn of the loop of its own, so
 * that many changes in one turn cost one text. Callers that wait belong to the write that begins
 * after they came: `round` separates those of the write under way from later ones.
 */
#include "lib/config/store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/config/file.h"
#include "lib/loop/backoff.h"
#include "lib/loop/job.h"
#include "lib/loop/waitlist.h"

#define WRITE_TIMEOUT (10 * NSEC_PER_SEC) /* a disk that takes longer counts as failed */

static const struct backoff_policy retries = { NSEC_PER_SEC, 30 * NSEC_PER_SEC, 0 };

struct waiting {
	struct waitlist_item item;
	store_done_fn done;
};

struct store {
	struct ev_loop *loop;
	struct store_config config;
	struct buf kept, writing;
	struct job *job; /* NULL: nothing is being written */
	bool dirty;
	uint64_t round; /* callers below it wait for the write under way */
	ev_timer soon;	/* begins a write from the loop */
	struct backoff retry;
	struct waitlist waiting;
	struct store_stats stats;
};

static void answer(struct store *s, uint64_t round, int err)
{
	struct waitlist_item *item;

	while ((item = waitlist_take(&s->waiting, round, NULL))) {
		struct waiting *w = container_of(item, struct waiting, item);
		store_done_fn done = item->forgotten ? NULL : w->done;
		void *user = item->user;

		free(w);
		if (done)
			done(err, user);
	}
}

/* In the child. The exit code is the errno. */
static int write_file(int out, void *user)
{
	const struct store *s = user;

	return -file_replace_safely(s->config.path, (struct str){ s->writing.p, s->writing.n });
}

static void begin_soon(struct store *s)
{
	if (!ev_is_active(&s->soon))
		ev_timer_start(s->loop, &s->soon);
}

/* Tells only about changes: a full disk is one line in the log. */
static void note_result(struct store *s, int err)
{
	bool was_failing = s->stats.failing;

	s->stats.failing = err < 0;
	s->stats.written += err == 0;
	s->stats.failed += err < 0;
	if (s->config.told && s->stats.failing != was_failing)
		s->config.told(err, s->config.user);
}

static void ended(struct store *s, int err)
{
	note_result(s, err);
	if (err < 0) {
		s->dirty = true;
		backoff_start(&s->retry);
	} else {
		backoff_reset(&s->retry);
		buf_free(&s->kept);
		s->kept = s->writing;
		s->writing = (struct buf){ 0 };
	}
	answer(s, s->round, err);
	if (err == 0 && (s->dirty || s->waiting.n))
		begin_soon(s);
}

static void on_written(const struct job_result *result, void *user)
{
	struct store *s = user;

	s->job = NULL;
	if (result->end == JOB_EXIT)
		ended(s, -result->number);
	else
		ended(s, result->end == JOB_DONE ? 0 : -ETIMEDOUT);
}

static bool is_kept(const struct store *s)
{
	return str_eq((struct str){ s->writing.p, s->writing.n },
		      (struct str){ s->kept.p, s->kept.n });
}

static void make_text(struct store *s)
{
	s->dirty = false;
	s->writing.n = 0;
	s->config.text(&s->writing, s->config.user);
}

/* Begins a write, unless one is under way: its end comes back here. */
static void begin(struct store *s)
{
	const struct job_spec spec = {
		.work = write_file, .done = on_written, .user = s, .timeout = WRITE_TIMEOUT
	};
	int r;

	if (s->job)
		return;
	s->round = waitlist_round(&s->waiting);
	make_text(s);
	if (is_kept(s)) {
		answer(s, s->round, 0);
		return;
	}
	r = job_start(s->loop, &spec, &s->job);
	if (r < 0)
		ended(s, r);
}

static void on_soon(struct ev_loop *loop, ev_timer *w, int events)
{
	begin(w->data);
}

static void on_retry(void *user)
{
	begin(user);
}

struct store *store_new(struct ev_loop *loop, const struct store_config *config)
{
	struct store *s = mem_zalloc(sizeof(*s));

	s->loop = loop;
	s->config = *config;
	s->waiting.max = STORE_WAITING_MAX;
	ev_timer_init(&s->soon, on_soon, 0., 0.);
	s->soon.data = s;
	backoff_init(&s->retry, loop, &retries, on_retry, s);
	return s;
}

void store_free(struct store *s)
{
	bool interrupted;

	if (!s)
		return;
	interrupted = s->job != NULL;
	job_cancel(s->job);
	ev_timer_stop(s->loop, &s->soon);
	backoff_stop(&s->retry);
	if (s->dirty || interrupted) {
		make_text(s);
		if (!is_kept(s))
			note_result(
				s, file_replace_safely(s->config.path,
						       (struct str){ s->writing.p, s->writing.n }));
	}
	answer(s, waitlist_round(&s->waiting), -ECANCELED);
	buf_free(&s->kept);
	buf_free(&s->writing);
	free(s);
}

void store_has(struct store *s, struct str text)
{
	s->kept.n = 0;
	buf_add(&s->kept, text.p, text.n);
}

void store_changed(struct store *s)
{
	s->dirty = true;
	begin_soon(s);
}

/* Also if nothing is dirty: a write may be under way, and the answer comes from the loop. */
int store_wait(struct store *s, store_done_fn done, void *user)
{
	struct waiting *w = mem_zalloc(sizeof(*w));
	int r = waitlist_add(&s->waiting, &w->item, user);

	w->done = done;
	if (r < 0)
		free(w);
	else
		begin_soon(s);
	return r;
}

void store_forget(struct store *s, void *user)
{
	waitlist_forget(&s->waiting, user);
}

const struct store_stats *store_stats(const struct store *s)
{
	return &s->stats;
}
