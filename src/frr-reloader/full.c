/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full: a list of command lines, run one after the other as jobs (lib/loop/job.h).
 *
 * The output of a child goes to a file in memory rather than to a pipe: frr-reload.py may print a
 * line per change, and a child that has to wait for its reader, or is killed because it printed too
 * much, would leave FRR half configured.
 */
#include "src/frr-reloader/full.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "lib/loop/job.h"

#define ARGS_MAX 10
#define SAVE_TIMEOUT (30 * NSEC_PER_SEC)
#define TAIL ((size_t)64 * 1024) /* bytes of output that are logged: the last ones */

struct command {
	const char *name;	    /* for the log */
	const char *args[ARGS_MAX]; /* NULL-terminated; the first is the program */
	int64_t timeout;
	bool repeat; /* once more if it fails, because some failures are not FRR's last word */
};

struct full {
	struct ev_loop *loop;
	const struct options *options;
	struct command commands[2];
	size_t n, at;
	struct job *job; /* NULL: idle */
	int output;	 /* file in memory of the running command; -1: none */
	int64_t began;
	ev_timer not_started; /* reports a command that could not be started */
	full_done_fn done;
	void *user;
};

/* ---- in the child ---- */

/* What job.c ignores for its own children must not be ignored in other programs. */
static void restore_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

static int work(int out, void *user)
{
	const struct full *f = user;
	const struct command *c = &f->commands[f->at];
	char *args[ARGS_MAX];

	restore_signals();
	if (dup2(f->output, STDOUT_FILENO) < 0 || dup2(f->output, STDERR_FILENO) < 0)
		return 126;
	for (size_t i = 0; i < ARGS_MAX; i++)
		args[i] = c->args[i] ? mem_strdup(c->args[i]) : NULL;
	execv(args[0], args);
	dprintf(STDERR_FILENO, "%s: %s\n", args[0], strerror(errno));
	return 127;
}

/* ---- the output ---- */

/* The end of the output, at most TAIL bytes. */
static void read_output(int fd, struct buf *ret)
{
	off_t size = lseek(fd, 0, SEEK_END);
	off_t from = size > (off_t)TAIL ? size - (off_t)TAIL : 0;
	ssize_t n;

	if (size <= 0)
		return;
	buf_reserve(ret, (size_t)(size - from));
	n = pread(fd, ret->p, (size_t)(size - from), from);
	if (n > 0)
		ret->n = (size_t)n;
}

/* "neighbor X password secret" -> "neighbor X password <removed>" */
static void log_line(const char *name, struct str line)
{
	static const char word[] = "password ";
	const char *at = memmem(line.p, line.n, word, sizeof(word) - 1);
	_cleanup_(buf_free) struct buf text = { 0 };

	if (at) {
		buf_add(&text, line.p, (size_t)(at - line.p) + sizeof(word) - 1);
		buf_adds(&text, "<removed>");
	} else {
		buf_add(&text, line.p, line.n);
	}
	log_debug("child-output", LOG_S("command", name), LOG_SN("line", text.p, text.n));
}

/* Logs the lines; the last one that is not empty becomes the reason of a failure. */
static void take_output(struct full *f, struct buf *ret_last)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct str rest, line, last = { 0 };

	read_output(f->output, &out);
	close(TAKE_FD(f->output));
	rest = (struct str){ out.p, out.n };
	while (str_cut(&rest, '\n', &line)) {
		line = str_trim(line);
		if (!line.n)
			continue;
		log_line(f->commands[f->at].name, line);
		last = line;
	}
	buf_add(ret_last, last.p, last.n);
}

/* ---- commands ---- */

static void start_next(struct full *f);

static void finish(struct full *f, bool success, const char *why)
{
	full_done_fn done = f->done;

	f->done = NULL;
	done(success, why, f->user);
}

