/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers wait in a list. A reading serves all that were in it when it began, checks and reloads
 * alike: if one of them is a reload, the configuration is taken. A start that fails at once (no
 * process can be made) is told like one that failed later.
 *
 *	IDLE -> READING -> TELLING -> IDLE
 *
 * A callback may ask again. It waits for the next reading, which does not begin before all callers
 * of the last one are told.
 */
#include "src/maglevd/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/l4/changes.h"
#include "lib/log/log.h"
#include "lib/loop/waitlist.h"
#include "src/maglevd/capability.h"
#include "src/maglevd/engine.h"

enum state { IDLE, READING, TELLING };

struct asker {
	struct waitlist_item waiting;
	bool take;	     /* not only check */
	bool shown;	     /* what it changes */
	reload_done_fn done; /* may be NULL */
};

struct reload {
	struct engine *engine;
	const struct snapshot_source *source;
	struct snapshot_loader *loader;
	enum state state;
	struct waitlist waiting;
	uint64_t round; /* of the waitlist: callers below it are served by the reading under way */
	struct reload_stats stats;
};

static void log_complaints(const struct errs *errs, const char *path, enum log_level level,
			   const char *msg)
{
	for (size_t i = 0; i < errs->n; i++)
		log_at(level, msg, LOG_S("file", path), LOG_U("line", errs->items[i].at.line),
		       LOG_U("column", errs->items[i].at.column), LOG_S("key", errs->items[i].key),
		       LOG_S("error", errs->items[i].text));
}

void reload_log_load(const struct snapshot_load *load, const char *path, const char *failed_msg)
{
	const struct l4_config *c = &load->config;

	log_complaints(&load->warnings, path, LOG_WARN, "config-warning");
	log_complaints(&load->errors, path, LOG_ERROR, "config-error");
	if (load->result == SNAPSHOT_OK)
		log_info("config-loaded", LOG_S("file", path), LOG_U("frontends", c->n_frontends),
			 LOG_U("backends", c->n_backends), LOG_U("healthchecks", c->n_checks),
			 LOG_U("warnings", load->warnings.n),
			 LOG_S("dataplane", l4_dataplane_name(c->dataplane)));
	else
		log_error(failed_msg, LOG_S("file", path),
			  LOG_S("phase",
				load->result == SNAPSHOT_PARSE_ERROR ? "parse" : "semantic"),
			  LOG_U("errors", load->errors.n + load->errors.dropped),
			  LOG_S("error", load->errors.n ? load->errors.items[0].text : ""));
}

/* Why a running process cannot take this configuration; NULL if it can. */
static const char *objection(struct reload *r, const struct l4_config *next, struct buf *text)
{
	const struct l4_config *current = engine_model(r->engine)->config;
	struct capability_need lost;

	if (capability_lost(current, next, &lost)) {
		buf_printf(text, "%s needs %s, which was dropped at the start: restart maglevd",
			   lost.feature, lost.name);
		return buf_cstr(text);
	}
	if (next->dataplane != current->dataplane) {
		buf_printf(text, "the data plane cannot change from %s to %s: restart maglevd",
			   l4_dataplane_name(current->dataplane),
			   l4_dataplane_name(next->dataplane));
		return buf_cstr(text);
	}
	if (next->dataplane == L4_DATAPLANE_XDP && strcmp(next->xdp.pin, current->xdp.pin) != 0) {
		buf_printf(text, "xdp.pin cannot change from %s to %s: restart maglevd",
			   current->xdp.pin, next->xdp.pin);
		return buf_cstr(text);
	}
	return NULL;
}

static struct asker *asker_of(struct waitlist_item *w)
{
	return container_of(w, struct asker, waiting);
}

static bool anybody_takes(const struct reload *r)
{
	for (struct waitlist_item *w = r->waiting.first; w && w->number < r->round; w = w->next)
		if (asker_of(w)->take)
			return true;
	return false;
}

static bool anybody_is_shown(const struct reload *r)
{
	for (struct waitlist_item *w = r->waiting.first; w && w->number < r->round; w = w->next)
		if (asker_of(w)->shown)
			return true;
	return false;
}

/* Tells the callers that were served, each once, and forgets them. */
static void tell(struct reload *r, const struct reload_report *report)
{
	struct waitlist_item *w;

	r->state = TELLING;
	while ((w = waitlist_take(&r->waiting, r->round, NULL))) {
		struct asker *a = asker_of(w);

		if (a->done && !w->forgotten)
			a->done(report, w->user);
		free(a);
	}
	r->state = IDLE;
}

static void note_refusal(struct reload *r, const char *refusal)
{
	r->stats.failed++;
	log_error("config-reload-failed", LOG_S("file", r->source->path), LOG_S("error", refusal));
}

