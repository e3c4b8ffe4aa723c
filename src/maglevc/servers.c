/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/servers.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/addr.h"

static bool is_listed(const struct servers *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->names[i], name) == 0)
			return true;
	return false;
}

/* More than one colon outside of brackets can only be an IPv6 address, which has no port then. */
static const char *with_port(struct str word, unsigned port, struct arena *arena)
{
	const char *text = arena_strndup(arena, word.p, word.n);
	struct addr address;

	if (*text == '[' ? text[word.n - 1] == ']' : !strchr(text, ':'))
		return arena_printf(arena, "%s:%u", text, port);
	if (addr_parse(text, &address) == 0)
		return arena_printf(arena, "[%s]:%u", text, port);
	return text;
}

int servers_split(const char *text, unsigned port, struct arena *arena, struct servers *ret)
{
	struct str rest = str_of(text), word;
	struct servers s = { .names = arena_array_of(arena, SERVERS_MAX, const char *) };

	assert(text && arena && ret);

	while (str_cut(&rest, ',', &word)) {
		const char *name;

		word = str_trim(word);
		if (!word.n)
			continue;
		name = with_port(word, port, arena);
		if (is_listed(&s, name))
			continue;
		if (s.n == SERVERS_MAX)
			return -E2BIG;
		s.names[s.n++] = name;
	}
	if (!s.n)
		return -EINVAL;
	*ret = s;
	return 0;
}
