/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns: all cells are kept in one list until columns_write(), because the width of a column
 * is known only after its last cell has been added. Widths count characters, not bytes, and
 * assume that every character is one column wide.
 */
#include "src/maglevc/columns.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "src/maglevc/text.h"

#define GAP 2 /* spaces between two columns */

enum cell_place {
	CELL_IN_ROW,
	CELL_ENDS_ROW,
	CELL_LINE, /* alone, outside the columns */
};

struct cell {
	const char *text; /* in the arena */
	size_t width;	  /* in characters */
	enum tint tint;
	enum cell_place place;
};

struct columns {
	struct arena *arena;
	bool color;
	VEC(struct cell) cells;
};

/* SGR colour codes (ECMA-48) by tint; tints without a code are written plainly. */
static const char *const codes[] = { [TINT_LABEL] = "34",
				     [TINT_GOOD] = "32",
				     [TINT_BAD] = "31",
				     [TINT_DOUBT] = "33",
				     [TINT_OFF] = "36" };

struct columns *columns_new(bool color)
{
	struct columns *c = mem_zalloc(sizeof(*c));

	c->arena = arena_new();
	c->color = color;
	return c;
}

void columns_free(struct columns *c)
{
	arena_free(c->arena);
	vec_free(&c->cells);
	free(c);
}

void columns_freep(struct columns **c)
{
	columns_free(*c);
}

/* Counts UTF-8 characters: every byte that is not a continuation byte (10xxxxxx) starts one. */
static size_t count_characters(const struct buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->n; i++)
		n += ((unsigned char)text->p[i] & 0xc0) != 0x80;
	return n;
}

/*
 * The text is cleaned before its width is counted, so that the width is that of what is written.
 */
static void add(struct columns *c, struct cell cell, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void add(struct columns *c, struct cell cell, const char *fmt, va_list ap)
{
	_cleanup_(buf_free) struct buf raw = { 0 }, clean = { 0 };

	buf_vprintf(&raw, fmt, ap);
	text_add_clean(&clean, str_of(buf_cstr(&raw)));
	cell.text = arena_strdup(c->arena, buf_cstr(&clean));
	cell.width = count_characters(&clean);
	vec_push(&c->cells, cell);
}

void columns_cell(struct columns *c, enum tint tint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(c, (struct cell){ .tint = tint, .place = CELL_IN_ROW }, fmt, ap);
	va_end(ap);
}

void columns_end_row(struct columns *c)
{
	assert(c->cells.n && c->cells.items[c->cells.n - 1].place == CELL_IN_ROW);
	c->cells.items[c->cells.n - 1].place = CELL_ENDS_ROW;
}

void columns_head(struct columns *c, const char *labels)
{
	struct str rest = str_of(labels), label;

	while (str_cut(&rest, ',', &label))
		columns_cell(c, TINT_LABEL, "%.*s", (int)label.n, label.p);
	columns_end_row(c);
}

void columns_line(struct columns *c, enum tint tint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(c, (struct cell){ .tint = tint, .place = CELL_LINE }, fmt, ap);
	va_end(ap);
}

/* The width of the widest cell in this column. */
static size_t column_width(const struct columns *c, size_t column)
{
	size_t width = 0, at = 0;

	for (size_t i = 0; i < c->cells.n; i++) {
		const struct cell *cell = &c->cells.items[i];

		if (cell->place == CELL_LINE)
			continue;
		if (at == column && cell->width > width)
			width = cell->width;
		at = cell->place == CELL_ENDS_ROW ? 0 : at + 1;
	}
	return width;
}

/* The number of cells in the longest row. */
static size_t count_columns(const struct columns *c)
{
	size_t most = 0, at = 0;

	for (size_t i = 0; i < c->cells.n; i++) {
		at = c->cells.items[i].place == CELL_LINE ? 0 : at + 1;
		if (at > most)
			most = at;
		if (c->cells.items[i].place == CELL_ENDS_ROW)
			at = 0;
	}
	return most;
}

static void add_spaces(struct buf *out, size_t n)
{
	while (n--)
		buf_addc(out, ' ');
}

/* Padding is written outside the escape sequences, so that only the text is coloured. */
static void write_text(const struct columns *c, const struct cell *cell, struct buf *out)
{
	if (c->color && codes[cell->tint] && cell->width)
		buf_printf(out, "\033[%sm%s\033[0m", codes[cell->tint], cell->text);
	else
		buf_adds(out, cell->text);
}

/*
 * Padding is owed until another non-empty cell follows in the row. That keeps lines free of
 * trailing spaces even when the last cells of a row are empty.
 */
static void write_rows(const struct columns *c, size_t indent, const size_t widths[],
		       struct buf *out)
{
	size_t owed = indent, at = 0;

	for (size_t i = 0; i < c->cells.n; i++) {
		const struct cell *cell = &c->cells.items[i];

		if (cell->width) {
			add_spaces(out, owed);
			write_text(c, cell, out);
			owed = 0;
		}
		if (cell->place == CELL_IN_ROW) {
			owed += widths[at++] - cell->width + GAP;
		} else {
			buf_addc(out, '\n');
			owed = indent;
			at = 0;
		}
	}
}

void columns_write(const struct columns *c, size_t indent, struct buf *out)
{
	size_t n = count_columns(c);
	_cleanup_(cleanup_free) size_t *widths = mem_zalloc((n + 1) * sizeof(*widths));

	for (size_t i = 0; i < n; i++)
		widths[i] = column_width(c, i);
	write_rows(c, indent, widths, out);
}
