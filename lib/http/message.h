/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: HTTP/1.0 and HTTP/1.1 heads and bodies, parsed in place (RFC 9112).
 *
 * Nothing is allocated and nothing is copied: names and values are slices of the caller's buffer.
 * The parser is strict where leniency lets two readers disagree (bare CR, space before the colon,
 * obsolete folding, two different lengths, length beside chunked): such a message is malformed.
 * A bare LF as line end is accepted in responses only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

#define HTTP_HEADERS_MAX 100
#define HTTP_HEAD_MAX ((size_t)16 * 1024) /* a head longer than this is -E2BIG */

struct http_header {
	struct str name, value; /* value trimmed */
};

struct http_head {
	bool response;
	unsigned minor;	   /* HTTP/1.minor: 0 or 1 */
	struct str method; /* requests */
	struct str target; /* requests, as sent */
	unsigned status;   /* responses: 100..999 */
	struct str reason; /* responses, may be empty */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t n_headers;
	bool keep_alive; /* what version and Connection say */
	bool chunked;
	bool has_length;
	uint64_t length; /* of Content-Length */
	bool upgrade;	 /* Connection: upgrade */
	bool expect_continue;
};

/*
 * Parses a head at the start of p. Returns its length in bytes, 0 when more bytes are needed,
 * -EBADMSG when it is malformed, -E2BIG when it is over a limit. *ret is only meaningful above 0.
 * `scanned` (may be NULL) remembers how far the end was looked for, so that a head that comes byte
 * by byte costs no more than one that comes whole; start it at 0.
 */
int http_parse_request(const char *p, size_t n, size_t *scanned, struct http_head *ret);
int http_parse_response(const char *p, size_t n, size_t *scanned, struct http_head *ret);

/* The value of the first header of that name, or {NULL, 0}. */
struct str http_header(const struct http_head *h, struct str name);

/* How the body of a message ends; a machine fed with bytes. */
enum http_body_kind { HTTP_BODY_NONE, HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_CLOSE };

struct http_body {
	enum http_body_kind kind;
	uint64_t left; /* bytes to come of the body, or of the chunk */
	uint8_t state; /* of the chunk machine */
	unsigned line; /* bytes of the current chunk or trailer line, bounded */
	bool done;
};

/* For a response, method is that of the request (HEAD has no body); 1xx, 204 and 304 have none. */
void http_body_init(struct http_body *b, const struct http_head *h, struct str method);
/*
 * Takes bytes: consumes up to n of p, and says which slice of them is content (may be empty).
 * Returns the bytes consumed (> 0 unless n is 0 or the body is done), or -EBADMSG. Call again
 * with the rest until everything is consumed or b->done.
 */
ssize_t http_body_feed(struct http_body *b, const char *p, size_t n, struct str *ret_content);
/* The peer closed: true when the body is whole. */
bool http_body_eof(struct http_body *b);
