/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello: what a TLS client says in its first message, read without taking part in the connection.
 *
 * The caller collects the first bytes of a connection and asks after each piece. The message may
 * come in any number of pieces and of records. Pure: no OpenSSL, no socket.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TLS_HELLO_MAX ((size_t)16384) /* bytes of a connection that the message may take */
#define TLS_HELLO_NAME 255
#define TLS_HELLO_PROTOCOLS 128

/* Zeroed before the first call. */
struct tls_hello {
	char name[TLS_HELLO_NAME + 1]; /* of the server (SNI), in lower case; "" if not given */
	char protocols[TLS_HELLO_PROTOCOLS]; /* ALPN, ',' between; those that do not fit are left
						out */
	unsigned version; /* the highest that is offered: 0x0303 is TLS 1.2, 0x0304 is TLS 1.3 */
	/* the rest is private: where the next call goes on */
	size_t record; /* offset of the header of the record that was looked at last */
	size_t before; /* bytes of the message in the records before it */
};

/*
 * p are all bytes of the connection so far, those of the call before included. Returns 1 if the
 * message is complete: name, protocols and version are set then. 0: more bytes are needed. -EPROTO:
 * the connection does not begin with TLS. -EBADMSG: the message is malformed. -E2BIG: it does not
 * fit in TLS_HELLO_MAX.
 */
int tls_hello_look(struct tls_hello *h, const void *p, size_t n);
