/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load is made in one arena: the errors and the configuration live there and die together. The
 * document they were made of is as large as all the rest and goes before the load is handed out.
 * snapshot_load() makes it in the calling process. The loader makes it in a child, inside a shared
 * arena that the parent mapped before it forked; the struct snapshot_load is the first thing in it,
 * so the parent knows where to look when the child has exited with 0.
 *
 * The child calls only pure code: no log, no loop, no descriptors but the file it reads.
 */
#include "src/maglevd/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/l4/validate.h"
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
	struct snapshot_load *load; /* being made by the child; NULL when idle */
	pid_t pid;
	ev_child child;
	ev_timer deadline; /* no longer active: the child took too long and was killed */
};

static void finish(struct snapshot_loader *l, const char *reason)
{
	struct snapshot_load *load = TAKE_PTR(l->load);

	ev_child_stop(l->loop, &l->child);
	ev_timer_stop(l->loop, &l->deadline);
	if (reason) {
		snapshot_load_free(load);
		load = NULL;
	}
	l->done(l->user, load, reason);
}

static void on_child_exit(struct ev_loop *loop, ev_child *w, int events)
{
	struct snapshot_loader *l = w->data;
	char reason[80];

	if (WIFEXITED(w->rstatus) && WEXITSTATUS(w->rstatus) == 0) {
		finish(l, NULL);
		return;
	}
	if (!ev_is_active(&l->deadline)) {
		finish(l, "reading the configuration took too long");
		return;
	}
	snprintf(reason, sizeof(reason), "reading the configuration ended by %s %d",
		 WIFSIGNALED(w->rstatus) ? "signal" : "exit code",
		 WIFSIGNALED(w->rstatus) ? WTERMSIG(w->rstatus) : WEXITSTATUS(w->rstatus));
	finish(l, reason);
}

/* The exit that follows is reported by on_child_exit(). */
static void on_deadline(struct ev_loop *loop, ev_timer *w, int events)
{
	struct snapshot_loader *l = w->data;

	kill(l->pid, SIGKILL);
}

struct snapshot_loader *snapshot_loader_new(struct ev_loop *loop, snapshot_loaded_fn done,
					    void *user)
{
	struct snapshot_loader *l = mem_zalloc(sizeof(*l));

	l->loop = loop;
	l->done = done;
	l->user = user;
	ev_init(&l->child, on_child_exit);
	ev_init(&l->deadline, on_deadline);
	l->child.data = l->deadline.data = l;
	return l;
}

void snapshot_loader_free(struct snapshot_loader *l)
{
	if (!l)
		return;
	if (l->load) {
		ev_child_stop(l->loop, &l->child);
		ev_timer_stop(l->loop, &l->deadline);
		kill(l->pid, SIGKILL);
		waitpid(l->pid, NULL, 0);
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
	struct arena *arena;

	assert(!l->load);
	arena = arena_new_shared(ARENA_LIMIT);
	if (!arena)
		return -ENOMEM;
	l->load = load_new(arena);

	l->pid = fork();
	if (l->pid == 0) {
		load_run(l->load, source);
		_exit(0);
	}
	if (l->pid < 0) {
		int err = -errno;

		snapshot_load_free(TAKE_PTR(l->load));
		return err;
	}
	ev_child_set(&l->child, l->pid, 0);
	ev_child_start(l->loop, &l->child);
	ev_timer_set(&l->deadline, source->limit > 0. ? source->limit : SNAPSHOT_LIMIT, 0.);
	ev_timer_start(l->loop, &l->deadline);
	return 0;
}
