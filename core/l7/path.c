/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/path.h"

#include <assert.h>
#include <errno.h>

/* Bytes at which a path may differ from its form. */
static bool is_odd(char c, char before)
{
	return c == '%' || c == '\\' || (before == '/' && (c == '/' || c == '.'));
}

bool l7_path_is_plain(struct str path)
{
	char before = 0;

	for (size_t i = 0; i < path.n; i++) {
		if (is_odd(path.p[i], before))
			return false;
		before = path.p[i];
	}
	return true;
}

/* ---- escapes ---- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_unreserved(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

/* Of an encoded byte. */
static bool is_refused(int c, enum l7_paths policy)
{
	if (c < 0 || c == 0)
		return true;
	return policy == L7_PATHS_STRICT &&
	       (c < 0x20 || c == 0x7f || c == '/' || c == '\\' || c == 0xc0 || c == 0xc1);
}

/* The byte of the escape at the start of s, or -1. */
static int decode(struct str s)
{
	int high = s.n > 2 ? digit(s.p[1]) : -1;
	int low = s.n > 2 ? digit(s.p[2]) : -1;

	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static int add_escape(struct str s, enum l7_paths policy, struct buf *out)
{
	static const char digits[] = "0123456789ABCDEF";
	int c = decode(s);

	if (is_refused(c, policy))
		return -EINVAL;
	if (is_unreserved(c)) {
		buf_addc(out, (char)c);
		return 0;
	}
	buf_addc(out, '%');
	buf_addc(out, digits[c >> 4]);
	buf_addc(out, digits[c & 15]);
	return 0;
}

/* ---- segments ---- */

static int add_segment(struct str s, enum l7_paths policy, struct buf *out)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%') {
			if (add_escape((struct str){ s.p + i, s.n - i }, policy, out) < 0)
				return -EINVAL;
			i += 2;
		} else if (s.p[i] == '\\' && policy == L7_PATHS_STRICT) {
			return -EINVAL;
		} else {
			buf_addc(out, s.p[i]);
		}
	}
	return 0;
}

static bool is_dots(struct str s)
{
	return s.n && s.n <= 2 && s.p[0] == '.' && s.p[s.n - 1] == '.';
}

/* How many bytes at the start of s may end a segment in the eyes of some server. */
static size_t boundary(struct str s)
{
	static const struct str ends[] = { { "%2F", 3 }, { "%5C", 3 }, { "%3B", 3 } };

	if (s.p[0] == '\\' || s.p[0] == ';')
		return 1;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_starts(s, ends[i]))
			return 3;
	return 0;
}

/* Whether a part of the segment, in its form, may be taken for "." or "..". */
static bool hides_dots(struct str s)
{
	size_t from = 0, i = 0;

	while (i < s.n) {
		size_t n = boundary((struct str){ s.p + i, s.n - i });

		if (n && is_dots((struct str){ s.p + from, i - from }))
			return true;
		i += n ?: 1;
		from = n ? i : from;
	}
	return from && is_dots((struct str){ s.p + from, i - from });
}

/* Takes the last segment away; false if there is none. */
static bool go_up(struct buf *out, size_t base)
{
	if (out->n == base)
		return false;
	while (out->p[--out->n] != '/')
		;
	return true;
}

/* Appends '/' and the form of a segment, or resolves it. */
static int take_segment(struct str s, enum l7_paths policy, struct buf *out, size_t base)
{
	size_t mark = out->n;
	struct str form;

	buf_addc(out, '/');
	if (add_segment(s, policy, out) < 0)
		return -EINVAL;
	form = (struct str){ out->p + mark + 1, out->n - mark - 1 };
	if (hides_dots(form))
		return -EINVAL;
	if (!is_dots(form))
		return 0;
	out->n = mark;
	if (form.n == 2 && !go_up(out, base) && policy == L7_PATHS_STRICT)
		return -EINVAL;
	return 1;
}

/* Segments are appended as "/a/b": only the end of the path may add a '/'. */
static int normalize(struct str path, enum l7_paths policy, struct buf *out)
{
	size_t base = out->n, i = 0;
	bool open = false; /* the path ends with a segment that is no name: '/' follows */

	while (i < path.n) {
		size_t from = ++i;
		int r;

		while (i < path.n && path.p[i] != '/')
			i++;
		open = i == from;
		if (open)
			continue;
		r = take_segment((struct str){ path.p + from, i - from }, policy, out, base);
		if (r < 0)
			return r;
		open = r > 0;
	}
	if (open || out->n == base)
		buf_addc(out, '/');
	return 0;
}

int l7_path_normalize(struct str path, enum l7_paths policy, struct buf *out)
{
	size_t before = out->n;

	assert(path.n && path.p[0] == '/');
	if (policy == L7_PATHS_AS_IS) {
		buf_add(out, path.p, path.n);
		return 0;
	}
	if (normalize(path, policy, out) == 0)
		return 0;
	out->n = before;
	return -EINVAL;
}
