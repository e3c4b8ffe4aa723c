/* SPDX-License-Identifier: Apache-2.0 */
/* notes: the grammars of annotations, with the messages of the original. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "src/mux/notes.h"

static const char *shown(struct str s, struct arena *arena)
{
	return err_shown(arena_strndup(arena, s.p, s.n), arena);
}

/* The next item that is not empty; false after the last. */
static bool next_item(struct str *rest, struct str *ret)
{
	while (str_cut(rest, ',', ret)) {
		*ret = str_trim(*ret);
		if (ret->n)
			return true;
	}
	return false;
}

/* The number of items of <prefix>/<what>; -EINVAL if they are more than max. */
static int count_items(const char *prefix, const char *what, const char *text, size_t max,
		       struct arena *arena, const char **ret_why)
{
	struct str rest = str_of(text), item;
	size_t n = 0;

	while (next_item(&rest, &item))
		n++;
	if (n <= max)
		return (int)n;
	*ret_why = arena_printf(arena, "Invalid %s/%s; more than %zu entries", prefix, what, max);
	return -EINVAL;
}

/* Cuts at the first c: both sides trimmed; false if there is none. */
static bool halve(struct str s, char c, struct str *ret_left, struct str *ret_right)
{
	const char *at = memchr(s.p, c, s.n);

	if (!at)
		return false;
	*ret_left = str_trim((struct str){ s.p, (size_t)(at - s.p) });
	*ret_right = str_trim((struct str){ at + 1, s.n - (size_t)(at + 1 - s.p) });
	return true;
}

/* A number from 1 to 65535 of the annotation <prefix>/<what>. */
static int parse_port(const char *prefix, const char *what, struct str s, struct arena *arena,
		      uint16_t *ret, const char **ret_why)
{
	uint64_t v = 0;
	int r = str_to_u64(s, 65535, &v);

	if (r == -EINVAL)
		*ret_why = arena_printf(arena, "Invalid %s/%s port '%s'; expected integer", prefix,
					what, shown(s, arena));
	else if (r < 0 || v == 0)
		*ret_why = arena_printf(arena, "Invalid %s/%s port %s; expected 1-65535", prefix,
					what, shown(s, arena));
	else
		*ret = (uint16_t)v;
	return r < 0 || v == 0 ? -EINVAL : 0;
}

static int parse_override(const char *prefix, struct str item, struct arena *arena,
			  struct mux_override *ret, const char **ret_why)
{
	struct str name, value;

	if (!halve(item, ':', &name, &value)) {
		*ret_why = arena_printf(arena,
					"Invalid %s/external-ports entry '%s'; expected name:port",
					prefix, shown(item, arena));
		return -EINVAL;
	}
	if (!name.n) {
		*ret_why =
			arena_printf(arena,
				     "Invalid %s/external-ports entry '%s'; port name is required",
				     prefix, shown(item, arena));
		return -EINVAL;
	}
	ret->name = arena_strndup(arena, name.p, name.n);
	ret->port = 0;
	if (str_ieq(value, STR("auto")))
		return 0;
	return parse_port(prefix, "external-ports", value, arena, &ret->port, ret_why);
}

int mux_parse_external_ports(const char *prefix, const char *text, struct arena *arena,
			     struct mux_overrides *ret, const char **ret_why)
{
	struct str rest = str_of(text ? text : ""), item;
	struct mux_override *items;
	int n = count_items(prefix, "external-ports", rest.p, MUX_OVERRIDES_MAX, arena, ret_why);

	if (n < 0)
		return n;
	items = arena_array_of(arena, (size_t)n + 1, struct mux_override);
	for (size_t i = 0; next_item(&rest, &item); i++)
		if (parse_override(prefix, item, arena, &items[i], ret_why) < 0)
			return -EINVAL;
	*ret = (struct mux_overrides){ items, (size_t)n };
	return 0;
}

const struct mux_override *mux_override_of(const struct mux_overrides *o, const char *name)
{
	for (size_t i = o->n; i-- > 0;)
		if (strcmp(o->items[i].name, name) == 0)
			return &o->items[i];
	return NULL;
}

static int parse_range(const char *prefix, struct str item, struct arena *arena,
		       struct mux_range *ret, const char **ret_why)
{
	struct str from = item, to = item;

	halve(item, '-', &from, &to);
	if (parse_port(prefix, "port-range", from, arena, &ret->first, ret_why) < 0 ||
	    parse_port(prefix, "port-range", to, arena, &ret->last, ret_why) < 0)
		return -EINVAL;
	if (ret->first <= ret->last)
		return 0;
	*ret_why =
		arena_printf(arena, "Invalid %s/port-range range '%s'; start is greater than end",
			     prefix, shown(item, arena));
	return -EINVAL;
}

int mux_parse_port_range(const char *prefix, const char *text, struct arena *arena,
			 struct mux_ranges *ret, const char **ret_why)
{
	struct str rest = str_of(text ? text : ""), item;
	int n = count_items(prefix, "port-range", rest.p, MUX_RANGES_MAX, arena, ret_why);
	struct mux_range *items;

