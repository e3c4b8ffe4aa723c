/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen: the whole screen is drawn four times a second and at each key. This file has the keys,
 * signals and timers; screen_draw.c draws, and screen_rows.c draws the list of VIPs.
 */
#include "src/maglevt/screen.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "src/maglevt/screen_private.h"

#define FRAME 0.25 /* s between two drawings */

/* ---- keys ---- */

static void leave(struct screen *s)
{
	ev_break(s->tester->loop, EVBREAK_ALL);
}

static void show_help(struct screen *s)
{
	s->help = true;
}

static void type_filter(struct screen *s)
{
	s->filter.typing = true;
}

static void toggle_pause(struct screen *s)
{
	tester_pause(s->tester, !s->tester->paused);
}

static void toggle_order(struct screen *s)
{
	s->worst_first = !s->worst_first;
}

static void toggle_lifetime(struct screen *s)
{
	s->lifetime = !s->lifetime;
}

static void toggle_headers(struct screen *s)
{
	s->headers = !s->headers;
}

static void toggle_dns(struct screen *s)
{
	s->label = s->label == LABEL_DNS ? LABEL_ADDRESS : LABEL_DNS;
}

static void toggle_names(struct screen *s)
{
	s->label = s->label == LABEL_NAME ? LABEL_ADDRESS : LABEL_NAME;
}

static void reset(struct screen *s)
{
	tester_reset(s->tester);
}

static void drop_filter(struct screen *s)
{
	filter_clear(&s->filter);
}

/* The upper bound is coarse; screen__draw_list() keeps the last page full. */
static void scroll(struct screen *s, ptrdiff_t by)
{
	ptrdiff_t to = (ptrdiff_t)s->first + by, last = (ptrdiff_t)s->n - 1;

	if (to > last)
		to = last;
	s->first = to > 0 ? (size_t)to : 0;
}

static void on_move(struct screen *s, int key)
{
	const ptrdiff_t page = s->page > 1 ? (ptrdiff_t)s->page : 1, all = (ptrdiff_t)s->tester->n;
	const struct {
		int key;
		ptrdiff_t by;
	} moves[] = { { TUI_KEY_UP, -1 },	  { TUI_KEY_DOWN, 1 },
		      { TUI_KEY_PAGE_UP, -page }, { TUI_KEY_PAGE_DOWN, page },
		      { TUI_KEY_HOME, -all },	  { TUI_KEY_END, all } };

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
		if (moves[i].key == key)
			scroll(s, moves[i].by);
}

/* All keys. The bar at the bottom shows the first ones, as many as fit. */
const struct screen_key screen__keys[] = {
	{ 'q', "q quit", "q quit", leave },
	{ '?', "? help", "? these keys", show_help },
	{ '/', "/ filter", "/ filter by regexp", type_filter },
	{ 'p', "p pause", "p pause", toggle_pause },
	{ 's', "s sort", "s worst first", toggle_order },
	{ 'l', "l lifetime", "l since the start", toggle_lifetime },
	{ 'h', "h headers", "h header values", toggle_headers },
	{ 'd', "d dns", "d DNS names", toggle_dns },
	{ 'n', "n names", "n frontend names", toggle_names },
	{ 'r', "r reset", "r reset figures", reset },
	{ TUI_KEY_ESCAPE, "Esc no filter", "Esc no filter", drop_filter },
	{ TUI_NO_KEY, "arrows scroll", "arrows scroll", NULL }, /* and others: on_move() */
};
const size_t screen__n_keys = ARRAY_SIZE(screen__keys);

/* Any key closes the help. Keys that move work even while a filter is typed. */
static void on_key(struct screen *s, int key)
{
	if (s->help) {
		s->help = false;
		return;
	} else if (s->filter.typing) {
		filter_key(&s->filter, key);
	} else {
		for (size_t i = 0; i < screen__n_keys; i++)
			if (screen__keys[i].key == key)
				screen__keys[i].act(s);
	}
	on_move(s, key);
}

static void on_keys(struct ev_loop *loop, ev_io *w, int revents)
{
	struct screen *s = container_of(w, struct screen, keys);
	int key;

	while ((key = tui_key(s->tui)) != TUI_NO_KEY && key != TUI_KEY_GONE)
		on_key(s, key);
	if (key == TUI_KEY_GONE)
		leave(s);
	else
		screen__draw(s);
}

/* ---- life ---- */

static void on_frame(struct ev_loop *loop, ev_timer *w, int revents)
{
	screen__draw(container_of(w, struct screen, frame));
}

static void on_leave(struct ev_loop *loop, ev_signal *w, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

static void on_resize(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct screen *s = w->data;

	tui_resized(s->tui);
	screen__draw(s);
}

/* Another program may have written to the terminal or resized it meanwhile. */
static void on_continue(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct screen *s = w->data;

	tui_resume(s->tui);
	screen__draw(s);
}

/*
 * Stops the process with the default action of SIGTSTP: the kernel does not stop an orphaned
 * process group, which no shell could continue. The tester is paused, so that no request seems
 * to have taken as long as the stop.
 */
static void on_suspend(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct screen *s = w->data;
	bool paused = s->tester->paused;

	tester_pause(s->tester, true);
	tui_suspend(s->tui);
	ev_signal_stop(loop, w);
	raise(SIGTSTP);
	ev_signal_start(loop, w);
	ev_now_update(loop);
	tester_pause(s->tester, paused);
	on_continue(loop, w, revents);
}

static void start(struct screen *s, struct ev_loop *loop)
{
	static const struct {
		int number;
		void (*call)(struct ev_loop *loop, ev_signal *w, int revents);
	} signals[] = {
		{ SIGINT, on_leave },	 { SIGTERM, on_leave },	  { SIGHUP, on_leave },
		{ SIGWINCH, on_resize }, { SIGTSTP, on_suspend }, { SIGCONT, on_continue },
	};

	static_assert(ARRAY_SIZE(signals) == ARRAY_SIZE(s->signals), "a watcher for each");
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		ev_signal_init(&s->signals[i], signals[i].call, signals[i].number);
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
	s.list = mem_zalloc((t->n + 1) * sizeof(*s.list));
	s.resolver = resolver_new(t->loop);
	start(&s, t->loop);
	ev_run(t->loop, 0);
	stop(&s, t->loop);
	resolver_free(s.resolver);
	tui_free(s.tui);
	filter_clear(&s.filter);
	free(s.list);
	return 0;
}
