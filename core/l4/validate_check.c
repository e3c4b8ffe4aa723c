/* SPDX-License-Identifier: Apache-2.0 */
/* The section healthchecks: how servers are probed (FR-1.1 .. FR-1.4). */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/validate_build.h"

#define DAY (24 * 3600 * NSEC_PER_SEC)
#define PATH_BYTES 2048
#define HOST_BYTES 255
#define DNS_PORT 53
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

/* Whether the ports are those of the frontends. `given` is no word of the file: leave it out. */
static bool has_vip_ports(struct l4__build *b, const struct rule_spot *spot,
			  const struct doc_check *d, bool typed, const struct l4_check *c)
{
	const struct doc_text *ports = &d->ports;

	if (!ports->set)
		return false;
	if (strcmp(ports->v, l4_kind_check_ports.words[L4_PORTS_VIP]) != 0)
		rule_fail(&b->sink, spot, "ports", ports->at,
			  "%s is not vip, which means all ports of the frontends",
			  rule_quote(&b->sink, ports->v));
	else if (d->port.set)
		rule_fail(&b->sink, spot, "ports", ports->at, "is given beside port");
	else if (typed && c->type == L4_CHECK_ICMP)
		rule_fail(&b->sink, spot, "ports", ports->at, "icmp has no ports");
	else if (rule_flag(&d->keep_alive, false))
		rule_fail(&b->sink, spot, "ports", ports->at,
			  "cannot come with keep-alive: a backend has one connection");
	return true;
}

/* The port of an icmp check is ignored (with a warning, validate_doubt.c); dns has a usual one. */
static void build_port(struct l4__build *b, const struct rule_spot *spot, const struct doc_check *d,
		       bool typed, struct l4_check *c)
{
	static const struct rule_range range = { "port", 1, UINT16_MAX, 0 };
	uint16_t port = (uint16_t)rule_number(&b->sink, spot, &range, &d->port);

	if (has_vip_ports(b, spot, d, typed, c)) {
		c->ports = L4_PORTS_VIP;
		return;
	}
	if (typed && c->type == L4_CHECK_DNS && !d->port.set)
		port = DNS_PORT;
	if (typed && c->type != L4_CHECK_ICMP && c->type != L4_CHECK_DNS && !d->port.set)
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

int l4_code_range_parse(struct str part, struct l4_code_range *ret)
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
		r = l4_code_range_parse(part, &codes[n++]);
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

const char *l4__regexp(struct l4__build *b, const struct rule_spot *spot, const char *word,
		       const struct doc_text *d)
{
	char reason[256] = "";

	if (!d->set)
		return NULL;
	if (!b->rules->regexp_ok(d->v, reason, sizeof(reason)))
		rule_fail(&b->sink, spot, word, d->at, "%s does not compile: %s",
			  rule_quote(&b->sink, d->v), *reason ? reason : "no reason given");
	return arena_strdup(b->arena, d->v);
}

/*
 * The file is read here, so that --check tests it, and a reload notices what changed in it. It is
 * named by an absolute path, because a daemon has no useful current folder.
 */
static void build_ca(struct l4__build *b, const struct rule_spot *spot, const struct doc_text *d,
		     struct l4_ca *ret)
{
	char reason[256] = "";

	if (!d->set || !rule_token(&b->sink, spot, "ca-file", d, PATH_MAX - 1))
		return;
	if (*d->v != '/') {
		rule_fail(&b->sink, spot, "ca-file", d->at, "%s is not an absolute path",
			  rule_quote(&b->sink, d->v));
		return;
	}
	ret->file = arena_strdup(b->arena, d->v);
	ret->pem = "";
	if (b->rules->read_ca &&
	    !b->rules->read_ca(d->v, b->arena, &ret->pem, reason, sizeof(reason)))
		rule_fail(&b->sink, spot, "ca-file", d->at, "%s cannot be used: %s",
			  rule_quote(&b->sink, d->v), reason);
}

/* The first two keys are ignored for http (with a warning, validate_doubt.c). */
static void build_tls(struct l4__build *b, const struct rule_spot *spot, const struct doc_params *d,
		      struct l4_check *c)
{
	const char *server_name = build_host(b, spot, "server-name", &d->server_name);

	if (c->type != L4_CHECK_HTTPS && c->type != L4_CHECK_TLS)
		return;
	c->http.server_name = server_name;
	c->http.insecure_skip_verify = rule_flag(&d->insecure_skip_verify, false);
	build_ca(b, spot, &d->ca_file, &c->http.ca);
}

static void build_http(struct l4__build *b, const struct rule_spot *spot,
		       const struct doc_params *d, struct l4_check *c)
{
	struct l4_http_params *http = &c->http;

	http->path = build_path(b, spot, &d->path);
	http->host = build_host(b, spot, "host", &d->host);
	http->regexp = l4__regexp(b, spot, "response-regexp", &d->response_regexp);
	build_codes(b, spot, &d->response_code, http);
}

/*
 * Which of the keys are read depends on the type; the others are refused. If the type is unknown,
 * the values of HTTP are checked anyway, to report all mistakes at once.
 */
static void build_params(struct l4__build *b, const struct rule_spot *spot,
			 const struct doc_check *d, bool typed, struct l4_check *c)
{
	struct rule_spot params = { .in = spot, .name = "params" };

	if (typed)
		l4__refuse_params(b, spot, &params, d, c->type);
	if (!typed || speaks_http(c) || c->type == L4_CHECK_TLS)
		build_tls(b, &params, &d->params, c);
	if (!typed || speaks_http(c)) {
		c->keep_alive = rule_flag(&d->keep_alive, false);
		build_http(b, &params, &d->params, c);
	}
	if (typed)
		l4__build_talk(b, &params, d, c);
	if (typed && c->type == L4_CHECK_DNS)
		l4__build_dns(b, &params, d, c);
}

static void build_check(struct l4__build *b, const struct doc_check *d, struct l4_check *c)
{
	struct rule_spot spot = { .in = &l4__checks_spot, .name = d->name };
	bool typed;

	c->name = arena_strdup(b->arena, d->name);
	typed = build_type(b, &spot, d, c);
	build_port(b, &spot, d, typed, c);
	build_timing(b, &spot, d, c);
	build_sources(b, &spot, d, c);
	build_params(b, &spot, d, typed, c);
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
