/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/router_session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"

#define NAME_MAX_LENGTH 600

enum flags { CONFIRMED = 1, UNANSWERED = 2, FLAGS = 4 };

bool router_session_write(const struct router_session *s, struct buf *out)
{
	char at[ENDPOINT_STRLEN], client[ENDPOINT_STRLEN], local[ADDR_STRLEN];
	unsigned flags = (s->confirmed ? CONFIRMED : 0) | (s->unanswered ? UNANSWERED : 0);
	const struct str names[] = { s->stream, s->pool, s->server };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].n > NAME_MAX_LENGTH)
			return false;
	buf_printf(out, "%s %s %s %d %" PRIu32 " %" PRIu32, endpoint_format(&s->at, at),
		   endpoint_format(&s->client, client), addr_format(&s->local, local),
		   s->family == AF_INET ? 4 : 6, s->iface, s->turn);
	buf_printf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, s->in, s->out, s->received,
		   s->sent);
	buf_printf(out, " %" PRIu64 " %" PRIu64 " %u", s->age, s->silent, flags);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		buf_printf(out, " %zu", names[i].n);
	buf_addc(out, ' ');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		buf_add(out, names[i].p, names[i].n);
	return true;
}

/* A word as a text of its own. */
static bool take_word(struct str *rest, char *to, size_t size)
{
	const char *end = memchr(rest->p, ' ', rest->n < size ? rest->n : size);
	size_t n = end ? (size_t)(end - rest->p) : 0;

	if (!end)
		return false;
	memcpy(to, rest->p, n);
	to[n] = '\0';
	rest->p += n + 1;
	rest->n -= n + 1;
	return true;
}

static bool take_endpoint(struct str *rest, struct endpoint *ret)
{
	char text[ENDPOINT_STRLEN];

	return take_word(rest, text, sizeof(text)) && endpoint_parse(text, ret) == 0;
}

static bool take_local(struct str *rest, struct addr *ret)
{
	char text[ADDR_STRLEN];

	*ret = (struct addr){ 0 };
	if (!take_word(rest, text, sizeof(text)))
		return false;
	return cstr_eq(text, "-") || addr_parse(text, ret) == 0;
}

static bool take_number(struct str *rest, uint64_t max, uint64_t *ret)
{
	char text[24];

	return take_word(rest, text, sizeof(text)) && str_to_u64(str_of(text), max, ret) == 0;
}

static bool take_numbers(struct str *rest, struct router_session *s)
{
	uint64_t family, iface, turn, flags;

	if (!take_number(rest, 6, &family) || (family != 4 && family != 6) ||
	    !take_number(rest, UINT32_MAX, &iface) || !take_number(rest, UINT32_MAX, &turn) ||
	    !take_number(rest, UINT64_MAX, &s->in) || !take_number(rest, UINT64_MAX, &s->out) ||
	    !take_number(rest, UINT64_MAX, &s->received) ||
	    !take_number(rest, UINT64_MAX, &s->sent) ||
	    !take_number(rest, INT64_MAX / 1000000, &s->age) ||
	    !take_number(rest, INT64_MAX / 1000000, &s->silent) ||
	    !take_number(rest, FLAGS - 1, &flags))
		return false;
	s->family = family == 4 ? AF_INET : AF_INET6;
	s->iface = (uint32_t)iface;
	s->turn = (uint32_t)turn;
	s->confirmed = flags & CONFIRMED;
	s->unanswered = flags & UNANSWERED;
	return true;
}

static bool take_names(struct str *rest, struct router_session *s)
{
	struct str *const names[] = { &s->stream, &s->pool, &s->server };
	uint64_t n[ARRAY_SIZE(names)];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!take_number(rest, NAME_MAX_LENGTH, &n[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (n[i] > rest->n)
			return false;
		*names[i] = (struct str){ rest->p, n[i] };
		rest->p += n[i];
		rest->n -= n[i];
	}
	return true;
}

int router_session_parse(struct str *rest, struct router_session *ret)
{
	struct router_session s = { 0 };
	struct str left = *rest;

	if (!take_endpoint(&left, &s.at) || !take_endpoint(&left, &s.client) ||
	    !take_local(&left, &s.local) || !take_numbers(&left, &s) || !take_names(&left, &s))
		return -EBADMSG;
	*ret = s;
	*rest = left;
	return 0;
}
