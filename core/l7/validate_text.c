/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the configuration that become part of messages: hosts, paths, headers, origins. */
#include <string.h>

#include "base/cleanup.h"
#include "core/l7/validate_build.h"

#define HOST_BYTES 253
#define LABEL_BYTES 63
#define TOKEN_BYTES 256
#define VALUE_BYTES 4096
#define REASON_BYTES 160

static const struct str nothing = { "", 0 };

static void refuse(struct l7__build *b, const struct rule_spot *spot, const char *word,
		   const struct doc_text *d, const char *why)
{
	rule_fail(&b->sink, spot, word, d->at, "%s %s", rule_quote(&b->sink, d->v), why);
}

/* ---- hosts ---- */

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Names of servers may have underscores, which the names of containers often do. */
static bool is_label(struct str s, bool server)
{
	if (!s.n || s.n > LABEL_BYTES || s.p[0] == '-' || s.p[s.n - 1] == '-')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!is_alnum(s.p[i]) && s.p[i] != '-' && !(server && s.p[i] == '_'))
			return false;
	return true;
}

static bool is_labels(struct str s, bool server)
{
	struct str label;

	if (!s.n || s.n > HOST_BYTES)
		return false;
	while (str_cut(&s, '.', &label))
		if (!is_label(label, server))
			return false;
	return true;
}

/* Words that follow the host; NULL: it is one. */
static const char *why_no_host(struct str s, bool wild)
{
	bool starred = str_starts(s, STR("*."));

	if (str_eq(s, STR("*")))
		return "is every host; leave the key out";
	if (memchr(s.p, ':', s.n))
		return "must not have a port, which is ignored in requests";
	if (starred && !wild)
		return "must not be a wildcard";
	if (starred)
		s = (struct str){ s.p + 2, s.n - 2 };
	if (!is_labels(s, false))
		return wild ? "is not a host name or a wildcard such as *.example.com"
			    : "is not a host name";
	return NULL;
}

struct str l7__host(struct l7__build *b, const struct rule_spot *spot, const char *word,
		    const struct doc_text *d, bool wild)
{
	const char *why = why_no_host(str_of(d->v), wild);
	char *copy;

	if (why) {
		refuse(b, L7__AS(spot, "InvalidHost"), word, d, why);
		return nothing;
	}
	copy = arena_strdup(b->arena, d->v);
	for (char *p = copy; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p | 0x20);
	return str_of(copy);
}

const char *l7__server(struct l7__build *b, const struct rule_spot *spot, const char *word,
		       const struct doc_text *d)
{
	struct addr a;

	if (addr_parse(d->v, &a) == 0) {
		if (!rule_address(&b->sink, spot, word, AF_UNSPEC, d, &a))
			return NULL;
	} else if (!is_labels(str_of(d->v), true)) {
		refuse(b, spot, word, d, "is neither an address nor a host name");
		return NULL;
	}
	return arena_strdup(b->arena, d->v);
}

/* ---- paths ---- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* pchar of RFC 3986, and '/' */
static bool is_path_text(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (is_alnum(s.p[i]) || strchr("/-._~!$&'()*+,;=:@", s.p[i]))
			continue;
		if (s.p[i] != '%' || s.n - i < 3 || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2]))
			return false;
		i += 2;
	}
	return true;
}

static bool ends_with(struct str s, struct str end)
{
	return s.n >= end.n && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
}

/* A path is compared as it is sent, so a form that clients do not send would never match. */
static const char *why_no_path(struct str s)
{
	static const char *const parts[] = { "//", "/./", "/../" };

	if (!s.n || s.p[0] != '/')
		return "must start with '/'";
	if (s.n > L7_PATH_MAX)
		return "is too long for a path";
	if (!is_path_text(s))
		return "has characters that a path cannot have";
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(s.p, parts[i]))
			return "must not have '//', '/./' or '/../'";
	if (ends_with(s, STR("/.")) || ends_with(s, STR("/..")))
		return "must not end with '/.' or '/..'";
	if (strcasestr(s.p, "%2f"))
		return "must not have an encoded '/'";
	return NULL;
}

