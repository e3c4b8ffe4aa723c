/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/convert.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- fields that wait ---- */

struct lengths {
	uint16_t name, value;
};

void convert_add(struct convert_fields *f, struct str name, struct str value)
{
	struct lengths l = { (uint16_t)name.n, (uint16_t)value.n };
	size_t n = sizeof(l) + name.n + value.n;

	if (f->overflow || n > f->cap - f->n) {
		f->overflow = true;
		return;
	}
	f->extended |= name.n == 9 && str_eq(name, STR(":protocol"));
	memcpy(f->p + f->n, &l, sizeof(l));
	memcpy(f->p + f->n + sizeof(l), name.p, name.n);
	memcpy(f->p + f->n + sizeof(l) + name.n, value.p, value.n);
	f->n += n;
}

/* The field at *at, which becomes the place of the next one. False: there is none. */
static bool next_field(const struct convert_fields *f, size_t *at, struct field *ret)
{
	struct lengths l;
	const char *p = f->p + *at + sizeof(l);

	if (*at == f->n)
		return false;
	memcpy(&l, f->p + *at, sizeof(l));
	*ret = (struct field){ { p, l.name }, { p + l.name, l.value } };
	*at += sizeof(l) + l.name + l.value;
	return true;
}

/* ---- what the request says ---- */

enum pseudo { METHOD, SCHEME, PATH, AUTHORITY, PROTOCOL, PSEUDOS };

struct request {
	struct str pseudo[PSEUDOS]; /* p is NULL: there is none */
	struct str host;
	size_t regular; /* the place of the first other field */
	size_t cookies; /* number of them */
	bool has_length;
};

static int note_pseudo(struct request *r, const struct field *f)
{
	static const struct str names[] = {
		[METHOD] = { ":method", 7 },	 [SCHEME] = { ":scheme", 7 },
		[PATH] = { ":path", 5 },	 [AUTHORITY] = { ":authority", 10 },
		[PROTOCOL] = { ":protocol", 9 },
	};

	for (size_t i = 0; i < PSEUDOS; i++)
		if (str_eq(f->name, names[i])) {
			if (r->pseudo[i].p)
				return -EBADMSG;
			r->pseudo[i] = f->value;
			return 0;
		}
	return -EBADMSG;
}

static bool is_lower_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] >= 'A' && s.p[i] <= 'Z')
			return false;
	return http_is_token(s);
}

/* Blanks at its ends would be lost (RFC 9113, 8.2.1). */
static bool is_whole_value(struct str s)
{
	return http_is_value(s) && str_trim(s).n == s.n;
}

/* RFC 9113, 8.2.2. */
static bool is_of_connection(const struct field *f)
{
	static const struct str names[] = { { "connection", 10 },
					    { "keep-alive", 10 },
					    { "proxy-connection", 16 },
					    { "transfer-encoding", 17 },
					    { "upgrade", 7 } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(f->name, names[i]))
			return true;
	return str_eq(f->name, STR("te")) && !str_ieq(f->value, STR("trailers"));
}

bool convert_is_regular(const struct field *f)
{
	return is_lower_token(f->name) && is_whole_value(f->value) && !is_of_connection(f);
}

static int note_regular(struct request *r, const struct field *f)
{
	if (!convert_is_regular(f))
		return -EBADMSG;
	if (str_eq(f->name, STR("host"))) {
		if (r->host.p)
			return -EBADMSG;
		r->host = f->value;
	}
	r->cookies += str_eq(f->name, STR("cookie"));
	r->has_length |= str_eq(f->name, STR("content-length"));
	return 0;
}

static int read_fields(const struct convert_fields *fields, struct request *r)
{
	struct field f;
	size_t at = 0, from = 0;
	int bad = 0;

	while (!bad && next_field(fields, &at, &f) && f.name.n && f.name.p[0] == ':') {
		bad = note_pseudo(r, &f);
		from = at;
	}
	r->regular = at = from;
	while (!bad && next_field(fields, &at, &f))
		bad = note_regular(r, &f);
	return bad;
}

/* ---- whether it can be said in HTTP/1.1 ---- */

static bool is_connect(const struct request *r)
{
	return str_eq(r->pseudo[METHOD], STR("CONNECT"));
}

static bool is_extended(const struct request *r)
{
	return r->pseudo[PROTOCOL].p;
}

/* An absolute target would name another host than Host does. */
static bool path_is_clear(const struct request *r)
{
	struct str path = r->pseudo[PATH];

	if (!path.n || !http_is_target(path))
		return false;
	return path.p[0] == '/' ||
	       (str_eq(path, STR("*")) && str_eq(r->pseudo[METHOD], STR("OPTIONS")));
}

/* Both may be there if they say the same; one of them must be. */
static bool host_is_clear(struct request *r)
{
	struct str authority = r->pseudo[AUTHORITY];

	if (authority.p && r->host.p && !str_ieq(authority, r->host))
		return false;
	if (authority.p)
		r->host = authority;
	return r->host.n && http_is_authority(r->host);
}

