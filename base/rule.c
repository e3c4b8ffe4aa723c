/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of one value. Paths and quotes are formatted only for a complaint, so a document
 * without mistakes costs no text at all.
 */
#include "base/rule.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

#define QUOTE_MAX 80 /* bytes of the document's text that one complaint repeats */

/* Writes "a.b[2].c". The recursion is as deep as the document's tree, which the schema bounds. */
static void add_spot(struct buf *out, const struct rule_spot *spot)
{
	if (spot->in)
		add_spot(out, spot->in);
	if (!spot->name) {
		buf_printf(out, "[%zu]", spot->index);
		return;
	}
	if (spot->in)
		buf_addc(out, '.');
	buf_add_shown(out, str_of(spot->name), RULE_NAME_MAX);
}

static const char *code_of(const struct rule_spot *spot)
{
	while (spot && !spot->code)
		spot = spot->in;
	return spot ? spot->code : NULL;
}

/* Adds one complaint; errs_add_coded() copies key and text. */
static void tell(struct errs *list, const struct rule_spot *in, const char *word, struct place at,
		 const char *text)
{
	struct rule_spot inner = { .in = in, .name = word };
	_cleanup_(buf_free) struct buf key = { 0 };

	add_spot(&key, word ? &inner : in);
	errs_add_coded(list, code_of(in), at, buf_cstr(&key), text);
}

void rule_fail(struct rule_sink *s, const struct rule_spot *in, const char *word, struct place at,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(s->errors, in, word, at, arena_vprintf(s->scratch, fmt, ap));
	va_end(ap);
}

void rule_doubt(struct rule_sink *s, const struct rule_spot *in, const char *word, struct place at,
		const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(s->warnings, in, word, at, arena_vprintf(s->scratch, fmt, ap));
	va_end(ap);
}

size_t rule_errors(const struct rule_sink *s)
{
	return s->errors->n + s->errors->dropped;
}

const char *rule_quote(struct rule_sink *s, const char *text)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_addc(&out, '"');
	buf_add_shown(&out, str_of(text), QUOTE_MAX);
	buf_addc(&out, '"');
	return arena_strndup(s->scratch, out.p, out.n);
}

const char *rule_near(struct rule_sink *s, const struct near *near)
{
	const char *text = "";

	for (size_t i = 0; i < near->n; i++)
		text = arena_printf(s->scratch, "%s%s%s", text,
				    i == 0	       ? "; did you mean "
				    : i + 1 == near->n ? " or "
						       : ", ",
				    rule_quote(s, near->found[i].name));
	return near->n ? arena_printf(s->scratch, "%s?", text) : "";
}

int64_t rule_number(struct rule_sink *s, const struct rule_spot *in, const struct rule_range *range,
		    const struct doc_int *d)
{
	if (!d->set)
		return range->fallback;
	if (d->v >= range->min && d->v <= range->max)
		return d->v;
	rule_fail(s, in, range->word, d->at, "must be between %lld and %lld, not %lld",
		  (long long)range->min, (long long)range->max, (long long)d->v);
	return range->fallback;
}

int64_t rule_duration(struct rule_sink *s, const struct rule_spot *in,
		      const struct rule_range *range, const struct doc_duration *d)
{
	char value[DURATION_STRLEN], bound[DURATION_STRLEN];

	if (!d->set)
		return range->fallback;
	if (d->v >= range->min && d->v <= range->max)
		return d->v;

	duration_format(d->v, value);
	duration_format(d->v < range->min ? range->min : range->max, bound);
	if (d->v < range->min && range->min == 1)
		rule_fail(s, in, range->word, d->at, "must be more than 0, not %s", value);
	else
		rule_fail(s, in, range->word, d->at, "must be at %s %s, not %s",
			  d->v < range->min ? "least" : "most", bound, value);
	return range->fallback;
}

const char *rule_list(struct rule_sink *s, const struct rule_words *words)
{
	const char *text = words->list[0];

	for (size_t i = 1; i < words->n; i++)
		text = arena_printf(s->scratch, "%s, %s", text, words->list[i]);
	return text;
}

