/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns: text in aligned columns, two spaces apart, without spaces at line ends.
 *
 * Whatever is put into a cell, no control character comes out of it: names and texts of others do
 * not steer the reader's terminal.
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

/* The next cell of the row. */
void columns_cell(struct columns *c, enum tint tint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void columns_end_row(struct columns *c);
/* A row of labels: words with commas between them. */
void columns_head(struct columns *c, const char *labels);
/* A line of its own that no column is aligned with. */
void columns_line(struct columns *c, enum tint tint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Appends all rows, each behind that many spaces. */
void columns_write(const struct columns *c, size_t indent, struct buf *out);
