/* SPDX-License-Identifier: Apache-2.0 */
/* The section healthchecks: how servers are probed (FR-1.1 .. FR-1.4). */
#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/validate_build.h"

#define DAY (24 * 3600 * NSEC_PER_SEC)
#define PATH_BYTES 2048
#define HOST_BYTES 255
/* HTTP status codes have three digits and five classes (RFC 9110, section 15). */
#define CODE_MIN 100
#define CODE_MAX 599

/* Returns false if the type is missing or unknown; the other values are checked anyway. */
static bool build_type(struct l4__build *b, const struct rule_spot *spot, const struct doc_check *d,
		       struct l4_check *c)
{
	const struct rule_words types = { "type", l4_kind_check_type.words,
					  l4_kind_check_type.n_words };
	int i;

	if (!d->type.set) {
		rule_fail(&b->sink, spot, "type", d->at, "is required: one of %s",
			  rule_list(&b->sink, &types));
		return false;
	}
	i = rule_choose(&b->sink, spot, &types, &d->type);
	if (i >= 0)
		c->type = (enum l4_check_type)i;
	return i >= 0;
}

static bool speaks_http(const struct l4_check *c)
{
	return c->type == L4_CHECK_HTTP || c->type == L4_CHECK_HTTPS;
}

/* The port of an icmp check is ignored (with a warning, validate_doubt.c). */
static void build_port(struct l4__build *b, const struct rule_spot *spot, const struct doc_check *d,
		       bool typed, struct l4_check *c)
{
	static const struct rule_range range = { "port", 1, UINT16_MAX, 0 };
	uint16_t port = (uint16_t)rule_number(&b->sink, spot, &range, &d->port);

	if (typed && c->type != L4_CHECK_ICMP && !d->port.set)
		rule_fail(&b->sink, spot, "port", d->at, "is required for %s",
			  l4_check_type_name(c->type));
	c->port = typed && c->type == L4_CHECK_ICMP ? 0 : port;
}

/* fast-interval and down-interval default to the interval. */
static void build_timing(struct l4__build *b, const struct rule_spot *spot,
			 const struct doc_check *d, struct l4_check *c)
{
	static const struct rule_range interval = { "interval", 1, DAY, 2 * NSEC_PER_SEC };
	static const struct rule_range timeout = { "timeout", 1, DAY, NSEC_PER_SEC };
	static const struct rule_range rise = { "rise", 1, 1000, 2 };
	static const struct rule_range fall = { "fall", 1, 1000, 3 };
	struct rule_range fast, down;

	c->schedule.interval = rule_duration(&b->sink, spot, &interval, &d->interval);
	fast = (struct rule_range){ "fast-interval", 1, DAY, c->schedule.interval };
	down = (struct rule_range){ "down-interval", 1, DAY, c->schedule.interval };
	c->schedule.fast_interval = rule_duration(&b->sink, spot, &fast, &d->fast_interval);
	c->schedule.down_interval = rule_duration(&b->sink, spot, &down, &d->down_interval);
	c->timeout = rule_duration(&b->sink, spot, &timeout, &d->timeout);
	c->rule.rise = (unsigned)rule_number(&b->sink, spot, &rise, &d->rise);
	c->rule.fall = (unsigned)rule_number(&b->sink, spot, &fall, &d->fall);
}

static void build_sources(struct l4__build *b, const struct rule_spot *spot,
			  const struct doc_check *d, struct l4_check *c)
{
	if (d->probe_ipv4_src.set)
		rule_address(&b->sink, spot, "probe-ipv4-src", AF_INET, &d->probe_ipv4_src,
			     &c->src4);
	if (d->probe_ipv6_src.set)
		rule_address(&b->sink, spot, "probe-ipv6-src", AF_INET6, &d->probe_ipv6_src,
			     &c->src6);
}

/*
 * Parses "200" or "200-299". -EINVAL on bad syntax, -ERANGE if a code is out of bounds or the
 * range descends.
 */
static int parse_range(struct str part, struct l4_code_range *ret)
{
	struct str first, last = str_trim(part);
	uint64_t lo, hi;
	int r;

	str_cut(&last, '-', &first);
	r = str_to_u64(str_trim(first), CODE_MAX, &lo);
	if (r < 0)
		return r;
	hi = lo;
	if (last.p)
		r = str_to_u64(str_trim(last), CODE_MAX, &hi);
	if (r < 0)
		return r;
	if (lo < CODE_MIN || hi < lo)
		return -ERANGE;
	*ret = (struct l4_code_range){ (uint16_t)lo, (uint16_t)hi };
	return 0;
}

static size_t count_parts(struct str text)
{
	struct str part;
	size_t n = 0;

	while (str_cut(&text, ',', &part))
		n++;
	return n;
}

/* One complaint about the list is enough: parsing stops at the first invalid part. */
static void build_codes(struct l4__build *b, const struct rule_spot *spot, const struct doc_text *d,
			struct l4_http_params *http)
{
	struct str rest = str_of(d->set ? d->v : "200-399"), part;
	struct l4_code_range *codes =
		arena_array_of(b->arena, count_parts(rest), struct l4_code_range);
	size_t n = 0;
	int r;

