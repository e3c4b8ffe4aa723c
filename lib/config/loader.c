/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader: loads, readings in a child process, and the callers that wait for them.
 *
 * A load is one arena with the errors and the configuration, which are freed together. The bytes of
 * the file are freed before the load is returned. config_load() makes a load in the calling
 * process. The loader makes it in a child (lib/loop/job), in a shared arena that the parent has
 * mapped before the fork. The parent allocates the struct config_load there before the fork as
 * well, so it has the address when the child has exited with 0.
 *
 * How much memory a configuration takes is not known before it was read, and a process may have
 * little address space (LimitAS=). So the arena begins small. A child that finds it too small exits
 * with STATUS_FULL, and another one reads the file again into a larger one. What a finished load
 * does not need is given back.
 *
 * Callers wait in a list. A reading serves all callers that were in it when the reading began. If
 * no child can be started, that is reported like a reading that failed later.
 *
 *	IDLE -> READING -> TELLING -> IDLE
 *
 * A callback may ask again. It waits for the next reading, which begins only after all callers of
 * the last one were answered.
 */
#include "lib/config/loader.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/config/files.h"
#include "lib/config/watch.h"
#include "lib/loop/job.h"
#include "lib/loop/waitlist.h"

/* Bytes of address space; memory is used on demand. Ten thousand backends take about 2 MiB. */
#define ARENA_FIRST ((size_t)16 << 20)
#define ARENA_GROWTH 8
#define ARENA_LAST ((size_t)1 << 30)
#define STATUS_FULL 75 /* exit status of a child whose arena is full */

/* ---- one load ---- */

static struct config_load *load_new(struct arena *arena)
{
	struct config_load *load = arena_new_of(arena, struct config_load);

	load->arena = arena;
	load->errors.arena = load->warnings.arena = arena;
	return load;
}

static bool skips_file(const struct config_source *source)
{
	return source->skips_file && *source->skips_file;
}

static void load_run(struct config_load *load, const struct config_source *source)
{
	_cleanup_(config_files_freep) struct config_files *files = NULL;

	load->result = CONFIG_PARSE_ERROR;
	if (skips_file(source)) {
		load->result = source->build((struct str){ 0 }, load, source->user);
	} else if (config_files_open(source->path, &load->errors, &load->warnings, &files) == 0) {
		load->sources = config_files_sources(files);
		load->result = source->build(config_files_bytes(files), load, source->user);
	}
	load->sources = NULL;
	if (files)
		load->included = config_files_included(files, &load->n_included);
	assert((load->result == CONFIG_OK) == (load->config != NULL));
	errs_sort(&load->errors);
	errs_sort(&load->warnings);
}

struct config_load *config_load(const struct config_source *source)
{
	struct config_load *load = load_new(arena_new());

	load_run(load, source);
	return load;
}

void config_load_free(struct config_load *load)
{
	if (load)
		arena_free(load->arena);
}

/* ---- readings in a child ---- */

enum state { IDLE, READING, TELLING };

struct asker {
	struct waitlist_item waiting;
	unsigned wishes;
	config_done_fn done; /* may be NULL */
};

struct config_loader {
	struct ev_loop *loop;
	const struct config_source *source;
	struct config_loader_calls calls;
	enum state state;
	struct waitlist waiting;
	uint64_t round;		  /* callers with a lower number are served by the reading */
	struct config_load *load; /* being made by the child; NULL: no child */
	struct job *job;	  /* valid while load is not NULL */
	size_t room;		  /* of the arena of that load */
	struct config_watch *watch;
	config_done_fn watch_done;
	void *watch_user;
	/* what the watched file includes, of the last good load and of bad ones since then */
	VEC(char *) included;
};

static struct asker *asker_of(struct waitlist_item *w)
{
	return container_of(w, struct asker, waiting);
}

/* The union of the wishes of all callers of the current reading. */
static unsigned wishes_of(const struct config_loader *l)
{
	unsigned all = 0;

	for (struct waitlist_item *w = l->waiting.first; w && w->number < l->round; w = w->next)
		all |= asker_of(w)->wishes;
	return all;
}

/* TELLING keeps start() from beginning another reading when a callback asks again. */
void config_loader_answer(struct config_loader *l, const void *report)
{
	struct waitlist_item *w;

	assert(l->state == READING);
	l->state = TELLING;
	while ((w = waitlist_take(&l->waiting, l->round, NULL))) {
		struct asker *a = asker_of(w);

		if (a->done && !w->forgotten)
			a->done(report, w->user);
		free(a);
	}
	l->state = IDLE;
}

static void end_reading(struct config_loader *l, struct config_load *load, const char *reason)
{
	unsigned wishes = wishes_of(l);
	const struct config_reading reading = { .load = load,
						.reason = reason,
						.take = wishes & CONFIG_TAKE,
						.detail = wishes & CONFIG_DETAIL };

	l->calls.ended(&reading, l->calls.user);
	assert(l->state == IDLE); /* it was answered */
}

/* Runs in the child. The result is in the shared arena, so out is not used. */
static int work(int out, void *user)
{
	struct config_loader *l = user;

	load_run(l->load, l->source);
	return 0;
}

static _Noreturn void on_full(void)
{
	_exit(STATUS_FULL);
}

static void drop_included(struct config_loader *l)
{
	for (size_t i = 0; i < l->included.n; i++)
		free(l->included.items[i]);
	vec_free(&l->included);
}

static bool is_included(const struct config_loader *l, const char *path)
{
	for (size_t i = 0; i < l->included.n; i++)
		if (strcmp(l->included.items[i], path) == 0)
			return true;
	return false;
}

