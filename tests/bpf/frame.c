/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bpf/frame.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"

const uint8_t frame_client_mac[6] = { 2, 0, 0, 0, 2, 1 };
const uint8_t frame_our_mac[6] = { 2, 0, 0, 0, 2, 2 };

void frame_put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

uint16_t frame_get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* Of 16-bit words in network order, as RFC 1071 has it. */
static uint32_t sum(const uint8_t *bytes, size_t size, uint32_t start)
{
	for (size_t i = 0; i < size; i++)
		start += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	return start;
}

uint16_t frame_checksum(const uint8_t *bytes, size_t size, uint32_t start)
{
	uint32_t s = sum(bytes, size, start);

	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

static struct addr address(const char *text)
{
	struct addr a;
	int r = addr_parse(text, &a);

	assert(r == 0);
	(void)r;
	return a;
}

static uint32_t pseudo_header(const struct addr *from, const struct addr *to, uint8_t protocol,
			      size_t size)
{
	return sum(from->bytes, 16, 0) + sum(to->bytes, 16, 0) + protocol + (uint32_t)size;
}

/* TCP, UDP, or bytes of anything else. */
static size_t put_transport(const struct frame_spec *s, const struct addr *from,
			    const struct addr *to, uint8_t *at)
{
	size_t header = s->protocol == IPPROTO_TCP ? 20 : 8, size = header + s->payload;
	size_t checksum = s->protocol == IPPROTO_TCP ? 16 : 6;

	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(i * 7 + 3);
	if (s->protocol != IPPROTO_TCP && s->protocol != IPPROTO_UDP)
		return size;
	memset(at, 0, header);
	frame_put16(at, s->source_port);
	frame_put16(at + 2, s->destination_port);
	if (s->protocol == IPPROTO_TCP) {
		at[12] = 5 << 4;
		at[13] = s->opens ? 0x02 : 0x10;
	} else {
		frame_put16(at + 4, (uint16_t)size);
	}
	frame_put16(at + checksum,
		    frame_checksum(at, size, pseudo_header(from, to, s->protocol, size)));
	return size;
}

static size_t put_ip4(const struct frame_spec *s, const struct addr *from, const struct addr *to,
		      uint8_t *at)
{
	size_t header = 20 + s->options;
	size_t size = header + put_transport(s, from, to, at + header);

	memset(at, 0, 20);
	memset(at + 20, 1, s->options); /* no-operation */
	at[0] = (uint8_t)(0x40 | header / 4);
	at[1] = s->tos;
	frame_put16(at + 2, (uint16_t)size);
	frame_put16(at + 4, s->id);
	frame_put16(at + 6, (uint16_t)((s->df ? 0x4000 : 0) | s->fragment));
	at[8] = s->ttl;
	at[9] = s->protocol;
	memcpy(at + 12, from->bytes, 4);
	memcpy(at + 16, to->bytes, 4);
	frame_put16(at + 10, frame_checksum(at, header, 0));
	return size;
}

static size_t put_ip6(const struct frame_spec *s, const struct addr *from, const struct addr *to,
		      uint8_t *at)
{
	size_t n = s->n_extensions, size = 40 + 8 * n;
	uint8_t *next = at + 6;

	memset(at, 0, size);
	at[0] = (uint8_t)(0x60 | s->tos >> 4);
	at[1] = (uint8_t)(s->tos << 4);
	at[7] = s->ttl;
	memcpy(at + 8, from->bytes, 16);
	memcpy(at + 24, to->bytes, 16);
	for (size_t i = 0; i < n; i++) {
		*next = s->extensions[i];
		next = at + 40 + 8 * i;
		if (s->extensions[i] == IPPROTO_FRAGMENT)
			frame_put16(next + 2, s->fragment);
	}
	*next = s->protocol;
	size += put_transport(s, from, to, at + size);
	frame_put16(at + 4, (uint16_t)(size - 40));
	return size;
}

void frame_build_ip(const struct frame_spec *s, struct frame *ret)
{
	struct addr from = address(s->source), to = address(s->destination);

	ret->size = from.family == AF_INET ? put_ip4(s, &from, &to, ret->bytes)
					   : put_ip6(s, &from, &to, ret->bytes);
	assert(ret->size <= FRAME_MAX);
}

static uint16_t type_of(const char *ip)
{
	return address(ip).family == AF_INET ? 0x0800 : 0x86dd;
}

void frame_build(const struct frame_spec *s, struct frame *ret)
{
	struct frame ip;
	uint8_t *at = ret->bytes;

	frame_build_ip(s, &ip);
	memcpy(at, frame_our_mac, 6);
	memcpy(at + 6, frame_client_mac, 6);
	at += 12;
	for (unsigned i = 0; i < s->tags; i++, at += 4) {
		frame_put16(at, s->tags == 2 && i == 0 ? 0x88a8 : 0x8100);
		frame_put16(at + 2, (uint16_t)(100 + i));
	}
	frame_put16(at, type_of(s->source));
	memcpy(at + 2, ip.bytes, ip.size);
	memset(at + 2 + ip.size, 0xee, s->padding);
	ret->size = (size_t)(at - ret->bytes) + 2 + ip.size + s->padding;
}

static uint8_t *put_link(uint8_t *at, const struct frame_outer *o)
{
	memcpy(at, o->dmac, 6);
	memcpy(at + 6, o->smac, 6);
	at += 12;
	if (o->vlan) {
		frame_put16(at, 0x8100);
		frame_put16(at + 2, o->vlan);
		at += 4;
	}
	frame_put16(at, type_of(o->source));
	return at + 2;
}

static size_t put_outer(const struct frame_spec *inner, const struct frame_outer *o, size_t size,
			uint8_t *at)
{
	struct addr from = address(o->source), to = address(o->destination);
	uint8_t dscp = inner->tos & 0xfc;
	bool v4 = address(inner->source).family == AF_INET;

	memset(at, 0, 40);
	if (from.family == AF_INET6) {
		at[0] = (uint8_t)(0x60 | dscp >> 4);
		at[1] = (uint8_t)(dscp << 4);
		frame_put16(at + 4, (uint16_t)(size + 4));
		at[6] = IPPROTO_GRE;
		at[7] = 64;
		memcpy(at + 8, from.bytes, 16);
		memcpy(at + 24, to.bytes, 16);
		return 40;
	}
	at[0] = 0x45;
	at[1] = dscp;
	frame_put16(at + 2, (uint16_t)(size + 24));
	frame_put16(at + 4, v4 ? inner->id : 0);
	frame_put16(at + 6, v4 && !inner->df ? 0 : 0x4000);
	at[8] = 64;
	at[9] = IPPROTO_GRE;
	memcpy(at + 12, from.bytes, 4);
	memcpy(at + 16, to.bytes, 4);
	frame_put16(at + 10, frame_checksum(at, 20, 0));
	return 20;
}

void frame_wrap_gre(const struct frame_spec *like, const struct frame *ip,
		    const struct frame_outer *o, struct frame *ret)
{
	uint8_t *at = put_link(ret->bytes, o);

	at += put_outer(like, o, ip->size, at);
	frame_put16(at, 0);
	frame_put16(at + 2, type_of(like->source));
	memcpy(at + 4, ip->bytes, ip->size);
	memset(at + 4 + ip->size, 0xee, like->padding);
	ret->size = (size_t)(at - ret->bytes) + 4 + ip->size + like->padding;
}

void frame_expect_gre(const struct frame_spec *inner, const struct frame_outer *o,
		      struct frame *ret)
{
	struct frame_spec lower = *inner;
	struct frame ip;

	lower.ttl--;
	frame_build_ip(&lower, &ip);
	frame_wrap_gre(inner, &ip, o, ret);
}

static size_t put_icmp_ip(const struct frame_icmp *s, const struct addr *from,
			  const struct addr *to, uint8_t *at)
{
	size_t size = 8 + s->quote_size;

	memset(at, 0, 40);
	if (from->family == AF_INET6) {
		at[0] = (uint8_t)(0x60 | s->tos >> 4);
		at[1] = (uint8_t)(s->tos << 4);
		frame_put16(at + 4, (uint16_t)size);
		at[6] = IPPROTO_ICMPV6;
		at[7] = s->ttl;
		memcpy(at + 8, from->bytes, 16);
		memcpy(at + 24, to->bytes, 16);
		return 40;
	}
	at[0] = 0x45;
	at[1] = s->tos;
	frame_put16(at + 2, (uint16_t)(size + 20));
	frame_put16(at + 6, s->df ? 0x4000 : 0);
	at[8] = s->ttl;
	at[9] = IPPROTO_ICMP;
	memcpy(at + 12, from->bytes, 4);
	memcpy(at + 16, to->bytes, 4);
	frame_put16(at + 10, frame_checksum(at, 20, 0));
	return 20;
}

void frame_build_icmp(const struct frame_icmp *s, struct frame *ret)
{
	struct addr from = address(s->source), to = address(s->destination);
	struct frame_outer link = { .source = s->source, .smac = s->smac, .dmac = s->dmac };
	size_t size = 8 + s->quote_size;
	uint8_t *at = put_link(ret->bytes, &link);

	at += put_icmp_ip(s, &from, &to, at);
	memset(at, 0, 8);
	at[0] = s->type;
	at[1] = s->code;
	frame_put16(at + 4, (uint16_t)(s->data >> 16));
	frame_put16(at + 6, (uint16_t)s->data);
	if (s->quote_size)
		memcpy(at + 8, s->quote, s->quote_size);
	frame_put16(at + 2,
		    frame_checksum(at, size,
				   from.family == AF_INET
					   ? 0
					   : pseudo_header(&from, &to, IPPROTO_ICMPV6, size)));
	ret->size = (size_t)(at - ret->bytes) + size;
}
