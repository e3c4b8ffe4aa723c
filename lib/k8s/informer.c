/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informer: one call at a time, and what follows from its end.
 *
 * A call belongs to a step (list page, streamed list, watch, check). Its bytes go to a feed, which
 * reports objects; these are put into the cache at once. When the call ends, or when the feed finds
 * a reason to end it, the next step is chosen. Steps after a failure wait for the back-off.
 *
 * A list has a round. Every object that it sees is marked with the round; those that are not marked
 * at its end are gone.
 *
 * The version of the cache is that of the last list, event or bookmark. A watch reports versions in
 * order, so one that is lower than the last shows that the storage was restored, or that the server
 * is not one: everything is listed again.
 */
#include "lib/k8s/informer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "lib/k8s/feed.h"
#include "lib/k8s/url.h"
#include "lib/loop/backoff.h"

#define PAGE 500
#define MAX_OBJECTS 1000000
#define WATCH_TIME (300 * NSEC_PER_SEC)
#define SILENCE (90 * NSEC_PER_SEC)
#define ABSENT (10 * NSEC_PER_SEC)
#define LIST_TIMEOUT (120 * NSEC_PER_SEC)
#define STEADY (5 * NSEC_PER_SEC) /* a watch that has lived that long has ended earlier failures */
#define SHORTEST (NSEC_PER_SEC / 2) /* a watch that ends before is a failure */
#define GRACE (30 * NSEC_PER_SEC)   /* a server may end a watch that much later than it should */

static const struct backoff_policy retry = { .first = 200 * NSEC_PER_MSEC,
					     .last = 30 * NSEC_PER_SEC,
					     .jitter = 50 };

enum step { STEP_LIST, STEP_STREAM, STEP_WATCH, STEP_CHECK };

static const char *const doing[] = {
	[STEP_LIST] = "list",
	[STEP_STREAM] = "list",
	[STEP_WATCH] = "watch",
	[STEP_CHECK] = "check",
};

struct k8s_informer {
	struct k8s_informer_config config;
	char *group, *api_version, *plural, *namespace, *label_selector, *field_selector;
	struct k8s_cache *cache;
	struct k8s_informer_stats stats;
	enum k8s_informer_state state;
	bool synced;
	bool has_version; /* a list was complete: a watch can begin at stats.version */
	uint32_t round;

	enum step step; /* of the call, or the next one */
	struct k8s_call *call;
	struct k8s_feed *feed;
	bool feeding;  /* a callback of the feed is running */
	bool heard;    /* something has come on this watch */
	int64_t began; /* monotonic ns, of the call */
	char *more;    /* token of the next page; NULL: the first one */
	bool unpaged;  /* a token has expired: the next list is one page */
	bool cannot_stream;
	struct backoff backoff;
	ev_timer quiet; /* silence of a watch, or absence */
	uint64_t random;
	/* why the feed stopped; a message of its own */
	enum k8s_code code;
	char message[256];
};

static void begin(struct k8s_informer *i, enum step step);

/* ---- objects ---- */

/* Stops the feed; take() then goes on with after_failure(). */
static bool stop(struct k8s_informer *i, enum k8s_code code, const char *message)
{
	i->code = code;
	snprintf(i->message, sizeof(i->message), "%s", message);
	return false;
}

static void tell(struct k8s_informer *i, enum k8s_change change, const struct k8s_object *old,
		 const struct k8s_object *new)
{
	i->config.changed(change, old, new, i->config.user);
}

/* False if there is no room for it. */
static bool put(struct k8s_informer *i, const struct k8s_object *scratch)
{
	const struct k8s_object *known = k8s_cache_get(i->cache, scratch->namespace, scratch->name);
	struct k8s_object *old, *new;
	bool same = known && strcmp(known->uid, scratch->uid) == 0;

	if (same && known->version == scratch->version) {
		((struct k8s_object *)(uintptr_t)known)->round = i->round;
		return true;
	}
	if (!known && k8s_cache_count(i->cache) >= i->config.max_objects)
		return stop(i, K8S_TOO_LARGE, "there are more objects than this program can hold");
	i->stats.odd += scratch->odd;
	new = k8s_object_keep(i->config.kind, scratch);
	new->round = i->round;
	old = k8s_cache_put(i->cache, new);
	if (old && !same) {
		tell(i, K8S_DELETED, old, NULL);
		tell(i, K8S_ADDED, NULL, new);
	} else {
		tell(i, old ? K8S_UPDATED : K8S_ADDED, old, new);
	}
	k8s_object_unref(i->config.kind, old);
	return true;
}