static bool scheme_is_known(const struct request *r)
{
	return str_ieq(r->pseudo[SCHEME], STR("http")) || str_ieq(r->pseudo[SCHEME], STR("https"));
}

static int check(struct request *r)
{
	if (!http_is_token(r->pseudo[METHOD]) || !host_is_clear(r))
		return -EBADMSG;
	if (is_extended(r) && (!is_connect(r) || r->has_length))
		return -EBADMSG;
	if (is_connect(r) && !is_extended(r))
		return r->pseudo[PATH].p || r->pseudo[SCHEME].p ? -EBADMSG : 0;
	if (!path_is_clear(r) || !scheme_is_known(r))
		return -EBADMSG;
	return is_extended(r) && !str_eq(r->pseudo[PROTOCOL], STR("websocket")) ? -EPROTONOSUPPORT
										: 0;
}

/* ---- the text ---- */

struct writer {
	char *to;
	size_t n;
	struct http_head *head;
	int error; /* of the first thing that did not fit */
};

static struct str put(struct writer *w, struct str s)
{
	struct str at = { w->to + w->n, s.n };

	if (s.n > HTTP_HEAD_MAX - w->n) {
		w->error = w->error ?: -E2BIG;
		return (struct str){ w->to, 0 };
	}
	memcpy(w->to + w->n, s.p, s.n);
	w->n += s.n;
	return at;
}

static struct field *put_name(struct writer *w, struct str name)
{
	struct field *f = &w->head->headers[w->head->n_headers];

	if (w->head->n_headers == HTTP_HEADERS_MAX) {
		w->error = w->error ?: -ENOBUFS;
		return NULL;
	}
	w->head->n_headers++;
	f->name = put(w, name);
	put(w, STR(": "));
	return f;
}

static void put_field(struct writer *w, struct str name, struct str value)
{
	struct field *f = put_name(w, name);

	if (!f)
		return;
	f->value = put(w, value);
	put(w, STR("\r\n"));
}

/* RFC 9113, 8.2.3: the crumbs of a cookie are one field in HTTP/1.1. */
static void put_cookies(struct writer *w, const struct convert_fields *fields, size_t at)
{
	struct field f, *line = put_name(w, STR("cookie"));
	size_t from = w->n;

	if (!line)
		return;
	while (next_field(fields, &at, &f))
		if (f.value.n && str_eq(f.name, STR("cookie"))) {
			if (w->n > from)
				put(w, STR("; "));
			put(w, f.value);
		}
	line->value = (struct str){ w->to + from, w->n - from };
	put(w, STR("\r\n"));
}

/* Host comes first. An own key replaces that of a client, which has no use for one. */
static void put_regular(struct writer *w, const struct convert_fields *fields,
			const struct request *r)
{
	struct field f;
	size_t at = r->regular;

	while (next_field(fields, &at, &f)) {
		if (str_eq(f.name, STR("host")) || str_eq(f.name, STR("cookie")))
			continue;
		if (is_extended(r) && str_eq(f.name, STR("sec-websocket-key")))
			continue;
		put_field(w, f.name, f.value);
	}
	if (r->cookies)
		put_cookies(w, fields, r->regular);
}

static void put_line(struct writer *w, const struct request *r)
{
	bool tunnel = is_connect(r) && !is_extended(r);

	w->head->method = put(w, is_extended(r) ? STR("GET") : r->pseudo[METHOD]);
	put(w, STR(" "));
	w->head->target = put(w, tunnel ? r->host : r->pseudo[PATH]);
	put(w, STR(" HTTP/1.1\r\n"));
}

static void put_upgrade(struct writer *w, struct str key)
{
	put_field(w, STR("connection"), STR("upgrade"));
	put_field(w, STR("upgrade"), STR("websocket"));
	put_field(w, STR("sec-websocket-key"), key);
}

int convert_request(const struct convert_request *r, char *to, struct http_head *ret)
{
	struct request request = { 0 };
	struct writer w = { .to = to, .head = ret };
	int bad = read_fields(r->fields, &request);

	if (r->fields->overflow)
		return -E2BIG;
	bad = bad ?: check(&request);
	if (bad)
		return bad;
	ret->response = false;
	ret->minor = 1;
	ret->status = 0;
	ret->reason = (struct str){ 0 };
	ret->n_headers = 0;
	put_line(&w, &request);
	put_field(&w, STR("host"), request.host);
	put_regular(&w, r->fields, &request);
	if (is_extended(&request))
		put_upgrade(&w, r->key);
	else if (!r->ended && !request.has_length && !is_connect(&request))
		put_field(&w, STR("transfer-encoding"), STR("chunked"));
	put(&w, STR("\r\n"));
	if (w.error)
		return w.error;
	bad = http_head_finish(ret);
	return bad ? bad : (int)w.n;
}
