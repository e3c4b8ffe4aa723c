/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen from top to bottom: a bar with the host and what the figures cover; the list of
 * VIPs; the errors, newest first, in the remaining space; and a bar with keys, or with the
 * filter while it is typed.
 */
#include "src/maglevt/screen_private.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

#define ERRORS_LEAST 4 /* rows kept for errors, the title included */
#define HOST_LEAST 8   /* columns; with fewer the host is not shown */

/* ---- which VIPs are shown ---- */

/*
 * Whether the filter matches any of the names of a VIP: the configured one, the address, or the
 * label that is shown.
 */
static bool is_taken(const struct screen *s, const struct vip *v)
{
	_cleanup_(buf_free) struct buf label = { 0 };

	if (filter_takes(&s->filter, v->target->text) || filter_takes(&s->filter, v->target->label))
		return true;
	screen__write_label(s, v, &label);
	return filter_takes(&s->filter, buf_cstr(&label));
}

/* Sorts by failures, most first. Ties keep the order of the files, so that rows do not jump. */
static int by_failures(const void *a, const void *b)
{
	const struct vip *x = *(struct vip *const *)a, *y = *(struct vip *const *)b;
	uint64_t fx = x->window.lifetime.failed, fy = y->window.lifetime.failed;

	return fx != fy ? (fx < fy) - (fx > fy) : (x > y) - (x < y);
}

/* Built for each frame: filter, names and failures may have changed since the last one. */
static void make_list(struct screen *s)
{
	struct tester *t = s->tester;

	s->n = 0;
	for (size_t i = 0; i < t->n; i++)
		if (is_taken(s, &t->vips[i]))
			s->list[s->n++] = &t->vips[i];
	if (s->worst_first)
		qsort(s->list, s->n, sizeof(s->list[0]), by_failures);
}

/* ---- bars ---- */

/* Fills the row to its end, so that the whole bar has one background. */
static void put_bar(struct screen *s, size_t row, const char *text)
{
	size_t all = tui_columns(s->tui), end;

	end = tui_put(s->tui, (struct tui_place){ row, 0, all }, TUI_BAR, "%s", text);
	tui_put(s->tui, (struct tui_place){ row, end, all - end }, TUI_BAR, "%*s", (int)(all - end),
		"");
}

static void write_state(const struct screen *s, struct buf *out)
{
	const struct tester *t = s->tester;
	char every[DURATION_STRLEN], window[DURATION_STRLEN];

	if (s->n < t->n)
		buf_printf(out, "%zu of ", s->n);
	buf_printf(out, "%zu VIP%s every %s, ", t->n, t->n == 1 ? "" : "s",
		   duration_format(t->options->interval, every));
	if (s->lifetime)
		buf_adds(out, "since the start");
	else
		buf_printf(out, "the last %s", duration_format(t->options->window, window));
	buf_adds(out, s->worst_first ? ", worst first" : "");
	buf_adds(out, t->paused ? " [paused]" : "");
}

/* A host name that is too long is cut, because the state matters more. */
static void draw_title(struct screen *s)
{
	_cleanup_(buf_free) struct buf state = { 0 };
	size_t all = tui_columns(s->tui), room, end;

	write_state(s, &state);
	room = all > state.n + 3 ? all - state.n - 3 : 0;
	put_bar(s, 0, "");
	if (room < HOST_LEAST) {
		tui_put(s->tui, (struct tui_place){ 0, 1, SIZE_MAX }, TUI_BAR, "%s",
			buf_cstr(&state));
		return;
	}
	end = tui_put(s->tui, (struct tui_place){ 0, 1, room }, TUI_BAR, "maglevt on %s",
		      resolver_host(s->resolver));
	tui_put(s->tui, (struct tui_place){ 0, end, SIZE_MAX }, TUI_BAR, ": %s", buf_cstr(&state));
}