static void drop(struct k8s_informer *i, const char *namespace, const char *name)
{
	struct k8s_object *old = k8s_cache_remove(i->cache, namespace, name);

	if (!old)
		return;
	tell(i, K8S_DELETED, old, NULL);
	k8s_object_unref(i->config.kind, old);
}

/*
 * Removes what the list of this round has not seen. From the end, so that removing everything does
 * not move the rest of the array each time.
 */
static void sweep(struct k8s_informer *i)
{
	for (size_t at = k8s_cache_count(i->cache); at > 0; at--) {
		const struct k8s_object *o = k8s_cache_at(i->cache, at - 1);

		if (o->round != i->round)
			drop(i, o->namespace, o->name);
	}
}

/* ---- steps end ---- */

static void end_call(struct k8s_informer *i)
{
	k8s_call_cancel(TAKE_PTR(i->call));
	if (!i->feeding) {
		k8s_feed_free(i->feed);
		i->feed = NULL;
	}
	ev_timer_stop(k8s_client_loop(i->config.client), &i->quiet);
}

static void set_quiet(struct k8s_informer *i, int64_t ns)
{
	struct ev_loop *loop = k8s_client_loop(i->config.client);

	ev_timer_stop(loop, &i->quiet);
	ev_timer_set(&i->quiet, loop_seconds(ns), 0);
	ev_timer_start(loop, &i->quiet);
}

/* The cache is complete at this version. */
static void complete(struct k8s_informer *i, uint64_t version)
{
	bool first = !i->synced;

	sweep(i);
	i->stats.version = version;
	i->has_version = true;
	i->synced = true;
	i->unpaged = false;
	if (first && i->config.synced)
		i->config.synced(i->config.user);
}

/* The step has failed; `next` follows after a delay. */
static void fail(struct k8s_informer *i, enum k8s_code code, const char *message, enum step next)
{
	struct k8s_trouble trouble = { doing[i->step], code, message, 0 };

	end_call(i);
	i->stats.failures++;
	i->state = K8S_WAITING;
	i->step = next;
	free(i->more);
	i->more = NULL;
	trouble.delay = backoff_start(&i->backoff);
	if (i->config.trouble)
		i->config.trouble(&trouble, i->config.user);
}

/* The kind is not installed: it has no objects. */
static void absent(struct k8s_informer *i)
{
	bool news = i->state != K8S_ABSENT;

	end_call(i);
	i->round++;
	i->has_version = false;
	i->step = STEP_LIST;
	if (news || !i->synced) {
		complete(i, 0);
		i->has_version = false;
	}
	if (i->state == K8S_STOPPED)
		return;
	i->state = K8S_ABSENT;
	backoff_reset(&i->backoff);
	set_quiet(i, i->config.absent);
}

/* The server cannot stream lists, or says nothing: pages instead. */
static bool is_no_stream(const struct k8s_informer *i, enum k8s_code code)
{
	return i->step == STEP_STREAM && (code == K8S_BAD_REQUEST || code == K8S_INVALID ||
					  code == K8S_REFUSED || code == K8S_SERVER);
}

static enum step first_step(const struct k8s_informer *i)
{
	return i->config.paged || i->cannot_stream ? STEP_LIST : STEP_STREAM;
}

/* What follows a failure of the server or of the connection. */
static void after_failure(struct k8s_informer *i, enum k8s_code code, const char *message)
{
	bool watching = i->step == STEP_WATCH || i->step == STEP_CHECK;

	if (code == K8S_NOT_FOUND && i->config.optional) {
		absent(i);
	} else if (is_no_stream(i, code)) {
		i->cannot_stream = true;
		end_call(i);
		begin(i, STEP_LIST);
	} else if (code == K8S_EXPIRED) {
		i->stats.expired++;
		i->unpaged = i->step == STEP_LIST;
		fail(i, code, message, first_step(i));
	} else {
		fail(i, code, message, watching && i->has_version ? STEP_CHECK : first_step(i));
	}
}

