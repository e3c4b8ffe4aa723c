/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proxies.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

static unsigned bits_of(const struct addr *a)
{
	return a->family == AF_INET ? 32 : 128;
}

/* A NUL inside would make the parsers see a shorter text. */
static bool copy(struct str s, char *text, size_t size)
{
	if (s.n >= size || memchr(s.p, '\0', s.n))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return true;
}

int proxy_parse(const char *item, struct proxy *ret)
{
	struct str rest = str_of(item), text;
	char address[ADDR_STRLEN];
	struct proxy one;
	uint64_t bits;

	if (!str_cut(&rest, '/', &text) || !copy(text, address, sizeof(address)) ||
	    addr_parse(address, &one.addr) < 0)
		return -EINVAL;
	bits = bits_of(&one.addr);
	if (strchr(item, '/') && str_to_u64(rest, bits, &bits) < 0)
		return -EINVAL;
	one.bits = (unsigned)bits;
	*ret = one;
	return 0;
}

int proxies_parse(char *const *items, size_t n, struct proxies *ret, struct buf *why)
{
	struct proxies p = { 0 };
	struct proxy one;

	if (n > PROXIES_MAX) {
		buf_printf(why, "at most %d proxies are trusted", PROXIES_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		if (proxy_parse(items[i], &one) < 0) {
			buf_printf(why, "%s: not of the form ADDR or ADDR/LEN", items[i]);
			proxies_free(&p);
			return -EINVAL;
		}
		vec_push(&p, one);
	}
	*ret = p;
	return 0;
}

void proxies_free(struct proxies *p)
{
	vec_free(p);
}

bool proxies_trust(const struct proxies *p, const struct addr *a)
{
	for (size_t i = 0; i < p->n; i++)
		if (addr_is_in(a, &p->items[i].addr, p->items[i].bits))
			return true;
	return false;
}

/* An IPv4 client of a proxy's dual-stack socket may be written ::ffff:a.b.c.d. */
static struct addr unmapped(struct addr a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct addr plain = { .family = AF_INET };

	if (a.family != AF_INET6 || memcmp(a.bytes, mapped, sizeof(mapped)) != 0)
		return a;
	memcpy(plain.bytes, a.bytes + sizeof(mapped), 4);
	return plain;
}

/* Parses an entry. Some proxies add the port, although the header is meant for addresses. */
static int parse_entry(struct str entry, struct addr *ret)
{
	char text[ENDPOINT_STRLEN];
	struct endpoint at = { 0 };

	if (!copy(entry, text, sizeof(text)) ||
	    (addr_parse(text, &at.addr) < 0 && endpoint_parse(text, &at) < 0) ||
	    !addr_is_set(&at.addr))
		return -EINVAL;
	*ret = unmapped(at.addr);
	return 0;
}

/* Removes the last entry from a list. False if the list is empty. */
static bool take_last(struct str *list, struct str *ret)
{
	const char *comma = list->n ? memrchr(list->p, ',', list->n) : NULL;
	size_t kept = comma ? (size_t)(comma - list->p) : 0;

	if (!list->n)
		return false;
	*ret = str_trim(comma ? (struct str){ comma + 1, list->n - kept - 1 } : *list);
	list->n = kept;
	return true;
}

/* ---- Forwarded ---- */

/* The same where a comma inside of quotes does not separate. */
static bool take_last_quoted(struct str *list, struct str *ret)
{
	size_t begin = 0, n = list->n;
	bool quoted = false, comma = false;

	if (!n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (list->p[i] == '"')
			quoted = !quoted;
		else if (list->p[i] == '\\' && quoted)
			i++;
		else if (list->p[i] == ',' && !quoted)
			begin = i + 1, comma = true;
	}
	*ret = str_trim((struct str){ list->p + begin, n - begin });
	list->n = comma ? begin - 1 : 0;
	return true;
}

/* The value of "for" in "for=192.0.2.1;proto=http", without its quotes; empty if it has none. */
static struct str for_of(struct str element)
{
	struct str pair;

	while (element.n) {
		str_cut(&element, ';', &pair);
		pair = str_trim(pair);
		if (pair.n < 4 || !str_ieq((struct str){ pair.p, 4 }, STR("for=")))
			continue;
		pair = (struct str){ pair.p + 4, pair.n - 4 };
		if (pair.n >= 2 && pair.p[0] == '"' && pair.p[pair.n - 1] == '"')
			return (struct str){ pair.p + 1, pair.n - 2 };
		return pair;
	}
	return (struct str){ 0 };
}

/* An IPv6 address is in brackets; "unknown" and names that begin with '_' are no addresses. */
static int parse_element(struct str element, struct addr *ret)
{
	struct str node = for_of(element);

	if (node.n > 2 && node.p[0] == '[' && node.p[node.n - 1] == ']')
		node = (struct str){ node.p + 1, node.n - 2 };
	return node.n ? parse_entry(node, ret) : -EINVAL;
}

/* ---- the client ---- */

struct list {
	struct str name;
	bool (*take_last)(struct str *list, struct str *ret);
	int (*parse)(struct str entry, struct addr *ret);
};

/* Several header lines are one list (RFC 9110, section 5.3), so the last line is read first. */
static struct addr go_back(const struct proxies *p, const struct addr *peer,
			   const struct field *fields, size_t n, const struct list *how)
{
	struct addr client = *peer;
	struct str list, entry;
	size_t hops = 0;

	for (size_t i = n; i-- > 0;) {
		if (!str_ieq(fields[i].name, how->name))
			continue;
		list = fields[i].value;
		while (how->take_last(&list, &entry))
			if (hops++ == PROXIES_HOPS || !proxies_trust(p, &client) ||
			    how->parse(entry, &client) < 0)
				return client;
	}
	return client;
}

struct addr proxies_client(const struct proxies *p, const struct addr *peer,
			   const struct field *fields, size_t n)
{
	static const struct list how = { { "x-forwarded-for", 15 }, take_last, parse_entry };

	return go_back(p, peer, fields, n, &how);
}

struct addr proxies_client_forwarded(const struct proxies *p, const struct addr *peer,
				     const struct field *fields, size_t n)
{
	static const struct list how = { { "forwarded", 9 }, take_last_quoted, parse_element };

	return go_back(p, peer, fields, n, &how);
}
