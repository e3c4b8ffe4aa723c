/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "lib/loop/backoff.h"
#include "src/gateway/kinds.h"

static const struct backoff_policy retry_policy = { .first = 100 * NSEC_PER_MSEC,
						    .last = 30 * NSEC_PER_SEC,
						    .jitter = 20 };

#define SETTLE                                                                                     \
	(10 * NSEC_PER_SEC) /* after which a cache that has not seen a write is not waited for */

/* What is known about the last write of an object. */
struct write {
	struct report *of;
	enum gw_kind kind;
	char *key, *namespace, *name;
	struct k8s_call *call;	 /* under way */
	uint64_t version;	 /* that it has made; 0: under way or failed */
	uint64_t dropped;	 /* version of the latest patch that was dropped meanwhile; or 0 */
	int64_t ended;		 /* monotonic */
	TAILQ_ENTRY(write) next; /* in one of the lists */
};

TAILQ_HEAD(writes, write);

struct report {
	struct report_config config;
	struct map by_key;
	struct writes running, failed, settling; /* settling: by the time of their end */
	size_t n_running;
	struct backoff retry;
	struct report_stats stats;
};

static void free_write(struct write *w, struct writes *list)
{
	TAILQ_REMOVE(list, w, next);
	map_remove(&w->of->by_key, w->key);
	k8s_call_cancel(w->call);
	free(w->key);
	free(w->namespace);
	free(w->name);
	free(w);
}

static void on_retry(void *user)
{
	struct report *s = user;
	struct write *w;

	while ((w = TAILQ_FIRST(&s->failed))) {
		gw_again(s->config.gw, w->kind, w->namespace, w->name);
		free_write(w, &s->failed);
	}
	report_pump(s);
}

/* It comes again later. */
static void fail(struct write *w, enum k8s_code code, const char *message)
{
	struct report *s = w->of;

	if (code == K8S_CONFLICT)
		s->stats.conflicts++;
	else
		s->stats.failures++;
	if (code != K8S_CONFLICT && code != K8S_NOT_ALLOWED)
		log_warn("status-failed", LOG_S("kind", gw_kinds[w->kind].kind),
			 LOG_S("namespace", w->namespace), LOG_S("name", w->name),
			 LOG_S("code", k8s_code_name(code)), LOG_S("error", message));
	TAILQ_REMOVE(&s->running, w, next);
	TAILQ_INSERT_TAIL(&s->failed, w, next);
	backoff_start(&s->retry);
}

static void succeed(struct write *w, uint64_t version)
{
	struct report *s = w->of;

	s->stats.written++;
	if (TAILQ_EMPTY(&s->failed))
		backoff_reset(&s->retry);
	log_debug("status-written", LOG_S("kind", gw_kinds[w->kind].kind),
		  LOG_S("namespace", w->namespace), LOG_S("name", w->name));
	w->version = version;
	w->ended = loop_monotonic();
	/* a watch can be faster than the answer: then what was dropped does not come by itself */
	if (w->dropped && w->dropped >= version)
		gw_again(s->config.gw, w->kind, w->namespace, w->name);
	if (!version) {
		free_write(w, &s->running);
		return;
	}
	TAILQ_REMOVE(&s->running, w, next);
	TAILQ_INSERT_TAIL(&s->settling, w, next);
}

static void on_written(const struct k8s_result *result, void *user)
{
	struct write *w = user;
	struct report *s = w->of;

	w->call = NULL;
	s->n_running--;
	if (result->code == K8S_OK)
		succeed(w, s->config.written(w->kind, result, s->config.user));
	else if (result->code == K8S_NOT_FOUND)
		free_write(w, &s->running); /* the object is gone */
	else
		fail(w, result->code, result->message);
	report_pump(s);
}

static struct write *new_write(struct report *s, const struct gw_status *of, const char *key)
{
	struct write *w = mem_zalloc(sizeof(*w));

	w->of = s;
	w->kind = of->kind;
	w->key = mem_strdup(key);
	w->namespace = mem_strdup(of->namespace);
	w->name = mem_strdup(of->name);
	map_put(&s->by_key, w->key, w);
	TAILQ_INSERT_TAIL(&s->running, w, next);
	return w;
}

/* Whether the patch was made for what an earlier write has changed, or is about to. */
static bool is_early(struct report *s, const struct gw_status *of, const char *key)
{
	struct write *w = map_get(&s->by_key, key);

	if (!w)
		return false;
	if (!w->version) {
		w->dropped = of->version;
		return true;
	}
	if (of->version < w->version)
		return true;
	free_write(w, &s->settling);
	return false;
}

static void start(struct report *s, const struct gw_status *of, struct str patch)
{
	const char *version = s->config.version(of->kind, s->config.user);
	const struct k8s_resource resource = { gw_kinds[of->kind].group, version,
					       gw_kinds[of->kind].resource };
	struct k8s_call_config config = { .verb = K8S_VERB_MERGE_PATCH,
					  .resource = &resource,
					  .namespace = of->namespace,
					  .name = of->name,
					  .subresource = "status",
					  .body = patch,
					  .done = on_written };
	_cleanup_(buf_free) struct buf key = { 0 };
	struct write *w;

	buf_printf(&key, "%d %s/%s", (int)of->kind, of->namespace, of->name);
	if (!version || is_early(s, of, buf_cstr(&key)))
		return; /* without a version its kind is gone, and so is the object */
	w = new_write(s, of, buf_cstr(&key));
	config.user = w;
	if (operator_call(s->config.op, &config, &w->call) < 0)
		fail(w, K8S_THROTTLED, "too many requests are under way");
	else
		s->n_running++;
}

static void forget_settled(struct report *s)
{
	int64_t before = loop_monotonic() - SETTLE;
	struct write *w;

	while ((w = TAILQ_FIRST(&s->settling)) && w->ended < before)
		free_write(w, &s->settling);
}

static void now_text(char *ret, size_t size)
{
	time_t now = (time_t)(loop_realtime() / NSEC_PER_SEC);
	struct tm tm;

	strftime(ret, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
}

void report_pump(struct report *s)
{
	struct gw_status next;
	char now[32];

	if (!operator_is_active(s->config.op) || gw_work(s->config.gw, 0))
		return;
	forget_settled(s);
	now_text(now, sizeof(now));
	while (s->n_running < REPORT_PARALLEL) {
		_cleanup_(buf_free) struct buf patch = { 0 };

		if (!gw_take_status(s->config.gw, now, &next, &patch))
			return;
		start(s, &next, (struct str){ patch.p, patch.n });
	}
}

const struct report_stats *report_stats(const struct report *s)
{
	return &s->stats;
}

struct report *report_new(const struct report_config *config)
{
	struct report *s = mem_zalloc(sizeof(*s));

	s->config = *config;
	TAILQ_INIT(&s->running);
	TAILQ_INIT(&s->failed);
	TAILQ_INIT(&s->settling);
	backoff_init(&s->retry, config->loop, &retry_policy, on_retry, s);
	return s;
}

static void free_all(struct writes *list)
{
	while (!TAILQ_EMPTY(list))
		free_write(TAILQ_FIRST(list), list);
}

void report_free(struct report *s)
{
	if (!s)
		return;
	backoff_stop(&s->retry);
	free_all(&s->running);
	free_all(&s->failed);
	free_all(&s->settling);
	map_free(&s->by_key);
	free(s);
}
