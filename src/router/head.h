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

#define HEAD_EDITS 2 /* of the rule, then of the backend */

/* How the end of a body is marked on the other side. */
enum head_framing {
	HEAD_AS_IS,   /* as it came: its length or its chunks are passed on */
	HEAD_CHUNKED, /* it came without a length: it is sent in chunks */
	HEAD_CLOSE,   /* the receiver knows no chunks: the connection ends with the body */
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
	struct str traceparent; /* that is added; empty: none */
	bool upgrade;		/* Connection: upgrade goes on */
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

/* Both replace the contents of out. */
void head_write_request(const struct head_request *r, struct buf *out);
void head_write_answer(const struct head_answer *a, struct buf *out);
