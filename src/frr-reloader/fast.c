/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fast: read, plan, send, read again, compare.
 *
 *	IDLE -> READING -> SENDING -> VERIFYING -> IDLE
 *	IDLE -> ADOPTING -> IDLE
 *
 * `base` is the text of the last full reload and `seen` are the foreign lines that bgpd printed
 * after it. If bgpd prints others, something else has changed its configuration, and only a full
 * reload can tell what that means. If FRR makes statements of foreign lines ("network 10.0.0.0 mask
 * 255.0.0.0" becomes "network 10.0.0.0/8"), the file does not say which of the running statements
 * it wants, and there is no base.
 */
#include "src/frr-reloader/fast.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/frr/diff.h"
#include "lib/log/log.h"
#include "lib/vty/vty.h"

#define HIDDEN_MAX 10000 /* lines that FRR accepts and does not print as they are */

enum phase { IDLE, READING, SENDING, VERIFYING, ADOPTING };

struct fast {
	struct ev_loop *loop;
	struct vty *vty[FRR_DAEMONS];
	enum phase phase;

	char no_base[512];    /* why there is no base; "": there is one */
	struct frr_conf base; /* its foreign lines count */
	struct frr_conf seen; /* likewise, as bgpd printed them */
	struct map hidden;    /* "context\nline" -> itself; owned */

	/* of the change under way */
	struct frr_conf wanted, running;
	struct frr_plan plan;
	size_t waiting;			   /* answers that are still to come */
	char trouble[512];		   /* the first thing that went wrong; "" : nothing */
	struct frr_conf read[FRR_DAEMONS]; /* running configurations, until they are joined */
	bool absent[FRR_DAEMONS];	   /* nothing listens on its socket */
	fast_done_fn done;
	void *user;
	ev_timer refused; /* ends a change that was refused before anything was read */
};

/* ---- the end of a change ---- */

static void drop_read(struct fast *f)
{
	for (unsigned d = 0; d < FRR_DAEMONS; d++) {
		frr_conf_free(&f->read[d]);
		f->read[d] = (struct frr_conf){ 0 };
	}
}

static void drop_change(struct fast *f)
{
	drop_read(f);
	frr_conf_free(&f->wanted);
	frr_conf_free(&f->running);
	frr_plan_free(&f->plan);
	f->wanted = f->running = (struct frr_conf){ 0 };
	f->plan = (struct frr_plan){ 0 };
	f->phase = IDLE;
}

static bool any_drops(const struct frr_plan *p)
{
	for (size_t i = 0; i < p->ops.n; i++)
		if (p->ops.items[i].drops)
			return true;
	return false;
}

static void finish(struct fast *f, enum fast_end end, const char *why)
{
	_cleanup_(cleanup_free) char *text = mem_strdup(why);
	struct fast_result result = { .end = end,
				      .why = text,
				      .commands = f->plan.ops.n,
				      .announced = f->plan.announced,
				      .withdrawn = f->plan.withdrawn,
				      .drops = any_drops(&f->plan) };

	drop_change(f);
	f->done(&result, f->user);
}

static void note_trouble(struct fast *f, const char *what, const char *why)
{
	if (!f->trouble[0])
		snprintf(f->trouble, sizeof(f->trouble), "%s: %s", what, why);
}

/* ---- reading ---- */

static void on_read_all(struct fast *f);

static void on_running(struct fast *f, enum frr_daemon d, const struct vty_answer *a)
{
	char buf[16];

	f->absent[d] = a->error == -ENOENT || a->error == -ECONNREFUSED;
	if (a->error && !f->absent[d])
		note_trouble(f, frr_daemon_name(d), a->reason);
	else if (!a->error && a->status != VTY_SUCCESS)
		note_trouble(f, "show running-config", vty_status_text(a->status, buf));
	else if (!a->error && frr_conf_parse(a->text, &f->read[d]) < 0)
		note_trouble(f, frr_daemon_name(d), "its configuration cannot be read");
	if (--f->waiting == 0)
		on_read_all(f);
}

static void on_bgpd_running(const struct vty_answer *a, void *user)
{
	on_running(user, FRR_BGPD, a);
}

static void on_bfdd_running(const struct vty_answer *a, void *user)
{
	on_running(user, FRR_BFDD, a);
}

static void read_running(struct fast *f, enum phase phase)
{
	static const vty_answer_fn done[FRR_DAEMONS] = { on_bgpd_running, on_bfdd_running };

	drop_read(f);
	f->phase = phase;
	f->trouble[0] = '\0';
	for (unsigned d = 0; d < FRR_DAEMONS; d++) {
		f->waiting++;
		if (vty_ask(f->vty[d], STR("show running-config"), done[d], f) < 0)
			abort(); /* the command is valid, and nothing else waits */
	}
}

static bool has_owner(const struct frr_conf *c, enum frr_daemon d)
{
	for (size_t i = 0; i < c->statements.n; i++)
		if (frr_kind_owner(c->statements.items[i].kind) == d)
			return true;
	return false;
}

/* The statements of both daemons. */
static int join_running(struct fast *f)
{
	frr_conf_free(&f->running);
	f->running = (struct frr_conf){ 0 };
	if (f->absent[FRR_BGPD]) {
		note_trouble(f, "bgpd", "it is not running");
		return -ENOENT;
	}
	if (f->absent[FRR_BFDD] && has_owner(&f->wanted, FRR_BFDD)) {
		note_trouble(f, "bfdd", "it is not running");
		return -ENOENT;
	}
	if (f->trouble[0])
		return -EINVAL;
	f->running = f->read[FRR_BGPD];
	f->read[FRR_BGPD] = (struct frr_conf){ 0 };
	frr_conf_keep(&f->running, FRR_BGPD);
	if (!f->absent[FRR_BFDD])
		frr_conf_add_from(&f->running, &f->read[FRR_BFDD], FRR_BFDD);
	return 0;
}

/* The first foreign line that only one of the two has at its place; NULL: they have the same. */
static const char *foreign_difference(const struct frr_conf *a, const struct frr_conf *b)
{
	size_t i = 0;

	while (i < a->foreign.n && i < b->foreign.n &&
	       strcmp(a->foreign.items[i], b->foreign.items[i]) == 0)
		i++;
	if (i < a->foreign.n)
		return a->foreign.items[i];
	return i < b->foreign.n ? b->foreign.items[i] : NULL;
}

/* ---- lines that FRR does not print as they were sent ---- */

static char *hidden_key(const struct frr_op *op)
{
	char *key;

	if (asprintf(&key, "%s\n%s", op->context, op->line) < 0)
		abort();
	return key;
}

static void forget_hidden(struct fast *f)
{
	for (size_t i = 0; i < f->hidden.cap; i++)
		free(f->hidden.slots[i].value);
	map_free(&f->hidden);
}

static void remember_hidden(struct fast *f, const struct frr_op *op)
{
	char *key = hidden_key(op);

	if (f->hidden.n >= HIDDEN_MAX)
		forget_hidden(f);
	log_debug("line-hidden", LOG_S("context", op->context), LOG_S("line", op->line));
	free(map_put(&f->hidden, key, key));
}

static bool is_hidden(const struct fast *f, const struct frr_op *op)
{
	_cleanup_(cleanup_free) char *key = hidden_key(op);

	return !op->removes && map_get(&f->hidden, key);
}

/* Removes operations from a plan that would only repeat what FRR has accepted before. */
static void drop_hidden(struct fast *f, struct frr_plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->ops.n; i++)
		if (!is_hidden(f, &p->ops.items[i]))
			p->ops.items[n++] = p->ops.items[i];
	p->ops.n = n;
}

