/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy: parses the header of the PROXY protocol.
 *
 * The first bytes show the version: "PROXY " or a signature of 12 bytes that no other protocol
 * begins with. Version 1 is one line; version 2 has a length, addresses of a fixed size and fields
 * (type, length, value). The input arrives in pieces, so each function first checks that the bytes
 * it needs are there. struct cursor goes over the bytes of a complete header and never past them.
 *
 * The input is not trusted: the port may be reachable by others than the proxy. Each fault has its
 * own value, so that the log can distinguish a misconfigured proxy from a client that connected
 * directly.
 */
#include "lib/stream/proxy.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/stream/proxy_private.h"

#define LINE_START "PROXY "
#define PORT_MAX 65535

static const char *const fault_words[STREAM_PROXY_FAULTS] = {
	[STREAM_PROXY_NO_HEADER] = "there is no PROXY header",
	[STREAM_PROXY_TOO_LONG] = "the PROXY header is too long",
	[STREAM_PROXY_BAD_LINE] = "the line of the PROXY header is malformed",
	[STREAM_PROXY_BAD_FAMILY] = "the PROXY header has an unknown address family",
	[STREAM_PROXY_BAD_ADDRESS] = "the PROXY header has a malformed address",
	[STREAM_PROXY_BAD_PORT] = "the PROXY header has a malformed port",
	[STREAM_PROXY_BAD_COMMAND] = "the PROXY header has an unknown version or command",
	[STREAM_PROXY_SHORT_ADDRESS] = "the PROXY header ends within its addresses",
	[STREAM_PROXY_BAD_FIELD] = "the PROXY header has a malformed field",
	[STREAM_PROXY_BAD_CHECKSUM] = "the PROXY header has a wrong checksum",
};

/* All functions below return 0, or -EPROTO with the fault. */
static int refuse(enum stream_proxy_fault *ret_fault, enum stream_proxy_fault fault)
{
	*ret_fault = fault;
	return -EPROTO;
}

/* ---- version 1 ---- */

/* Parses the next word of the line, which must be followed by exactly one space. */
static int read_addr(struct str *rest, uint8_t family, struct addr *ret,
		     enum stream_proxy_fault *ret_fault)
{
	char text[ADDR_STRLEN];
	struct str word;

	if (!str_cut(rest, ' ', &word))
		return refuse(ret_fault, STREAM_PROXY_BAD_LINE);
	if (word.n >= sizeof(text) || memchr(word.p, '\0', word.n))
		return refuse(ret_fault, STREAM_PROXY_BAD_ADDRESS);
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	if (addr_parse(text, ret) < 0 || ret->family != family)
		return refuse(ret_fault, STREAM_PROXY_BAD_ADDRESS);
	return 0;
}

static int read_port(struct str word, uint16_t *ret, enum stream_proxy_fault *ret_fault)
{
	uint64_t port;

	if (word.n > 1 && word.p[0] == '0')
		return refuse(ret_fault, STREAM_PROXY_BAD_PORT);
	if (str_to_u64(word, PORT_MAX, &port) < 0)
		return refuse(ret_fault, STREAM_PROXY_BAD_PORT);
	*ret = (uint16_t)port;
	return 0;
}

static int read_endpoints(struct str rest, uint8_t family, struct stream_proxy *h,
			  enum stream_proxy_fault *ret_fault)
{
	struct str port;
	int r = read_addr(&rest, family, &h->source.addr, ret_fault);

	if (r == 0)
		r = read_addr(&rest, family, &h->destination.addr, ret_fault);
	if (r < 0)
		return r;
	if (!str_cut(&rest, ' ', &port))
		return refuse(ret_fault, STREAM_PROXY_BAD_LINE);
	r = read_port(port, &h->source.port, ret_fault);
	if (r == 0)
		r = read_port(rest, &h->destination.port, ret_fault);
	h->kind = STREAM_PROXY_IP;
	return r;
}

/* line is without its CRLF. After UNKNOWN the specification allows anything. */
static int read_line(struct str line, struct stream_proxy *h, enum stream_proxy_fault *ret_fault)
{
	struct str rest = { line.p + strlen(LINE_START), line.n - strlen(LINE_START) };
	struct str family;

	h->version = 1;
	if (!str_cut(&rest, ' ', &family))
		return refuse(ret_fault, STREAM_PROXY_BAD_LINE);
	if (str_eq(family, STR("UNKNOWN")))
		return 0;
	if (str_eq(family, STR("TCP4")))
		return read_endpoints(rest, AF_INET, h, ret_fault);
	if (str_eq(family, STR("TCP6")))
		return read_endpoints(rest, AF_INET6, h, ret_fault);
	return refuse(ret_fault, STREAM_PROXY_BAD_FAMILY);
}

