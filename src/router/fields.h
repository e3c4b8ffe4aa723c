/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields: heads as HTTP/2 has them (RFC 9113, 8), from heads of HTTP/1.1 and back. Pure.
 *
 * The exchange speaks HTTP/1.1 with all its servers. A stream of HTTP/2 takes the head that
 * head_write_request() has written apart, and writes the head of the answer as a server of HTTP/1.1
 * would.
 */
#pragma once

#include "base/field.h"
#include "base/str.h"
#include "lib/http/message.h"

#define FIELDS_MAX 320	      /* after all edits, see head.c */
#define FIELDS_ACCEPT_SIZE 29 /* a Sec-WebSocket-Accept, and NUL */

struct fields_request {
	struct field list[FIELDS_MAX];
	size_t n;
	bool is_head;	 /* the method is HEAD */
	bool socket;	 /* extended CONNECT (RFC 8441) instead of an upgrade to a WebSocket */
	struct str key;	 /* of the WebSocket */
	bool chunked;	 /* how the body comes */
	uint64_t length; /* if it is not chunked */
};

/*
 * Takes a head apart, which must be complete and as head_write_request() writes it. secure: the
 * server is spoken to by TLS. connect: it takes extended CONNECT. Returns the bytes of the head; 0:
 * it has more than FIELDS_MAX fields, or is not complete. The fields are slices of text.
 */
size_t fields_of_request(struct str text, bool secure, bool connect, struct fields_request *ret);

/* Whether a field of an answer concerns the connection: it is not passed on. */
bool fields_is_hop(struct str name);
void fields_add_status(struct buf *out, unsigned status);
void fields_add(struct buf *out, struct str name, struct str value);
/* The answer to the key of a WebSocket (RFC 6455, 4.2.2). */
void fields_accept(struct str key, char ret[static FIELDS_ACCEPT_SIZE]);