/* ---- sending ---- */

static void on_sent_all(struct fast *f)
{
	if (f->trouble[0]) {
		finish(f, FAST_FAILED, f->trouble);
		return;
	}
	read_running(f, VERIFYING);
}

static void on_command(const struct vty_answer *a, void *user)
{
	struct fast *f = user;
	char buf[16];

	if (a->error)
		note_trouble(f, "connection lost", a->reason);
	else if (a->status != VTY_SUCCESS) {
		_cleanup_(buf_free) struct buf text = { 0 };
		struct str said = str_trim(a->text);

		while (said.n && said.p[said.n - 1] == '\n')
			said.n--;
		buf_add(&text, said.p, said.n);
		note_trouble(f, vty_status_text(a->status, buf), buf_cstr(&text));
	}
	if (--f->waiting == 0)
		on_sent_all(f);
}

static void ask(struct fast *f, enum frr_daemon d, struct str command)
{
	int r;

	f->waiting++;
	r = vty_ask(f->vty[d], command, on_command, f);
	if (r < 0) {
		f->waiting--;
		note_trouble(f, "a command cannot be sent", strerror(-r));
	}
}

static void enter(struct fast *f, enum frr_daemon d, const char *context)
{
	struct str rest = str_of(context), line;

	ask(f, d, STR("end"));
	ask(f, d, STR("configure terminal"));
	while (str_cut(&rest, '\n', &line))
		if (line.n)
			ask(f, d, line);
}