static ssize_t parse_line(struct str in, struct stream_proxy *h, enum stream_proxy_fault *ret_fault)
{
	size_t n = in.n < STREAM_PROXY_V1_MAX ? in.n : STREAM_PROXY_V1_MAX;
	const char *end = memchr(in.p, '\r', n);
	int r;

	/* a CR at the last allowed position has no room for its LF */
	if (!end || end == in.p + STREAM_PROXY_V1_MAX - 1) {
		if (n < STREAM_PROXY_V1_MAX)
			return -EAGAIN;
		return refuse(ret_fault, STREAM_PROXY_TOO_LONG);
	}
	if (end + 1 == in.p + n)
		return -EAGAIN;
	if (end[1] != '\n')
		return refuse(ret_fault, STREAM_PROXY_BAD_LINE);
	r = read_line((struct str){ in.p, (size_t)(end - in.p) }, h, ret_fault);
	return r < 0 ? r : end + 2 - in.p;
}

/* ---- version 2 ---- */

/* The bytes that are left to parse. */
struct cursor {
	const char *p;
	size_t n;
};

static unsigned byte_at(const char *p)
{
	return (unsigned char)*p;
}

static unsigned u16_at(const char *p)
{
	return byte_at(p) << 8 | byte_at(p + 1);
}

static uint32_t u32_at(const char *p)
{
	return (uint32_t)u16_at(p) << 16 | u16_at(p + 2);
}

/* Takes n bytes; the caller has checked that they are there. */
static const char *take(struct cursor *c, size_t n)
{
	const char *p = c->p;

	assert(n <= c->n);
	c->p += n;
	c->n -= n;
	return p;
}

static struct addr take_addr(struct cursor *c, uint8_t family)
{
	struct addr a = { .family = family };
	size_t n = family == AF_INET ? 4 : 16;

	memcpy(a.bytes, take(c, n), n);
	return a;
}

static void take_endpoints(struct cursor *c, uint8_t family, struct stream_proxy *h)
{
	h->kind = STREAM_PROXY_IP;
	h->source.addr = take_addr(c, family);
	h->destination.addr = take_addr(c, family);
	h->source.port = (uint16_t)u16_at(take(c, 2));
	h->destination.port = (uint16_t)u16_at(take(c, 2));
}

/* Only NULs at the end are removed, because an abstract name begins with one. */
static struct str take_path(struct cursor *c)
{
	struct str s = { take(c, STREAM_PROXY_PATH_MAX), STREAM_PROXY_PATH_MAX };

	while (s.n && !s.p[s.n - 1])
		s.n--;
	return s;
}

static int read_addresses(struct cursor *c, unsigned family, struct stream_proxy *h,
			  enum stream_proxy_fault *ret_fault)
{
	static const size_t sizes[] = {
		[PROXY__UNSPEC] = 0,
		[PROXY__INET] = PROXY__IPV4,
		[PROXY__INET6] = PROXY__IPV6,
		[PROXY__PATHS] = PROXY__UNIX,
	};

	if (c->n < sizes[family])
		return refuse(ret_fault, STREAM_PROXY_SHORT_ADDRESS);
	if (family == PROXY__INET)
		take_endpoints(c, AF_INET, h);
	if (family == PROXY__INET6)
		take_endpoints(c, AF_INET6, h);
	if (family == PROXY__PATHS) {
		h->kind = STREAM_PROXY_UNIX;
		h->source_path = take_path(c);
		h->destination_path = take_path(c);
	}
	return 0;
}

/* Takes a TLV; false if its length goes past the end. */
static bool take_field(struct cursor *c, unsigned *ret_type, struct str *ret_value)
{
	if (c->n < PROXY__FIELD || c->n - PROXY__FIELD < u16_at(c->p + 1))
		return false;
	*ret_type = byte_at(c->p);
	ret_value->n = u16_at(c->p + 1);
	take(c, PROXY__FIELD);
	ret_value->p = take(c, ret_value->n);
	return true;
}

/* A repeated field is refused, because another parser might use the other of the two. */
static bool keep_once(struct str *field, struct str value)
{
	if (field->p)
		return false;
	*field = value;
	return true;
}

static struct str *tls_field(struct stream_proxy_ssl *ssl, unsigned type)
{
	switch (type) {
	case PROXY__TLS_VERSION:
		return &ssl->version;
	case PROXY__TLS_CN:
		return &ssl->cn;
	case PROXY__TLS_CIPHER:
		return &ssl->cipher;
	case PROXY__TLS_SIGNATURE:
		return &ssl->signature;
	case PROXY__TLS_KEY:
		return &ssl->key;
	default:
		return NULL;
	}
}

static bool read_tls(struct str value, struct stream_proxy_ssl *ssl)
{
	struct cursor c = { value.p, value.n };
	struct str *field;
	unsigned type;

	if (ssl->present || c.n < PROXY__SSL)
		return false;
	ssl->present = true;
	ssl->client = (uint8_t)byte_at(take(&c, 1));
	ssl->verify = u32_at(take(&c, 4));
	while (c.n) {
		if (!take_field(&c, &type, &value))
			return false;
		field = tls_field(ssl, type);
		if (field && !keep_once(field, value))
			return false;
	}
	return true;
}