struct str l7__path(struct l7__build *b, const struct rule_spot *spot, const char *word,
		    const struct doc_text *d)
{
	const char *why = why_no_path(str_of(d->v));

	if (!why)
		return l7__keep(b, d->v);
	refuse(b, L7__AS(spot, "InvalidPath"), word, d, why);
	return nothing;
}

/* ---- headers ---- */

static bool is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_alnum(s.p[i]) && !strchr("!#$%&'*+-.^_`|~", s.p[i]))
			return false;
	return s.n && s.n <= TOKEN_BYTES;
}

struct str l7__token(struct l7__build *b, const struct rule_spot *spot, const char *word,
		     const struct doc_text *d)
{
	if (is_token(str_of(d->v)))
		return l7__keep(b, d->v);
	refuse(b, spot, word, d, "is not a token of letters, digits and !#$%&'*+-.^_`|~");
	return nothing;
}

/* field-value of RFC 9110: a line break in it would begin another header. */
bool l7__value(struct l7__build *b, const struct rule_spot *spot, const char *word,
	       const struct doc_text *d, struct str *ret)
{
	struct str s = str_of(d->v);
	bool ok = s.n <= VALUE_BYTES && str_trim(s).n == s.n;

	for (size_t i = 0; i < s.n && ok; i++)
		ok = (unsigned char)s.p[i] >= ' ' ? s.p[i] != 0x7f : s.p[i] == '\t';
	if (ok)
		*ret = l7__keep(b, d->v);
	else
		refuse(b, spot, word, d,
		       "is not the value of a header: at most 4096 bytes, no control characters, "
		       "no space at the ends");
	return ok;
}

/* ---- origins ---- */

static bool is_origin(struct str s)
{
	const char *at = memmem(s.p, s.n, "://", 3);
	struct str scheme, host, rest;
	uint64_t port;

	if (!at)
		return false;
	scheme = (struct str){ s.p, (size_t)(at - s.p) };
	rest = (struct str){ at + 3, s.n - scheme.n - 3 };
	host = l7_host_name(rest);
	if (!str_ieq(scheme, STR("http")) && !str_ieq(scheme, STR("https")))
		return false;
	if (rest.n > host.n && str_to_u64((struct str){ rest.p + host.n + 1, rest.n - host.n - 1 },
					  UINT16_MAX, &port) < 0)
		return false;
	/* a '*' at the start stands for any text, also for a part of a label */
	if (host.n > 1 && host.p[0] == '*')
		host = (struct str){ host.p + 1, host.n - 1 };
	if (host.n > 1 && host.p[0] == '.')
		host = (struct str){ host.p + 1, host.n - 1 };
	return str_eq(host, STR("*")) || is_labels(host, false);
}

struct str l7__origin(struct l7__build *b, const struct rule_spot *spot, const char *word,
		      const struct doc_text *d)
{
	if (strcmp(d->v, "*") == 0 || is_origin(str_of(d->v)))
		return l7__keep(b, d->v);
	refuse(b, spot, word, d,
	       "is not an origin such as https://www.example.com or https://*.example.com:8443");
	return nothing;
}

/* ---- regular expressions ---- */

const struct l7_regex *l7__regex(struct l7__build *b, const struct rule_spot *spot,
				 const char *word, const struct doc_text *d, size_t max)
{
	char reason[REASON_BYTES] = "";
	const struct l7_regex *regex;

	spot = L7__AS(spot, "InvalidRegex");
	if (!*d->v || strlen(d->v) > max) {
		rule_fail(&b->sink, spot, word, d->at, "must have 1 to %zu bytes", max);
		return NULL;
	}
	regex = b->calls->compile(d->v, reason, sizeof(reason), b->calls->user);
	if (!regex)
		rule_fail(&b->sink, spot, word, d->at, "%s is not a regular expression: %s",
			  rule_quote(&b->sink, d->v), reason);
	return regex;
}