static void send_ops(struct fast *f, enum frr_daemon d)
{
	const char *context = NULL;

	for (size_t i = 0; i < f->plan.ops.n; i++) {
		const struct frr_op *op = &f->plan.ops.items[i];

		if (op->to != d)
			continue;
		if (!context || strcmp(context, op->context) != 0)
			enter(f, d, op->context);
		context = op->context;
		ask(f, d, str_of(op->line));
	}
	if (context)
		ask(f, d, STR("end"));
}

static void log_plan(const struct frr_plan *p)
{
	if (!log_wants(LOG_DEBUG))
		return;
	for (size_t i = 0; i < p->ops.n; i++) {
		_cleanup_(buf_free) struct buf line = { 0 };

		if (strstr(p->ops.items[i].line, " password "))
			continue;
		frr_op_print(&p->ops.items[i], &line);
		log_debug("vty-command", LOG_SN("line", line.p, line.n));
	}
}

/* bgpd looks at a changed policy at once, instead of after its delay timer. */
static void refresh(struct fast *f)
{
	_cleanup_(buf_free) struct buf commands = { 0 };
	struct str rest, line;

	frr_refresh_print(&f->wanted, &f->plan, &commands);
	rest = (struct str){ commands.p, commands.n };
	while (str_cut(&rest, '\n', &line))
		if (line.n)
			ask(f, FRR_BGPD, line);
}

static void send_plan(struct fast *f)
{
	f->phase = SENDING;
	f->trouble[0] = '\0';
	log_plan(&f->plan);
	for (unsigned d = 0; d < FRR_DAEMONS; d++)
		send_ops(f, d);
	refresh(f);
	if (!f->waiting)
		finish(f, FAST_FAILED, f->trouble);
}

/* ---- what was read ---- */

static void plan(struct fast *f)
{
	const char *foreign;

	if (join_running(f) < 0) {
		finish(f, FAST_REFUSED, f->trouble);
		return;
	}
	foreign = foreign_difference(&f->running, &f->seen);
	if (foreign) {
		note_trouble(f, "bgpd was restarted, or configured by something else", foreign);
		finish(f, FAST_REFUSED, f->trouble);
		return;
	}
	frr_diff(&f->running, &f->base, &f->wanted, &f->plan);
	drop_hidden(f, &f->plan);
	if (f->plan.why[0])
		finish(f, FAST_REFUSED, f->plan.why);
	else if (!f->plan.ops.n)
		finish(f, FAST_DONE, "");
	else
		send_plan(f);
}

static bool was_sent(const struct fast *f, const struct frr_op *op)
{
	for (size_t i = 0; i < f->plan.ops.n; i++) {
		const struct frr_op *sent = &f->plan.ops.items[i];

		if (!sent->removes && strcmp(sent->context, op->context) == 0 &&
		    strcmp(sent->line, op->line) == 0)
			return true;
	}
	return false;
}

/* Statements of other kinds are always printed, and in a form that is known. */
static bool may_be_hidden(enum frr_kind kind)
{
	return kind == FRR_OPTION || kind == FRR_BFD_LINE || kind == FRR_MAP_LINE;
}

/* Every line that still differs must be one that was accepted; such lines are few. */
static bool is_as_wanted(struct fast *f, struct frr_plan *left)
{
	for (size_t i = 0; i < left->ops.n; i++) {
		const struct frr_op *op = &left->ops.items[i];

		if (op->removes || !may_be_hidden(op->kind) || !was_sent(f, op)) {
			note_trouble(f, op->removes ? "still there" : "not there", op->line);
			return false;
		}
		remember_hidden(f, op);
	}
	return true;
}

static void verify(struct fast *f)
{
	struct frr_plan left;
	bool fine;

	if (join_running(f) < 0) {
		finish(f, FAST_FAILED, f->trouble);
		return;
	}
	frr_diff(&f->running, &f->base, &f->wanted, &left);
	drop_hidden(f, &left);
	if (left.why[0])
		note_trouble(f, "after the change", left.why);
	fine = !left.why[0] && is_as_wanted(f, &left);
	frr_plan_free(&left);
	finish(f, fine ? FAST_DONE : FAST_FAILED, f->trouble);
}