/* False if the field is malformed. Unknown types and padding are skipped. */
static bool read_field(unsigned type, struct str value, struct stream_proxy *h, struct str *crc)
{
	switch (type) {
	case PROXY__ALPN:
		return keep_once(&h->alpn, value);
	case PROXY__AUTHORITY:
		return keep_once(&h->authority, value);
	case PROXY__UNIQUE_ID:
		return value.n <= STREAM_PROXY_ID_MAX && keep_once(&h->unique_id, value);
	case PROXY__CRC32C:
		return value.n == 4 && keep_once(crc, value);
	case PROXY__TLS:
		return read_tls(value, &h->ssl);
	default:
		return true;
	}
}

/* The checksum covers the whole header, so it is verified after the last field. */
static int read_fields(struct cursor *c, struct str header, struct stream_proxy *h,
		       enum stream_proxy_fault *ret_fault)
{
	struct str value, crc = { 0 };
	unsigned type;

	while (c->n) {
		if (!take_field(c, &type, &value) || !read_field(type, value, h, &crc))
			return refuse(ret_fault, STREAM_PROXY_BAD_FIELD);
	}
	if (!crc.p)
		return 0;
	h->checksum = true;
	if (stream__proxy_checksum(header, (size_t)(crc.p - header.p)) != u32_at(crc.p))
		return refuse(ret_fault, STREAM_PROXY_BAD_CHECKSUM);
	return 0;
}

/* Valid if both halves are zero (UNSPEC), or if both are known. */
static bool is_family(unsigned family, unsigned transport)
{
	if (family == PROXY__UNSPEC || !transport)
		return !family && !transport;
	return family <= PROXY__PATHS && transport <= PROXY__DGRAM;
}

/* header is complete, and its command is known. */
static int read_block(struct str header, struct stream_proxy *h, enum stream_proxy_fault *ret_fault)
{
	struct cursor c = { header.p + PROXY__HEAD, header.n - PROXY__HEAD };
	unsigned both = byte_at(header.p + 13);
	int r;

	h->version = 2;
	h->local = byte_at(header.p + 12) == (PROXY__VERSION | PROXY__LOCAL);
	if (h->local)
		return 0;
	if (!is_family(both >> 4, both & 0xf))
		return refuse(ret_fault, STREAM_PROXY_BAD_FAMILY);
	h->datagram = (both & 0xf) == PROXY__DGRAM;
	r = read_addresses(&c, both >> 4, h, ret_fault);
	return r < 0 ? r : read_fields(&c, header, h, ret_fault);
}

static ssize_t parse_block(struct str in, struct stream_proxy *h,
			   enum stream_proxy_fault *ret_fault)
{
	size_t n;
	int r;

	if (in.n > 12 && (byte_at(in.p + 12) & ~1u) != PROXY__VERSION)
		return refuse(ret_fault, STREAM_PROXY_BAD_COMMAND);
	if (in.n < PROXY__HEAD)
		return -EAGAIN;
	n = PROXY__HEAD + u16_at(in.p + 14);
	if (n > STREAM_PROXY_MAX)
		return refuse(ret_fault, STREAM_PROXY_TOO_LONG);
	if (in.n < n)
		return -EAGAIN;
	r = read_block((struct str){ in.p, n }, h, ret_fault);
	return r < 0 ? r : (ssize_t)n;
}

/* ---- public ---- */

/* True if in begins with start, or is a prefix of it. */
static bool may_start(struct str in, struct str start)
{
	size_t n = in.n < start.n ? in.n : start.n;

	return memcmp(in.p, start.p, n) == 0;
}

ssize_t stream_proxy_parse(struct str in, struct stream_proxy *ret,
			   enum stream_proxy_fault *ret_fault)
{
	static const struct str line = { LINE_START, sizeof(LINE_START) - 1 };
	static const struct str block = { PROXY__SIGNATURE, PROXY__SIGNATURE_SIZE };
	struct stream_proxy h = { 0 };
	ssize_t r = -EAGAIN;

	assert(ret && ret_fault);
	if (!in.n)
		return -EAGAIN;
	if (may_start(in, line)) {
		if (in.n >= line.n)
			r = parse_line(in, &h, ret_fault);
	} else if (may_start(in, block)) {
		if (in.n >= block.n)
			r = parse_block(in, &h, ret_fault);
	} else {
		return refuse(ret_fault, STREAM_PROXY_NO_HEADER);
	}
	if (r > 0)
		*ret = h;
	return r;
}

const char *stream_proxy_fault_word(enum stream_proxy_fault fault)
{
	assert((size_t)fault < ARRAY_SIZE(fault_words));
	return fault_words[fault];
}