/* ---- what feeds report ---- */

static int64_t lived(const struct k8s_informer *i)
{
	return loop_monotonic() - i->began;
}

static bool on_watch_error(struct k8s_informer *i, const struct k8s_feed_event *e)
{
	struct buf shown = { 0 };

	buf_add_shown(&shown, str_of(e->message), sizeof(i->message) - 8);
	stop(i, e->code == 410 ? K8S_EXPIRED : K8S_SERVER, buf_cstr(&shown));
	buf_free(&shown);
	return false;
}

/* Initial events are in no order; their versions are older than the bookmark that ends them. */
static bool on_initial(struct k8s_informer *i, const struct k8s_feed_event *e)
{
	if (e->type == K8S_FEED_BOOKMARK && e->initial_end) {
		complete(i, e->object->version);
		i->step = STEP_WATCH;
		i->state = i->state == K8S_STOPPED ? K8S_STOPPED : K8S_WATCHING;
		i->stats.watches++;
	} else if (e->type == K8S_FEED_DELETED) {
		drop(i, e->object->namespace, e->object->name);
	} else if (e->type != K8S_FEED_BOOKMARK) {
		return put(i, e->object);
	}
	return true;
}

static bool on_change(struct k8s_informer *i, const struct k8s_feed_event *e)
{
	if (e->object->version < i->stats.version) {
		i->stats.reversed++;
		return stop(i, K8S_EXPIRED, "the server went back to an older version");
	}
	i->stats.version = e->object->version;
	if (lived(i) > STEADY)
		backoff_reset(&i->backoff);
	if (e->type == K8S_FEED_BOOKMARK)
		return true;
	i->stats.events++;
	if (e->type != K8S_FEED_DELETED)
		return put(i, e->object);
	drop(i, e->object->namespace, e->object->name);
	return true;
}

static bool on_event(const struct k8s_feed_event *e, void *user)
{
	struct k8s_informer *i = user;
	bool more = true;

	i->heard = true;
	i->feeding = true;
	if (e->type == K8S_FEED_ERROR)
		more = on_watch_error(i, e);
	else if (e->type == K8S_FEED_ITEM && i->step == STEP_LIST)
		more = put(i, e->object);
	else if (i->step == STEP_STREAM)
		more = on_initial(i, e);
	else if (i->step == STEP_WATCH)
		more = on_change(i, e);
	i->feeding = false;
	return more && i->state != K8S_STOPPED;
}

/* ---- what calls report ---- */

static void on_piece(struct str piece, void *user)
{
	struct k8s_informer *i = user;
	int r;

	set_quiet(i, i->config.silence);
	r = k8s_feed_take(i->feed, piece.p, piece.n);
	if (i->state == K8S_STOPPED)
		end_call(i); /* stopped in a callback */
	else if (r == -ECANCELED)
		after_failure(i, i->code, i->message);
	else if (r < 0) {
		snprintf(i->message, sizeof(i->message), "%s", k8s_feed_reason(i->feed));
		after_failure(i, K8S_MALFORMED, i->message);
	}
}

static void after_list(struct k8s_informer *i, const struct k8s_feed_list *list)
{
	free(i->more);
	i->more = list->more[0] ? mem_strdup(list->more) : NULL;
	if (i->more) {
		end_call(i);
		begin(i, STEP_LIST);
		return;
	}
	i->state = K8S_LISTING; /* it may have been absent */
	complete(i, list->version);
	end_call(i);
	if (i->state != K8S_STOPPED)
		begin(i, STEP_WATCH);
}

static void after_check(struct k8s_informer *i, uint64_t version)
{
	end_call(i);
	if (version >= i->stats.version) {
		begin(i, STEP_WATCH);
		return;
	}
	i->stats.reversed++;
	begin(i, first_step(i));
}

