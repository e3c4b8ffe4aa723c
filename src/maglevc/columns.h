/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns: text in aligned columns, two spaces apart, without trailing spaces.
 *
 * Every control character in a cell is replaced before it is written, because names and texts
 * come from the server and must not be able to send escape sequences to the terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum tint {
	TINT_NONE,
	TINT_LABEL,
	TINT_GOOD,
	TINT_BAD,
	TINT_DOUBT,
	TINT_OFF, /* taken out by an operator */
};

struct columns;

struct columns *columns_new(bool color);
void columns_free(struct columns *c);
void columns_freep(struct columns **c); /* for _cleanup_ */

/* Adds a cell to the current row. Cells belong to no row until columns_end_row() closes it. */
void columns_cell(struct columns *c, enum tint tint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Closes the row. The row must have at least one cell. */
void columns_end_row(struct columns *c);
/* Adds a row of column labels, which are given as one string separated by commas. */
void columns_head(struct columns *c, const char *labels);
/* Adds a line that spans the table: it takes no part in the alignment of columns. */
void columns_line(struct columns *c, enum tint tint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Appends all rows to out, each indented by that many spaces. May be called repeatedly. */
void columns_write(const struct columns *c, size_t indent, struct buf *out);
