/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/proxies.h"

#include <errno.h>

#include "base/cleanup.h"
#include "lib/http/message.h"

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

/* "ADDR" or "ADDR/LEN" */
static int parse_one(const char *item, struct proxy *ret)
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
		if (parse_one(items[i], &one) < 0) {
			buf_printf(why, "%s: not of the form ADDR or ADDR/LEN", items[i]);
			proxies_free(&p);
			return -EINVAL;
		}
		vec_push(&p.items, one);
	}
	*ret = p;
	return 0;
}

void proxies_free(struct proxies *p)
{
	vec_free(&p->items);
}

static bool trusts(const struct proxies *p, const struct addr *a)
{
	for (size_t i = 0; i < p->items.n; i++)
		if (addr_is_in(a, &p->items.items[i].addr, p->items.items[i].bits))
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

/* Several header lines are one list (RFC 9110, section 5.3), so the last line is read first. */
struct addr proxies_client(const struct proxies *p, const struct addr *peer,
			   const struct http_head *head)
{
	struct addr client = *peer;
	struct str list, entry;

	for (size_t i = head->n_headers; i-- > 0;) {
		if (!str_ieq(head->headers[i].name, STR("X-Forwarded-For")))
			continue;
		list = head->headers[i].value;
		while (take_last(&list, &entry))
			if (!trusts(p, &client) || parse_entry(entry, &client) < 0)
				return client;
	}
	return client;
}
