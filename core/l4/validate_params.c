/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of checks: which types have which, and the questions and answers of the types that
 * do not speak HTTP. One question and one answer is all that a check has.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/l4/validate_build.h"

#define TALK_BYTES 4096 /* of a question or an expected answer */
#define NAME_BYTES 253	/* of a DNS name as text, without a dot at its end */
#define LABEL_BYTES 63

#define TYPE(t) (1U << L4_CHECK_##t)
#define TYPES_HTTP (TYPE(HTTP) | TYPE(HTTPS))
#define TYPES_TLS (TYPE(HTTPS) | TYPE(TLS))
#define TYPES_TALK (TYPE(TCP) | TYPE(TLS) | TYPE(UDP))

/* ---- which types have which parameters ---- */

/* A key that is not in the table is of http and https, so that a new one is refused elsewhere. */
static const struct {
	const char *key;
	unsigned types;
	unsigned ignored; /* types that have it, without effect and with a warning */
} uses[] = {
	{ "server-name", TYPES_TLS, TYPE(HTTP) },
	{ "insecure-skip-verify", TYPES_TLS, TYPE(HTTP) },
	{ "ca-file", TYPES_TLS, 0 },
	{ "send", TYPES_TALK, 0 },
	{ "send-hex", TYPES_TALK, 0 },
	{ "expect", TYPES_TALK, 0 },
	{ "expect-regexp", TYPES_TALK, 0 },
	{ "query-name", TYPE(DNS), 0 },
	{ "query-type", TYPE(DNS), 0 },
	{ "expect-rcode", TYPE(DNS), 0 },
	{ "expect-address", TYPE(DNS), 0 },
};

static unsigned types_of(const char *key, unsigned *ret_ignored)
{
	*ret_ignored = 0;
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		if (strcmp(uses[i].key, key) == 0) {
			*ret_ignored = uses[i].ignored;
			return uses[i].types;
		}
	return TYPES_HTTP;
}

/* "http and https", in scratch. */
static const char *list_types(struct l4__build *b, unsigned types)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	for (unsigned t = 0; t < L4_CHECK_TYPES; t++) {
		unsigned rest = types >> t >> 1;

		if (!(types >> t & 1))
			continue;
		buf_adds(&text, l4_check_type_name((enum l4_check_type)t));
		if (rest)
			buf_adds(&text, rest & (rest - 1) ? ", " : " and ");
	}
	return arena_strndup(b->sink.scratch, text.p, text.n);
}

static void refuse(struct l4__build *b, const struct rule_spot *spot, const char *key,
		   struct place at, unsigned types, enum l4_check_type type)
{
	rule_fail(&b->sink, spot, key, at, "is only for %s, not for %s", list_types(b, types),
		  l4_check_type_name(type));
}

void l4__refuse_params(struct l4__build *b, const struct rule_spot *spot,
		       const struct rule_spot *params, const struct doc_check *d,
		       enum l4_check_type type)
{
	for (size_t i = 0; i < l4_schema_params.n_fields; i++) {
		const struct schema_field *f = &l4_schema_params.fields[i];
		const struct doc_any *given = schema_written(f, &d->params);
		unsigned ignored, types = types_of(f->key, &ignored);

		if (given->set && !((types | ignored) >> type & 1))
			refuse(b, params, f->key, given->at, types, type);
	}
	if (rule_flag(&d->keep_alive, false) && !(TYPES_HTTP >> type & 1))
		refuse(b, spot, "keep-alive", d->keep_alive.at, TYPES_HTTP, type);
}

/* ---- a question and an answer in bytes ---- */

/* Any bytes that YAML can write, but not none, which would expect or send nothing. */
static const char *build_bytes(struct l4__build *b, const struct rule_spot *spot, const char *word,
			       const struct doc_text *d)
{
	if (!d->set)
		return NULL;
	if (!*d->v || strlen(d->v) > TALK_BYTES) {
		rule_fail(&b->sink, spot, word, d->at, "must be 1 to %d bytes", TALK_BYTES);
		return NULL;
	}
	return arena_strdup(b->arena, d->v);
}

