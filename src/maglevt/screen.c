/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen: drawn whole four times a second, and at each key.
 *
 * From top to bottom: a bar that says where we are and what the figures are of; the titles; a row
 * for each VIP and below it who answered; the errors, newest first, in all the room that is left;
 * and a bar with the keys. Columns that do not fit are left out, the least telling ones first.
 */
#include "src/maglevt/screen.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/tui/tui.h"
#include "src/maglevt/figures.h"
#include "src/maglevt/resolver.h"

#define FRAME 0.25 /* s */
#define RECENT (5 * NSEC_PER_SEC)
#define ERRORS_LEAST 4 /* rows with their title */

enum label { LABEL_ADDRESS, LABEL_DNS, LABEL_NAME };

struct screen {
	struct tester *tester;
	struct tui *tui;
	struct resolver *resolver;
	ev_timer frame;
	ev_io keys;
	ev_signal signals[4];
	enum label label;
	bool lifetime, headers, worst_first;
	size_t first; /* the VIP at the top */
	size_t *order;
};

/* ---- figures of one VIP ---- */

struct row {
	const struct vip *vip;
	struct tally tally;
};

/* Nothing has passed: there is no time to show. */
static void write_latency(const struct row *r, int64_t ns, char buf[static FIGURE_LEN])
{
	if (r->tally.passed.n)
		figure_latency(ns, buf);
	else
		memcpy(buf, "-", sizeof("-"));
}

static void cell_success(const struct row *r, char buf[static FIGURE_LEN])
{
	if (r->tally.passed.n || r->tally.failed)
		figure_share(tally_success(&r->tally), buf);
	else
		memcpy(buf, "-", sizeof("-"));
}

static void cell_count(const struct row *r, char buf[static FIGURE_LEN])
{
	figure_count(r->tally.passed.n + r->tally.failed, buf);
}

static void cell_failed(const struct row *r, char buf[static FIGURE_LEN])
{
	figure_count(r->tally.failed, buf);
}

static void cell_last(const struct row *r, char buf[static FIGURE_LEN])
{
	figure_latency(r->vip->last_rtt, buf);
}

static void cell_min(const struct row *r, char buf[static FIGURE_LEN])
{
	write_latency(r, r->tally.passed.min, buf);
}

static void cell_mean(const struct row *r, char buf[static FIGURE_LEN])
{
	write_latency(r, histogram_mean(&r->tally.passed), buf);
}

static void cell_max(const struct row *r, char buf[static FIGURE_LEN])
{
	write_latency(r, r->tally.passed.max, buf);
}

static void cell_p50(const struct row *r, char buf[static FIGURE_LEN])
{
	write_latency(r, histogram_quantile(&r->tally.passed, 0.5), buf);
}

static void cell_p95(const struct row *r, char buf[static FIGURE_LEN])
{
	write_latency(r, histogram_quantile(&r->tally.passed, 0.95), buf);
}

static void cell_p99(const struct row *r, char buf[static FIGURE_LEN])
{
	write_latency(r, histogram_quantile(&r->tally.passed, 0.99), buf);
}

static const struct column {
	const char *title;
	size_t width;
	size_t from; /* columns of the screen that it takes to be shown */
	void (*write)(const struct row *r, char buf[static FIGURE_LEN]);
} columns[] = {
	{ "OK", 7, 0, cell_success }, { "N", 7, 50, cell_count }, { "FAIL", 6, 0, cell_failed },
	{ "LAST", 6, 90, cell_last }, { "MIN", 6, 80, cell_min }, { "AVG", 6, 74, cell_mean },
	{ "MAX", 6, 68, cell_max },   { "P50", 6, 40, cell_p50 }, { "P95", 6, 62, cell_p95 },
	{ "P99", 6, 56, cell_p99 },
};

/* ---- drawing ---- */

