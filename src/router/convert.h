/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert: the fields of an HTTP/2 request become the head of an HTTP/1.1 request.
 *
 * The text is what an HTTP/1.1 client would have sent, so the rest of the router sees no difference
 * (RFC 9113, 8.3 and 8.2.3). The rules are those of lib/http/message.h, and some more: what HTTP/2
 * allows and HTTP/1.1 cannot say is refused, never repaired.
 */
#pragma once

#include "lib/http/message.h"

/* Fields that have come so far, packed; without bytes of its own. */
struct convert_fields {
	char *p;
	size_t n, cap;
	bool overflow; /* a field did not fit: the head is too large */
	bool extended; /* there is a :protocol */
};

/* Appends one; names and values of any kind are kept as they are. */
void convert_add(struct convert_fields *f, struct str name, struct str value);

/* Whether HTTP/1.1 can say it in one line, and a proxy may pass it on. */
bool convert_is_regular(const struct field *f);

struct convert_request {
	const struct convert_fields *fields;
	bool ended;	/* no body follows */
	struct str key; /* Sec-WebSocket-Key of an extended CONNECT (RFC 8441) */
};

/*
 * Writes the head to `to`, which has room for HTTP_HEAD_MAX bytes, and fills *ret with slices of
 * it. Returns its length; a body without a length is to be sent in chunks (ret->chunked). An
 * extended CONNECT becomes a GET with Upgrade. Otherwise:
 *
 *	-EBADMSG	it is malformed
 *	-E2BIG		it has too many bytes
 *	-ENOBUFS	it has more than HTTP_HEADERS_MAX fields
 *	-EPROTONOSUPPORT an extended CONNECT to something other than a WebSocket
 */
int convert_request(const struct convert_request *r, char *to, struct http_head *ret);
