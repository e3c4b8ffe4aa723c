/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/headers.h"

#include <string.h>

#include "base/cleanup.h"

static bool is_dropped(const struct l7_header_edits *e, struct str name)
{
	for (size_t i = 0; i < e->n_set; i++)
		if (str_ieq(e->set[i].name, name))
			return true;
	for (size_t i = 0; i < e->n_remove; i++)
		if (str_ieq(e->remove[i], name))
			return true;
	return false;
}

/* Applies one list to the n fields at out, in place. */
static size_t apply_one(const struct l7_header_edits *e, struct field *out, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_dropped(e, out[i].name))
			out[kept++] = out[i];
	for (size_t i = 0; i < e->n_set; i++)
		out[kept++] = e->set[i];
	for (size_t i = 0; i < e->n_add; i++)
		out[kept++] = e->add[i];
	return kept;
}

size_t l7_headers_bound(size_t n, const struct l7_header_edits *const *edits, size_t n_edits)
{
	for (size_t i = 0; i < n_edits; i++)
		n += edits[i]->n_set + edits[i]->n_add;
	return n;
}

size_t l7_headers_apply(const struct field *in, size_t n,
			const struct l7_header_edits *const *edits, size_t n_edits,
			struct field *out)
{
	if (n)
		memcpy(out, in, n * sizeof(*in));
	for (size_t i = 0; i < n_edits; i++)
		n = apply_one(edits[i], out, n);
	return n;
}

/* Without them the next reader would see another message: no Connection takes them away. */
static bool is_needed(struct str name)
{
	return str_ieq(name, STR("content-length")) || str_ieq(name, STR("host"));
}

static bool is_listed(struct str list, struct str name)
{
	struct str part;

	while (str_cut(&list, ',', &part))
		if (str_ieq(str_trim(part), name))
			return true;
	return false;
}

bool l7_header_is_hop(struct str name, const struct str *connection, size_t n)
{
	static const struct str names[] = {
		{ "connection", 10 }, { "keep-alive", 10 },	   { "proxy-connection", 16 },
		{ "te", 2 },	      { "transfer-encoding", 17 }, { "upgrade", 7 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_ieq(names[i], name))
			return true;
	for (size_t i = 0; i < n; i++)
		if (is_listed(connection[i], name))
			return !is_needed(name);
	return false;
}

static bool is_written_like(struct str name, struct str dashed)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i] == '_' ? '-' : name.p[i];

		if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != dashed.p[i])
			return false;
	}
	return true;
}

bool l7_header_is_disguised(struct str name)
{
	static const struct str names[] = {
		{ "content-length", 14 },   { "transfer-encoding", 17 }, { "x-forwarded-for", 15 },
		{ "x-forwarded-host", 16 }, { "x-forwarded-proto", 17 },
	};

	if (name.n < 14 || name.n > 17 || !memchr(name.p, '_', name.n))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].n == name.n && is_written_like(name, names[i]))
			return true;
	return false;
}
