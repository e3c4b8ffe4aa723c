/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader (lib/config/loader.h) reads the file and keeps the callers. This file decides what
 * happens after a reading: whether this process can take the configuration, what it changes, and
 * what is logged and counted.
 */
#include "src/maglevd/reload.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/l4/changes.h"
#include "lib/config/files.h"
#include "lib/config/report.h"
#include "lib/log/log.h"
#include "src/maglevd/capability.h"
#include "src/maglevd/engine.h"

struct reload {
	struct engine *engine;
	const struct config_source *source;
	struct snapshot_input *input;
	struct config_loader *loader;
	struct reload_stats stats;
	/* who asked for the reading that runs, and for the one after it */
	bool is_reading, is_next;
	bool next_reads_file;
};

/*
 * Called before each request. The child of a reading sees input->is_reused as it was at the fork,
 * which is here, or after the end of the reading that runs.
 */
static void expect(struct reload *r, bool reads_file)
{
	if (r->is_reading) {
		r->is_next = true;
		r->next_reads_file |= reads_file;
		return;
	}
	r->is_reading = true;
	r->input->is_reused = !reads_file;
}

static void expect_next(struct reload *r)
{
	r->is_reading = r->is_next;
	r->input->is_reused = !r->next_reads_file;
	r->is_next = r->next_reads_file = false;
}

static const char *shown_path(const struct reload *r)
{
	return config_shown_path(r->source->path);
}

static void log_loaded(const struct config_load *load, const char *path)
{
	const struct l4_config *c = snapshot_config(load);

	log_info("config-loaded", LOG_S("file", path), LOG_U("frontends", c->n_frontends),
		 LOG_U("backends", c->n_backends), LOG_U("healthchecks", c->n_checks),
		 LOG_U("warnings", load->warnings.n),
		 LOG_S("dataplane", l4_dataplane_name(c->dataplane)));
}

void reload_log_load(const struct config_load *load, const char *path, bool again)
{
	config_report(load, path, again);
	if (load->result == CONFIG_OK)
		log_loaded(load, path);
}

/*
 * Why this process cannot take the configuration without a restart; NULL when it can.
 * Capabilities cannot be regained once dropped, and a data plane driver is chosen at the start.
 */
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

/* Only for reloads: a check that is refused changes no counter and notifies no observer. */
static void note_refusal(struct reload *r, const char *refusal)
{
	r->stats.failed++;
	log_error("config-reload-failed", LOG_S("file", shown_path(r)), LOG_S("error", refusal));
	engine_refuse(r->engine, &(struct engine_refusal){ refusal, 1, loop_realtime() });
}

/* Observers get only the first mistake; the caller that asked for the reload gets all of them. */
static void note_errors(struct reload *r, const struct config_load *load)
{
	struct errs first = load->errors;
	_cleanup_(buf_free) struct buf text = { 0 };

	r->stats.failed++;
	reload_log_load(load, shown_path(r), true);
	first.n = first.n ? 1 : 0;
	first.dropped = 0;
	errs_print(&first, shown_path(r), &text);
	if (text.n && text.p[text.n - 1] == '\n')
		text.n--;
	engine_refuse(r->engine, &(struct engine_refusal){ buf_cstr(&text),
							   load->errors.n + load->errors.dropped,
							   loop_realtime() });
}

/* The file could not be read to its end, so there are no complaints to show. */
static void refuse(struct reload *r, const struct config_reading *reading)
{
	const struct reload_report report = { .result = RELOAD_REFUSED,
					      .refusal = reading->reason };

	if (reading->take)
		note_refusal(r, reading->reason);
	config_loader_answer(r->loader, &report);
}

/* A check is not counted and not logged: it is answered, and that is all. */
static void report_errors(struct reload *r, const struct config_reading *reading)
{
	struct config_load *load = reading->load;
	const struct reload_report report = {
		.result = load->result == CONFIG_PARSE_ERROR ? RELOAD_PARSE_ERROR
							     : RELOAD_SEMANTIC_ERROR,
		.errors = &load->errors,
		.warnings = &load->warnings,
	};

	if (reading->take)
		note_errors(r, load);
	config_loader_answer(r->loader, &report);
	config_load_free(load);
}

/* Logged before the engine changes, so that its transitions follow the line in the log. */
static void take(struct reload *r, struct config_load *load)
{
	struct snapshot *next = snapshot_take(load);

	reload_log_load(load, shown_path(r), true);
	r->stats.succeeded++;
	r->stats.last_success = loop_realtime();
	r->input->in_force = next;
	engine_reload(r->engine, next);
}

/* The report is made while both configurations exist; the warnings live as long as the new one. */
static void on_good(struct reload *r, const struct config_reading *reading)
{
	struct config_load *load = reading->load;
	const struct l4_config *next = snapshot_config(load);
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	const struct l4_changes changes = reading->detail
						  ? l4_changes(engine_model(r->engine), next, arena)
						  : (struct l4_changes){ 0 };
	const char *refusal = objection(r, next, &text);
	const struct reload_report report = { .result = refusal ? RELOAD_REFUSED : RELOAD_OK,
					      .refusal = refusal,
					      .warnings = &load->warnings,
					      .changes = reading->detail ? &changes : NULL };

	if (reading->take && refusal)
		note_refusal(r, refusal);
	else if (reading->take)
		take(r, load);
	config_loader_answer(r->loader, &report);
	if (!reading->take || refusal)
		config_load_free(load);
}

/* A reading without a load is one whose child failed or took too long. */
static void on_ended(const struct config_reading *reading, void *user)
{
	struct reload *r = user;

	if (!reading->load)
		refuse(r, reading);
	else if (reading->load->result == CONFIG_OK)
		on_good(r, reading);
	else
		report_errors(r, reading);
	expect_next(r);
}

struct reload *reload_new(struct ev_loop *loop, struct engine *engine,
			  const struct config_source *source, struct snapshot_input *input)
{
	struct reload *r = mem_zalloc(sizeof(*r));
	const struct config_loader_calls calls = { .ended = on_ended, .user = r };

	r->engine = engine;
	r->source = source;
	r->input = input;
	r->stats.last_success = loop_realtime();
	r->loader = config_loader_new(loop, source, &calls);
	return r;
}

void reload_free(struct reload *r)
{
	if (!r)
		return;
	config_loader_free(r->loader);
	free(r);
}

int reload_request(struct reload *r, config_done_fn done, void *user)
{
	expect(r, true);
	return config_loader_ask(r->loader, CONFIG_TAKE | CONFIG_DETAIL, done, user);
}

int reload_check(struct reload *r, config_done_fn done, void *user)
{
	expect(r, true);
	return config_loader_ask(r->loader, CONFIG_DETAIL, done, user);
}

void reload_hangup(struct reload *r, config_done_fn done, void *user)
{
	expect(r, true);
	config_loader_hangup(r->loader, done, user);
}

void reload_extend(struct reload *r)
{
	expect(r, false);
	config_loader_hangup(r->loader, NULL, r);
}

void reload_forget(struct reload *r, void *user)
{
	config_loader_forget(r->loader, user);
}

const struct reload_stats *reload_stats(const struct reload *r)
{
	return &r->stats;
}
