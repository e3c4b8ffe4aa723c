/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one value may be, and how a complaint about it is worded. The text of a complaint follows
 * "file:line:column: key: ", so it begins with a verb where it can ("must be ...", "is ...").
 */
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/validate_build.h"

#define QUOTE_MAX 80 /* bytes of the document's text that one complaint repeats */

/* Length of the printable character at p, 0 when it is a control character or no UTF-8. */
static size_t printable_char(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t len = utf8_char(p, n);

	if (len == 1)
		return u[0] >= 0x20 && u[0] != 0x7f;
	if (len == 2 && u[0] == 0xc2 && u[1] < 0xa0) /* U+0080..U+009F */
		return 0;
	if (len == 3 && u[0] == 0xe2 && u[1] == 0x80 && (u[2] & 0xfe) == 0xa8) /* U+2028, U+2029 */
		return 0;
	return len;
}

/* Appends text without what would break a line, at most max bytes of it. */
static void add_clean(struct buf *out, const char *text, size_t max)
{
	size_t n = strlen(text), len;
	size_t end = out->n + max;

	for (; n; text += len, n -= len) {
		len = printable_char(text, n);
		if (out->n + (len ? len : 1) > end) {
			buf_adds(out, "...");
			return;
		}
		if (len)
			buf_add(out, text, len);
		else
			buf_addc(out, '?');
		if (!len)
			len = 1;
	}
}

static void add_spot(struct buf *out, const struct l4__spot *spot)
{
	if (spot->in)
		add_spot(out, spot->in);
	if (!spot->name) {
		buf_printf(out, "[%zu]", spot->index);
		return;
	}
	if (spot->in)
		buf_addc(out, '.');
	add_clean(out, spot->name, L4__NAME_MAX);
}

static void tell(struct errs *list, const struct l4__spot *in, const char *word, struct place at,
		 const char *text)
{
	struct l4__spot inner = { .in = in, .name = word };
	_cleanup_(buf_free) struct buf key = { 0 };

	add_spot(&key, word ? &inner : in);
	errs_add(list, at, buf_cstr(&key), "%s", text);
}

void l4__fail(struct l4__build *b, const struct l4__spot *in, const char *word, struct place at,
	      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(b->errors, in, word, at, arena_vprintf(b->scratch, fmt, ap));
	va_end(ap);
}

void l4__doubt(struct l4__build *b, const struct l4__spot *in, const char *word, struct place at,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(b->warnings, in, word, at, arena_vprintf(b->scratch, fmt, ap));
	va_end(ap);
}

size_t l4__errors(const struct l4__build *b)
{
	return b->errors->n + b->errors->dropped;
}

const char *l4__quote(struct l4__build *b, const char *text)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_addc(&out, '"');
	add_clean(&out, text, QUOTE_MAX);
	buf_addc(&out, '"');
	return arena_strndup(b->scratch, out.p, out.n);
}

int64_t l4__number(struct l4__build *b, const struct l4__spot *in, const struct l4__range *range,
		   const struct doc_int *d)
{
	if (!d->set)
		return range->fallback;
	if (d->v >= range->min && d->v <= range->max)
		return d->v;
	l4__fail(b, in, range->word, d->at, "must be between %lld and %lld, not %lld",
		 (long long)range->min, (long long)range->max, (long long)d->v);
	return range->fallback;
}

int64_t l4__duration(struct l4__build *b, const struct l4__spot *in, const struct l4__range *range,
		     const struct doc_duration *d)
{
	char value[DURATION_STRLEN], bound[DURATION_STRLEN];

	if (!d->set)
		return range->fallback;
	if (d->v >= range->min && d->v <= range->max)
		return d->v;

	duration_format(d->v, value);
	duration_format(d->v < range->min ? range->min : range->max, bound);
	if (d->v < range->min && range->min == 1)
		l4__fail(b, in, range->word, d->at, "must be more than 0, not %s", value);
	else
		l4__fail(b, in, range->word, d->at, "must be at %s %s, not %s",
			 d->v < range->min ? "least" : "most", bound, value);
	return range->fallback;
}

const char *l4__list(struct l4__build *b, const struct l4__words *words)
{
	const char *text = words->list[0];

	for (size_t i = 1; i < words->n; i++)
		text = arena_printf(b->scratch, "%s, %s", text, words->list[i]);
	return text;
}