	while (str_cut(&rest, ',', &part)) {
		r = parse_range(part, &codes[n++]);
		if (r == -ERANGE)
			rule_fail(&b->sink, spot, "response-code", d->at,
				  "%s: a code is %d to %d, a range goes upwards",
				  rule_quote(&b->sink, d->v), CODE_MIN, CODE_MAX);
		else if (r < 0)
			rule_fail(&b->sink, spot, "response-code", d->at,
				  "%s is not like \"200\", \"200-299\" or \"200,204,300-399\"",
				  rule_quote(&b->sink, d->v));
		if (r < 0)
			return;
	}
	http->codes = (struct l4_codes){ codes, n };
}

static const char *build_path(struct l4__build *b, const struct rule_spot *spot,
			      const struct doc_text *d)
{
	if (!d->set || !rule_token(&b->sink, spot, "path", d, PATH_BYTES))
		return "/";
	if (*d->v != '/')
		rule_fail(&b->sink, spot, "path", d->at, "%s does not begin with a slash",
			  rule_quote(&b->sink, d->v));
	return arena_strdup(b->arena, d->v);
}

/* A name for a header or for TLS. A slash is refused, because a URL is a common mistake. */
static const char *build_host(struct l4__build *b, const struct rule_spot *spot, const char *word,
			      const struct doc_text *d)
{
	if (!d->set || !rule_token(&b->sink, spot, word, d, HOST_BYTES))
		return NULL;
	if (strchr(d->v, '/'))
		rule_fail(&b->sink, spot, word, d->at, "%s is not a host name",
			  rule_quote(&b->sink, d->v));
	return arena_strdup(b->arena, d->v);
}

static const char *build_regexp(struct l4__build *b, const struct rule_spot *spot,
				const struct doc_text *d)
{
	char reason[256] = "";

	if (!d->set)
		return NULL;
	if (!b->rules->regexp_ok(d->v, reason, sizeof(reason)))
		rule_fail(&b->sink, spot, "response-regexp", d->at, "%s does not compile: %s",
			  rule_quote(&b->sink, d->v), *reason ? reason : "no reason given");
	return arena_strdup(b->arena, d->v);
}

static void build_http(struct l4__build *b, const struct rule_spot *spot,
		       const struct doc_params *d, struct l4_check *c)
{
	struct l4_http_params *http = &c->http;
	const char *server_name = build_host(b, spot, "server-name", &d->server_name);

	http->path = build_path(b, spot, &d->path);
	http->host = build_host(b, spot, "host", &d->host);
	http->regexp = build_regexp(b, spot, &d->response_regexp);
	build_codes(b, spot, &d->response_code, http);
	if (c->type == L4_CHECK_HTTPS) {
		http->server_name = server_name;
		http->insecure_skip_verify = rule_flag(&d->insecure_skip_verify, false);
	}
}

/*
 * icmp and tcp checks have none of these keys. The table of the schema lists them, so that a new
 * key is refused, too.
 */
static void refuse_http(struct l4__build *b, const struct rule_spot *spot,
			const struct rule_spot *params, const struct doc_check *d)
{
	for (size_t i = 0; i < l4_schema_params.n_fields; i++) {
		const struct schema_field *f = &l4_schema_params.fields[i];
		const struct doc_any *given = schema_written(f, &d->params);

		if (given->set)
			rule_fail(&b->sink, params, f->key, given->at,
				  "is only for http and https, not for %s", d->type.v);
	}
	if (rule_flag(&d->keep_alive, false))
		rule_fail(&b->sink, spot, "keep-alive", d->keep_alive.at,
			  "is only for http and https, not for %s", d->type.v);
}

static void build_check(struct l4__build *b, const struct doc_check *d, struct l4_check *c)
{
	struct rule_spot spot = { .in = &l4__checks_spot, .name = d->name };
	struct rule_spot params = { .in = &spot, .name = "params" };
	bool typed;

	c->name = arena_strdup(b->arena, d->name);
	typed = build_type(b, &spot, d, c);
	build_port(b, &spot, d, typed, c);
	build_timing(b, &spot, d, c);
	build_sources(b, &spot, d, c);
	if (typed && !speaks_http(c)) {
		refuse_http(b, &spot, &params, d);
		return;
	}
	/*
	 * If the type is unknown, the HTTP values are checked anyway, to report all
	 * mistakes at once.
	 */
	c->keep_alive = rule_flag(&d->keep_alive, false);
	build_http(b, &params, &d->params, c);
}

void l4__build_checks(struct l4__build *b)
{
	size_t n = b->doc->n_checks;
	const struct rule_entry *entries =
		rule_entries(&b->sink, &l4__checks_spot, &l4_schema_check, b->doc->checks, n);

	b->check_entries = entries;
	b->checks = arena_array_of(b->arena, n, struct l4_check);
	for (size_t i = 0; i < n; i++)
		build_check(b, entries[i].doc, &b->checks[i]);
	b->config->checks = b->checks;
	b->config->n_checks = n;
}
