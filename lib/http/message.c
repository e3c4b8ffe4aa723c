/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: the head of an HTTP/1 message, read in place and in one pass.
 *
 * A struct reader walks over the caller's bytes. Tables define which bytes are allowed where, and a
 * byte that is not allowed ends the walk at its place. All results are slices of the caller's
 * buffer. A walk ends in the same way at a malformed line and at an incomplete one; so only a line
 * whose LF has arrived is called malformed (line_is_whole()). This makes the result independent of
 * how the bytes were split into reads.
 *
 * A head that arrives in pieces is not walked again for each piece: resume() checks every line once
 * when its LF arrives, and only the last piece starts the walk that fills in the struct.
 *
 * Rules about several headers (framing, Host, Connection) are checked in http_head_finish() when
 * the head is complete. RFC 9112 allows a recipient to repair some violations; here they are
 * refused, because the next reader may repair them in another way.
 */

#include <assert.h>
#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "lib/http/message.h"

enum {
	TOKEN = 1 << 0,	 /* methods and header names */
	TARGET = 1 << 1, /* visible ASCII except '#': a fragment is never sent */
	VALUE = 1 << 2,	 /* header values: also blanks, and bytes above ASCII */
	HOST = 1 << 3,	 /* a host name; of what RFC 3986 allows, not ',', which joins fields */
	BLANK = 1 << 4,
	DIGIT = 1 << 5,
	WORD = TOKEN | TARGET | VALUE | HOST, /* allowed everywhere */
	PLAIN = TARGET | VALUE,
};

static const uint8_t classes[256] = {
	['\t'] = VALUE | BLANK,
	[' '] = VALUE | BLANK,
	['!'] = WORD,
	['"'] = PLAIN,
	['#'] = TOKEN | VALUE,
	['$' ... '\''] = WORD,
	['(' ... ')'] = PLAIN | HOST,
	['*' ... '+'] = WORD,
	[','] = PLAIN,
	['-' ... '.'] = WORD,
	['/'] = PLAIN,
	['0' ... '9'] = WORD | DIGIT,
	[':'] = PLAIN,
	[';'] = PLAIN | HOST,
	['<'] = PLAIN,
	['='] = PLAIN | HOST,
	['>' ... '@'] = PLAIN,
	['A' ... 'Z'] = WORD,
	['['] = PLAIN,
	['\\'] = PLAIN,
	[']'] = PLAIN,
	['^'] = PLAIN | TOKEN,
	['_'] = WORD,
	['`'] = PLAIN | TOKEN,
	['a' ... 'z'] = WORD,
	['{'] = PLAIN,
	['|'] = PLAIN | TOKEN,
	['}'] = PLAIN,
	['~'] = WORD,
	[0x80 ... 0xff] = VALUE,
};

struct reader {
	const char *at, *end; /* after a failure `at` is at or before the LF of that line */
	bool response;
};

static bool is(char c, uint8_t class)
{
	return classes[(uint8_t)c] & class;
}

/* Takes all bytes of that class up to the first other byte; may be none. */
static struct str take(struct reader *r, uint8_t class)
{
	const char *from = r->at;
	const char *p = from;

	while (p < r->end && is(*p, class))
		p++;
	r->at = p;
	return (struct str){ from, (size_t)(p - from) };
}

#define ALL(byte) (0x0101010101010101u * (byte))

/* Whether eight bytes at p are all of the class VALUE; no for a tab, which is rare. */
static bool are_values(const char *p)
{
	uint64_t word, other;

	memcpy(&word, p, sizeof(word));
	other = word ^ ALL(0x7f);
	return !((((word - ALL(' ')) & ~word) | ((other - ALL(1)) & ~other)) & ALL(0x80));
}

/* As take(r, VALUE): eight bytes at once as far as that goes. */
static struct str take_value(struct reader *r)
{
	const char *from = r->at;

	while (r->end - r->at >= (ptrdiff_t)sizeof(uint64_t) && are_values(r->at))
		r->at += sizeof(uint64_t);
	take(r, VALUE);
	return (struct str){ from, (size_t)(r->at - from) };
}

