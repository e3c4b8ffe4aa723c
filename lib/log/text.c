/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: a line for people, made from the JSON of log__format().
 *
 *	2026-04-15T09:30:00.407Z WARN  backend-down backend=web1 reason="status 404"
 *
 * It is made from the JSON, because lines of other threads arrive as such. That JSON is our own, so
 * its shape is known: one flat object. A string that is a plain word loses its quotes; any
 * other one keeps them and its escapes.
 */
#include <assert.h>
#include <string.h>

#include "lib/log/log_private.h"

#define STAMP_SIZE ((size_t)23) /* 2026-04-15T09:30:00.407 */

/* The next value from *at on, as written. */
static struct str take_value(struct str json, size_t *at)
{
	size_t from = *at, i = from;

	if (json.p[i] != '"')
		while (json.p[i] != ',' && json.p[i] != '}')
			i++;
	else
		for (i++; json.p[i++] != '"';)
			i += json.p[i - 1] == '\\';
	*at = i;
	return (struct str){ json.p + from, i - from };
}

static bool is_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == ' ' || s.p[i] == '=' || s.p[i] == '\\')
			return false;
	return s.n > 0;
}

static struct str unquote(struct str s)
{
	struct str inner = { s.p + 1, s.n - 2 };

	return s.p[0] == '"' && is_word(inner) ? inner : s;
}

static void add(struct buf *out, struct str s)
{
	buf_add(out, s.p, s.n);
}

/* A time without fraction has none of the digits that are cut off. */
static void add_time(struct buf *out, struct str time)
{
	add(out, time.n > STAMP_SIZE ? (struct str){ time.p, STAMP_SIZE } : time);
	if (time.n > STAMP_SIZE)
		buf_addc(out, 'Z');
}

void log__text(struct str json, struct buf *out)
{
	static const size_t level_width = 5; /* ERROR */

	out->n = 0;
	for (size_t at = 1, n = 0; at < json.n && json.p[at] == '"'; at++, n++) {
		struct str key = take_value(json, &at), value;

		at++; /* the colon */
		value = unquote(take_value(json, &at));
		if (n)
			buf_addc(out, ' ');
		if (n == 0) {
			add_time(out, value);
		} else if (n < 3) {
			add(out, value);
		} else {
			add(out, unquote(key));
			buf_addc(out, '=');
			add(out, value);
		}
		for (size_t i = value.n; n == 1 && i < level_width; i++)
			buf_addc(out, ' ');
	}
	buf_addc(out, '\n');
}