static void follow_included(struct config_loader *l)
{
	config_watch_follow(l->watch, (const char *const *)l->included.items, l->included.n);
}

/*
 * A load that failed may not have seen everything that is included, so what was watched before it
 * stays. The list is bounded by that of the files.
 */
void config_loader_follow(struct config_loader *l, const struct config_load *load)
{
	if (load->result == CONFIG_OK)
		drop_included(l);
	for (size_t i = 0; i < load->n_included && l->included.n < CONFIG_FILES_MAX; i++)
		if (!is_included(l, load->included[i]))
			vec_push(&l->included, mem_strdup(load->included[i]));
	if (l->watch)
		follow_included(l);
}

static void start(struct config_loader *l);
static int start_job(struct config_loader *l, size_t room);

static void fail_reading(struct config_loader *l, const char *what)
{
	char reason[80];

	snprintf(reason, sizeof(reason), "reading the configuration %s", what);
	end_reading(l, NULL, reason);
}

/* The arena was too small: reads the file again. */
static void read_again(struct config_loader *l)
{
	int err = l->room < ARENA_LAST ? start_job(l, l->room * ARENA_GROWTH) : -EFBIG;

	if (err == -EFBIG)
		fail_reading(l, "takes more than 1 GiB");
	else if (err < 0)
		end_reading(l, NULL, strerror(-err));
}

static void on_done(const struct job_result *result, void *user)
{
	struct config_loader *l = user;
	struct config_load *load = TAKE_PTR(l->load);

	if (result->end == JOB_DONE) {
		arena_trim(load->arena);
		if (!skips_file(l->source))
			config_loader_follow(l, load);
		end_reading(l, load, NULL);
	} else {
		config_load_free(load);
		if (result->end == JOB_EXIT && result->number == STATUS_FULL)
			read_again(l);
		else
			fail_reading(l, result->reason);
	}
	start(l);
}

static int start_job(struct config_loader *l, size_t room)
{
	double limit = l->source->limit > 0. ? l->source->limit : CONFIG_LOAD_LIMIT;
	const struct job_spec spec = {
		.work = work, .done = on_done, .user = l, .timeout = (int64_t)(limit * NSEC_PER_SEC)
	};
	struct arena *arena = arena_new_shared(room, on_full);
	int r;

	if (!arena)
		return -ENOMEM;
	l->room = room;
	l->load = load_new(arena);
	r = job_start(l->loop, &spec, &l->job);
	if (r < 0)
		config_load_free(TAKE_PTR(l->load));
	return r;
}

/* Begins a reading for all waiting callers. A loop, because a start may fail at once. */
static void start(struct config_loader *l)
{
	while (l->waiting.n && l->state == IDLE) {
		int err;

		l->state = READING;
		l->round = waitlist_round(&l->waiting);
		if (config_is_stdin(l->source->path) && !skips_file(l->source)) {
			end_reading(l, NULL,
				    "the configuration came from standard input, which cannot "
				    "be read again: restart the program");
			continue;
		}
		err = start_job(l, ARENA_FIRST);
		if (err < 0)
			end_reading(l, NULL, strerror(-err));
	}
}

/* ---- beginning and end ---- */

struct config_loader *config_loader_new(struct ev_loop *loop, const struct config_source *source,
					const struct config_loader_calls *calls)
{
	struct config_loader *l = mem_zalloc(sizeof(*l));

	assert(source->path && source->build && calls->ended);
	l->loop = loop;
	l->source = source;
	l->calls = *calls;
	l->waiting.max = CONFIG_WAITING_MAX;
	return l;
}

void config_loader_free(struct config_loader *l)
{
	struct waitlist_item *w;

	if (!l)
		return;
	config_watch_free(l->watch);
	drop_included(l);
	if (l->load) {
		job_cancel(l->job);
		config_load_free(l->load);
	}
	while ((w = waitlist_take(&l->waiting, waitlist_round(&l->waiting), NULL)))
		free(asker_of(w));
	free(l);
}

/* ---- callers ---- */

static struct asker *asker_new(unsigned wishes, config_done_fn done)
{
	struct asker *a = mem_zalloc(sizeof(*a));

	a->wishes = wishes;
	a->done = done;
	return a;
}

int config_loader_ask(struct config_loader *l, unsigned wishes, config_done_fn done, void *user)
{
	struct asker *a = asker_new(wishes, done);
	int err = waitlist_add(&l->waiting, &a->waiting, user);

	if (err < 0)
		free(a);
	else
		start(l);
	return err;
}

void config_loader_hangup(struct config_loader *l, config_done_fn done, void *user)
{
	for (struct waitlist_item *w = l->waiting.first; w; w = w->next) {
		const struct asker *a = asker_of(w);

		if (w->number >= l->round && !w->forgotten && w->user == user &&
		    (a->wishes & CONFIG_TAKE) && a->done == done)
			return;
	}
	/* beyond the bound of the list, but at most one for each done and user */
	waitlist_add_always(&l->waiting, &asker_new(CONFIG_TAKE, done)->waiting, user);
	start(l);
}

void config_loader_forget(struct config_loader *l, const void *user)
{
	waitlist_forget(&l->waiting, user);
}

static void on_changed(void *user)
{
	struct config_loader *l = user;

	config_loader_hangup(l, l->watch_done, l->watch_user);
}

int config_loader_watch(struct config_loader *l, double settle, config_done_fn done, void *user)
{
	int err;

	assert(!l->watch);
	if (config_is_stdin(l->source->path))
		return 0;
	l->watch_done = done;
	l->watch_user = user;
	err = config_watch_new(l->loop, l->source->path, settle, on_changed, l, &l->watch);
	if (err == 0)
		follow_included(l);
	return err;
}