/* Shown at the right end of its columns; the micro sign is two bytes and one column. */
static void put_right(struct screen *s, struct tui_place at, enum tui_style style, const char *text)
{
	size_t n = strlen(text) - (strstr(text, "µ") ? 1 : 0);

	if (n < at.width) {
		at.column += at.width - n;
		at.width = n;
	}
	tui_put(s->tui, at, style, "%s", text);
}

/* What the columns of figures leave for the first one. */
static size_t label_width(const struct screen *s)
{
	size_t all = tui_columns(s->tui), used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		used += all >= columns[i].from ? columns[i].width : 0;
	return all > used ? all - used : 0;
}

static void put_bar(struct screen *s, size_t row, const char *text)
{
	size_t all = tui_columns(s->tui);

	tui_put(s->tui, (struct tui_place){ row, 0, all }, TUI_BAR, "%-*s", (int)all, text);
}

static void draw_title(struct screen *s)
{
	const struct tester *t = s->tester;
	char every[DURATION_STRLEN], window[DURATION_STRLEN];
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_printf(&text, " maglevt on %s: %zu VIP%s every %s, ", resolver_host(s->resolver), t->n,
		   t->n == 1 ? "" : "s", duration_format(t->options->interval, every));
	if (s->lifetime)
		buf_adds(&text, "since the start");
	else
		buf_printf(&text, "the last %s", duration_format(t->options->window, window));
	buf_adds(&text, t->paused ? " [paused]" : "");
	put_bar(s, 0, buf_cstr(&text));
}

/* shown: how many VIPs there is room for. */
static void draw_heads(struct screen *s, size_t row, size_t shown)
{
	size_t at = label_width(s), n = s->tester->n;

	tui_put(s->tui, (struct tui_place){ row, 0, at }, TUI_STRONG,
		shown < n ? "VIP (%zu to %zu of %zu)" : "VIP", s->first + 1, s->first + shown, n);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (tui_columns(s->tui) < columns[i].from)
			continue;
		put_right(s, (struct tui_place){ row, at, columns[i].width }, TUI_STRONG,
			  columns[i].title);
		at += columns[i].width;
	}
}

static void write_label(const struct screen *s, const struct vip *v, struct buf *out)
{
	const struct target *t = v->target;
	const char *name = NULL;

	if (s->label == LABEL_DNS)
		name = resolver_name(s->resolver, &t->at.addr);
	else if (s->label == LABEL_NAME)
		name = t->name;
	if (!name)
		buf_adds(out, v->label);
	else
		buf_printf(out, "%s %s:%u", scheme_name(t->scheme), name, t->at.port);
}

/* Nothing yet, all well, some failed, all failed. */
static enum tui_style style_of(const struct row *r)
{
	if (!r->tally.passed.n && !r->tally.failed)
		return TUI_FAINT;
	if (!r->tally.failed)
		return TUI_GOOD;
	return r->vip->last_passed ? TUI_DOUBT : TUI_BAD;
}

static void draw_vip(struct screen *s, size_t row, const struct row *r)
{
	size_t at = label_width(s);
	_cleanup_(buf_free) struct buf label = { 0 };
	char cell[FIGURE_LEN];

	write_label(s, r->vip, &label);
	tui_put(s->tui, (struct tui_place){ row, 0, at ? at - 1 : 0 }, style_of(r), "%s",
		buf_cstr(&label));
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		bool bad = columns[i].write == cell_failed && r->tally.failed;

		if (tui_columns(s->tui) < columns[i].from)
			continue;
		columns[i].write(r, cell);
		put_right(s, (struct tui_place){ row, at, columns[i].width },
			  bad ? TUI_BAD : TUI_PLAIN, cell);
		at += columns[i].width;
	}
}

