/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_message: a cursor over the bytes; each read checks the bound. A compressed name may only
 * point to bytes before itself, so that reading it ends.
 *
 * Aliases (CNAME) may be in any order: the records are searched once for each of them, up to
 * DNS_CHAIN times.
 */
#include "lib/net/dns_message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#define CLASS_IN 1
#define FLAG_ANSWER 0x8000U
#define FLAG_TRUNCATED 0x0200U
#define FLAG_RECURSION 0x0100U
#define OPCODE 0x7800U
#define CODE 0x000fU
#define CODE_NO_NAME 3
#define HEADER 12
#define LABEL_MAX 63
#define RECORDS 512 /* that are searched; a server must not keep us busy with more */

struct cursor {
	const uint8_t *p;
	size_t n, at;
	bool bad; /* a read went past the end, or a name was malformed */
};

struct record {
	struct dns_name owner;
	uint16_t type, class;
	uint32_t ttl;
	struct cursor data; /* at the data, and ends with it */
};

/* ---- reading ---- */

static uint32_t take(struct cursor *c, size_t bytes)
{
	uint32_t value = 0;

	if (c->bad || c->n - c->at < bytes) {
		c->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | c->p[c->at++];
	return value;
}

static uint8_t lower(uint8_t b)
{
	return b >= 'A' && b <= 'Z' ? (uint8_t)(b + 'a' - 'A') : b;
}

/* The position that a pointer at c->at - 1 leads to, which is before `from`. */
static size_t follow(struct cursor *c, uint32_t first, size_t from)
{
	size_t to = (first & 0x3f) << 8 | take(c, 1);

	if (to >= from)
		c->bad = true;
	return to;
}

/* Adds a label with its length; the last one, without bytes, ends the name. */
static void add_label(struct cursor *c, size_t length, struct dns_name *name)
{
	if (length > LABEL_MAX || c->n - c->at < length ||
	    (size_t)DNS_WIRE_NAME - name->n < length + 1) {
		c->bad = true;
		return;
	}
	name->bytes[name->n++] = (uint8_t)length;
	for (size_t i = 0; i < length; i++)
		name->bytes[name->n++] = lower(c->p[c->at++]);
}

static void take_name(struct cursor *c, struct dns_name *ret)
{
	size_t after = 0, from = c->at;

	ret->n = 0;
	while (!c->bad) {
		uint32_t length = take(c, 1);

		if (c->bad)
			return;
		if ((length & 0xc0) == 0xc0) {
			size_t to = follow(c, length, from);

			after = after ?: c->at;
			from = c->at = c->bad ? c->at : to;
			continue;
		}
		add_label(c, length, ret);
		if (!length)
			break;
	}
	if (after)
		c->at = after;
}

static void take_record(struct cursor *c, struct record *r)
{
	size_t length;

	take_name(c, &r->owner);
	r->type = (uint16_t)take(c, 2);
	r->class = (uint16_t)take(c, 2);
	r->ttl = take(c, 4);
	length = take(c, 2);
	if (c->bad || c->n - c->at < length) {
		c->bad = true;
		return;
	}
	r->data = (struct cursor){ .p = c->p, .n = c->at + length, .at = c->at };
	c->at += length;
	if (r->ttl > INT32_MAX) /* RFC 2181: as if it were 0 */
		r->ttl = 0;
}

static bool is_same(const struct dns_name *a, const struct dns_name *b)
{
	return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* ---- what an answer says ---- */

/* What is searched: the records of the answer section, and how often they may be counted. */
struct search {
	struct cursor answers; /* at the first record */
	unsigned n_answers;
	struct dns_name name; /* after the aliases so far */
	bool has_ttl;
};

static void lower_ttl(struct search *s, struct dns_answer *ret, uint32_t ttl)
{
	if (!s->has_ttl || ttl < ret->ttl)
		ret->ttl = ttl;
	s->has_ttl = true;
}

/* Moves on to the name that the present one is an alias of. */
static bool follow_alias(struct search *s, struct dns_answer *ret)
{
	struct cursor c = s->answers;

	for (unsigned i = 0; i < s->n_answers && !c.bad; i++) {
		struct record r;

		take_record(&c, &r);
		if (c.bad || r.type != DNS_CNAME || r.class != CLASS_IN ||
		    !is_same(&r.owner, &s->name))
			continue;
		lower_ttl(s, ret, r.ttl);
		take_name(&r.data, &s->name);
		return !r.data.bad;
	}
	return false;
}

static void take_address(struct record *r, struct dns_answer *ret)
{
	size_t size = r->type == DNS_A ? 4 : 16;
	struct addr *to = &ret->found[ret->n];

	if (r->data.n - r->data.at != size || ret->n == DNS_ADDRESSES)
		return;
	*to = (struct addr){ .family = r->type == DNS_A ? AF_INET : AF_INET6 };
	memcpy(to->bytes, r->data.p + r->data.at, size);
	for (size_t i = 0; i < ret->n; i++)
		if (addr_cmp(&ret->found[i], to) == 0)
			return;
	ret->n++;
}

static void take_addresses(struct search *s, uint16_t type, struct dns_answer *ret)
{
	struct cursor c = s->answers;

	if (type != DNS_A && type != DNS_AAAA)
		return;
	for (unsigned i = 0; i < s->n_answers && !c.bad; i++) {
		struct record r;

		take_record(&c, &r);
		if (c.bad || r.type != type || r.class != CLASS_IN || !is_same(&r.owner, &s->name))
			continue;
		lower_ttl(s, ret, r.ttl);
		take_address(&r, ret);
	}
}

/* How long it holds that there is nothing: the SOA record in the authority section (RFC 2308). */
static void take_negative_ttl(struct cursor *c, unsigned n, struct dns_answer *ret)
{
	ret->ttl = 0;
	for (unsigned i = 0; i < n && !c->bad; i++) {
		struct dns_name skipped;
		struct record r;
		uint32_t minimum;

		take_record(c, &r);
		if (c->bad || r.type != DNS_SOA)
			continue;
		take_name(&r.data, &skipped);
		take_name(&r.data, &skipped);
		take(&r.data, 16); /* serial, refresh, retry, expire */
		minimum = take(&r.data, 4);
		if (!r.data.bad)
			ret->ttl = minimum < r.ttl ? minimum : r.ttl;
		return;
	}
}

static bool is_for(struct cursor *c, const struct dns_question *q, unsigned questions)
{
	struct dns_name name;
	uint32_t type, class;

	if (questions != 1)
		return false;
	take_name(c, &name);
	type = take(c, 2);
	class = take(c, 2);
	return !c->bad && type == q->type && class == CLASS_IN && is_same(&name, &q->name);
}

static int judge(struct cursor *c, const struct dns_question *q, const unsigned *counts,
		 struct dns_answer *ret)
{
	struct search s = { .answers = *c,
			    .n_answers = counts[0] < RECORDS ? counts[0] : RECORDS,
			    .name = q->name };
	struct record skipped;

	for (unsigned i = 0; i < counts[0] && !c->bad; i++)
		take_record(c, &skipped);
	if (c->bad)
		return -EBADMSG;
	for (unsigned i = 0; i < DNS_CHAIN && follow_alias(&s, ret); i++)
		;
	take_addresses(&s, q->type, ret);
	if (ret->n) {
		ret->verdict = DNS_FOUND;
		return 0;
	}
	ret->verdict = ret->code == CODE_NO_NAME ? DNS_NO_NAME : DNS_NO_DATA;
	take_negative_ttl(c, counts[1], ret);
	return 0;
}

int dns_read_answer(const uint8_t *p, size_t n, const struct dns_question *q,
		    struct dns_answer *ret)
{
	struct cursor c = { .p = p, .n = n };
	uint32_t id = take(&c, 2), flags = take(&c, 2), questions = take(&c, 2);
	unsigned counts[2];

	ret->n = 0;
	ret->ttl = 0;
	counts[0] = take(&c, 2);
	counts[1] = take(&c, 2);
	take(&c, 2); /* additional records are not read */
	if (c.bad || id != q->id || !(flags & FLAG_ANSWER) || flags & OPCODE ||
	    !is_for(&c, q, questions))
		return -EBADMSG;
	ret->code = flags & CODE;
	if (flags & FLAG_TRUNCATED) {
		ret->verdict = DNS_TRUNCATED;
		return 0;
	}
	if (ret->code && ret->code != CODE_NO_NAME) {
		ret->verdict = DNS_FAILED;
		return 0;
	}
	return judge(&c, q, counts, ret);
}

/* ---- writing ---- */

int dns_name_parse(const char *text, struct dns_name *ret)
{
	struct dns_name name = { .n = 0 };
	size_t n = strlen(text);

	if (n && text[n - 1] == '.')
		n--;
	for (size_t at = 0; at <= n;) {
		const char *dot = memchr(text + at, '.', n - at);
		size_t length = dot ? (size_t)(dot - text) - at : n - at;

		if (!length || length > LABEL_MAX || name.n + length + 2 > DNS_WIRE_NAME)
			return -EINVAL;
		name.bytes[name.n++] = (uint8_t)length;
		for (size_t i = 0; i < length; i++)
			name.bytes[name.n++] = lower((uint8_t)text[at + i]);
		at += length + 1;
	}
	name.bytes[name.n++] = 0;
	*ret = name;
	return 0;
}

static void put(uint8_t *out, size_t *at, uint32_t value)
{
	out[(*at)++] = (uint8_t)(value >> 8);
	out[(*at)++] = (uint8_t)value;
}

size_t dns_write_query(const struct dns_question *q, uint8_t out[static DNS_QUERY_MAX])
{
	const uint32_t header[HEADER / 2] = { q->id, FLAG_RECURSION, 1, 0, 0, 0 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(header); i++)
		put(out, &n, header[i]);
	memcpy(out + n, q->name.bytes, q->name.n);
	n += q->name.n;
	put(out, &n, q->type);
	put(out, &n, CLASS_IN);
	return n;
}
