/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: HTTP/1.0 and HTTP/1.1 heads and bodies, parsed in place (RFC 9112).
 *
 * Nothing is allocated and nothing is copied: names and values are slices of the caller's buffer.
 * The result does not depend on how the bytes were split into reads.
 *
 * Where a lenient parser and another one could read two different messages, this one refuses the
 * message as malformed: a bare CR, NUL and other control bytes, a space before the colon, obsolete
 * line folding, a version other than 1.0 and 1.1, a '#' or a byte above ASCII in a target, two
 * different lengths or a list of lengths, in a request also the same length twice, a length
 * together with chunked, a transfer coding other than a single chunked, any transfer coding in
 * HTTP/1.0, a request with two Host headers or with one that is not a host, and an HTTP/1.1 request
 * without Host. Accepted are one empty line before a request, and in the head of a
 * response the same length given twice, no space before an empty reason, and a bare LF as line end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/field.h"
#include "base/str.h"

#define HTTP_HEADERS_MAX 100
#define HTTP_HEAD_MAX ((size_t)16 * 1024) /* a head longer than this is -E2BIG */

struct http_head {
	bool response;
	unsigned minor;				/* HTTP/1.minor: 0 or 1 */
	struct str method;			/* requests */
	struct str target;			/* requests, as sent */
	struct str host;			/* value of Host; may be empty */
	unsigned status;			/* responses: 100..999 */
	struct str reason;			/* responses, may be empty */
	struct field headers[HTTP_HEADERS_MAX]; /* values trimmed */
	size_t n_headers;
	bool keep_alive; /* according to version and Connection */
	bool chunked;	 /* never together with has_length */
	bool has_length;
	uint64_t length;      /* of Content-Length; at most INT64_MAX */
	unsigned lengths;     /* Content-Length fields; several, all equal, only in responses */
	bool upgrade;	      /* Connection: upgrade */
	bool expect_continue; /* HTTP/1.1 and Expect: 100-continue */
	bool expect_other;    /* HTTP/1.1 and Expect: anything else */
};

/*
 * Parses a head at the start of p. Returns its length in bytes, 0 if more bytes are needed,
 * -EBADMSG if it is malformed, -E2BIG if it exceeds a limit. *ret is valid only if the result is
 * above 0, and its slices only while the bytes at p stay in place. A line is checked when its end
 * has arrived; rules about several headers are checked when the head is complete.
 *
 * `scanned` (may be NULL) remembers how far the search for the end has come, so that a head that
 * arrives byte by byte costs about as much as one that arrives at once. Start with 0. Between calls
 * the bytes before it must not change, but they may move together. After a complete head it is 0
 * again.
 */
int http_parse_request(const char *p, size_t n, size_t *scanned, struct http_head *ret);
int http_parse_response(const char *p, size_t n, size_t *scanned, struct http_head *ret);

/*
 * The rules about several headers, for a head that was not parsed here: the start line and the
 * headers are set. Sets the rest of *h. Returns 0, or -EBADMSG or -E2BIG as above.
 */
int http_head_finish(struct http_head *h);

/* The value of the first header of that name, or {NULL, 0}. */
struct str http_header(const struct http_head *h, struct str name);

/* Whether s is valid as a header's name (or as a method), as its value, as a target. */
bool http_is_token(struct str s);
bool http_is_value(struct str s);
bool http_is_target(struct str s);
/* Whether s is a host and maybe a port, as Host has it. It may be empty. */
bool http_is_authority(struct str s);

/*
 * Whether a field may be among the trailers: not if it must be known before the body (RFC 9110
 * §6.5.1).
 */
bool http_may_trail(struct str name);

/* How the end of a body is known. struct http_body is a state machine that is fed with bytes. */
enum http_body_kind { HTTP_BODY_NONE, HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_CLOSE };

#define HTTP_CHUNK_LINE_MAX 256U	/* a chunk's size and its extensions, with CRLF */
#define HTTP_TRAILER_NAME 17		/* bytes of the longest name that is refused */
#define HTTP_TRAILERS_MAX (16U * 1024U) /* all trailer lines together, with the empty one */

struct http_body {
	enum http_body_kind kind;
	uint64_t left; /* bytes of the body, or of the chunk, that are still to come */
	uint8_t state; /* of the chunk machine */
	unsigned line; /* bytes of the current chunk line, or of all trailers; bounded */
	char name[HTTP_TRAILER_NAME]; /* of the trailer line that is being read, if it fits */
	uint8_t n_name;
	struct str trailer; /* trailer lines in the last feed, with the empty line */
	bool done;
};

/*
 * For a response, method is that of the request: a response to HEAD has no body, nor has a
 * successful one to CONNECT. 1xx, 204 and 304 have none either. Without a body, or with one of
 * length 0, `done` is set at once.
 */
void http_body_init(struct http_body *b, const struct http_head *h, struct str method);
/*
 * Consumes up to n bytes of p and sets *ret_content to the part of them that is content, which may
 * be empty. Returns the number of bytes consumed (> 0 unless n is 0 or the body is done), or
 * -EBADMSG; after an error every further call returns the same. Call again with the rest until
 * everything is consumed or b->done; bytes after the body are not consumed. Content, if any, is the
 * last part of what was consumed. Chunk lines must end in CRLF; extensions are checked, bounded and
 * dropped; trailers are checked and bounded, and names that http_parse_trailers() refuses are
 * malformed. A caller that wants the trailers appends b->trailer
 * after each call and parses the result when b->done.
 */
ssize_t http_body_feed(struct http_body *b, const char *p, size_t n, struct str *ret_content);
/* The peer has closed the connection. Returns true if the body is complete. */
bool http_body_eof(struct http_body *b);
/*
 * Parses the trailers of a complete chunked body: all lines including the empty one. n = 0 means no
 * trailers. Returns their number, at most HTTP_HEADERS_MAX, as slices of p; -E2BIG above that;
 * -EBADMSG if they are malformed, or if one of them is a field that must be known before the body
 * (length and framing, host, credentials; RFC 9110 §6.5.1): a reader that merges it with the head
 * would see a different message.
 */
int http_parse_trailers(const char *p, size_t n, struct field ret[static HTTP_HEADERS_MAX]);