/* Who answered: those of the last seconds stand out. */
static void draw_headers(struct screen *s, size_t row, const struct vip *v, int64_t now)
{
	size_t at = 2;
	char count[FIGURE_LEN];

	for (size_t i = 0; i < v->headers.n; i++) {
		const struct value *one = &v->headers.items[i];

		at = tui_put(s->tui, (struct tui_place){ row, at, SIZE_MAX },
			     now - one->last <= RECENT ? TUI_STRONG : TUI_FAINT, "%s %s", one->text,
			     figure_count(one->n, count)) +
		     2;
	}
	if (v->headers.others)
		tui_put(s->tui, (struct tui_place){ row, at, SIZE_MAX }, TUI_FAINT, "others %s",
			figure_count(v->headers.others, count));
}

static size_t height_of(const struct screen *s, const struct vip *v)
{
	return s->headers && v->headers.n ? 2 : 1;
}

static void sum_up(const struct screen *s, struct vip *v, int64_t now, struct row *ret)
{
	ret->vip = v;
	if (s->lifetime)
		ret->tally = v->window.lifetime;
	else
		window_sum(&v->window, now, &ret->tally);
}

/* Up to the row that is not theirs any more; the row behind the last. */
static size_t draw_vips(struct screen *s, size_t row, size_t end)
{
	int64_t now = loop_monotonic();
	size_t i;

	for (i = s->first; i < s->tester->n; i++) {
		struct vip *v = &s->tester->vips[s->order[i]];
		struct row r;

		if (row + height_of(s, v) > end)
			break;
		sum_up(s, v, now, &r);
		draw_vip(s, row, &r);
		if (height_of(s, v) > 1)
			draw_headers(s, row + 1, v, now);
		row += height_of(s, v);
	}
	draw_heads(s, 1, i - s->first);
	return row;
}

static void draw_error(struct screen *s, size_t row, const struct trouble *one)
{
	_cleanup_(buf_free) struct buf line = { 0 };
	char at[TIME_STRLEN];

	buf_printf(&line, "%.8s %-8s ", time_format(one->at, at) + 11, trouble_name(one->kind));
	if (one->n > 1)
		buf_printf(&line, "%llux ", (unsigned long long)one->n);
	write_label(s, one->vip, &line);
	buf_printf(&line, ": %s", one->text);
	tui_put(s->tui, (struct tui_place){ row, 0, SIZE_MAX },
		one->kind == TROUBLE_SPIKE ? TUI_DOUBT : TUI_BAD, "%s", buf_cstr(&line));
}

static void draw_errors(struct screen *s, size_t row, size_t end)
{
	const struct tester *t = s->tester;

	if (row >= end)
		return;
	if (t->all_troubles)
		tui_put(s->tui, (struct tui_place){ row, 0, SIZE_MAX }, TUI_STRONG,
			"Errors: %llu (UTC)", (unsigned long long)t->all_troubles);
	else
		tui_put(s->tui, (struct tui_place){ row, 0, SIZE_MAX }, TUI_STRONG, "No errors");
	for (size_t i = 0; i < t->n_troubles && row + 1 + i < end; i++)
		draw_error(s, row + 1 + i, &t->troubles[i]);
}

/* Who fails most stands first; among equals the order of the files. */
static void sort(struct screen *s)
{
	const struct vip *vips = s->tester->vips;

	for (size_t i = 0; i < s->tester->n; i++) {
		size_t at = i;

		for (;
		     s->worst_first && at > 0 &&
		     vips[s->order[at - 1]].window.lifetime.failed < vips[i].window.lifetime.failed;
		     at--)
			s->order[at] = s->order[at - 1];
		s->order[at] = i;
	}
}

static void draw(struct screen *s)
{
	size_t rows = tui_rows(s->tui), list = 2, end = rows > 0 ? rows - 1 : 0, used;
	size_t list_end = end > list + 2 * ERRORS_LEAST ? end - ERRORS_LEAST : end;

	sort(s);
	tui_begin(s->tui);
	draw_title(s);
	used = draw_vips(s, list, list_end);
	draw_errors(s, used + (used + 1 < end), end);
	put_bar(s, end,
		" q quit  d dns  n names  h headers  l lifetime  s sort  p pause  r reset  arrows");
	tui_end(s->tui);
}

