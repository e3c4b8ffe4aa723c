/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: HTTP/1.0 and HTTP/1.1 heads and bodies, parsed in place (RFC 9112).
 *
 * Nothing is allocated and nothing is copied: names and values are slices of the caller's buffer.
 * The answer does not depend on how the bytes were cut on their way.
 *
 * The parser is strict where leniency lets two readers disagree: such a message is malformed.
 * Refused are a bare CR, NUL and other control bytes, a space before the colon, obsolete folding,
 * a version other than 1.0 and 1.1, a '#' or a byte above ASCII in a target, two different lengths
 * or a list of them, a length beside chunked, a transfer coding other than one chunked, any
 * transfer coding in HTTP/1.0, a request with two Hosts, and an HTTP/1.1 request without Host.
 * Accepted are one empty line before a request, the same length said twice, a status line without
 * the space before an empty reason, and in the head of a response a bare LF as line end.
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
	bool chunked;	 /* never beside has_length */
	bool has_length;
	uint64_t length;      /* of Content-Length; at most INT64_MAX */
	bool upgrade;	      /* Connection: upgrade */
	bool expect_continue; /* HTTP/1.1 and Expect: 100-continue */
	bool expect_other;    /* HTTP/1.1 and Expect: anything else */
};

/*
 * Parses a head at the start of p. Returns its length in bytes, 0 when more bytes are needed,
 * -EBADMSG when it is malformed, -E2BIG when it is over a limit. *ret is only meaningful above 0,
 * and its slices only as long as the bytes at p stay where they are. A line is judged when its end
 * has come; what headers say together is judged when the head is whole.
 *
 * `scanned` (may be NULL) remembers how far the end was looked for, so that a head that comes byte
 * by byte costs about what one does that comes whole. Start it at 0; between calls keep the bytes
 * before it as they were (they may move as a whole). It is 0 again after a whole head.
 */
int http_parse_request(const char *p, size_t n, size_t *scanned, struct http_head *ret);
int http_parse_response(const char *p, size_t n, size_t *scanned, struct http_head *ret);

/* The value of the first header of that name, or {NULL, 0}. */
struct str http_header(const struct http_head *h, struct str name);

/* May it stand as a header's name (or as a method), as its value, as a request's target? */
bool http_is_token(struct str s);
bool http_is_value(struct str s);
bool http_is_target(struct str s);

/* How the body of a message ends; a machine fed with bytes. */
enum http_body_kind { HTTP_BODY_NONE, HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_CLOSE };

#define HTTP_CHUNK_LINE_MAX 256U	/* a chunk's size and its extensions, with CRLF */
#define HTTP_TRAILERS_MAX (16U * 1024U) /* all trailer lines together, with the empty one */

struct http_body {
	enum http_body_kind kind;
	uint64_t left; /* bytes to come of the body, or of the chunk */
	uint8_t state; /* of the chunk machine */
	unsigned line; /* bytes of the current chunk line, or of all trailers; bounded */
	struct str
		trailer; /* of the last feed: what of it is trailer lines, the empty one included */
	bool done;
};

/*
 * For a response, method is that of the request (HEAD has no body, nor has CONNECT that succeeded);
 * 1xx, 204 and 304 have none. A body of length 0 and none at all are done from the start.
 */
void http_body_init(struct http_body *b, const struct http_head *h, struct str method);
/*
 * Takes bytes: consumes up to n of p, and says which slice of them is content (may be empty).
 * Returns the bytes consumed (> 0 unless n is 0 or the body is done), or -EBADMSG, from then on
 * for ever. Call again with the rest until everything is consumed or b->done; what follows the body
 * is left alone. Content, if any, is the end of what was consumed. Chunk lines end in CRLF, here
 * without leniency; extensions are checked, bounded and dropped, trailers are checked and bounded.
 * A caller that wants trailers adds up b->trailer after each call, and parses that when b->done.
 */
ssize_t http_body_feed(struct http_body *b, const char *p, size_t n, struct str *ret_content);
/* The peer closed: true when the body is whole. */
bool http_body_eof(struct http_body *b);
/*
 * The trailers of a whole chunked body: all lines, the empty one included; nothing at all is no
 * trailer. Returns how many there are, at most HTTP_HEADERS_MAX, as slices of p; -E2BIG above that,
 * -EBADMSG when malformed, or when one of them tells what must be known before the body (its length
 * and framing, the host, credentials; RFC 9110 §6.5.1): a reader that merged it with the head would
 * see another message.
 */
int http_parse_trailers(const char *p, size_t n, struct http_header ret[static HTTP_HEADERS_MAX]);
