/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reloader: the phases of a run.
 *
 *	IDLE -> LOCKING -> FAST -> IDLE
 *	                   FAST -> QUIET -> FULL -> ADOPTING -> COMPLETING -> IDLE
 *
 * COMPLETING sends what frr-reload.py has left out: it compares with the configurations of all
 * daemons together, so that a route map that zebra still has is taken for one that a restarted bgpd
 * has, too.
 *
 * QUIET waits for a save that is under way, so that there is never more than one child. A save
 * begins when the fast path has changed nothing for a while: all daemons print their configuration
 * for it, which would delay the route that has just been changed, and one save is enough for a
 * burst of changes.
 *
 * The lock is the one of the shell script that this program replaces, so that a reload by hand
 * under flock(1) and a run exclude each other. It is tried until it is free, because a blocking
 * flock() would stop the loop.
 */
#include "src/frr-reloader/reloader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/frr/conf.h"
#include "lib/log/log.h"
#include "lib/loop/waitlist.h"
#include "src/frr-reloader/fast.h"
#include "src/frr-reloader/full.h"

#define WAITING_MAX 1000 /* requests */
#define LOCK_PAUSE 0.02	 /* s between two attempts */
#define SAVE_PAUSE 1.	 /* s after the last change */
#define LOCK_LIMIT (60 * NSEC_PER_SEC)

enum phase { IDLE, LOCKING, FAST, QUIET, FULL, ADOPTING, COMPLETING };

struct request {
	struct waitlist_item waiting;
	reloader_done_fn done;
};

struct reloader {
	struct ev_loop *loop;
	const struct options *options;
	struct fast *fast; /* NULL: switched off */
	struct full *full;
	struct waitlist requests;
	uint64_t round; /* of the run under way */
	enum phase phase;
	int lock;
	int64_t began;
	ev_timer retry;	 /* of the lock */
	ev_timer save;	 /* runs while a save is due */
	struct buf text; /* of the run under way */
	char *copy;	 /* the file that holds it for the full reload */
	bool dirty;	 /* FRR runs something that it has not saved */
	bool repeated;	 /* the full reload of this run was tried again */
	bool draining;
	void (*drained)(void *user);
	void *drained_user;
	struct reloader_stats stats;
};

static const double seconds[] = { .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120 };
static const struct metrics_bounds bounds = { seconds, ARRAY_SIZE(seconds) };

/* ---- the end of a run ---- */

static void start(struct reloader *r);
static void save_later(struct reloader *r);

static void answer_all(struct reloader *r, bool success, const char *error)
{
	struct waitlist_item *w;

	while ((w = waitlist_take(&r->requests, r->round, NULL))) {
		_cleanup_(cleanup_free) struct request *q =
			container_of(w, struct request, waiting);

		if (!w->forgotten && q->done)
			q->done(success, error, w->user);
	}
}

/* The file that old clients poll: "<seconds> success", without a newline. */
static void write_status(const struct reloader *r, bool success)
{
	_cleanup_(cleanup_free) char *path = NULL, *text = NULL;
	_cleanup_(cleanup_fd) int fd = -1;
	int n = asprintf(&text, "%lld %s", (long long)(loop_realtime() / NSEC_PER_SEC),
			 success ? "success" : "failure");

	if (n < 0 || asprintf(&path, "%s/.status", r->options->volume) < 0)
		abort();
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		log_warn("status-failed", LOG_S("file", path), LOG_S("reason", strerror(errno)));
}

static void note_result(struct reloader *r, enum reloader_way way, bool success, const char *error)
{
	struct reloader_stats *s = &r->stats;

	/* requests are numbered in their order, and all before the first were answered */
	s->last_batch = r->requests.first ? r->round - r->requests.first->number : 0;
	s->batched += s->last_batch ? s->last_batch - 1 : 0;
	s->reloads++;
	s->errors += !success;
	s->succeeded = success;
	s->last_at = loop_realtime();
	snprintf(s->last_error, sizeof(s->last_error), "%s", error);
	metrics_observe(&s->duration[way], loop_seconds(loop_monotonic() - r->began));
}

static void tell_if_drained(struct reloader *r)
{
	void (*drained)(void *user) = r->drained;

	if (!drained || r->phase != IDLE || full_is_busy(r->full))
		return;
	r->drained = NULL;
	drained(r->drained_user);
}

static void end_run(struct reloader *r, enum reloader_way way, bool success, const char *error)
{
	_cleanup_(cleanup_free) char *text = mem_strdup(error);
	int64_t took = loop_monotonic() - r->began;

	note_result(r, way, success, text);
	write_status(r, success);
	flock(r->lock, LOCK_UN);
	r->phase = IDLE;
	if (success)
		log_info("reloaded", LOG_S("way", way == RELOADER_FAST ? "fast" : "full"),
			 LOG_U("requests", r->stats.last_batch), LOG_T("duration", took));
	else
		log_error("reload-failed", LOG_S("reason", text),
			  LOG_U("requests", r->stats.last_batch), LOG_T("duration", took));
	answer_all(r, success, text);
	if (r->phase == IDLE && r->requests.n) /* an answer may have brought a request */
		start(r);
	save_later(r);
	tell_if_drained(r);
}