/* ---- keys ---- */

static void toggle_label(struct screen *s, enum label label)
{
	s->label = s->label == label ? LABEL_ADDRESS : label;
}

static void scroll(struct screen *s, ptrdiff_t by)
{
	size_t last = s->tester->n ? s->tester->n - 1 : 0;

	if (by < 0)
		s->first = (size_t)-by < s->first ? s->first - (size_t)-by : 0;
	else
		s->first = s->first + (size_t)by < last ? s->first + (size_t)by : last;
}

static void on_move(struct screen *s, int key)
{
	static const struct {
		int key;
		ptrdiff_t by;
	} moves[] = { { TUI_KEY_UP, -1 },	 { TUI_KEY_DOWN, 1 },
		      { TUI_KEY_PAGE_UP, -10 },	 { TUI_KEY_PAGE_DOWN, 10 },
		      { TUI_KEY_HOME, -100000 }, { TUI_KEY_END, 100000 } };

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
		if (moves[i].key == key)
			scroll(s, moves[i].by);
}

static void on_key(struct screen *s, int key)
{
	switch (key) {
	case 'q':
		ev_break(s->tester->loop, EVBREAK_ALL);
		break;
	case 'd':
		toggle_label(s, LABEL_DNS);
		break;
	case 'n':
		toggle_label(s, LABEL_NAME);
		break;
	case 'h':
		s->headers = !s->headers;
		break;
	case 'l':
		s->lifetime = !s->lifetime;
		break;
	case 's':
		s->worst_first = !s->worst_first;
		break;
	case 'p':
		tester_pause(s->tester, !s->tester->paused);
		break;
	case 'r':
		tester_reset(s->tester);
		break;
	default:
		on_move(s, key);
		break;
	}
}

static void on_keys(struct ev_loop *loop, ev_io *w, int revents)
{
	struct screen *s = container_of(w, struct screen, keys);
	int key;

	while ((key = tui_key(s->tui)) != TUI_NO_KEY)
		on_key(s, key);
	draw(s);
}

/* ---- life ---- */

static void on_frame(struct ev_loop *loop, ev_timer *w, int revents)
{
	draw(container_of(w, struct screen, frame));
}

static void on_name(void *user)
{
	draw(user);
}

static void on_leave(struct ev_loop *loop, ev_signal *w, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

static void on_resize(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct screen *s = w->data;

	tui_resized(s->tui);
	draw(s);
}

static void start(struct screen *s, struct ev_loop *loop)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		ev_signal_init(&s->signals[i], numbers[i] == SIGWINCH ? on_resize : on_leave,
			       numbers[i]);
		s->signals[i].data = s;
		ev_signal_start(loop, &s->signals[i]);
	}
	ev_io_init(&s->keys, on_keys, STDIN_FILENO, EV_READ);
	ev_io_start(loop, &s->keys);
	ev_timer_init(&s->frame, on_frame, 0., FRAME);
	ev_timer_start(loop, &s->frame);
}

static void stop(struct screen *s, struct ev_loop *loop)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->signals); i++)
		ev_signal_stop(loop, &s->signals[i]);
	ev_io_stop(loop, &s->keys);
	ev_timer_stop(loop, &s->frame);
}

int screen_run(struct tester *t)
{
	struct screen s = { .tester = t,
			    .headers = true,
			    .label = t->options->dns ? LABEL_DNS : LABEL_ADDRESS };
	int r = tui_new(&s.tui);

	if (r < 0)
		return r;
	s.order = mem_zalloc((t->n + 1) * sizeof(*s.order));
	s.resolver = resolver_new(t->loop, on_name, &s);
	start(&s, t->loop);
	ev_run(t->loop, 0);
	stop(&s, t->loop);
	resolver_free(s.resolver);
	tui_free(s.tui);
	free(s.order);
	return 0;
}
