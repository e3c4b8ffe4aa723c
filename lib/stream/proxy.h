/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy: parses and formats the header of the PROXY protocol, versions 1 (text) and 2 (binary), as
 * specified in HAProxy's proxy-protocol.txt.
 *
 * A proxy sends the header as the first bytes of a connection, before TLS, to pass on the addresses
 * of its client. The functions are pure. Parsing allocates nothing: the texts of the struct are
 * slices of the input.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "base/str.h"

#define STREAM_PROXY_V1_MAX 107 /* bytes of a line, including its CRLF */
/*
 * Bytes of a complete header of version 2. The format allows 64 KiB, but proxies send less than
 * 1 KiB (216 bytes of addresses, a server name, ALPN, the name in a certificate), and it must fit
 * into one peek.
 */
#define STREAM_PROXY_MAX 2048
#define STREAM_PROXY_PATH_MAX 108
#define STREAM_PROXY_ID_MAX 128

/* The kind of addresses in the header. */
enum stream_proxy_kind {
	STREAM_PROXY_NONE, /* UNKNOWN, UNSPEC or LOCAL: use those of the connection itself */
	STREAM_PROXY_IP,
	STREAM_PROXY_UNIX,
};

/* Bits of stream_proxy_ssl.client: TLS between the client and the proxy. */
enum {
	STREAM_PROXY_OVER_TLS = 1,	  /* the client uses TLS */
	STREAM_PROXY_CERT_CONNECTION = 2, /* it sent a certificate on this connection */
	STREAM_PROXY_CERT_SESSION = 4,	  /* it sent one in this TLS session */
};

struct stream_proxy_ssl {
	bool present;
	uint8_t client;	 /* STREAM_PROXY_OVER_TLS, ... */
	uint32_t verify; /* 0: the certificate was verified */
	struct str version, cn, cipher, signature, key;
};

/* A text whose p is NULL is absent. Texts are not validated: they may contain any bytes. */
struct stream_proxy {
	uint8_t version; /* 1 or 2 */
	uint8_t kind;	 /* enum stream_proxy_kind */
	bool local;	 /* version 2: the proxy's own connection, such as a health check */
	bool datagram;	 /* version 2: the client uses UDP or a Unix datagram socket */
	bool checksum;	 /* version 2: has a CRC32c; checked by parse, added by format */
	struct endpoint source, destination;
	struct str source_path, destination_path; /* Unix; without the NULs at the end */
	struct str authority;			  /* the name that the client asked for (SNI) */
	struct str alpn, unique_id;
	struct stream_proxy_ssl ssl;
};

/* Why a header is refused. */
enum stream_proxy_fault {
	STREAM_PROXY_NO_HEADER,	    /* the first bytes are of neither version */
	STREAM_PROXY_TOO_LONG,	    /* past STREAM_PROXY_V1_MAX or STREAM_PROXY_MAX */
	STREAM_PROXY_BAD_LINE,	    /* version 1: missing or superfluous words */
	STREAM_PROXY_BAD_FAMILY,    /* unknown address family or transport */
	STREAM_PROXY_BAD_ADDRESS,   /* version 1: not an address, or of the wrong family */
	STREAM_PROXY_BAD_PORT,	    /* version 1: not 0 to 65535 without leading zeros */
	STREAM_PROXY_BAD_COMMAND,   /* version 2: another version, or not LOCAL or PROXY */
	STREAM_PROXY_SHORT_ADDRESS, /* version 2: ends within the addresses */
	STREAM_PROXY_BAD_FIELD,	    /* version 2: a TLV past the end, repeated, or of wrong size */
	STREAM_PROXY_BAD_CHECKSUM,
	STREAM_PROXY_FAULTS,
};

/*
 * Parses the header at the start of in, which may end within the header or continue after it.
 * Returns the length of the header in bytes, -EAGAIN if more bytes are needed (never with
 * STREAM_PROXY_MAX bytes), or -EPROTO with *ret_fault. A malformed header is refused as early as
 * possible. *ret is set only if a length is returned; its slices point into in. After the command
 * LOCAL the rest is skipped; TLVs of unknown types are skipped as well.
 */
ssize_t stream_proxy_parse(struct str in, struct stream_proxy *ret,
			   enum stream_proxy_fault *ret_fault);
/* For example "the PROXY header is too long". */
const char *stream_proxy_fault_word(enum stream_proxy_fault fault);

/*
 * Appends the header to *out. Version 1 can express only TCP over IP: all else becomes UNKNOWN, and
 * the fields after the addresses are left out. -EINVAL for an unknown version, addresses of
 * different families or a text that is too long for its field, -EMSGSIZE above STREAM_PROXY_MAX;
 * the content of *out is unchanged then.
 */
int stream_proxy_format(const struct stream_proxy *h, struct buf *out);
