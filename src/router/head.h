/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head: the head of a request for a server, and of an answer for a client.
 *
 * Fields are written again from their parsed form, one per line with CRLF, so that nothing that a
 * parser had to judge is passed on. Fields that concern one connection are dropped (RFC 9110,
 * 7.6.1), and framing is written as it is needed. Edits of rule and backend come last.
 */
#pragma once

#include "base/addr.h"
#include "core/l7/config.h"
#include "lib/http/message.h"

#define HEAD_EDITS 3 /* of the rule, then of the backend; of calls of gRPC-Web */

/* How the end of a body is marked on the other side. */
enum head_framing {
	HEAD_AS_IS,   /* as it came: its length or its chunks are passed on */
	HEAD_CHUNKED, /* it came without a length: it is sent in chunks */
	HEAD_CLOSE,   /* the receiver knows no chunks: the connection ends with the body */
	HEAD_CONTENT, /* by HTTP/2: only the content is passed on */
};

struct head_request {
	const struct http_head *from;
	struct str target;		 /* with the query */
	struct str host;		 /* empty: as it came */
	struct str asked;		 /* the host that the client asked for; may be empty */
	const struct endpoint *client;	 /* the sender of the request */
	struct str scheme;		 /* with which the request came */
	enum l7_forwarded forwarded;	 /* what happens to fields that say the same of others */
	enum l7_forwarded_fields fields; /* that are written; 0: as L7_X_FORWARDED */
	bool trusted;  /* with L7_FORWARDED_APPEND: the client's word on scheme and host counts */
	bool untraced; /* traceparent and tracestate are dropped */
	struct str traceparent;	 /* that is added; empty: none */
	struct str grpc_timeout; /* instead of the one that came; empty: as it came */
	struct str subject_name; /* of a field for the subject below; empty: none */
	struct str subject;	 /* of the client's certificate; empty: the field is dropped */
	bool upgrade;		 /* Connection: upgrade goes on */
	const struct l7_header_edits *edits[HEAD_EDITS];
	size_t n_edits;
};

struct head_answer {
	const struct http_head *from;
	enum head_framing framing;
	bool keep;    /* the client's connection stays open */
	bool old;     /* the client speaks HTTP/1.0 */
	bool upgrade; /* 101 */
	const struct l7_header_edits *edits[HEAD_EDITS];
	size_t n_edits;
	struct str more; /* whole lines */
	struct str cors; /* whole lines; fields of that kind from the server are dropped then */
};

/*
 * The host and the target of a request (RFC 9112, 3.2): of an absolute target, both come from it
 * and Host is ignored. The target begins with '/', or is "*" of OPTIONS. Returns 0, or the status
 * to refuse it with: 400, or 405 for CONNECT.
 */
unsigned head_read_target(const struct http_head *h, struct str *ret_host, struct str *ret_target);

/*
 * Whether an upgrade is passed on: of HTTP/1.1, without a body, and not to h2c, in which the router
 * could not tell one request from the next.
 */
bool head_wants_upgrade(const struct http_head *h);
/* How the end of an answer's body, which was just initialized, is marked for the client. */
enum head_framing head_choose_framing(const struct http_body *body, bool old);

/* Fields of an answer: what came, what edits add, and whole lines of the router. */
#define HEAD_FIELDS_MAX (HTTP_HEADERS_MAX + 160 + 32)

/* The answer for HTTP/2, ":status" first. Values are slices of what *a borrows, and of status. */
size_t head_answer_fields(const struct head_answer *a, char status[static 4],
			  struct field out[static HEAD_FIELDS_MAX]);
/* Whole lines as fields; those above max are left out. */
size_t head_split(struct str lines, struct field *out, size_t max);

/* Both replace the contents of out. */
void head_write_request(const struct head_request *r, struct buf *out);
void head_write_answer(const struct head_answer *a, struct buf *out);
