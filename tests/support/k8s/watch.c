/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: follows kinds and prints each change.
 *
 *	kube-tool watch KIND[,KIND...] [--namespace=N] [--labels=S] [--paged] [--page=N] [--max=N]
 *		[--optional] [--silence=MS] [--watch-time=MS] [--absent=MS] [--quiet]
 *
 * Words of the input: stop, start, poke, stats, all (what the cache holds).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "base/units.h"
#include "tests/support/k8s/tool.h"

#define KINDS_MAX 4

struct followed {
	struct watch *watch;
	const struct tool_kind *about;
	struct k8s_kind *kind;
	struct k8s_informer *informer;
};

struct watch {
	struct tool *tool;
	struct k8s_names *names;
	struct followed kinds[KINDS_MAX];
	size_t n;
	bool quiet;
	int64_t began;
};

static void add_object(struct buf *b, const struct followed *f, const struct k8s_object *o)
{
	struct buf shown = { 0 };

	f->about->show(&shown, o);
	tool_text(b, "namespace", o->namespace);
	tool_text(b, "name", o->name);
	tool_number(b, "version", (long long)o->version);
	tool_text(b, "shown", buf_cstr(&shown));
	if (o->deleting == K8S_YES)
		tool_text(b, "deleting", "yes");
	if (o->odd)
		tool_text(b, "odd", "yes");
	buf_free(&shown);
}

static void on_changed(enum k8s_change change, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	static const char *const names[] = { "added", "updated", "deleted" };
	struct followed *f = user;
	struct buf b = { 0 };

	if (f->watch->quiet)
		return;
	tool_text(&b, "change", names[change]);
	tool_text(&b, "kind", f->about->name);
	add_object(&b, f, new ? new : old);
	tool_print(&b);
}

static void add_usage(struct buf *b)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	tool_number(b, "cpu_us",
		    (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000LL + u.ru_utime.tv_usec +
			    u.ru_stime.tv_usec);
	tool_number(b, "peak_kib", u.ru_maxrss);
}

static void on_synced(void *user)
{
	struct followed *f = user;
	struct buf b = { 0 };

	tool_text(&b, "synced", f->about->name);
	tool_number(&b, "count", (long long)k8s_cache_count(k8s_informer_cache(f->informer)));
	tool_number(&b, "ms", (loop_monotonic() - f->watch->began) / NSEC_PER_MSEC);
	add_usage(&b);
	tool_print(&b);
}

static void on_trouble(const struct k8s_trouble *trouble, void *user)
{
	struct followed *f = user;
	struct buf b = { 0 };

	tool_text(&b, "trouble", k8s_code_name(trouble->code));
	tool_text(&b, "kind", f->about->name);
	tool_text(&b, "doing", trouble->doing);
	tool_text(&b, "message", trouble->message);
	tool_number(&b, "delay_ms", trouble->delay / NSEC_PER_MSEC);
	tool_print(&b);
}

static void print_stats(struct followed *f)
{
	const struct k8s_informer_stats *s = k8s_informer_stats(f->informer);
	struct buf b = { 0 };

	tool_text(&b, "stats", f->about->name);
	tool_text(&b, "state", k8s_informer_state_name(k8s_informer_state(f->informer)));
	tool_number(&b, "count", (long long)k8s_cache_count(k8s_informer_cache(f->informer)));
	tool_number(&b, "lists", (long long)s->lists);
	tool_number(&b, "watches", (long long)s->watches);
	tool_number(&b, "checks", (long long)s->checks);
	tool_number(&b, "events", (long long)s->events);
	tool_number(&b, "failures", (long long)s->failures);
	tool_number(&b, "expired", (long long)s->expired);
	tool_number(&b, "reversed", (long long)s->reversed);
	tool_number(&b, "version", (long long)s->version);
	tool_number(&b, "names", (long long)k8s_names_count(f->watch->names));
	tool_number(&b, "renewed", (long long)k8s_client_stats(f->watch->tool->client)->renewed);
	add_usage(&b);
	tool_print(&b);
}

static void print_all(struct followed *f)
{
	struct k8s_cache *cache = k8s_informer_cache(f->informer);
	struct buf b = { 0 };

	for (size_t i = 0; i < k8s_cache_count(cache); i++) {
		tool_text(&b, "has", f->about->name);
		add_object(&b, f, k8s_cache_at(cache, i));
		tool_print(&b);
	}
	tool_text(&b, "all", f->about->name);
	tool_print(&b);
}

static void obey(struct tool *t, char *line)
{
	static const struct {
		const char *word;
		void (*informer)(struct k8s_informer *i);
		void (*followed)(struct followed *f);
	} words[] = {
		{ "stop", k8s_informer_stop, NULL }, { "start", k8s_informer_start, NULL },
		{ "poke", k8s_informer_poke, NULL }, { "stats", NULL, print_stats },
		{ "all", NULL, print_all },
	};
	struct watch *w = t->part;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].word, line) != 0)
			continue;
		for (size_t j = 0; j < w->n; j++) {
			if (words[i].informer)
				words[i].informer(w->kinds[j].informer);
			else
				words[i].followed(&w->kinds[j]);
		}
	}
}

static void follow(struct watch *w, const struct tool_kind *about)
{
	struct tool *t = w->tool;
	struct followed *f = &w->kinds[w->n++];
	struct k8s_informer_config config = {
		.client = t->client,
		.resource = about->resource,
		.namespace = tool_option(t, "namespace"),
		.label_selector = tool_option(t, "labels"),
		.optional = tool_option(t, "optional"),
		.paged = tool_option(t, "paged"),
		.page = (unsigned)tool_option_number(t, "page", 0),
		.max_objects = (size_t)tool_option_number(t, "max", 0),
		.silence = tool_option_number(t, "silence", 0) * NSEC_PER_MSEC,
		.watch_time = tool_option_number(t, "watch-time", 0) * NSEC_PER_MSEC,
		.absent = tool_option_number(t, "absent", 0) * NSEC_PER_MSEC,
		.changed = on_changed,
		.synced = on_synced,
		.trouble = on_trouble,
		.user = f,
	};

	f->watch = w;
	f->about = about;
	f->kind = k8s_kind_new(about->layout, w->names);
	config.kind = f->kind;
	f->informer = k8s_informer_new(&config);
	k8s_informer_start(f->informer);
}

int tool_watch(struct tool *t)
{
	struct watch w = { .tool = t, .names = k8s_names_new(), .began = loop_monotonic() };
	struct str rest = str_of(t->args[0]), part;
	char name[64];

	w.quiet = tool_option(t, "quiet");
	t->part = &w;
	t->obey = obey;
	while (w.n < KINDS_MAX && str_cut(&rest, ',', &part)) {
		snprintf(name, sizeof(name), "%.*s", (int)part.n, part.p);
		if (!tool_kind(name)) {
			fprintf(stderr, "kube-tool: there is no kind %s\n", name);
			return 2;
		}
		follow(&w, tool_kind(name));
	}
	ev_run(t->loop, 0);
	for (size_t i = 0; i < w.n; i++) {
		k8s_informer_free(w.kinds[i].informer);
		k8s_kind_free(w.kinds[i].kind);
	}
	k8s_names_free(w.names);
	return 0;
}