/* Shows as many keys as fit without being cut. */
static void draw_keys(struct screen *s, size_t row)
{
	_cleanup_(buf_free) struct buf bar = { 0 };
	size_t used;

	if (*s->filter.text)
		buf_printf(&bar, " /%s ", s->filter.text);
	used = tui_width(buf_cstr(&bar));
	for (size_t i = 0; i < screen__n_keys; i++) {
		used += (i ? 2 : 1) + strlen(screen__keys[i].word);
		if (used > tui_columns(s->tui))
			break;
		buf_printf(&bar, "%s%s", i ? "  " : " ", screen__keys[i].word);
	}
	put_bar(s, row, buf_cstr(&bar));
}

/* Shows the end of the text, where the cursor is, if the text is too long. */
static void draw_filter(struct screen *s, size_t row)
{
	enum tui_style style = s->filter.broken ? TUI_BAD : TUI_BAR;
	size_t all = tui_columns(s->tui), at;
	const char *text = s->filter.text;

	while (*text && tui_width(text) + 2 > all)
		text += utf8_char(text, strlen(text));
	put_bar(s, row, "");
	at = tui_put(s->tui, (struct tui_place){ row, 0, all }, style, "/%s", text);
	tui_put(s->tui, (struct tui_place){ row, at, 1 }, TUI_PLAIN, " ");
	if (at + sizeof("  Enter keeps it  Escape clears it") < all)
		tui_put(s->tui, (struct tui_place){ row, at + 1, SIZE_MAX }, TUI_BAR,
			"  Enter keeps it  Escape clears it");
}

/* ---- between them ---- */

static void draw_error(struct screen *s, size_t row, const struct trouble *one)
{
	_cleanup_(buf_free) struct buf line = { 0 };
	char at[TIME_STRLEN];

	buf_printf(&line, "%.8s %-8s ", time_format(one->at, at) + 11, trouble_name(one->kind));
	if (one->n > 1)
		buf_printf(&line, "%llux ", (unsigned long long)one->n);
	screen__write_label(s, one->vip, &line);
	buf_printf(&line, ": %s", one->text);
	tui_put(s->tui, (struct tui_place){ row, 0, SIZE_MAX },
		one->kind == TROUBLE_SPIKE ? TUI_DOUBT : TUI_BAD, "%s", buf_cstr(&line));
}

/*
 * Counts all errors of the VIPs shown, also those that are no longer in the list of the newest.
 */
static uint64_t count_errors(const struct screen *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		for (size_t kind = 0; kind < TROUBLE_KINDS; kind++)
			sum += s->list[i]->troubles[kind];
	return sum;
}

static void draw_errors(struct screen *s, size_t row, size_t end)
{
	const struct tester *t = s->tester;
	uint64_t n = count_errors(s);

	if (row >= end)
		return;
	tui_put(s->tui, (struct tui_place){ row++, 0, SIZE_MAX }, TUI_STRONG,
		n ? "Errors since the start: %llu (times in UTC)" : "No errors since the start",
		(unsigned long long)n);
	for (size_t i = 0; i < t->n_troubles && row < end; i++)
		if (is_taken(s, t->troubles[i].vip))
			draw_error(s, row++, &t->troubles[i]);
}

/* Shows all keys, in as many columns as the number of rows requires. */
static void draw_help(struct screen *s, size_t row, size_t end)
{
	size_t rows = end > row ? end - row : 1;
	size_t width = tui_columns(s->tui) / ((screen__n_keys + rows - 1) / rows);

	for (size_t i = 0; i < screen__n_keys; i++)
		tui_put(s->tui, (struct tui_place){ row + i % rows, i / rows * width, width },
			TUI_PLAIN, " %s", screen__keys[i].help);
}

/* Errors keep their rows only if the list keeps at least as many. */
static void draw_middle(struct screen *s, size_t end)
{
	size_t list_end = end > 2 + 2 * ERRORS_LEAST ? end - ERRORS_LEAST : end, used;

	used = screen__draw_list(s, 1, list_end);
	draw_errors(s, used + (used + 1 < end), end);
}

void screen__draw(struct screen *s)
{
	size_t rows = tui_rows(s->tui), end = rows > 0 ? rows - 1 : 0;

	make_list(s);
	tui_begin(s->tui);
	draw_title(s);
	if (s->help)
		draw_help(s, 1, end);
	else
		draw_middle(s, end);
	if (s->filter.typing)
		draw_filter(s, end);
	else
		draw_keys(s, end);
	tui_end(s->tui);
}
