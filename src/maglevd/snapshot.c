/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load is made in one arena: the errors and the configuration live there and die together. The
 * document they were made of is as large as all the rest and goes before the load is handed out.
 * snapshot_load() makes it in the calling process. The loader makes it in a job, inside a shared
 * arena that the parent mapped before; the struct snapshot_load is the first thing in it, so the
 * parent knows where to look when the job is done.
 *
 * The job calls only pure code: no log, no loop, no descriptors but the file it reads.
 */
#include "src/maglevd/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/l4/validate.h"
#include "lib/loop/job.h"
#include "lib/regex/regex.h"
#include "lib/yaml/yaml_file.h"
#include "wire/config_yaml.h"

#define ARENA_LIMIT ((size_t)1 << 30) /* address space, not memory */

static bool regexp_ok(const char *pattern, char *reason, size_t reason_size)
{
	_cleanup_(regex_freep) struct regex *re = NULL;

	return regex_compile(pattern, &re, reason, reason_size) == 0;
}

static enum snapshot_result run(const struct snapshot_source *source, struct snapshot_load *load)
{
	const struct l4_rules rules = { .regexp_ok = regexp_ok,
					.no_dataplane = source->no_dataplane };
	_cleanup_(arena_freep) struct arena *document = arena_new();
	_cleanup_(buf_free) struct buf bytes = { 0 };
	struct l4_doc doc;

	if (yaml_read_file(source->path, &bytes, &load->errors) < 0)
		return SNAPSHOT_PARSE_ERROR;
	if (config_yaml_parse(bytes.p, bytes.n, CONFIG_STRICT, document, &doc, &load->errors) < 0)
		return SNAPSHOT_PARSE_ERROR;
	if (l4_config_build(&doc, &rules, load->arena, &load->config, &load->errors,
			    &load->warnings) < 0)
		return SNAPSHOT_SEMANTIC_ERROR;
	return SNAPSHOT_OK;
}

static struct snapshot_load *load_new(struct arena *arena)
{
	struct snapshot_load *load = arena_new_of(arena, struct snapshot_load);

	load->arena = arena;
	load->errors.arena = load->warnings.arena = arena;
	return load;
}

static void load_run(struct snapshot_load *load, const struct snapshot_source *source)
{
	load->result = run(source, load);
	errs_sort(&load->errors);
	errs_sort(&load->warnings);
}

struct snapshot_load *snapshot_load(const struct snapshot_source *source)
{
	struct snapshot_load *load = load_new(arena_new());

	load_run(load, source);
	return load;
}

void snapshot_load_free(struct snapshot_load *load)
{
	if (load)
		arena_free(load->arena);
}

struct snapshot *snapshot_take(struct snapshot_load *load)
{
	struct snapshot *s = arena_new_of(load->arena, struct snapshot);

	assert(load->result == SNAPSHOT_OK);
	s->arena = load->arena;
	s->config = load->config;
	return s;
}

void snapshot_free(struct snapshot *s)
{
	if (s)
		arena_free(s->arena);
}

struct snapshot_loader {
	struct ev_loop *loop;
	snapshot_loaded_fn done;
	void *user;
	const struct snapshot_source *source; /* the caller's: only the child may read it */
	struct snapshot_load *load;	      /* being made by the child; NULL when idle */
	struct job *job;		      /* while there is a load */
};

static int work(int out, void *user)
{
	struct snapshot_loader *l = user;

	load_run(l->load, l->source);
	return 0;
}

static void on_done(const struct job_result *result, void *user)
{
	struct snapshot_loader *l = user;
	struct snapshot_load *load = TAKE_PTR(l->load);
	char reason[80];

	if (result->end == JOB_DONE) {
		l->done(l->user, load, NULL);
		return;
	}
	snapshot_load_free(load);
	snprintf(reason, sizeof(reason), "reading the configuration %s", result->reason);
	l->done(l->user, NULL, reason);
}

struct snapshot_loader *snapshot_loader_new(struct ev_loop *loop, snapshot_loaded_fn done,
					    void *user)
{
	struct snapshot_loader *l = mem_zalloc(sizeof(*l));

	l->loop = loop;
	l->done = done;
	l->user = user;
	return l;
}

void snapshot_loader_free(struct snapshot_loader *l)
{
	if (!l)
		return;
	if (l->load) {
		job_cancel(l->job);
		snapshot_load_free(l->load);
	}
	free(l);
}

bool snapshot_loader_busy(const struct snapshot_loader *l)
{
	return l->load != NULL;
}

int snapshot_loader_start(struct snapshot_loader *l, const struct snapshot_source *source)
{
	double limit = source->limit > 0. ? source->limit : SNAPSHOT_LIMIT;
	const struct job_spec spec = {
		.work = work, .done = on_done, .user = l, .timeout = (int64_t)(limit * NSEC_PER_SEC)
	};
	struct arena *arena;
	int r;

	assert(!l->load);
	arena = arena_new_shared(ARENA_LIMIT);
	if (!arena)
		return -ENOMEM;
	l->load = load_new(arena);
	l->source = source;
	r = job_start(l->loop, &spec, &l->job);
	if (r < 0)
		snapshot_load_free(TAKE_PTR(l->load));
	return r;
}
