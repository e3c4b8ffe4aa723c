/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload: begin() writes the file and asks; finish() is the only end, and is called from the loop.
 *
 * There is one timer, because only one thing is waited for at a time: the result in the status
 * file, the time of the next try, or the turn of the loop in which an early failure is reported.
 */
#include "src/speaker/reload.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/config/file.h"
#include "lib/http/client.h"
#include "lib/json/cursor.h"

#define RETRY (5 * NSEC_PER_SEC)
#define TIMEOUT (30 * NSEC_PER_SEC)
#define LOOK_EVERY 0.1 /* s; at the status file */
#define FILE_MAX 64    /* bytes of the pid file and the status file */

/* A state of the status file, to notice that it was written. */
struct mark {
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct reload {
	struct ev_loop *loop;
	struct arena *arena; /* of the strings in config */
	struct reload_config config;
	struct http_client *client;
	struct http_call *call; /* NULL: none under way */
	struct debounce debounce;
	struct buf latest;
	ev_timer timer;
	void (*on_time)(struct reload *r);
	int64_t began; /* monotonic ns */
	int64_t id;    /* of the last request */
	struct mark before;
	char error[sizeof(((struct reload_stats *)0)->last_error)];
	struct reload_stats stats;
};

static void begin(struct reload *r);

/* ---- the timer ---- */

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct reload *r = w->data;

	ev_timer_stop(loop, w);
	r->on_time(r);
}

static void wait_for(struct reload *r, double seconds, void (*on_time)(struct reload *r))
{
	r->on_time = on_time;
	ev_timer_stop(r->loop, &r->timer);
	ev_timer_set(&r->timer, seconds, 0);
	ev_now_update(r->loop);
	ev_timer_start(r->loop, &r->timer);
}

/* ---- the end ---- */

static void try_again(struct reload *r)
{
	if (debounce_tick(&r->debounce, loop_monotonic()))
		begin(r);
	else
		wait_for(r, loop_seconds(r->debounce.due - loop_monotonic()), try_again);
}

static void note(struct reload *r, const struct reload_result *result)
{
	struct reload_stats *s = &r->stats;

	s->last_at = loop_realtime();
	s->succeeded = result->success;
	metrics_observe(&s->duration, loop_seconds(result->duration));
	if (result->success)
		s->batched += result->batch - 1;
	else
		s->failures++;
	snprintf(s->last_error, sizeof(s->last_error), "%s", result->error);
}

/* error is "" after success. */
static void finish(struct reload *r, const char *error)
{
	int64_t now = loop_monotonic();
	const struct reload_result result = { .success = !*error,
					      .error = error,
					      .batch = debounce_batch(&r->debounce),
					      .duration = now - r->began };

	note(r, &result);
	if (debounce_done(&r->debounce, result.success, now))
		begin(r);
	else if (r->debounce.state == DEBOUNCE_WAITING)
		wait_for(r, loop_seconds(r->debounce.due - now), try_again);
	/* last, because it may store another one */
	if (r->config.done)
		r->config.done(&result, r->config.user);
}

static void report_failure(struct reload *r)
{
	char error[sizeof(r->error)];

	memcpy(error, r->error, sizeof(error));
	finish(r, error);
}

/* The failure is reported in the next turn, so that done() never comes from within a caller. */
__attribute__((format(printf, 2, 3))) static void fail(struct reload *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
	wait_for(r, 0, report_failure);
}

/* ---- frr-reloader's socket ---- */

void reload_judge(struct str body, int64_t asked, char *error, size_t n)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf why = { 0 };
	struct errs errors = { .arena = arena };
	const struct json_node *node;
	const char *reason = "";
	bool success = false;
	int64_t id = 0;

	if (json_parse(body, NULL, arena, &node, &errors) == 0) {
		struct json_cursor root = json_cursor_of(node, &errors), member;

		json_get_kind(&root, JSON_KIND_OBJECT);
		member = json_member(&root, "id");
		json_get_i64(&member, INT64_MIN, INT64_MAX, &id);
		member = json_member(&root, "result");
		json_get_bool(&member, &success);
		member = json_member(&root, "error");
		json_get_string(&member, &reason);
	}
	if (errors.n) {
		errs_print(&errors, "answer of frr-reloader", &why);
		snprintf(error, n, "%.*s", (int)(why.n - 1), why.p); /* no newline */
	} else if (id != asked) {
		snprintf(error, n, "frr-reloader answered with id %" PRId64 " instead of %" PRId64,
			 id, asked);
	} else if (!success) {
		snprintf(error, n, "%s", *reason ? reason : "frr-reloader has failed");
	} else {
		*error = '\0';
	}
}

static void on_answer(const struct http_result *result, void *user)
{
	struct reload *r = user;
	char error[sizeof(r->error)];

	r->call = NULL;
	if (result->error)
		snprintf(error, sizeof(error), "%s", result->reason);
	else if (result->head->status != 200)
		snprintf(error, sizeof(error), "frr-reloader answered with status %u",
			 result->head->status);
	else
		reload_judge(result->body, r->id, error, sizeof(error));
	finish(r, error);
}

