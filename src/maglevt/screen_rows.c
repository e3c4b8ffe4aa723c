/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of the screen: a line for each VIP, and below it the values of the header, which say
 * which backends answered.
 *
 * Columns that do not fit are left out, the least informative first. A label that is too long for
 * its column gets a line of its own, with the figures below it.
 */
#include "src/maglevt/screen_private.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevt/figures.h"

#define RECENT (5 * NSEC_PER_SEC) /* backends that answered within it are highlighted */
#define LABEL_LEAST 24		  /* columns of the label */
#define TALLY_LINES 8		  /* of header values per VIP, at most */
#define TALLY_AT ((size_t)2)	  /* indentation */
#define TALLY_COLUMNS 16	  /* narrower screens show no header values */
#define GAP ((size_t)2)
#define MORE ((size_t)5) /* columns of "  +31" */

/* ---- figures of one VIP ---- */

struct row {
	const struct vip *vip;
	struct tally tally;
};

/* Shows "-" if no request has passed, since there is no latency then. */
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
	if (r->vip->last_rtt)
		figure_latency(r->vip->last_rtt, buf);
	else
		memcpy(buf, "-", sizeof("-"));
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
	size_t from; /* shown on screens with at least so many columns */
	void (*write)(const struct row *r, char buf[static FIGURE_LEN]);
} columns[] = {
	{ "OK", 7, 0, cell_success }, { "N", 7, 50, cell_count }, { "FAIL", 6, 0, cell_failed },
	{ "LAST", 6, 90, cell_last }, { "MIN", 6, 80, cell_min }, { "AVG", 6, 74, cell_mean },
	{ "MAX", 6, 68, cell_max },   { "P50", 6, 40, cell_p50 }, { "P95", 6, 62, cell_p95 },
	{ "P99", 6, 56, cell_p99 },
};

/* ---- one VIP ---- */

/* Right-aligns a text. */
static void put_right(struct screen *s, struct tui_place at, enum tui_style style, const char *text)
{
	size_t n = tui_width(text);

	if (n < at.width) {
		at.column += at.width - n;
		at.width = n;
	}
	tui_put(s->tui, at, style, "%s", text);
}

void screen__write_label(const struct screen *s, const struct vip *v, struct buf *out)
{
	const struct target *t = v->target;
	const char *name = NULL;

	if (s->label == LABEL_DNS)
		name = resolver_name(s->resolver, &t->at.addr);
	else if (s->label == LABEL_NAME)
		name = t->name;
	if (!name)
		buf_adds(out, t->label);
	else
		buf_printf(out, "%s %s:%u", scheme_name(t->scheme), name, t->at.port);
}

static size_t label_width(const struct screen *s, const struct vip *v)
{
	_cleanup_(buf_free) struct buf label = { 0 };

	screen__write_label(s, v, &label);
	return tui_width(buf_cstr(&label));
}

/*
 * The first column gets the columns that the figures leave, but not more than the longest label
 * needs.
 */
static void choose_label_columns(struct screen *s)
{
	size_t left = tui_columns(s->tui), wanted = LABEL_LEAST;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (tui_columns(s->tui) >= columns[i].from)
			left -= columns[i].width < left ? columns[i].width : left;
	for (size_t i = 0; i < s->n && wanted < left; i++) {
		size_t width = label_width(s, s->list[i]) + 1;

		wanted = width > wanted ? width : wanted;
	}
	s->label_columns = wanted < left ? wanted : left;
}

/*
 * Faint: nothing measured yet. Good: no failures. Otherwise the last request decides whether the
 * VIP is in doubt or bad.
 */
static enum tui_style style_of(const struct row *r)
{
	if (!r->tally.passed.n && !r->tally.failed)
		return TUI_FAINT;
	if (!r->tally.failed)
		return TUI_GOOD;
	return r->vip->last_passed ? TUI_DOUBT : TUI_BAD;
}

