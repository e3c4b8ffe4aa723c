/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/members.h"

#include <assert.h>

/* Index after the closing quote of the string that begins at at. */
static size_t string_end(struct str s, size_t at)
{
	for (at++; s.p[at] != '"'; at++)
		at += s.p[at] == '\\';
	return at + 1;
}

/* Index of the comma or brace after the value that begins at at. */
static size_t value_end(struct str s, size_t at)
{
	for (size_t depth = 0; depth || (s.p[at] != ',' && s.p[at] != '}');) {
		if (s.p[at] == '"') {
			at = string_end(s, at);
			continue;
		}
		depth += s.p[at] == '{' || s.p[at] == '[';
		depth -= s.p[at] == '}' || s.p[at] == ']';
		at++;
	}
	return at;
}

void members_split(struct members *m, struct str object)
{
	size_t at = 1;

	m->n = 0;
	while (at < object.n && object.p[at] == '"') {
		size_t colon = string_end(object, at), end = value_end(object, colon + 1);

		assert(m->n < MEMBERS_MAX);
		m->items[m->n++] = (struct member){ { object.p + at, colon - at },
						    { object.p + colon + 1, end - colon - 1 } };
		at = end + 1;
	}
}

const struct member *members_find(const struct members *m, struct str key)
{
	for (size_t i = 0; i < m->n; i++)
		if (str_eq(m->items[i].key, key))
			return &m->items[i];
	return NULL;
}

void members_add(struct buf *out, struct str key, struct str value)
{
	if (out->p[out->n - 1] != '{')
		buf_addc(out, ',');
	buf_add(out, key.p, key.n);
	buf_addc(out, ':');
	buf_add(out, value.p, value.n);
}

struct str members_generation(const struct buf *text)
{
	const struct member *found;
	struct members members;

	members_split(&members, (struct str){ text->p, text->n });
	found = members_find(&members, STR("\"generation\""));
	return found ? found->value : (struct str){ 0 };
}