int rule_choose(struct rule_sink *s, const struct rule_spot *in, const struct rule_words *words,
		const struct doc_text *d)
{
	assert(d->set);
	for (size_t i = 0; i < words->n; i++)
		if (strcmp(words->list[i], d->v) == 0)
			return (int)i;
	rule_fail(s, in, words->word, d->at, "%s is not one of %s", rule_quote(s, d->v),
		  rule_list(s, words));
	return -1;
}

/* Networks whose addresses cannot belong to a host that is probed or balanced to. */
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
	  "is link-local, which is ambiguous without an interface" },
	{ { AF_INET6, { [10] = 0xff, 0xff } }, 96, "is IPv4-mapped IPv6; write it as IPv4" },
};

static const char *why_useless(const struct addr *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(useless); i++)
		if (addr_is_in(a, &useless[i].network, useless[i].bits))
			return useless[i].text;
	return NULL;
}

/*
 * What is wrong with the address, as words that follow it in the complaint; NULL if nothing, and
 * *ret is filled.
 */
static const char *why_no_address(const char *text, int family, struct addr *ret)
{
	struct addr a;

	/* A network ("10.0.0.0/8") has a message of its own, because it is a likely mistake. */
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

bool rule_address(struct rule_sink *s, const struct rule_spot *in, const char *word, int family,
		  const struct doc_text *d, struct addr *ret)
{
	const char *why = why_no_address(d->v, family, ret);

	if (why)
		rule_fail(s, in, word, d->at, "%s %s", rule_quote(s, d->v), why);
	return !why;
}

bool rule_printable(struct rule_sink *s, const struct rule_spot *in, const char *word,
		    struct place at, const char *text, size_t max)
{
	size_t n = strlen(text), good = utf8_printable_run(text, n);
	struct str bad = { text + good, utf8_char(text + good, n - good) ?: 1 };
	_cleanup_(buf_free) struct buf shown = { 0 };

	if (!n) {
		rule_fail(s, in, word, at, "must not be empty");
	} else if (n > max) {
		rule_fail(s, in, word, at, "is longer than %zu bytes", max);
	} else if (good < n) {
		buf_add_shown(&shown, bad, QUOTE_MAX);
		rule_fail(s, in, word, at, "holds %s, which is not printable", buf_cstr(&shown));
	}
	return n && n <= max && good == n;
}

bool rule_token(struct rule_sink *s, const struct rule_spot *in, const char *word,
		const struct doc_text *d, size_t max)
{
	if (!rule_printable(s, in, word, d->at, d->v, max))
		return false;
	for (const char *p = d->v; *p; p++) {
		if (*p > ' ' && *p < 0x7f)
			continue;
		rule_fail(s, in, word, d->at, "%s holds a %s", rule_quote(s, d->v),
			  *p == ' ' ? "space" : "character outside ASCII");
		return false;
	}
	return true;
}

static int by_name(const void *pa, const void *pb)
{
	const struct rule_entry *a = pa, *b = pb;
	int cmp = strcmp(a->name, b->name);

	if (cmp)
		return cmp;
	/* equal names keep the order of the file: all entries are in one array */
	return (const char *)a->doc < (const char *)b->doc ? -1 : 1;
}

/* Name and place of one struct of the document, found through the offsets of its section. */
static struct rule_entry entry_of(const struct schema_section *section, const char *doc)
{
	return (struct rule_entry){
		.name = *(const char *const *)(doc + section->doc_name),
		.at = *(const struct place *)(doc + section->doc_at),
		.doc = doc,
	};
}

const struct rule_entry *rule_entries(struct rule_sink *s, const struct rule_spot *spot,
				      const struct schema_section *section, const void *docs,
				      size_t n)
{
	struct rule_entry *entries = arena_array_of(s->scratch, n, struct rule_entry);

	for (size_t i = 0; i < n; i++)
		entries[i] = entry_of(section, (const char *)docs + i * section->doc_size);
	if (n)
		qsort(entries, n, sizeof(*entries), by_name);
	for (size_t i = 0; i < n; i++) {
		struct rule_spot own = { .in = spot, .name = entries[i].name };

		rule_printable(s, &own, NULL, entries[i].at, entries[i].name, RULE_NAME_MAX);
		if (i && strcmp(entries[i - 1].name, entries[i].name) == 0)
			rule_fail(s, &own, NULL, entries[i].at, "occurs twice, first on line %u",
				  entries[i - 1].at.line);
	}
	return entries;
}