static void draw_figures(struct screen *s, size_t row, const struct row *r)
{
	size_t at = s->label_columns;
	char cell[FIGURE_LEN];

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

static bool is_long(const struct screen *s, const struct vip *v)
{
	return label_width(s, v) >= s->label_columns;
}

/* The figures of the window or of the lifetime, as chosen with the key "l". */
static void sum_up(const struct screen *s, struct vip *v, int64_t now, struct row *ret)
{
	ret->vip = v;
	if (s->lifetime)
		ret->tally = v->window.lifetime;
	else
		window_sum(&v->window, now, &ret->tally);
}

/* Draws one VIP; returns the row after it. */
static size_t draw_vip(struct screen *s, size_t row, struct vip *v, int64_t now)
{
	_cleanup_(buf_free) struct buf label = { 0 };
	struct row r;

	sum_up(s, v, now, &r);
	screen__write_label(s, v, &label);
	tui_put(s->tui, (struct tui_place){ row, 0, SIZE_MAX }, style_of(&r), "%s",
		buf_cstr(&label));
	row += is_long(s, v);
	draw_figures(s, row, &r);
	return row + 1;
}

/* ---- which backends answered ---- */

/* One header value with its count. */
struct piece {
	const char *text;
	char count[FIGURE_LEN];
	bool recent;
};

/*
 * Counts what the figures of the VIP count: the window or the lifetime. False if it was not seen in
 * that time.
 */
static bool make_piece(const struct screen *s, struct values *v, const struct value *one,
		       struct piece *ret)
{
	int64_t now = loop_monotonic();
	uint64_t n = s->lifetime ? one->n : values_recent(v, one, now);

	ret->text = one == &v->others ? "others" : one->text;
	ret->recent = now - one->last <= RECENT;
	figure_count(n, ret->count);
	return n > 0;
}

#define PIECES_MAX (VALUES_MAX + 1)

/* The piece after the last value stands for all values that were not kept. */
static size_t make_pieces(const struct screen *s, struct vip *v,
			  struct piece ret[static PIECES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < v->headers.n; i++)
		n += make_piece(s, &v->headers, &v->headers.items[i], &ret[n]);
	return n + make_piece(s, &v->headers, &v->headers.others, &ret[n]);
}

/* The value is cut if necessary, the count is not. */
static void draw_piece(struct screen *s, struct tui_place at, const struct piece *p)
{
	enum tui_style style = p->recent ? TUI_STRONG : TUI_FAINT;
	size_t count = tui_width(p->count) + 1;

	at.width -= count;
	at.column = tui_put(s->tui, at, style, "%s", p->text);
	at.width = count;
	tui_put(s->tui, at, style, " %s", p->count);
}

/* Where the next piece is drawn. */
struct pen {
	size_t columns, lines; /* that are available */
	size_t column, line;
};

/* The column where the line ends. If pieces follow, the last line keeps room for "+N". */
static size_t end_of(const struct pen *p, bool others)
{
	return p->columns - (others && p->line + 1 == p->lines ? MORE : 0);
}

/* Finds room for a piece on this line or the next; 0 if there is none. */
static size_t find_room(struct pen *p, size_t width, bool others)
{
	if (p->column > TALLY_AT && p->column + width > end_of(p, others)) {
		if (p->line + 1 == p->lines)
			return 0;
		p->line++;
		p->column = TALLY_AT;
	}
	return end_of(p, others) - p->column;
}

/*
 * Draws the header values from *row on, or only measures them if row is NULL. Returns the number
 * of lines, at most lines. If not all fit, the number of those left out is shown.
 */
static size_t flow_tally(struct screen *s, struct vip *v, size_t lines, const size_t *row)
{
	struct pen pen = { tui_columns(s->tui), lines, TALLY_AT, 0 };
	struct piece pieces[PIECES_MAX];
	size_t n = make_pieces(s, v, pieces);

	if (!s->headers || !n || pen.columns < TALLY_COLUMNS)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct piece *p = &pieces[i];
		size_t width = tui_width(p->text) + 1 + tui_width(p->count);
		size_t room = find_room(&pen, width, i + 1 < n);
		struct tui_place at = { row ? *row + pen.line : SIZE_MAX, pen.column, room };

		if (!room) {
			at.width = MORE;
			tui_put(s->tui, at, TUI_FAINT, "+%zu", n - i);
			break;
		}
		if (row)
			draw_piece(s, at, p);
		pen.column += width + GAP;
	}
	return pen.line + 1;
}

/* ---- the list ---- */

/* Must agree with draw_vip() and flow_tally(), otherwise rows would overlap. */
static size_t height_of(struct screen *s, struct vip *v, size_t lines)
{
	return 1 + is_long(s, v) + flow_tally(s, v, lines, NULL);
}

/* The most lines per VIP with which all VIPs fit on the screen; at least one. */
static size_t choose_lines(struct screen *s, size_t room)
{
	for (size_t lines = TALLY_LINES; lines > 1; lines--) {
		size_t used = 0;

		for (size_t i = 0; i < s->n && used <= room; i++)
			used += height_of(s, s->list[i], lines);
		if (used <= room)
			return lines;
	}
	return 1;
}

/* Limits scrolling so that the last page is full. */
static void stay_within(struct screen *s, size_t room, size_t lines)
{
	size_t first = s->n, used = 0;

	while (first > 0) {
		used += height_of(s, s->list[first - 1], lines);
		if (used > room && first < s->n)
			break;
		first--;
	}
	if (s->first > first)
		s->first = first;
}

static void draw_heads(struct screen *s, size_t row)
{
	size_t at = s->label_columns;

	if (s->page && s->page < s->n)
		tui_put(s->tui, (struct tui_place){ row, 0, at }, TUI_STRONG, "VIP %zu-%zu of %zu",
			s->first + 1, s->first + s->page, s->n);
	else
		tui_put(s->tui, (struct tui_place){ row, 0, at }, TUI_STRONG, "VIP");
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (tui_columns(s->tui) < columns[i].from)
			continue;
		put_right(s, (struct tui_place){ row, at, columns[i].width }, TUI_STRONG,
			  columns[i].title);
		at += columns[i].width;
	}
}

/* VIPs are drawn only as a whole. The heads come last because they show how many fitted. */
size_t screen__draw_list(struct screen *s, size_t row, size_t end)
{
	size_t at = row + 1, room = end > at ? end - at : 0, lines, i;
	int64_t now = loop_monotonic();

	choose_label_columns(s);
	lines = choose_lines(s, room);
	stay_within(s, room, lines);
	for (i = s->first; i < s->n; i++) {
		struct vip *v = s->list[i];

		if (at + height_of(s, v, lines) > end)
			break;
		at = draw_vip(s, at, v, now);
		at += flow_tally(s, v, lines, &at);
	}
	s->page = i - s->first;
	draw_heads(s, row);
	if (!s->n && room)
		tui_put(s->tui, (struct tui_place){ at++, 0, SIZE_MAX }, TUI_FAINT,
			"No VIP matches the filter");
	return at;
}