/* A watch that was long enough, or has brought something, simply begins again. */
static void after_watch(struct k8s_informer *i)
{
	if (i->step == STEP_STREAM) {
		after_failure(i, K8S_NETWORK, "the list ended in the middle");
		return;
	}
	if (!i->heard || lived(i) < SHORTEST) {
		fail(i, K8S_NETWORK, "the watch ended early", STEP_CHECK);
		return;
	}
	end_call(i);
	begin(i, STEP_WATCH);
}

static void on_done(const struct k8s_result *result, void *user)
{
	struct k8s_informer *i = user;

	i->call = NULL;
	if (result->code != K8S_OK) {
		after_failure(i, result->code, result->message);
		return;
	}
	if (k8s_feed_end(i->feed) < 0) {
		snprintf(i->message, sizeof(i->message), "%s", k8s_feed_reason(i->feed));
		after_failure(i, K8S_MALFORMED, i->message);
	} else if (i->step == STEP_LIST) {
		after_list(i, k8s_feed_list(i->feed));
	} else if (i->step == STEP_CHECK) {
		after_check(i, k8s_feed_list(i->feed)->version);
	} else {
		after_watch(i);
	}
}

/* ---- steps begin ---- */

static void add_number(struct buf *query, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	k8s__url_query(query, name, text);
}

/* Watches end at different times, so that their restarts spread. */
static int64_t add_watch(struct k8s_informer *i, struct buf *query)
{
	int64_t time = i->config.watch_time;

	time += (int64_t)(random_next(&i->random) % (uint64_t)time);
	k8s__url_query(query, "watch", "true");
	k8s__url_query(query, "allowWatchBookmarks", "true");
	add_number(query, "timeoutSeconds", (uint64_t)(time / NSEC_PER_SEC));
	return time + GRACE;
}

static int64_t write_query(struct k8s_informer *i, struct buf *query)
{
	int64_t timeout = LIST_TIMEOUT;

	k8s__url_query(query, "labelSelector", i->label_selector);
	k8s__url_query(query, "fieldSelector", i->field_selector);
	if (i->step == STEP_WATCH || i->step == STEP_STREAM)
		timeout = add_watch(i, query);
	if (i->step == STEP_WATCH)
		add_number(query, "resourceVersion", i->stats.version);
	if (i->step == STEP_STREAM) {
		k8s__url_query(query, "sendInitialEvents", "true");
		k8s__url_query(query, "resourceVersionMatch", "NotOlderThan");
	}
	if (i->step == STEP_CHECK)
		add_number(query, "limit", 1);
	else if (i->step == STEP_LIST && !i->unpaged)
		add_number(query, "limit", i->config.page);
	k8s__url_query(query, "continue", i->step == STEP_LIST ? i->more : NULL);
	return timeout;
}

static void note_step(struct k8s_informer *i)
{
	bool list = i->step == STEP_LIST || i->step == STEP_STREAM;

	if (list && !i->more) {
		i->stats.lists++;
		i->round++;
	}
	i->stats.watches += i->step == STEP_WATCH;
	i->stats.checks += i->step == STEP_CHECK;
	if (i->state != K8S_ABSENT) /* which lasts until the first good answer */
		i->state = list ? K8S_LISTING : i->step == STEP_WATCH ? K8S_WATCHING : K8S_CHECKING;
}

static void begin(struct k8s_informer *i, enum step step)
{
	const struct k8s_resource resource = { i->group, i->api_version, i->plural };
	struct buf query = { 0 };
	struct k8s_call_config call = { .verb = K8S_VERB_LIST,
					.resource = &resource,
					.namespace = i->namespace,
					.take = on_piece,
					.done = on_done,
					.user = i };
	int r;

	assert(!i->feeding);
	i->step = step;
	i->heard = false;
	i->began = loop_monotonic();
	note_step(i);
	buf_addc(&query, '?');
	call.timeout = write_query(i, &query);
	buf_cstr(&query);
	call.query = query.p + (query.n > 1 && query.p[1] == '&' ? 2 : 1);
	i->feed = k8s_feed_new(i->config.kind,
			       step == STEP_LIST || step == STEP_CHECK ? K8S_FEED_LIST
								       : K8S_FEED_WATCH,
			       on_event, i);
	r = k8s_call(i->config.client, &call, &i->call);
	buf_free(&query);
	if (r < 0)
		fail(i, K8S_NETWORK, "too many requests are waiting", step);
	else
		set_quiet(i, i->config.silence);
}

