/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglevt: tests VIPs as a client does. It reads the frontends from the configuration of
 * maglevd, does not connect to maglevd, and writes only to its own terminal.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "lib/config/files.h"
#include "lib/regex/regex.h"
#include "lib/tls/tls.h"
#include "src/maglevt/report.h"
#include "src/maglevt/screen.h"
#include "wire/config_yaml.h"

/* ---- what to test ---- */

/*
 * The configuration is read leniently: errors that do not concern frontends must not keep a VIP
 * from being tested.
 */
static int read_config(const char *path, const char *scheme, struct targets *targets)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(config_files_freep) struct config_files *files = NULL;
	_cleanup_(buf_free) struct buf text = { 0 };
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	struct l4_doc doc;
	int r = config_files_open(path, &errors, &warnings, &files);

	if (r == 0)
		r = config_yaml_load(config_files_sources(files), CONFIG_LENIENT, arena, &doc,
				     &errors);
	if (r == 0) {
		targets_add(targets, &doc, scheme);
		return 0;
	}
	errs_print(&errors, config_shown_path(path), &text);
	fputs(buf_cstr(&text), stderr);
	return r;
}

/* Matches name and address, see struct target. VIPs that do not match are removed in place. */
static int filter(struct targets *t, const char *pattern)
{
	_cleanup_(regex_freep) struct regex *re = NULL;
	char reason[REGEX_REASON_SIZE];
	size_t kept = 0;

	if (regex_compile(pattern, &re, reason, sizeof(reason)) < 0) {
		fprintf(stderr, "maglevt: --filter: %s\n", reason);
		return -EINVAL;
	}
	for (size_t i = 0; i < t->n; i++)
		if (regex_match(re, t->items[i].text, strlen(t->items[i].text)) == REGEX_MATCH)
			t->items[kept++] = t->items[i];
	t->n = kept;
	return 0;
}

static int find_targets(const struct options *o, struct targets *t)
{
	for (size_t i = 0; i < o->configs.n; i++)
		if (read_config(o->configs.items[i], o->scheme, t) < 0)
			return -EINVAL;
	if (o->filter && filter(t, o->filter) < 0)
		return -EINVAL;
	if (t->n)
		return 0;
	fprintf(stderr, "maglevt: there is no VIP with a TCP port to test%s\n",
		o->filter ? " that matches --filter" : "");
	return -ENOENT;
}

/* ---- a batch ---- */

/*
 * The duration is over. Requests in flight are waited for, because a VIP that hangs would
 * otherwise look like one that was never asked.
 */
static void on_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	if (!tester_finish(w->data))
		ev_break(loop, EVBREAK_ALL);
}

/* A signal ends the batch early; the report covers what was measured until then. */
static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

static void wait_for_end(struct tester *t)
{
	struct ev_loop *loop = t->loop;
	ev_signal interrupt, terminate;
	ev_timer over;

	ev_signal_init(&interrupt, on_signal, SIGINT);
	ev_signal_init(&terminate, on_signal, SIGTERM);
	ev_timer_init(&over, on_over, loop_seconds(t->options->duration), 0.);
	over.data = t;
	ev_signal_start(loop, &interrupt);
	ev_signal_start(loop, &terminate);
	ev_timer_start(loop, &over);
	ev_run(loop, 0);
	ev_timer_stop(loop, &over);
	ev_signal_stop(loop, &terminate);
	ev_signal_stop(loop, &interrupt);
}

/*
 * A report that could not be written is an error of its own: a script must not take it for a
 * verdict.
 */
static enum status run_batch(struct tester *t)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct report r = { .tester = t, .started = loop_realtime() };
	int64_t started = loop_monotonic();
	bool good;

	wait_for_end(t);
	r.duration = loop_monotonic() - started;
	good = report_write(&r, &out);
	if (fputs(buf_cstr(&out), stdout) < 0 || fflush(stdout) != 0) {
		fprintf(stderr, "maglevt: cannot write the report: %s\n", strerror(errno));
		return STATUS_USAGE;
	}
	return good ? STATUS_GOOD : STATUS_FAILED;
}

/* NULL in *ret: the system's store is used. */
static int open_ca(const struct options *o, struct tls_context **ret)
{
	const struct tls_config config = { .role = TLS_CLIENT, .ca = o->ca };
	struct tls_refusal why;

	if (!o->ca)
		return 0;
	if (tls_context_new(&config, ret, &why) == 0)
		return 0;
	fprintf(stderr, "maglevt: --ca: %s\n", why.reason);
	return -EINVAL;
}

static enum status run(const struct options *o)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct targets targets = { .arena = arena };
	enum status status = STATUS_USAGE;
	struct tls_context *tls = NULL;
	struct tester *tester;

	if (find_targets(o, &targets) == 0 && open_ca(o, &tls) == 0) {
		tester = tester_new(ev_default_loop(0), o, &targets, tls);
		if (o->batch) {
			status = run_batch(tester);
		} else if (screen_run(tester) == 0) {
			status = STATUS_GOOD;
		} else {
			fputs("maglevt: this needs a terminal; without one use --batch\n", stderr);
		}
		tester_free(tester);
	}
	if (tls)
		tls_context_free(tls);
	targets_free(&targets);
	return status;
}

int main(int argc, char *argv[])
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct options o;
	enum cli_verdict verdict = options_parse(&o, argc, argv, &text);
	enum status status;

	if (verdict != CLI_OK)
		return cli_tell(verdict, &text, STATUS_USAGE);
	status = run(&o);
	options_free(&o);
	ev_loop_destroy(ev_default_loop(0));
	return (int)status;
}