/* There is nothing to show: the file was not read to its end. */
static void refuse(struct reload *r, const char *refusal)
{
	const struct reload_report report = { .result = RELOAD_REFUSED, .refusal = refusal };

	if (anybody_takes(r))
		note_refusal(r, refusal);
	tell(r, &report);
}

static void report_errors(struct reload *r, struct snapshot_load *load)
{
	const struct reload_report report = {
		.result = load->result == SNAPSHOT_PARSE_ERROR ? RELOAD_PARSE_ERROR
							       : RELOAD_SEMANTIC_ERROR,
		.errors = &load->errors,
		.warnings = &load->warnings,
	};

	if (anybody_takes(r)) {
		r->stats.failed++;
		reload_log_load(load, r->source->path, "config-reload-failed");
	}
	tell(r, &report);
	snapshot_load_free(load);
}

static void take(struct reload *r, struct snapshot_load *load)
{
	reload_log_load(load, r->source->path, "config-reload-failed");
	r->stats.succeeded++;
	r->stats.last_success = loop_realtime();
	engine_reload(r->engine, snapshot_take(load));
}

/* The report is made while both configurations are there; the warnings live as long as the new. */
static void on_good(struct reload *r, struct snapshot_load *load)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	bool shown = anybody_is_shown(r);
	const struct l4_changes changes =
		shown ? l4_changes(engine_model(r->engine), &load->config, arena)
		      : (struct l4_changes){ 0 };
	const char *refusal = objection(r, &load->config, &text);
	const struct reload_report report = { .result = refusal ? RELOAD_REFUSED : RELOAD_OK,
					      .refusal = refusal,
					      .warnings = &load->warnings,
					      .changes = shown ? &changes : NULL };
	bool wanted = anybody_takes(r);

	if (wanted && refusal)
		note_refusal(r, refusal);
	else if (wanted)
		take(r, load);
	tell(r, &report);
	if (!wanted || refusal)
		snapshot_load_free(load);
}

/* Reads for all callers that wait now. */
static void start(struct reload *r)
{
	while (r->waiting.n && r->state == IDLE) {
		int err;

		r->state = READING;
		r->round = waitlist_round(&r->waiting);
		err = snapshot_loader_start(r->loader, r->source);
		if (err < 0)
			refuse(r, strerror(-err));
	}
}

static void on_loaded(void *user, struct snapshot_load *load, const char *reason)
{
	struct reload *r = user;

	if (!load)
		refuse(r, reason);
	else if (load->result == SNAPSHOT_OK)
		on_good(r, load);
	else
		report_errors(r, load);
	start(r);
}

struct reload *reload_new(struct ev_loop *loop, struct engine *engine,
			  const struct snapshot_source *source)
{
	struct reload *r = mem_zalloc(sizeof(*r));

	r->engine = engine;
	r->source = source;
	r->waiting.max = RELOAD_WAITING_MAX;
	r->stats.last_success = loop_realtime();
	r->loader = snapshot_loader_new(loop, on_loaded, r);
	return r;
}

void reload_free(struct reload *r)
{
	struct waitlist_item *w;

	if (!r)
		return;
	snapshot_loader_free(r->loader);
	while ((w = waitlist_take(&r->waiting, waitlist_round(&r->waiting), NULL)))
		free(asker_of(w));
	free(r);
}

static struct asker *asker_new(bool take, bool shown, reload_done_fn done)
{
	struct asker *a = mem_zalloc(sizeof(*a));

	a->take = take;
	a->shown = shown;
	a->done = done;
	return a;
}

static int ask(struct reload *r, struct asker *a, void *user)
{
	int err = waitlist_add(&r->waiting, &a->waiting, user);

	if (err < 0)
		free(a);
	else
		start(r);
	return err;
}

int reload_request(struct reload *r, reload_done_fn done, void *user)
{
	return ask(r, asker_new(true, true, done), user);
}

int reload_check(struct reload *r, reload_done_fn done, void *user)
{
	return ask(r, asker_new(false, true, done), user);
}

void reload_hangup(struct reload *r, reload_done_fn done, void *user)
{
	for (struct waitlist_item *w = r->waiting.first; w; w = w->next) {
		const struct asker *a = asker_of(w);

		if (w->number >= r->round && !w->forgotten && w->user == user && a->take &&
		    a->done == done)
			return;
	}
	/* there is at most one of these for each done and user, however full the list is */
	waitlist_add_always(&r->waiting, &asker_new(true, false, done)->waiting, user);
	start(r);
}

void reload_forget(struct reload *r, void *user)
{
	waitlist_forget(&r->waiting, user);
}

const struct reload_stats *reload_stats(const struct reload *r)
{
	return &r->stats;
}
