/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy: the header of the PROXY protocol, versions 1 (text) and 2 (binary), read and written.
 *
 * A proxy sends it as the first bytes of a connection, before TLS, and so passes on the addresses
 * of the client that it serves. Pure: bytes in, struct out, and back. Nothing is allocated while
 * reading; the texts of the struct are slices of the input.
 *
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "base/str.h"

#define STREAM_PROXY_V1_MAX 107 /* bytes of a line, with its CRLF */
/*
 * Bytes of a whole header of version 2. The format allows 64 KiB; what proxies send is below 1 KiB
 * (216 of addresses, a name, an ALPN, a certificate's name), and it must fit into a peek.
 */
#define STREAM_PROXY_MAX 2048
#define STREAM_PROXY_PATH_MAX 108
#define STREAM_PROXY_ID_MAX 128

/* Whose addresses the header has. */
enum stream_proxy_kind {
	STREAM_PROXY_NONE, /* UNKNOWN, UNSPEC or LOCAL: those of the connection itself count */
	STREAM_PROXY_IP,
	STREAM_PROXY_UNIX,
};

/* What the client's side of the proxy told about TLS. */
enum {
	STREAM_PROXY_OVER_TLS = 1,	  /* the client uses TLS */
	STREAM_PROXY_CERT_CONNECTION = 2, /* it showed a certificate on this connection */
	STREAM_PROXY_CERT_SESSION = 4,	  /* it showed one in this TLS session */
};

struct stream_proxy_ssl {
	bool present;
	uint8_t client;	 /* STREAM_PROXY_OVER_TLS, ... */
	uint32_t verify; /* 0: the certificate was verified */
	struct str version, cn, cipher, signature, key;
};

/* A slice without memory (p is NULL) is absent. Texts are as sent: any bytes can be in them. */
struct stream_proxy {
	uint8_t version; /* 1 or 2 */
	uint8_t kind;	 /* enum stream_proxy_kind */
	bool local;	 /* version 2: from the proxy itself, such as a health check */
	bool datagram;	 /* version 2: the client spoke UDP, or a Unix socket of that type */
	bool checksum;	 /* version 2: CRC32c; checked when read, added when written */
	struct endpoint source, destination;
	struct str source_path, destination_path; /* Unix; without the NULs at the end */
	struct str authority;			  /* the name that the client asked for (SNI) */
	struct str alpn, unique_id;
	struct stream_proxy_ssl ssl;
};

/* Ways to be malformed. */
enum stream_proxy_fault {
	STREAM_PROXY_NO_HEADER,	    /* the first bytes are of neither version */
	STREAM_PROXY_TOO_LONG,	    /* past STREAM_PROXY_V1_MAX or STREAM_PROXY_MAX */
	STREAM_PROXY_BAD_LINE,	    /* version 1: not the words that are due */
	STREAM_PROXY_BAD_FAMILY,    /* not one of the families and transports that exist */
	STREAM_PROXY_BAD_ADDRESS,   /* version 1: no address, or one of the other family */
	STREAM_PROXY_BAD_PORT,	    /* version 1: not 0 to 65535 without leading zeros */
	STREAM_PROXY_BAD_COMMAND,   /* version 2: another version, or not LOCAL or PROXY */
	STREAM_PROXY_SHORT_ADDRESS, /* version 2: ends within the addresses */
	STREAM_PROXY_BAD_FIELD,	    /* version 2: a TLV past the end, twice, or of a wrong size */
	STREAM_PROXY_BAD_CHECKSUM,
	STREAM_PROXY_FAULTS,
};

/*
 * Reads a header from the start of `in`, which may be a part of it or go on after it. Its length in
 * bytes; -EAGAIN when more is needed (never at STREAM_PROXY_MAX bytes); -EPROTO with *ret_fault.
 * A malformed header is refused at its first wrong byte where that can be told. *ret is untouched
 * unless a length is returned; its slices live as `in` does. Of LOCAL only the command counts: the
 * rest is skipped, as are fields (TLVs) of unknown types.
 */
ssize_t stream_proxy_parse(struct str in, struct stream_proxy *ret,
			   enum stream_proxy_fault *ret_fault);
/* "the PROXY header is too long" */
const char *stream_proxy_fault_word(enum stream_proxy_fault fault);

/*
 * Appends the header. Version 1 knows TCP over IP alone, everything else becomes UNKNOWN, and has
 * none of the fields after the addresses. -EINVAL for an unknown version, addresses of two
 * families or a text that is too long for its field, -EMSGSIZE above STREAM_PROXY_MAX; *out is
 * untouched then.
 */
int stream_proxy_format(const struct stream_proxy *h, struct buf *out);