	if (n < 0)
		return n;
	items = arena_array_of(arena, (size_t)n + 1, struct mux_range);
	for (size_t i = 0; next_item(&rest, &item); i++)
		if (parse_range(prefix, item, arena, &items[i], ret_why) < 0)
			return -EINVAL;
	*ret = (struct mux_ranges){ items, (size_t)n };
	return 0;
}

bool mux_ranges_have(const struct mux_ranges *r, unsigned port)
{
	for (size_t i = 0; i < r->n; i++)
		if (port >= r->items[i].first && port <= r->items[i].last)
			return true;
	return false;
}

const char *mux_ranges_show(const struct mux_ranges *r, struct arena *arena)
{
	struct buf out = { 0 };
	const char *text;

	for (size_t i = 0; i < r->n; i++) {
		buf_printf(&out, "%s%u", i ? "," : "", r->items[i].first);
		if (r->items[i].last != r->items[i].first)
			buf_printf(&out, "-%u", r->items[i].last);
	}
	text = arena_strndup(arena, out.p ? out.p : "", out.n);
	buf_free(&out);
	return text;
}

int mux_parse_max_ports(const char *prefix, const char *text, struct arena *arena, unsigned *ret,
			const char **ret_why)
{
	struct str s = str_trim(str_of(text ? text : ""));
	bool negative = s.n > 1 && s.p[0] == '-';
	uint64_t v = 0;
	int r;

	if (!text || !*text) {
		*ret = 0;
		return 0;
	}
	r = str_to_u64(negative ? (struct str){ s.p + 1, s.n - 1 } : s, UINT32_MAX, &v);
	if (r == -ERANGE && !negative) { /* more than there can be: no limit of its own */
		*ret = UINT32_MAX;
		return 0;
	}
	if (r == -EINVAL)
		*ret_why = arena_printf(arena, "Invalid %s/max-ports value '%s'; expected integer",
					prefix, shown(s, arena));
	else if (negative || v == 0)
		*ret_why = arena_printf(arena, "Invalid %s/max-ports value %s; expected >= 1",
					prefix, shown(s, arena));
	else
		*ret = (unsigned)v;
	return r == -EINVAL || negative || v == 0 ? -EINVAL : 0;
}

int mux_parse_release_grace(const char *prefix, const char *text, struct arena *arena, int64_t *ret,
			    const char **ret_why)
{
	struct str s = str_trim(str_of(text ? text : ""));
	int64_t v = 0;

	if (s.n && (duration_parse(arena_strndup(arena, s.p, s.n), &v) < 0 || v < 0)) {
		*ret_why = arena_printf(
			arena,
			"Invalid %s/release-grace value '%s'; expected a duration such as 10m",
			prefix, shown(s, arena));
		return -EINVAL;
	}
	*ret = v;
	return 0;
}

static bool is_beginning(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", s.p[i]))
			return false;
	return s.n <= 63;
}

static int parse_admit(const char *prefix, struct str item, struct arena *arena,
		       struct mux_admit *ret, const char **ret_why)
{
	struct str key, value;

	if (halve(item, '=', &key, &value) && key.n) {
		*ret = (struct mux_admit){ MUX_ADMIT_LABEL, arena_strndup(arena, key.p, key.n),
					   arena_strndup(arena, value.p, value.n) };
		return 0;
	}
	ret->kind = item.p[item.n - 1] == '*' ? MUX_ADMIT_START : MUX_ADMIT_NAME;
	if (ret->kind == MUX_ADMIT_START)
		item.n--;
	ret->text = arena_strndup(arena, item.p, item.n);
	if (is_beginning(item))
		return 0;
	*ret_why = arena_printf(arena,
				"Invalid %s/allowed-namespaces entry '%s'; expected a namespace, a "
				"beginning such as team-*, or label=value",
				prefix, shown(item, arena));
	return -EINVAL;
}

int mux_parse_allowed_namespaces(const char *prefix, const char *text, struct arena *arena,
				 struct mux_admits *ret, const char **ret_why)
{
	struct str rest = str_of(text ? text : ""), item;
	struct mux_admit *items;
	int n = count_items(prefix, "allowed-namespaces", rest.p, MUX_ADMITS_MAX, arena, ret_why);

	if (n < 0)
		return n;
	items = arena_array_of(arena, (size_t)n + 1, struct mux_admit);
	for (size_t i = 0; next_item(&rest, &item); i++)
		if (parse_admit(prefix, item, arena, &items[i], ret_why) < 0)
			return -EINVAL;
	*ret = (struct mux_admits){ items, (size_t)n, !text };
	return 0;
}

uint16_t mux_mapped_port(const char *text, const char *port_name)
{
	struct str rest = str_of(text), item, name, ports;
	uint64_t v;

	while (next_item(&rest, &item)) {
		const char *arrow = memmem(item.p, item.n, "->", 2);
		struct str number;

		if (!arrow || !halve(item, ':', &name, &ports) || !str_eq(name, str_of(port_name)))
			continue;
		number = (struct str){ arrow + 2, item.n - (size_t)(arrow + 2 - item.p) };
		if (str_to_u64(str_trim(number), 65535, &v) == 0 && v)
			return (uint16_t)v;
	}
	return 0;
}
