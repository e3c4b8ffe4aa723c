/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: builds packets as the standards say, byte by byte and without a look at the program under
 * test, both what goes in and what is to come out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 4096

struct frame_spec {
	const char *source, *destination; /* of one family, which is the packet's */
	uint8_t protocol;
	uint16_t source_port, destination_port;
	uint8_t ttl, tos;
	bool df;
	bool opens; /* TCP: SYN instead of ACK */
	uint16_t id;
	uint16_t fragment;     /* the 16 bits of the IPv4 header, or of an IPv6 fragment header */
	unsigned payload;      /* bytes behind the TCP or UDP header */
	unsigned options;      /* bytes of IPv4 options */
	uint8_t extensions[8]; /* kinds of IPv6 extension headers, of 8 bytes each */
	unsigned n_extensions;
	unsigned tags;	  /* VLAN tags */
	unsigned padding; /* bytes behind the IP packet */
};

struct frame {
	uint8_t bytes[FRAME_MAX];
	size_t size;
};

extern const uint8_t frame_client_mac[6], frame_our_mac[6];

void frame_build(const struct frame_spec *spec, struct frame *ret);
/* Without Ethernet header, tags and padding. */
void frame_build_ip(const struct frame_spec *spec, struct frame *ret);

struct frame_outer {
	const char *source, *destination;
	const uint8_t *smac, *dmac;
	uint16_t vlan; /* 0: no tag */
};
/* An IP packet in GRE; like has the fields of its header that the outer one depends on. */
void frame_wrap_gre(const struct frame_spec *like, const struct frame *ip,
		    const struct frame_outer *outer, struct frame *ret);
/* What a server gets for a packet: one hop less, in GRE. */
void frame_expect_gre(const struct frame_spec *inner, const struct frame_outer *outer,
		      struct frame *ret);

/* An ICMP or ICMPv6 message with an Ethernet header; the body is behind type, code and checksum. */
struct frame_icmp {
	const char *source, *destination;
	const uint8_t *smac, *dmac;
	uint8_t ttl, tos, type, code;
	bool df;
	uint32_t data;
	const uint8_t *quote;
	size_t quote_size;
};
void frame_build_icmp(const struct frame_icmp *spec, struct frame *ret);

uint16_t frame_checksum(const uint8_t *bytes, size_t size, uint32_t sum);
void frame_put16(uint8_t *at, uint16_t value);
uint16_t frame_get16(const uint8_t *at);
