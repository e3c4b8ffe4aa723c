/* SPDX-License-Identifier: Apache-2.0 */
/* proxy: the constants of version 2, for proxy.c (parsing) and proxy_format.c (formatting). */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define PROXY__SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define PROXY__SIGNATURE_SIZE 12
#define PROXY__HEAD 16 /* signature, command, family, length */
#define PROXY__VERSION 0x20
#define PROXY__IPV4 12 /* bytes of two addresses and two ports */
#define PROXY__IPV6 36
#define PROXY__UNIX 216 /* bytes of two paths */
#define PROXY__FIELD 3	/* type and length of a TLV */
#define PROXY__SSL 5	/* bytes in the value of PP2_TYPE_SSL before its nested TLVs */

enum { PROXY__LOCAL = 0, PROXY__PROXY = 1 };
enum { PROXY__UNSPEC = 0, PROXY__INET = 1, PROXY__INET6 = 2, PROXY__PATHS = 3 };
enum { PROXY__STREAM = 1, PROXY__DGRAM = 2 };

/* Types of TLVs; from 0x21 on those nested in PROXY__TLS. */
enum stream__proxy_type {
	PROXY__ALPN = 0x01,
	PROXY__AUTHORITY = 0x02,
	PROXY__CRC32C = 0x03,
	PROXY__UNIQUE_ID = 0x05,
	PROXY__TLS = 0x20,
	PROXY__TLS_VERSION = 0x21,
	PROXY__TLS_CN = 0x22,
	PROXY__TLS_CIPHER = 0x23,
	PROXY__TLS_SIGNATURE = 0x24,
	PROXY__TLS_KEY = 0x25,
};

/* CRC32c (Castagnoli) of a header. The four bytes at hole, the checksum's own, count as zero. */
uint32_t stream__proxy_checksum(struct str header, size_t hole);
