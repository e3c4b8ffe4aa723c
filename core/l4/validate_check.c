/* SPDX-License-Identifier: Apache-2.0 */
/* The section healthchecks: how to ask a server whether it is well (FR-1.1 .. FR-1.4). */
#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/validate_build.h"

#define DAY (24 * 3600 * NSEC_PER_SEC)
#define PATH_BYTES 2048
#define HOST_BYTES 255
#define CODE_MIN 100
#define CODE_MAX 599

static const char *const type_words[] = { "icmp", "tcp", "http", "https" };
static const struct l4__words types = { "type", type_words, ARRAY_SIZE(type_words) };

static const enum l4_check_type type_values[] = { L4_CHECK_ICMP, L4_CHECK_TCP, L4_CHECK_HTTP,
						  L4_CHECK_HTTPS };

/* False when there is no knowing what the check is; its other values are looked at all the same. */
static bool build_type(struct l4__build *b, const struct l4__spot *spot, const struct doc_check *d,
		       struct l4_check *c)
{
	int i;

	if (!d->type.set) {
		l4__fail(b, spot, "type", d->at, "is required: one of %s", l4__list(b, &types));
		return false;
	}
	i = l4__choose(b, spot, &types, &d->type);
	if (i >= 0)
		c->type = type_values[i];
	return i >= 0;
}

static bool speaks_http(const struct l4_check *c)
{
	return c->type == L4_CHECK_HTTP || c->type == L4_CHECK_HTTPS;
}

static void build_port(struct l4__build *b, const struct l4__spot *spot, const struct doc_check *d,
		       bool typed, struct l4_check *c)
{
	static const struct l4__range range = { "port", 1, UINT16_MAX, 0 };
	uint16_t port = (uint16_t)l4__number(b, spot, &range, &d->port);

	if (typed && c->type != L4_CHECK_ICMP && !d->port.set)
		l4__fail(b, spot, "port", d->at, "is required for %s", l4_check_type_name(c->type));
	c->port = typed && c->type == L4_CHECK_ICMP ? 0 : port;
}

static void build_timing(struct l4__build *b, const struct l4__spot *spot,
			 const struct doc_check *d, struct l4_check *c)
{
	static const struct l4__range interval = { "interval", 1, DAY, 2 * NSEC_PER_SEC };
	static const struct l4__range timeout = { "timeout", 1, DAY, NSEC_PER_SEC };
	static const struct l4__range rise = { "rise", 1, 1000, 2 };
	static const struct l4__range fall = { "fall", 1, 1000, 3 };
	struct l4__range fast, down;

	c->schedule.interval = l4__duration(b, spot, &interval, &d->interval);
	fast = (struct l4__range){ "fast-interval", 1, DAY, c->schedule.interval };
	down = (struct l4__range){ "down-interval", 1, DAY, c->schedule.interval };
	c->schedule.fast_interval = l4__duration(b, spot, &fast, &d->fast_interval);
	c->schedule.down_interval = l4__duration(b, spot, &down, &d->down_interval);
	c->timeout = l4__duration(b, spot, &timeout, &d->timeout);
	c->rule.rise = (unsigned)l4__number(b, spot, &rise, &d->rise);
	c->rule.fall = (unsigned)l4__number(b, spot, &fall, &d->fall);
}

static void build_sources(struct l4__build *b, const struct l4__spot *spot,
			  const struct doc_check *d, struct l4_check *c)
{
	if (d->probe_ipv4_src.set)
		l4__address(b, spot, "probe-ipv4-src", AF_INET, &d->probe_ipv4_src, &c->src4);
	if (d->probe_ipv6_src.set)
		l4__address(b, spot, "probe-ipv6-src", AF_INET6, &d->probe_ipv6_src, &c->src6);
}

/* "200" or "200-299". -EINVAL: not that; -ERANGE: not HTTP's numbers, or the wrong way round. */
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

static void build_codes(struct l4__build *b, const struct l4__spot *spot, const struct doc_text *d,
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
			l4__fail(b, spot, "response-code", d->at,
				 "%s: a code is %d to %d, a range goes upwards", l4__quote(b, d->v),
				 CODE_MIN, CODE_MAX);
		else if (r < 0)
			l4__fail(b, spot, "response-code", d->at,
				 "%s is not like \"200\", \"200-299\" or \"200,204,300-399\"",
				 l4__quote(b, d->v));
		if (r < 0)
			return;
	}
	http->codes = codes;
	http->n_codes = n;
}