static bool take_char(struct reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool take_literal(struct reader *r, struct str text)
{
	if (!str_starts((struct str){ r->at, (size_t)(r->end - r->at) }, text))
		return false;
	r->at += text.n;
	return true;
}

static bool take_line_end(struct reader *r)
{
	if (!take_char(r, '\r') && !r->response)
		return false;
	return take_char(r, '\n');
}

static bool take_version(struct reader *r, unsigned *ret_minor)
{
	if (!take_literal(r, STR("HTTP/1.")))
		return false;
	*ret_minor = r->at < r->end && *r->at == '1';
	return *ret_minor ? take_char(r, '1') : take_char(r, '0');
}

static bool take_request_line(struct reader *r, struct http_head *h)
{
	h->method = take(r, TOKEN);
	if (!h->method.n || !take_char(r, ' '))
		return false;
	h->target = take(r, TARGET);
	if (!h->target.n || !take_char(r, ' '))
		return false;
	return take_version(r, &h->minor) && take_line_end(r);
}

/* Servers are known to leave out the space before an empty reason. */
static bool take_status_line(struct reader *r, struct http_head *h)
{
	struct str code;

	if (!take_version(r, &h->minor) || !take_char(r, ' '))
		return false;
	code = take(r, DIGIT);
	if (code.n != 3 || code.p[0] == '0')
		return false;
	h->status = (unsigned)((code.p[0] - '0') * 100 + (code.p[1] - '0') * 10 + code.p[2] - '0');
	h->reason = (struct str){ r->at, 0 };
	if (take_char(r, ' '))
		h->reason = take_value(r);
	return take_line_end(r);
}

static bool take_start_line(struct reader *r, struct http_head *h)
{
	return r->response ? take_status_line(r, h) : take_request_line(r, h);
}

static bool take_header_line(struct reader *r, struct field *h)
{
	h->name = take(r, TOKEN);
	if (!h->name.n || !take_char(r, ':'))
		return false;
	take(r, BLANK);
	h->value = take_value(r);
	while (h->value.n && is(h->value.p[h->value.n - 1], BLANK))
		h->value.n--;
	return take_line_end(r);
}

static bool at_empty_line(const struct reader *r)
{
	return r->at < r->end && (*r->at == '\r' || *r->at == '\n');
}

/* Returns false if the walk stopped. Headers above the limit are counted but not kept. */
static bool take_head(struct reader *r, struct http_head *h)
{
	struct field spare;

	if (!take_start_line(r, h))
		return false;
	for (h->n_headers = 0; !at_empty_line(r); h->n_headers++) {
		bool fits = h->n_headers < HTTP_HEADERS_MAX;

		if (!take_header_line(r, fits ? &h->headers[h->n_headers] : &spare))
			return false;
	}
	return take_line_end(r);
}

/* After the walk stopped: a complete line is malformed, an incomplete one needs more bytes. */
static bool line_is_whole(const struct reader *r)
{
	return r->at < r->end && memchr(r->at, '\n', (size_t)(r->end - r->at));
}

/* Whether a complete line, other than the empty one, is well formed. */
static bool line_is_fine(struct reader line, bool first)
{
	struct http_head spare;

	return first ? take_start_line(&line, &spare) : take_header_line(&line, spare.headers);
}

/*
 * Checks the lines whose LF is at `from` or later. Returns 1 if one of them ends the head, 0 if
 * more is needed, or -EBADMSG. A line begins after the LF of the line before it.
 */
static int resume(struct reader all, const char *from)
{
	const char *lf;

	while (from < all.end && (lf = memchr(from, '\n', (size_t)(all.end - from)))) {
		const char *before = memrchr(all.at, '\n', (size_t)(lf - all.at));
		struct reader line = { before ? before + 1 : all.at, lf + 1, all.response };

		if (before && at_empty_line(&line))
			return take_line_end(&line) ? 1 : -EBADMSG;
		if (!line_is_fine(line, !before))
			return -EBADMSG;
		from = lf + 1;
	}
	return 0;
}

/* Collected by http_head_finish() from the headers that it knows. */
struct facts {
	struct http_head *head;
	unsigned hosts, codings;
	bool close, keep_alive;
};

/* An IPv6 address in brackets. */
static bool take_literal_address(struct reader *r)
{
	const char *from = r->at;

	if (!take_char(r, '['))
		return false;
	while (r->at < r->end && (isxdigit((uint8_t)*r->at) || *r->at == ':' || *r->at == '.'))
		r->at++;
	return r->at - from > 2 && take_char(r, ']');
}

static bool is_authority(struct str s)
{
	struct reader r = { s.p, s.p + s.n, false };

	if (s.n && *s.p == '[') {
		if (!take_literal_address(&r))
			return false;
	} else {
		take(&r, HOST);
	}
	if (r.at < r.end && take_char(&r, ':'))
		take(&r, DIGIT);
	return r.at == r.end;
}

static int note_host(struct facts *f, struct str value)
{
	f->hosts++;
	f->head->host = value;
	return f->head->response || is_authority(value) ? 0 : -EBADMSG;
}

static int note_expect(struct facts *f, struct str value)
{
	struct str member;

	while (f->head->minor >= 1 && str_cut(&value, ',', &member)) {
		bool known = str_ieq(str_trim(member), STR("100-continue"));

		f->head->expect_continue |= known;
		f->head->expect_other |= !known && str_trim(member).n;
	}
	return 0;
}

static int note_connection(struct facts *f, struct str value)
{
	struct str option;

	while (str_cut(&value, ',', &option)) {
		option = str_trim(option);
		f->close |= str_ieq(option, STR("close"));
		f->keep_alive |= str_ieq(option, STR("keep-alive"));
		f->head->upgrade |= str_ieq(option, STR("upgrade"));
	}
	return 0;
}

static int note_length(struct facts *f, struct str value)
{
	uint64_t length;

	if (str_to_u64(value, INT64_MAX, &length) < 0)
		return -EBADMSG;
	if (f->head->has_length && (!f->head->response || f->head->length != length))
		return -EBADMSG;
	f->head->has_length = true;
	f->head->lengths++;
	f->head->length = length;
	return 0;
}

static int note_coding(struct facts *f, struct str value)
{
	f->codings++;
	f->head->chunked = true;
	return str_ieq(value, STR("chunked")) ? 0 : -EBADMSG;
}

/* Found by the length of the name, which is different for each of them. */
static const struct known {
	struct str name;
	int (*note)(struct facts *f, struct str value);
} known[] = {
	[4] = { { "host", 4 }, note_host },
	[6] = { { "expect", 6 }, note_expect },
	[10] = { { "connection", 10 }, note_connection },
	[14] = { { "content-length", 14 }, note_length },
	[17] = { { "transfer-encoding", 17 }, note_coding },
};

static int note_headers(struct facts *f)
{
	for (size_t i = 0; i < f->head->n_headers; i++) {
		const struct field *h = &f->head->headers[i];
		const struct known *k = h->name.n < ARRAY_SIZE(known) ? &known[h->name.n] : known;
		int r = k->note && str_ieq(h->name, k->name) ? k->note(f, h->value) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* RFC 9112 §6.1: chunked only in HTTP/1.1, once, and not together with a length. */
static bool framing_is_clear(const struct facts *f)
{
	const struct http_head *h = f->head;

	return !f->codings || (f->codings == 1 && h->minor >= 1 && !h->has_length);
}

/* RFC 9112 §3.2: one Host in a request; HTTP/1.0 may leave it out. */
static bool host_is_clear(const struct facts *f)
{
	return f->head->response || f->hosts == 1 || (f->hosts == 0 && f->head->minor == 0);
}

int http_head_finish(struct http_head *h)
{
	struct facts f = { .head = h };
	int r;

	if (h->n_headers > HTTP_HEADERS_MAX)
		return -E2BIG;
	h->chunked = h->has_length = h->upgrade = false;
	h->expect_continue = h->expect_other = false;
	h->length = h->lengths = 0;
	h->host = (struct str){ 0 };
	r = note_headers(&f);
	if (r < 0)
		return r;
	if (!framing_is_clear(&f) || !host_is_clear(&f))
		return -EBADMSG;
	h->keep_alive = !f.close && (h->minor >= 1 || f.keep_alive);
	return 0;
}

/* Refuses input that is not HTTP at its first bytes, for example a TLS handshake. */
static bool opening_is_wrong(const struct reader *r)
{
	static const char version[] = "HTTP/1.";
	size_t n = (size_t)(r->end - r->at);

	if (r->response)
		return memcmp(r->at, version, n < sizeof(version) ? n : sizeof(version) - 1) != 0;
	return n > 0 && !is(*r->at, TOKEN);
}

/* The head is incomplete: needs more bytes, or has reached the limit. */
static int need_more(const struct reader *r, const char *p)
{
	return (size_t)(r->end - p) < HTTP_HEAD_MAX ? 0 : -E2BIG;
}

/* r begins at p, or after the empty line that is allowed before a request. */
static int parse(struct reader r, const char *p, size_t *scanned, struct http_head *ret)
{
	size_t none = 0;
	int result;

	if (opening_is_wrong(&r))
		return -EBADMSG;
	if (!scanned)
		scanned = &none;
	if (*scanned) {
		result = resume(r, p + *scanned);
		*scanned = (size_t)(r.end - p);
		if (result <= 0)
			return result < 0 ? result : need_more(&r, p);
	}
	ret->response = r.response;
	ret->method = ret->target = ret->reason = (struct str){ 0 };
	ret->status = 0;
	if (!take_head(&r, ret)) {
		*scanned = (size_t)(r.end - p);
		return line_is_whole(&r) ? -EBADMSG : need_more(&r, p);
	}
	*scanned = 0;
	result = http_head_finish(ret);
	return result < 0 ? result : (int)(r.at - p);
}

static struct reader reader_of(const char *p, size_t n, bool response)
{
	assert(p || !n);
	return (struct reader){ p, p + (n < HTTP_HEAD_MAX ? n : HTTP_HEAD_MAX), response };
}

int http_parse_request(const char *p, size_t n, size_t *scanned, struct http_head *ret)
{
	struct reader r = reader_of(p, n, false);

	assert(ret);
	if (n == 0 || (n == 1 && *p == '\r'))
		return 0;
	if (*p == '\r' && p[1] == '\n') /* RFC 9112 §2.2: some old clients send it after a body */
		r.at += 2;
	return parse(r, p, scanned, ret);
}

int http_parse_response(const char *p, size_t n, size_t *scanned, struct http_head *ret)
{
	assert(ret);
	return n ? parse(reader_of(p, n, true), p, scanned, ret) : 0;
}

bool http_may_trail(struct str name)
{
	static const struct str never[] = {
		{ "content-length", 14 },
		{ "transfer-encoding", 17 },
		{ "host", 4 },
		{ "trailer", 7 },
		{ "te", 2 },
		{ "connection", 10 },
		{ "upgrade", 7 },
		{ "expect", 6 },
		{ "content-encoding", 16 },
		{ "content-type", 12 },
		{ "content-range", 13 },
		{ "authorization", 13 },
		{ "cookie", 6 },
		{ "set-cookie", 10 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (str_ieq(name, never[i]))
			return false;
	return true;
}

int http_parse_trailers(const char *p, size_t n, struct field ret[static HTTP_HEADERS_MAX])
{
	struct reader r = { p, p, .response = false };
	struct field h;
	int found = 0;

	assert(p || !n);
	if (!n)
		return 0;
	for (r.end = p + n; !at_empty_line(&r); found++) {
		if (!take_header_line(&r, &h) || !http_may_trail(h.name))
			return -EBADMSG;
		if (found == HTTP_HEADERS_MAX)
			return -E2BIG;
		ret[found] = h;
	}
	return take_line_end(&r) && r.at == r.end ? found : -EBADMSG;
}

struct str http_header(const struct http_head *h, struct str name)
{
	for (size_t i = 0; i < h->n_headers; i++)
		if (str_ieq(h->headers[i].name, name))
			return h->headers[i].value;
	return (struct str){ NULL, 0 };
}

static bool all_are(struct str s, uint8_t class)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is(s.p[i], class))
			return false;
	return true;
}

bool http_is_token(struct str s)
{
	return s.n && all_are(s, TOKEN);
}

bool http_is_value(struct str s)
{
	return all_are(s, VALUE);
}

bool http_is_target(struct str s)
{
	return s.n && all_are(s, TARGET);
}

bool http_is_authority(struct str s)
{
	return is_authority(s);
}
