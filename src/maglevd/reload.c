/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/reload.h"

#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "src/maglevd/capability.h"
#include "src/maglevd/engine.h"

struct reload {
	struct engine *engine;
	const struct snapshot_source *source;
	struct snapshot_loader *loader;
	void (*finished)(void *user);
	void *user;
	bool again;
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

static void failed(struct reload *r, const char *reason)
{
	r->stats.failed++;
	if (reason)
		log_error("config-reload-failed", LOG_S("file", r->source->path),
			  LOG_S("error", reason));
}

/* A word against it, or NULL: what a running process cannot change any more. */
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
	return NULL;
}

static void take(struct reload *r, struct snapshot_load *load)
{
	struct buf text = { 0 };
	const char *reason;

	if (load->result != SNAPSHOT_OK) {
		reload_log_load(load, r->source->path, "config-reload-failed");
		failed(r, NULL);
		snapshot_load_free(load);
		return;
	}
	reason = objection(r, &load->config, &text);
	if (reason) {
		failed(r, reason);
		snapshot_load_free(load);
	} else {
		reload_log_load(load, r->source->path, "config-reload-failed");
		r->stats.succeeded++;
		r->stats.last_success = loop_realtime();
		engine_reload(r->engine, snapshot_take(load));
	}
	buf_free(&text);
}

static void start(struct reload *r)
{
	int err = snapshot_loader_start(r->loader, r->source);

	if (err < 0) {
		failed(r, strerror(-err));
		if (r->finished)
			r->finished(r->user);
	}
}

static void on_loaded(void *user, struct snapshot_load *load, const char *reason)
{
	struct reload *r = user;

	if (load)
		take(r, load);
	else
		failed(r, reason);
	if (r->again) {
		r->again = false;
		start(r);
	} else if (r->finished) {
		r->finished(r->user);
	}
}

struct reload *reload_new(struct ev_loop *loop, struct engine *engine,
			  const struct snapshot_source *source, void (*finished)(void *user),
			  void *user)
{
	struct reload *r = mem_zalloc(sizeof(*r));

	r->engine = engine;
	r->source = source;
	r->finished = finished;
	r->user = user;
	r->stats.last_success = loop_realtime();
	r->loader = snapshot_loader_new(loop, on_loaded, r);
	return r;
}

void reload_free(struct reload *r)
{
	if (!r)
		return;
	snapshot_loader_free(r->loader);
	free(r);
}

void reload_request(struct reload *r)
{
	if (snapshot_loader_busy(r->loader))
		r->again = true;
	else
		start(r);
}

const struct reload_stats *reload_stats(const struct reload *r)
{
	return &r->stats;
}
