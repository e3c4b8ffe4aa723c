/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "core/way/way.h"

static const char *const schemes[] = { "http://", "https://" };

/* The text without a scheme; *ret_had says whether there was one. */
static const char *without_scheme(const char *text, bool *ret_had)
{
	*ret_had = true;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
			return text + strlen(schemes[i]);
	*ret_had = false;
	return text;
}

static bool parse_host(struct str s, struct addr *ret)
{
	char text[ADDR_STRLEN];

	if (s.n >= sizeof(text))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return addr_parse(text, ret) == 0;
}

/* "80", "80/tcp", or nothing; 0 after the colon is no port. */
static bool parse_port(struct str s, struct way_query *q)
{
	struct str port = { 0 };
	uint64_t number;

	if (!s.n)
		return true;
	str_cut(&s, '/', &port);
	if (str_to_u64(port, UINT16_MAX, &number) < 0 || !number)
		return false;
	q->port = (uint16_t)number;
	if (str_eq(s, STR("tcp")))
		q->protocol = "tcp";
	else if (str_eq(s, STR("udp")))
		q->protocol = "udp";
	return !s.n || q->protocol;
}

/* "[v6]:80/tcp", "[v6]", "v4:80/tcp" or an address alone. */
static bool parse_address(struct str s, struct way_query *q)
{
	struct str host = s, rest = { 0 };
	const char *end = s.n && s.p[0] == '[' ? memchr(s.p, ']', s.n) : NULL;

	if (parse_host(s, &q->addr))
		return true;
	if (end) {
		host = (struct str){ s.p + 1, (size_t)(end - s.p) - 1 };
		rest = (struct str){ end + 1, s.n - host.n - 2 };
		if (rest.n && (*rest.p != ':' || rest.n == 1))
			return false;
		if (rest.n)
			rest = (struct str){ rest.p + 1, rest.n - 1 };
	} else if (memchr(s.p, ':', s.n)) {
		rest = s;
		str_cut(&rest, ':', &host);
		if (!rest.n)
			return false;
	}
	return parse_host(host, &q->addr) && parse_port(rest, q);
}

static bool has_blank(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return true;
	return false;
}

int way_query_parse(const char *text, struct arena *arena, struct way_query *ret,
		    const char **ret_why)
{
	struct way_query q = { .text = text };
	bool request;
	const char *rest = without_scheme(text, &request), *slash = strchr(rest, '/');

	*ret_why = "a VIP (198.51.100.10:80), a host with a path (www.example.com/) or a name is "
		   "wanted";
	if (!*rest || has_blank(rest) || slash == rest)
		return -EINVAL;
	if (!request && parse_address(str_of(rest), &q)) {
		q.kind = WAY_ADDRESS;
	} else if (request || slash) {
		q.kind = WAY_REQUEST;
		q.host = slash ? arena_strndup(arena, rest, (size_t)(slash - rest)) : rest;
		q.path = slash ? slash : "/";
	} else {
		q.kind = WAY_NAME;
		q.name = rest;
	}
	*ret = q;
	return 0;
}