static const char *build_hex(struct l4__build *b, const struct rule_spot *spot,
			     const struct doc_text *d)
{
	size_t n = d->set ? strlen(d->v) : 0;

	if (!d->set)
		return NULL;
	if (!n || n % 2 || n > (size_t)2 * TALK_BYTES ||
	    strspn(d->v, "0123456789abcdefABCDEF") != n) {
		rule_fail(&b->sink, spot, "send-hex", d->at,
			  "must be 1 to %d pairs of hexadecimal digits", TALK_BYTES);
		return NULL;
	}
	return arena_strdup(b->arena, d->v);
}

void l4__build_talk(struct l4__build *b, const struct rule_spot *spot, const struct doc_check *d,
		    struct l4_check *c)
{
	const struct doc_params *p = &d->params;
	struct l4_talk *t = &c->talk;

	if (!(TYPES_TALK >> c->type & 1))
		return;
	t->send = build_bytes(b, spot, "send", &p->send);
	t->send_hex = build_hex(b, spot, &p->send_hex);
	t->expect = build_bytes(b, spot, "expect", &p->expect);
	t->regexp = l4__regexp(b, spot, "expect-regexp", &p->expect_regexp);
	if (p->send.set && p->send_hex.set)
		rule_fail(&b->sink, spot, "send-hex", p->send_hex.at, "is given beside send");
	if (c->type == L4_CHECK_UDP && !p->send.set && !p->send_hex.set)
		rule_fail(&b->sink, spot, "send", p->set ? p->at : d->at,
			  "is required for udp: a server answers only what it gets");
}

/* ---- DNS ---- */

/* Whether every label has 1 to 63 bytes and the whole fits into a message. */
static bool name_fits(const char *name)
{
	struct str rest = str_of(name), label;
	bool fits;

	if (rest.n && name[rest.n - 1] == '.')
		rest.n--;
	fits = rest.n && rest.n <= NAME_BYTES;
	while (fits && str_cut(&rest, '.', &label))
		fits = label.n && label.n <= LABEL_BYTES;
	return fits;
}

static void build_name(struct l4__build *b, const struct rule_spot *spot, const struct doc_check *d,
		       struct l4_dns *ret)
{
	const struct doc_text *name = &d->params.query_name;

	if (!name->set) {
		rule_fail(&b->sink, spot, "query-name", d->params.set ? d->params.at : d->at,
			  "is required for dns");
		return;
	}
	if (!rule_token(&b->sink, spot, "query-name", name, NAME_BYTES + 1))
		return;
	if (!name_fits(name->v))
		rule_fail(&b->sink, spot, "query-name", name->at, "%s is not a name of DNS",
			  rule_quote(&b->sink, name->v));
	ret->name = arena_strdup(b->arena, name->v);
}

static int build_word(struct l4__build *b, const struct rule_spot *spot, const char *key,
		      const struct schema_kind *kind, const struct doc_text *d)
{
	const struct rule_words words = { key, kind->words, kind->n_words };

	return d->set ? rule_choose(&b->sink, spot, &words, d) : 0;
}

/* Only the records of A and AAAA have an address, each of its family. */
static void build_answer(struct l4__build *b, const struct rule_spot *spot,
			 const struct doc_params *d, struct l4_dns *ret)
{
	const struct doc_text *address = &d->expect_address;

	if (!address->set)
		return;
	if (ret->type != L4_DNS_A && ret->type != L4_DNS_AAAA)
		rule_fail(&b->sink, spot, "expect-address", address->at,
			  "is only for query-type A and AAAA");
	else if (ret->rcode != L4_DNS_NOERROR)
		rule_fail(&b->sink, spot, "expect-address", address->at,
			  "cannot come with expect-rcode %s", l4_dns_rcode_name(ret->rcode));
	else
		rule_address(&b->sink, spot, "expect-address",
			     ret->type == L4_DNS_A ? AF_INET : AF_INET6, address, &ret->address);
}

void l4__build_dns(struct l4__build *b, const struct rule_spot *spot, const struct doc_check *d,
		   struct l4_check *c)
{
	const struct doc_params *p = &d->params;
	int type = build_word(b, spot, "query-type", &l4_kind_dns_type, &p->query_type);
	int rcode = build_word(b, spot, "expect-rcode", &l4_kind_dns_rcode, &p->expect_rcode);

	build_name(b, spot, d, &c->dns);
	if (type < 0 || rcode < 0)
		return;
	c->dns.type = (enum l4_dns_type)type;
	c->dns.rcode = (enum l4_dns_rcode)rcode;
	build_answer(b, spot, p, &c->dns);
}