static void ask(struct reload *r)
{
	_cleanup_(buf_free) struct buf body = { 0 };
	struct http_call_config call = { .target = { .host = "frr-reloader",
						     .socket = r->config.socket },
					 .method = "POST",
					 .path = "/",
					 .head_timeout = r->config.timeout,
					 .timeout = r->config.timeout,
					 .done = on_answer,
					 .user = r };
	int error;

	buf_printf(&body, "{\"action\":\"reload\",\"id\":%" PRId64 "}", ++r->id);
	call.body = (struct str){ body.p, body.n };
	/* a kept connection may be one to a reloader that has ended since */
	http_client_close_idle(r->client);
	error = http_call(r->client, &call, &r->call);
	if (error < 0)
		fail(r, "%s: %s", r->config.socket, strerror(-error));
}

/* ---- the older protocol ---- */

/* A small file as text without spaces at its end. -errno, -EMSGSIZE if it is not small. */
static int read_small(const char *path, char text[static FILE_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, FILE_MAX);
	if (n < 0)
		n = -errno;
	else if (n == FILE_MAX)
		n = -EMSGSIZE;
	close(fd);
	if (n < 0)
		return (int)n;
	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	text[n] = '\0';
	return 0;
}

static struct mark mark_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct mark){ 0 };
	return (struct mark){ st.st_ino, st.st_size, st.st_mtim };
}

static bool mark_eq(const struct mark *a, const struct mark *b)
{
	return a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* "1700000000 success" or "1700000000 failure"; anything else is not complete yet. */
static void look_at_status(struct reload *r)
{
	struct mark now = mark_of(r->config.status_file);
	char text[FILE_MAX] = "", *word = NULL;

	if (!mark_eq(&now, &r->before) && read_small(r->config.status_file, text) == 0)
		word = strchr(text, ' ');
	if (word && strcmp(word, " success") == 0)
		finish(r, "");
	else if (word && strcmp(word, " failure") == 0)
		finish(r, "the reloader has failed; its log says why");
	else if (loop_monotonic() - r->began >= r->config.timeout)
		finish(r, "the reloader has not written a result in time");
	else
		wait_for(r, LOOK_EVERY, look_at_status);
}

static void hang_up(struct reload *r)
{
	char text[FILE_MAX];
	uint64_t pid;
	int error = read_small(r->config.pid_file, text);

	if (error < 0) {
		fail(r, "%s: %s", r->config.pid_file, strerror(-error));
		return;
	}
	/* 0 and 1 are no process that reloads */
	if (str_to_u64(str_of(text), INT32_MAX, &pid) < 0 || pid < 2) {
		fail(r, "%s does not contain a process id", r->config.pid_file);
		return;
	}
	r->before = mark_of(r->config.status_file);
	if (kill((pid_t)pid, SIGHUP) < 0)
		fail(r, "SIGHUP to process %" PRIu64 ": %s", pid, strerror(errno));
	else
		wait_for(r, LOOK_EVERY, look_at_status);
}

/* ---- the beginning ---- */

static void begin(struct reload *r)
{
	int error;

	ev_timer_stop(r->loop, &r->timer);
	r->began = loop_monotonic();
	r->stats.applies++;
	error = file_replace(r->config.file, (struct str){ r->latest.p, r->latest.n });
	if (error < 0)
		fail(r, "%s: %s", r->config.file, strerror(-error));
	else if (r->config.socket)
		ask(r);
	else
		hang_up(r);
}

static const char *copy(struct reload *r, const char *text)
{
	return text ? arena_strdup(r->arena, text) : NULL;
}

struct reload *reload_new(struct ev_loop *loop, const struct reload_config *config)
{
	static const double le[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30 };
	static const struct metrics_bounds bounds = { le, ARRAY_SIZE(le) };
	struct reload *r = mem_zalloc(sizeof(*r));

	assert(loop && config && config->file);
	assert(config->socket || (config->pid_file && config->status_file));
	r->loop = loop;
	r->arena = arena_new();
	r->config = *config;
	r->config.file = copy(r, config->file);
	r->config.socket = copy(r, config->socket);
	r->config.pid_file = copy(r, config->pid_file);
	r->config.status_file = copy(r, config->status_file);
	r->config.timeout = config->timeout ? config->timeout : TIMEOUT;
	r->debounce.retry = config->retry ? config->retry : RETRY;
	r->client = http_client_new(loop, &(struct http_client_config){ 0 });
	metrics_histogram_init(&r->stats.duration, &bounds);
	ev_timer_init(&r->timer, on_timer, 0, 0);
	r->timer.data = r;
	return r;
}

void reload_free(struct reload *r)
{
	if (!r)
		return;
	http_call_cancel(r->call);
	http_client_free(r->client);
	ev_timer_stop(r->loop, &r->timer);
	buf_free(&r->latest);
	arena_free(r->arena);
	free(r);
}

void reload_repeat(struct reload *r)
{
	if (r->debounce.stored && debounce_store(&r->debounce))
		begin(r);
}

void reload_apply(struct reload *r, struct str text)
{
	if (r->debounce.stored && str_eq(text, (struct str){ r->latest.p, r->latest.n }))
		return;
	r->latest.n = 0;
	buf_add(&r->latest, text.p, text.n);
	if (debounce_store(&r->debounce))
		begin(r);
}

const struct reload_stats *reload_stats(const struct reload *r)
{
	return &r->stats;
}

enum debounce_state reload_state(const struct reload *r)
{
	return r->debounce.state;
}

bool reload_is_current(const struct reload *r)
{
	return r->debounce.stored && r->debounce.applied == r->debounce.stored;
}