static void on_done(const struct job_result *result, void *user)
{
	struct full *f = user;
	const struct command *c = &f->commands[f->at];
	_cleanup_(buf_free) struct buf last = { 0 }, why = { 0 };

	f->job = NULL;
	take_output(f, &last);
	log_debug("child-ended", LOG_S("command", c->name), LOG_S("reason", result->reason),
		  LOG_T("duration", loop_monotonic() - f->began));
	if (result->end == JOB_EXIT && c->repeat) {
		f->commands[f->at].repeat = false;
		start_next(f);
		return;
	}
	if (result->end != JOB_DONE) {
		buf_printf(&why, "%s %s", c->name, result->reason);
		if (last.n)
			buf_printf(&why, ": %s", buf_cstr(&last));
		finish(f, false, buf_cstr(&why));
		return;
	}
	f->at++;
	if (f->at < f->n)
		start_next(f);
	else
		finish(f, true, "");
}

/* A failure is reported from the loop, as all others are. */
static void on_not_started(struct ev_loop *loop, ev_timer *w, int revents)
{
	finish(container_of(w, struct full, not_started), false, "no process could be started");
}

static void start_next(struct full *f)
{
	const struct command *c = &f->commands[f->at];
	struct job_spec spec = { .work = work,
				 .done = on_done,
				 .user = f,
				 .timeout = c->timeout,
				 .keep = &f->output,
				 .n_keep = 1,
				 .group = true };
	int r;

	f->output = memfd_create("output", MFD_CLOEXEC);
	r = f->output < 0 ? -errno : job_start(f->loop, &spec, &f->job);
	f->began = loop_monotonic();
	if (r == 0)
		return;
	log_error("child-failed", LOG_S("command", c->name), LOG_S("reason", strerror(-r)));
	if (f->output >= 0)
		close(TAKE_FD(f->output));
	ev_timer_start(f->loop, &f->not_started);
}

static void start(struct full *f, full_done_fn done, void *user)
{
	assert(!full_is_busy(f));
	f->done = done;
	f->user = user;
	f->at = 0;
	start_next(f);
}

/* Adds "-N NAME" if there is a pathspace. */
static size_t add_pathspace(const struct full *f, struct command *c, size_t n)
{
	if (!*f->options->pathspace)
		return n;
	c->args[n++] = "-N";
	c->args[n++] = f->options->pathspace;
	return n;
}

/*
 * A reload that fails is repeated. frr-reload.py sends the lines of its first pass again in the
 * second one, and FRR 8.4 refuses some of them then (neighbor X graceful-restart). What was applied
 * is no difference any more when it runs again.
 */
static struct command reload_command(const struct full *f, const char *config, bool test)
{
	const struct options *o = f->options;
	struct command c = { .name = test ? "frr-reload.py --test" : "frr-reload.py --reload",
			     .args = { o->reload },
			     .timeout = o->timeout,
			     .repeat = !test };
	size_t n = add_pathspace(f, &c, 1);

	c.args[n++] = test ? "--test" : "--reload";
	if (!test)
		c.args[n++] = "--overwrite";
	c.args[n++] = "--stdout";
	c.args[n++] = config;
	return c;
}

void full_reload(struct full *f, const char *config, full_done_fn done, void *user)
{
	f->commands[0] = reload_command(f, config, true);
	f->commands[1] = reload_command(f, config, false);
	f->n = 2;
	start(f, done, user);
}

void full_save(struct full *f, full_done_fn done, void *user)
{
	struct command c = { .name = "vtysh -c write",
			     .args = { f->options->vtysh },
			     .timeout = SAVE_TIMEOUT };
	size_t n = add_pathspace(f, &c, 1);

	c.args[n++] = "-c";
	c.args[n++] = "write";
	f->commands[0] = c;
	f->n = 1;
	start(f, done, user);
}

bool full_is_busy(const struct full *f)
{
	return f->done != NULL;
}

struct full *full_new(struct ev_loop *loop, const struct options *options)
{
	struct full *f = mem_zalloc(sizeof(*f));

	f->loop = loop;
	f->options = options;
	f->output = -1;
	ev_timer_init(&f->not_started, on_not_started, 0., 0.);
	return f;
}

void full_free(struct full *f)
{
	if (!f)
		return;
	job_cancel(f->job);
	ev_timer_stop(f->loop, &f->not_started);
	if (f->output >= 0)
		close(f->output);
	free(f);
}