int l4__choose(struct l4__build *b, const struct l4__spot *in, const struct l4__words *words,
	       const struct doc_text *d)
{
	assert(d->set);
	for (size_t i = 0; i < words->n; i++)
		if (strcmp(words->list[i], d->v) == 0)
			return (int)i;
	l4__fail(b, in, words->word, d->at, "%s is not one of %s", l4__quote(b, d->v),
		 l4__list(b, words));
	return -1;
}

/* Leading bits that make an address useless to talk to. */
static const struct {
	struct addr network;
	uint8_t bits;
	const char *text;
} useless[] = {
	{ { AF_INET, { 0 } }, 32, "is the unspecified address" },
	{ { AF_INET, { 224 } }, 4, "is a multicast address" },
	{ { AF_INET, { 255, 255, 255, 255 } }, 32, "is the broadcast address" },
	{ { AF_INET6, { 0 } }, 128, "is the unspecified address" },
	{ { AF_INET6, { 0xff } }, 8, "is a multicast address" },
	{ { AF_INET6, { 0xfe, 0x80 } },
	  10,
	  "is link-local, which means nothing without an interface" },
	{ { AF_INET6, { [10] = 0xff, 0xff } }, 96, "is IPv4 in IPv6 clothes; write it as IPv4" },
};

static const char *why_useless(const struct addr *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(useless); i++)
		if (addr_is_in(a, &useless[i].network, useless[i].bits))
			return useless[i].text;
	return NULL;
}

/* What is wrong with it, as the words after the address; NULL: nothing, and *ret is filled. */
static const char *why_no_address(const char *text, int family, struct addr *ret)
{
	struct addr a;

	if (strchr(text, '/'))
		return "is not a single address";
	if (addr_parse(text, &a) < 0)
		return "is not an IP address";
	if (family != AF_UNSPEC && a.family != family)
		return family == AF_INET6 ? "is not an IPv6 address" : "is not an IPv4 address";
	if (why_useless(&a))
		return why_useless(&a);
	*ret = a;
	return NULL;
}

bool l4__address(struct l4__build *b, const struct l4__spot *in, const char *word, int family,
		 const struct doc_text *d, struct addr *ret)
{
	const char *why = why_no_address(d->v, family, ret);

	if (why)
		l4__fail(b, in, word, d->at, "%s %s", l4__quote(b, d->v), why);
	return !why;
}

bool l4__host(struct l4__build *b, const struct l4__spot *in, const char *word,
	      const struct doc_text *d, struct addr *ret)
{
	static const uint8_t zero[12];
	bool vpp = b->dataplane_known && b->config->dataplane == L4_DATAPLANE_VPP;
	struct addr a = { 0 };

	if (!l4__address(b, in, word, AF_UNSPEC, d, &a))
		return false;
	if (vpp && a.family == AF_INET6 && memcmp(a.bytes, zero, sizeof(zero)) == 0) {
		l4__fail(b, in, word, d->at, "%s is inside ::/96, which VPP takes for IPv4",
			 l4__quote(b, d->v));
		return false;
	}
	*ret = a;
	return true;
}

bool l4__printable(struct l4__build *b, const struct l4__spot *in, const char *word,
		   struct place at, const char *text, size_t max)
{
	size_t n = strlen(text), len;

	if (!n) {
		l4__fail(b, in, word, at, "must not be empty");
		return false;
	}
	if (n > max) {
		l4__fail(b, in, word, at, "is longer than %zu bytes", max);
		return false;
	}
	for (; n; text += len, n -= len) {
		len = printable_char(text, n);
		if (!len) {
			l4__fail(b, in, word, at, "holds a control character or invalid UTF-8");
			return false;
		}
	}
	return true;
}

bool l4__token(struct l4__build *b, const struct l4__spot *in, const char *word,
	       const struct doc_text *d, size_t max)
{
	if (!l4__printable(b, in, word, d->at, d->v, max))
		return false;
	for (const char *p = d->v; *p; p++) {
		if (*p > ' ' && *p < 0x7f)
			continue;
		l4__fail(b, in, word, d->at, "%s holds a %s", l4__quote(b, d->v),
			 *p == ' ' ? "space" : "character outside ASCII");
		return false;
	}
	return true;
}