/* ---- the full reload ---- */

/* frr-reload.py has succeeded, but it is not known what runs now: the next reload is full, too. */
static void end_without_base(struct reloader *r, const char *why)
{
	log_warn("fast-path-off", LOG_S("reason", why));
	end_run(r, RELOADER_FULL, true, "");
}

static void on_completed(const struct fast_result *result, void *user)
{
	struct reloader *r = user;

	if (result->end == FAST_DONE) {
		r->dirty |= result->commands > 0;
		end_run(r, RELOADER_FULL, true, "");
		return;
	}
	fast_forget(r->fast);
	if (result->end == FAST_REFUSED)
		end_without_base(r, result->why);
	else
		end_run(r, RELOADER_FULL, false, result->why);
}

static void on_adopted(const struct fast_result *result, void *user)
{
	struct reloader *r = user;

	if (result->end != FAST_DONE) {
		end_without_base(r, result->why);
		return;
	}
	r->phase = COMPLETING;
	fast_apply(r->fast, (struct str){ r->text.p, r->text.n }, on_completed, r);
}

/*
 * frr-reload.py sends lines that are new in each of its two passes, and FRR 8.4 refuses a graceful
 * restart of a neighbour the second time (status 13, as for any line that is refused). All of it
 * runs then, and another try has nothing to send.
 */
static bool is_worth_a_repeat(const struct reloader *r, const char *why)
{
	return !r->repeated && strstr(why, "vtysh (exec file) exited with status 13") != NULL;
}

static void on_full(bool success, const char *why, void *user)
{
	struct reloader *r = user;

	r->stats.full++;
	if (!success && is_worth_a_repeat(r, why)) {
		log_debug("full-reload-repeated", LOG_S("reason", why));
		r->repeated = true;
		full_reload(r->full, r->copy, on_full, r);
		return;
	}
	if (success)
		r->dirty = false;
	if (!success && r->fast)
		fast_forget(r->fast); /* some of it may have been applied */
	if (!success || !r->fast) {
		end_run(r, RELOADER_FULL, success, why);
		return;
	}
	r->phase = ADOPTING;
	fast_adopt(r->fast, (struct str){ r->text.p, r->text.n }, on_adopted, r);
}

/*
 * The full reload reads a copy, because the file may change while it is under way: what was applied
 * must be known afterwards. It contains passwords.
 */
static int write_copy(struct reloader *r)
{
	_cleanup_(cleanup_fd) int fd =
		open(r->copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t at = 0;

	if (fd < 0)
		return -errno;
	while (at < r->text.n) {
		ssize_t n = write(fd, r->text.p + at, r->text.n - at);

		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return 0;
}

/* After a save has ended, if there was one. */
static void reload_if_quiet(struct reloader *r)
{
	int error;

	r->phase = QUIET;
	if (full_is_busy(r->full))
		return;
	r->phase = FULL;
	r->repeated = false;
	error = write_copy(r);
	if (error < 0)
		end_run(r, RELOADER_FULL, false, strerror(-error));
	else
		full_reload(r->full, r->copy, on_full, r);
}

/* ---- saving ---- */

static void on_saved(bool success, const char *why, void *user)
{
	struct reloader *r = user;

	r->stats.saves++;
	r->stats.save_errors += !success;
	if (!success) {
		/* the next change tries again; FRR runs the right configuration anyway */
		log_warn("save-failed", LOG_S("reason", why));
	}
	if (r->phase == QUIET)
		reload_if_quiet(r);
	else
		save_later(r);
	tell_if_drained(r);
}

/* Not while a run is under way: it saves by itself, or comes back here. */
static void save_now(struct reloader *r)
{
	ev_timer_stop(r->loop, &r->save);
	if (!r->dirty || r->phase != IDLE || full_is_busy(r->full))
		return;
	r->dirty = false;
	full_save(r->full, on_saved, r);
}

static void on_save(struct ev_loop *loop, ev_timer *w, int revents)
{
	save_now(container_of(w, struct reloader, save));
}

/* Each change moves the time. */
static void save_later(struct reloader *r)
{
	if (r->draining)
		save_now(r);
	else if (r->dirty)
		ev_timer_again(r->loop, &r->save);
}

/* ---- the fast path ---- */

static void on_fast(const struct fast_result *result, void *user)
{
	struct reloader *r = user;

	if (result->end == FAST_DONE) {
		r->stats.fast++;
		r->stats.announced += result->announced;
		r->stats.withdrawn += result->withdrawn;
		r->dirty |= result->commands > 0;
		log_debug("fast-path", LOG_U("commands", result->commands),
			  LOG_U("announced", result->announced),
			  LOG_U("withdrawn", result->withdrawn), LOG_B("drops", result->drops));
		end_run(r, RELOADER_FAST, true, "");
		return;
	}
	r->stats.fallbacks++;
	snprintf(r->stats.last_fallback, sizeof(r->stats.last_fallback), "%s", result->why);
	if (result->end == FAST_FAILED)
		log_warn("fast-path-failed", LOG_S("reason", result->why));
	log_info("full-reload", LOG_S("reason", result->why));
	reload_if_quiet(r);
}

/* ---- the beginning of a run ---- */

static int read_config(const char *path, struct buf *ret)
{
	_cleanup_(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	ret->n = 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > (off_t)FRR_CONF_MAX)
		return -E2BIG;
	do {
		buf_reserve(ret, (size_t)64 * 1024);
		n = read(fd, ret->p + ret->n, (size_t)64 * 1024);
		if (n > 0)
			ret->n += (size_t)n;
	} while (n > 0 && ret->n <= FRR_CONF_MAX);
	return n < 0 ? -errno : n > 0 ? -E2BIG : 0;
}

static void run(struct reloader *r)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	int error;

	r->round = waitlist_round(&r->requests);
	error = read_config(r->options->config, &r->text);
	if (error < 0) {
		buf_printf(&why, "%s: %s", r->options->config, strerror(-error));
		end_run(r, RELOADER_FAST, false, buf_cstr(&why));
		return;
	}
	if (!r->fast) {
		reload_if_quiet(r);
		return;
	}
	r->phase = FAST;
	fast_apply(r->fast, (struct str){ r->text.p, r->text.n }, on_fast, r);
}

/* Requests that come while the lock is awaited belong to this run: the file is read afterwards. */
static void on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct reloader *r = container_of(w, struct reloader, retry);

	if (flock(r->lock, LOCK_EX | LOCK_NB) == 0) {
		ev_timer_stop(loop, w);
		run(r);
	} else if (loop_monotonic() - r->began > LOCK_LIMIT) {
		ev_timer_stop(loop, w);
		r->round = waitlist_round(&r->requests);
		end_run(r, RELOADER_FAST, false, "another process holds the lock");
	}
}