/* ---- timers ---- */

static void on_due(void *user)
{
	struct k8s_informer *i = user;

	begin(i, i->step);
}

static void on_quiet(struct ev_loop *loop, ev_timer *w, int events)
{
	struct k8s_informer *i = container_of(w, struct k8s_informer, quiet);

	(void)loop;
	(void)events;
	if (i->state == K8S_ABSENT && !i->call) {
		begin(i, first_step(i));
		return;
	}
	if (i->step == STEP_STREAM)
		i->cannot_stream = true; /* it does not say where the list ends */
	after_failure(i, K8S_NETWORK, "the server is silent");
}

/* ---- public ---- */

static char *copy(const char *text)
{
	return text && text[0] ? mem_strdup(text) : NULL;
}

static void apply_defaults(struct k8s_informer_config *c)
{
	c->page = c->page ? c->page : PAGE;
	c->max_objects = c->max_objects ? c->max_objects : MAX_OBJECTS;
	c->watch_time = c->watch_time ? c->watch_time : WATCH_TIME;
	c->silence = c->silence ? c->silence : SILENCE;
	c->absent = c->absent ? c->absent : ABSENT;
}

struct k8s_informer *k8s_informer_new(const struct k8s_informer_config *config)
{
	struct k8s_informer *i = mem_zalloc(sizeof(*i));

	assert(config && config->client && config->kind && config->changed);
	i->config = *config;
	apply_defaults(&i->config);
	i->group = mem_strdup(config->resource.group);
	i->api_version = mem_strdup(config->resource.version);
	i->plural = mem_strdup(config->resource.plural);
	i->namespace = copy(config->namespace);
	i->label_selector = copy(config->label_selector);
	i->field_selector = copy(config->field_selector);
	i->cache = k8s_cache_new(config->kind);
	i->random = (uint64_t)loop_realtime() ^ (uint64_t)(uintptr_t)i;
	backoff_init(&i->backoff, k8s_client_loop(config->client), &retry, on_due, i);
	ev_timer_init(&i->quiet, on_quiet, 0, 0);
	return i;
}

void k8s_informer_free(struct k8s_informer *i)
{
	if (!i)
		return;
	k8s_informer_stop(i);
	k8s_cache_free(i->cache);
	free(i->group);
	free(i->api_version);
	free(i->plural);
	free(i->namespace);
	free(i->label_selector);
	free(i->field_selector);
	free(i);
}

struct k8s_cache *k8s_informer_cache(struct k8s_informer *i)
{
	return i->cache;
}

void k8s_informer_start(struct k8s_informer *i)
{
	if (i->state == K8S_STOPPED)
		begin(i, i->has_version ? STEP_CHECK : first_step(i));
}

void k8s_informer_stop(struct k8s_informer *i)
{
	i->state = K8S_STOPPED;
	end_call(i);
	backoff_reset(&i->backoff);
	free(i->more);
	i->more = NULL;
}

void k8s_informer_poke(struct k8s_informer *i)
{
	if (i->state == K8S_WAITING)
		backoff_now(&i->backoff);
	else if (i->state == K8S_ABSENT && !i->call)
		set_quiet(i, 0);
}

bool k8s_informer_is_synced(const struct k8s_informer *i)
{
	return i->synced;
}

enum k8s_informer_state k8s_informer_state(const struct k8s_informer *i)
{
	return i->state;
}

const struct k8s_informer_stats *k8s_informer_stats(const struct k8s_informer *i)
{
	return &i->stats;
}

const char *k8s_informer_state_name(enum k8s_informer_state state)
{
	static const char *const names[] = {
		[K8S_STOPPED] = "stopped",   [K8S_LISTING] = "listing", [K8S_WATCHING] = "watching",
		[K8S_CHECKING] = "checking", [K8S_WAITING] = "waiting", [K8S_ABSENT] = "absent",
	};

	return names[state];
}