/*
 * After a full reload that succeeded, an option that bgpd or bfdd does not print as it was wanted
 * is a default, or has another form. It is not sent again, because some options end the session.
 * A line of a route map is: frr-reload.py may have left it out, and sending it twice is harmless.
 * A statement that the file does not have came from a line that is not understood here. A plan
 * would remove it.
 */
static void take_rest(struct fast *f)
{
	struct frr_plan left;

	frr_diff(&f->running, &f->wanted, &f->wanted, &left);
	for (size_t i = 0; i < left.ops.n; i++) {
		const struct frr_op *op = &left.ops.items[i];

		if (op->removes)
			note_trouble(f, "FRR runs a line that is not in the file; to remove it",
				     op->line);
		else if (may_be_hidden(op->kind) && op->kind != FRR_MAP_LINE)
			remember_hidden(f, op);
	}
	frr_plan_free(&left);
}

static void adopt(struct fast *f)
{
	forget_hidden(f);
	if (join_running(f) == 0)
		take_rest(f);
	if (f->trouble[0]) {
		snprintf(f->no_base, sizeof(f->no_base), "%s", f->trouble);
		finish(f, FAST_REFUSED, f->trouble);
		return;
	}
	frr_conf_free(&f->base);
	frr_conf_free(&f->seen);
	f->base = f->wanted;
	f->seen = f->running;
	f->wanted = f->running = (struct frr_conf){ 0 };
	f->no_base[0] = '\0';
	finish(f, FAST_DONE, "");
}

static void on_read_all(struct fast *f)
{
	switch (f->phase) {
	case READING:
		plan(f);
		return;
	case VERIFYING:
		verify(f);
		return;
	case ADOPTING:
		adopt(f);
		return;
	case IDLE:
	case SENDING:
		break;
	}
	abort();
}

/* ---- the interface ---- */

static void on_refused(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct fast *f = container_of(w, struct fast, refused);

	finish(f, FAST_REFUSED, f->trouble);
}

static void begin(struct fast *f, struct str text, fast_done_fn done, void *user, enum phase phase)
{
	const char *why = NULL;

	assert(f->phase == IDLE && done);
	f->done = done;
	f->user = user;
	if (frr_conf_parse(text, &f->wanted) < 0)
		why = "the file is not one of FRR's";
	else if (phase == READING && f->no_base[0])
		why = f->no_base;
	if (!why) {
		read_running(f, phase);
		return;
	}
	f->phase = phase;
	snprintf(f->trouble, sizeof(f->trouble), "%s", why);
	ev_timer_start(f->loop, &f->refused);
}

void fast_apply(struct fast *f, struct str text, fast_done_fn done, void *user)
{
	begin(f, text, done, user, READING);
}

void fast_adopt(struct fast *f, struct str text, fast_done_fn done, void *user)
{
	begin(f, text, done, user, ADOPTING);
}

void fast_forget(struct fast *f)
{
	snprintf(f->no_base, sizeof(f->no_base), "the last full reload failed");
}

static struct vty *open_vty(struct ev_loop *loop, const struct options *o, enum frr_daemon d)
{
	_cleanup_(cleanup_free) char *path = NULL;

	if (asprintf(&path, "%s/%s.vty", o->vty_dir, frr_daemon_name(d)) < 0)
		abort();
	return vty_new(loop, &(struct vty_config){ .path = path, .timeout = o->vty_timeout });
}

struct fast *fast_new(struct ev_loop *loop, const struct options *options)
{
	struct fast *f = mem_zalloc(sizeof(*f));

	f->loop = loop;
	snprintf(f->no_base, sizeof(f->no_base), "no configuration was applied since the start");
	ev_timer_init(&f->refused, on_refused, 0., 0.);
	for (unsigned d = 0; d < FRR_DAEMONS; d++)
		f->vty[d] = open_vty(loop, options, d);
	return f;
}

void fast_free(struct fast *f)
{
	if (!f)
		return;
	ev_timer_stop(f->loop, &f->refused);
	drop_change(f);
	frr_conf_free(&f->base);
	frr_conf_free(&f->seen);
	forget_hidden(f);
	for (unsigned d = 0; d < FRR_DAEMONS; d++)
		vty_free(f->vty[d]);
	free(f);
}