static void start(struct reloader *r)
{
	assert(r->phase == IDLE);
	r->phase = LOCKING;
	r->began = loop_monotonic();
	ev_timer_set(&r->retry, 0., LOCK_PAUSE); /* first from the loop, so that requests gather */
	ev_timer_start(r->loop, &r->retry);
}

/* ---- the interface ---- */

int reloader_request(struct reloader *r, reloader_done_fn done, void *user)
{
	struct request *q;
	int error;

	if (r->draining)
		return -EBUSY;
	q = mem_zalloc(sizeof(*q));
	q->done = done;
	error = waitlist_add(&r->requests, &q->waiting, user);
	if (error < 0) {
		free(q);
		return error;
	}
	r->stats.requests++;
	if (r->phase == IDLE)
		start(r);
	return 0;
}

void reloader_forget(struct reloader *r, const void *user)
{
	waitlist_forget(&r->requests, user);
}

void reloader_drain(struct reloader *r, void (*done)(void *user), void *user)
{
	r->draining = true;
	r->drained = done;
	r->drained_user = user;
	save_now(r);
	tell_if_drained(r);
}

static int open_lock(const char *folder)
{
	_cleanup_(cleanup_free) char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/lock", folder) < 0)
		abort();
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0) {
		fd = -errno;
		log_error("lock-failed", LOG_S("file", path), LOG_S("reason", strerror(-fd)));
	}
	return fd;
}

int reloader_new(struct ev_loop *loop, const struct options *options, struct reloader **ret)
{
	int lock = open_lock(options->volume);
	struct reloader *r;

	if (lock < 0)
		return lock;
	r = mem_zalloc(sizeof(*r));
	r->loop = loop;
	r->options = options;
	r->lock = lock;
	if (asprintf(&r->copy, "%s/applying.conf", options->volume) < 0)
		abort();
	r->requests.max = WAITING_MAX;
	ev_timer_init(&r->retry, on_retry, 0., 0.);
	ev_timer_init(&r->save, on_save, 0., SAVE_PAUSE);
	r->full = full_new(loop, options);
	if (options->fast_path)
		r->fast = fast_new(loop, options);
	for (size_t i = 0; i < ARRAY_SIZE(r->stats.duration); i++)
		metrics_histogram_init(&r->stats.duration[i], &bounds);
	*ret = r;
	return 0;
}

static void drop_requests(struct reloader *r)
{
	struct waitlist_item *w;

	while ((w = waitlist_take(&r->requests, waitlist_round(&r->requests), NULL)))
		free(container_of(w, struct request, waiting));
}

void reloader_free(struct reloader *r)
{
	if (!r)
		return;
	ev_timer_stop(r->loop, &r->retry);
	ev_timer_stop(r->loop, &r->save);
	full_free(r->full);
	fast_free(r->fast);
	drop_requests(r);
	buf_free(&r->text);
	unlink(r->copy);
	free(r->copy);
	close(r->lock);
	free(r);
}

const struct reloader_stats *reloader_stats(const struct reloader *r)
{
	return &r->stats;
}

size_t reloader_queue(const struct reloader *r)
{
	return r->requests.n;
}

bool reloader_is_busy(const struct reloader *r)
{
	return r->phase != IDLE;
}
