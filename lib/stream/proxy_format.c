/* SPDX-License-Identifier: Apache-2.0 */
/* proxy: formats the header of the PROXY protocol, and computes its checksum. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/stream/proxy.h"
#include "lib/stream/proxy_private.h"

#define CRC32C_POLYNOMIAL 0x82f63b78u /* Castagnoli, bits reversed */
#define TEXT_MAX 0xffff

/* Bit by bit, without a table: headers with a checksum are rare and short. */
static uint32_t crc_byte(uint32_t crc, unsigned byte)
{
	crc ^= byte;
	for (int i = 0; i < 8; i++)
		crc = crc >> 1 ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
	return crc;
}

uint32_t stream__proxy_checksum(struct str header, size_t hole)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < header.n; i++) {
		bool zero = i >= hole && i < hole + 4;

		crc = crc_byte(crc, zero ? 0 : (unsigned char)header.p[i]);
	}
	return ~crc;
}

/* ---- version 1 ---- */

static bool is_tcp(const struct stream_proxy *h)
{
	return h->kind == STREAM_PROXY_IP && !h->local && !h->datagram;
}

static void format_line(const struct stream_proxy *h, struct buf *out)
{
	char source[ADDR_STRLEN], destination[ADDR_STRLEN];

	if (!is_tcp(h)) {
		buf_adds(out, "PROXY UNKNOWN\r\n");
		return;
	}
	buf_printf(out, "PROXY %s %s %s %u %u\r\n",
		   h->source.addr.family == AF_INET ? "TCP4" : "TCP6",
		   addr_format(&h->source.addr, source),
		   addr_format(&h->destination.addr, destination), (unsigned)h->source.port,
		   (unsigned)h->destination.port);
}

/* ---- version 2 ---- */

static void add_u8(struct buf *out, unsigned v)
{
	buf_addc(out, (char)v);
}

static void add_u16(struct buf *out, size_t v)
{
	add_u8(out, v >> 8 & 0xff);
	add_u8(out, v & 0xff);
}

static void add_u32(struct buf *out, uint32_t v)
{
	add_u16(out, v >> 16);
	add_u16(out, v & 0xffff);
}

static void put_u16(struct buf *out, size_t at, size_t v)
{
	out->p[at] = (char)(v >> 8 & 0xff);
	out->p[at + 1] = (char)(v & 0xff);
}

static void put_u32(struct buf *out, size_t at, uint32_t v)
{
	put_u16(out, at, v >> 16);
	put_u16(out, at + 2, v & 0xffff);
}

static unsigned family_of(const struct stream_proxy *h)
{
	unsigned transport = h->datagram ? PROXY__DGRAM : PROXY__STREAM;

	if (h->local || h->kind == STREAM_PROXY_NONE)
		return PROXY__UNSPEC;
	if (h->kind == STREAM_PROXY_UNIX)
		return PROXY__PATHS << 4 | transport;
	if (h->source.addr.family == AF_INET)
		return PROXY__INET << 4 | transport;
	return PROXY__INET6 << 4 | transport;
}

static void add_path(struct buf *out, struct str path)
{
	static const char zeros[STREAM_PROXY_PATH_MAX];

	buf_add(out, path.p ? path.p : "", path.n);
	buf_add(out, zeros, sizeof(zeros) - path.n);
}

static void add_addresses(struct buf *out, const struct stream_proxy *h)
{
	size_t n = h->source.addr.family == AF_INET ? 4 : 16;

	if (h->kind == STREAM_PROXY_UNIX) {
		add_path(out, h->source_path);
		add_path(out, h->destination_path);
	}
	if (h->kind != STREAM_PROXY_IP)
		return;
	buf_add(out, h->source.addr.bytes, n);
	buf_add(out, h->destination.addr.bytes, n);
	add_u16(out, h->source.port);
	add_u16(out, h->destination.port);
}

static void add_field(struct buf *out, enum stream__proxy_type type, struct str value)
{
	if (!value.p)
		return;
	add_u8(out, type);
	add_u16(out, value.n);
	buf_add(out, value.p, value.n);
}

static void add_tls(struct buf *out, const struct stream_proxy_ssl *ssl)
{
	size_t start = out->n;

	if (!ssl->present)
		return;
	add_u8(out, PROXY__TLS);
	add_u16(out, 0);
	add_u8(out, ssl->client);
	add_u32(out, ssl->verify);
	add_field(out, PROXY__TLS_VERSION, ssl->version);
	add_field(out, PROXY__TLS_CN, ssl->cn);
	add_field(out, PROXY__TLS_CIPHER, ssl->cipher);
	add_field(out, PROXY__TLS_SIGNATURE, ssl->signature);
	add_field(out, PROXY__TLS_KEY, ssl->key);
	put_u16(out, start + 1, out->n - start - PROXY__FIELD);
}

/* Everything after the length. LOCAL has nothing there, because receivers skip it. */
static void add_block(struct buf *out, const struct stream_proxy *h)
{
	if (h->local)
		return;
	add_addresses(out, h);
	add_field(out, PROXY__ALPN, h->alpn);
	add_field(out, PROXY__AUTHORITY, h->authority);
	add_field(out, PROXY__UNIQUE_ID, h->unique_id);
	add_tls(out, &h->ssl);
	if (h->checksum)
		add_field(out, PROXY__CRC32C, (struct str){ "\0\0\0\0", 4 });
}

/* Length and checksum are filled in at the end; the checksum is the last field. */
static int format_block(const struct stream_proxy *h, struct buf *out)
{
	size_t start = out->n, n;

	buf_add(out, PROXY__SIGNATURE, PROXY__SIGNATURE_SIZE);
	add_u8(out, PROXY__VERSION | (h->local ? PROXY__LOCAL : PROXY__PROXY));
	add_u8(out, family_of(h));
	add_u16(out, 0);
	add_block(out, h);
	n = out->n - start;
	if (n > STREAM_PROXY_MAX) {
		out->n = start;
		return -EMSGSIZE;
	}
	put_u16(out, start + 14, n - PROXY__HEAD);
	if (h->checksum && !h->local)
		put_u32(out, out->n - 4,
			stream__proxy_checksum((struct str){ out->p + start, n }, n - 4));
	return 0;
}

/* ---- public ---- */

/* Texts must fit into their fields, and both addresses must be of one family. */
static bool is_valid(const struct stream_proxy *h)
{
	const struct str texts[] = { h->authority,  h->alpn,	      h->ssl.version, h->ssl.cn,
				     h->ssl.cipher, h->ssl.signature, h->ssl.key };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].n > TEXT_MAX)
			return false;
	if (h->source_path.n > STREAM_PROXY_PATH_MAX ||
	    h->destination_path.n > STREAM_PROXY_PATH_MAX || h->unique_id.n > STREAM_PROXY_ID_MAX)
		return false;
	if (h->kind != STREAM_PROXY_IP)
		return true;
	return h->source.addr.family == h->destination.addr.family && addr_is_set(&h->source.addr);
}

int stream_proxy_format(const struct stream_proxy *h, struct buf *out)
{
	assert(h && out);
	if (h->version < 1 || h->version > 2 || !is_valid(h))
		return -EINVAL;
	if (h->version == 2)
		return format_block(h, out);
	format_line(h, out);
	return 0;
}