static const char *build_path(struct l4__build *b, const struct l4__spot *spot,
			      const struct doc_text *d)
{
	if (!d->set || !l4__token(b, spot, "path", d, PATH_BYTES))
		return "/";
	if (*d->v != '/')
		l4__fail(b, spot, "path", d->at, "%s does not begin with a slash",
			 l4__quote(b, d->v));
	return arena_strdup(b->arena, d->v);
}

/* A name for a header or for TLS; a URL is a common slip. */
static const char *build_host(struct l4__build *b, const struct l4__spot *spot, const char *word,
			      const struct doc_text *d)
{
	if (!d->set || !l4__token(b, spot, word, d, HOST_BYTES))
		return NULL;
	if (strchr(d->v, '/'))
		l4__fail(b, spot, word, d->at, "%s is not a host name", l4__quote(b, d->v));
	return arena_strdup(b->arena, d->v);
}

static const char *build_regexp(struct l4__build *b, const struct l4__spot *spot,
				const struct doc_text *d)
{
	char reason[256] = "";

	if (!d->set)
		return NULL;
	if (!b->rules->regexp_ok(d->v, reason, sizeof(reason)))
		l4__fail(b, spot, "response-regexp", d->at, "%s does not compile: %s",
			 l4__quote(b, d->v), *reason ? reason : "no reason given");
	return arena_strdup(b->arena, d->v);
}

static void build_http(struct l4__build *b, const struct l4__spot *spot, const struct doc_params *d,
		       struct l4_check *c)
{
	struct l4_http_params *http = &c->http;
	const char *server_name = build_host(b, spot, "server-name", &d->server_name);

	http->path = build_path(b, spot, &d->path);
	http->host = build_host(b, spot, "host", &d->host);
	http->regexp = build_regexp(b, spot, &d->response_regexp);
	build_codes(b, spot, &d->response_code, http);
	if (c->type == L4_CHECK_HTTPS) {
		http->server_name = server_name;
		http->insecure_skip_verify = l4__flag(&d->insecure_skip_verify, false);
	}
}

/* icmp and tcp have none of these. */
static void refuse_http(struct l4__build *b, const struct l4__spot *spot,
			const struct l4__spot *params, const struct doc_check *d)
{
	const struct doc_params *p = &d->params;
	const struct {
		const char *word;
		bool set;
		struct place at;
	} given[] = {
		{ "path", p->path.set, p->path.at },
		{ "host", p->host.set, p->host.at },
		{ "response-code", p->response_code.set, p->response_code.at },
		{ "response-regexp", p->response_regexp.set, p->response_regexp.at },
		{ "server-name", p->server_name.set, p->server_name.at },
		{ "insecure-skip-verify", p->insecure_skip_verify.set, p->insecure_skip_verify.at },
	};

	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		if (given[i].set)
			l4__fail(b, params, given[i].word, given[i].at,
				 "is only for http and https, not for %s", d->type.v);
	if (l4__flag(&d->keep_alive, false))
		l4__fail(b, spot, "keep-alive", d->keep_alive.at,
			 "is only for http and https, not for %s", d->type.v);
}

static void build_check(struct l4__build *b, const struct doc_check *d, struct l4_check *c)
{
	struct l4__spot spot = { .in = &l4__checks_spot, .name = d->name };
	struct l4__spot params = { .in = &spot, .name = "params" };
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
	c->keep_alive = l4__flag(&d->keep_alive, false);
	build_http(b, &params, &d->params, c);
}

void l4__build_checks(struct l4__build *b)
{
	size_t n = b->doc->n_checks;
	struct l4__entry *entries = arena_array_of(b->scratch, n, struct l4__entry);

	for (size_t i = 0; i < n; i++) {
		const struct doc_check *d = &b->doc->checks[i];

		entries[i] = (struct l4__entry){ d->name, d->at, d };
	}
	l4__sort_entries(b, &l4__checks_spot, entries, n);
	b->check_entries = entries;
	b->checks = arena_array_of(b->arena, n, struct l4_check);
	for (size_t i = 0; i < n; i++)
		build_check(b, entries[i].doc, &b->checks[i]);
	b->config->checks = b->checks;
	b->config->n_checks = n;
}
