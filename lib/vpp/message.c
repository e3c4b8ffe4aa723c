/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/vpp/message.h"

#include <assert.h>

/* VPP's address families (ip_types.api), not the kernel's. */
enum { FAMILY_IP4, FAMILY_IP6 };

#define LENGTH_AT 8 /* offset in the header; VPP ignores the other bytes and sends garbage there */

static void store_u32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

void vpp_put_u8(struct buf *b, uint8_t v)
{
	buf_add(b, &v, sizeof(v));
}

void vpp_put_u16(struct buf *b, uint16_t v)
{
	const uint8_t bytes[] = { (uint8_t)(v >> 8), (uint8_t)v };

	buf_add(b, bytes, sizeof(bytes));
}

void vpp_put_u32(struct buf *b, uint32_t v)
{
	uint8_t bytes[4];

	store_u32(bytes, v);
	buf_add(b, bytes, sizeof(bytes));
}

void vpp_put_addr(struct buf *b, const struct addr *a)
{
	assert(addr_is_set(a));
	vpp_put_u8(b, a->family == AF_INET6 ? FAMILY_IP6 : FAMILY_IP4);
	buf_add(b, a->bytes, sizeof(a->bytes));
}

void vpp_put_prefix(struct buf *b, const struct addr *a, uint8_t length)
{
	assert(length <= (a->family == AF_INET6 ? 128 : 32));
	vpp_put_addr(b, a);
	vpp_put_u8(b, length);
}

void vpp_put_name(struct buf *b, const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	buf_add(b, text, n);
	for (; n < size; n++)
		vpp_put_u8(b, 0);
}

void vpp_put_text(struct buf *b, struct str text)
{
	assert(text.n <= UINT32_MAX);
	vpp_put_u32(b, (uint32_t)text.n);
	buf_add(b, text.p, text.n);
}

size_t vpp_frame_begin(struct buf *b)
{
	static const uint8_t header[VPP_HEADER_SIZE];

	buf_add(b, header, sizeof(header));
	return b->n - sizeof(header);
}

void vpp_frame_end(struct buf *b, size_t begin)
{
	size_t length = b->n - begin - VPP_HEADER_SIZE;

	assert(length <= UINT32_MAX);
	store_u32((uint8_t *)b->p + begin + LENGTH_AT, (uint32_t)length);
}

/* The next n bytes. NULL if there are fewer; the reader then stays bad. */
static const uint8_t *take(struct vpp_reader *r, size_t n)
{
	const uint8_t *p = r->p;

	if (r->bad || n > r->n) {
		*r = (struct vpp_reader){ .bad = true };
		return NULL;
	}
	r->p += n;
	r->n -= n;
	return p;
}

uint8_t vpp_get_u8(struct vpp_reader *r)
{
	const uint8_t *p = take(r, 1);

	return p ? *p : 0;
}

uint16_t vpp_get_u16(struct vpp_reader *r)
{
	const uint8_t *p = take(r, 2);

	return p ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

uint32_t vpp_get_u32(struct vpp_reader *r)
{
	const uint8_t *p = take(r, 4);

	return p ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
}

int32_t vpp_get_i32(struct vpp_reader *r)
{
	return (int32_t)vpp_get_u32(r);
}

struct str vpp_get_bytes(struct vpp_reader *r, size_t n)
{
	const uint8_t *p = take(r, n);

	return p ? (struct str){ (const char *)p, n } : STR("");
}

struct str vpp_get_name(struct vpp_reader *r, size_t size)
{
	struct str s = vpp_get_bytes(r, size);

	return (struct str){ s.p, strnlen(s.p, s.n) };
}

struct str vpp_get_text(struct vpp_reader *r)
{
	uint32_t n = vpp_get_u32(r);

	return vpp_get_bytes(r, n);
}

struct addr vpp_get_addr(struct vpp_reader *r)
{
	uint8_t family = vpp_get_u8(r);
	const uint8_t *bytes = take(r, 16);
	struct addr a = { .family = family == FAMILY_IP6 ? AF_INET6 : AF_INET };

	if (!bytes || family > FAMILY_IP6) {
		r->bad = true;
		return (struct addr){ 0 };
	}
	memcpy(a.bytes, bytes, family == FAMILY_IP6 ? 16 : 4);
	return a;
}

struct addr vpp_get_prefix(struct vpp_reader *r, uint8_t *ret_length)
{
	struct addr a = vpp_get_addr(r);

	*ret_length = vpp_get_u8(r);
	return a;
}
