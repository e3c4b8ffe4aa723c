/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: the encoding of VPP's binary API.
 *
 * A frame is a header of 16 bytes, of which only the length matters, and a message: packed,
 * big-endian, without padding. Messages are written into a struct buf. They are read from a
 * struct vpp_reader, which never reads beyond its bytes: past the end, or at an invalid value, it
 * returns zeros and stays bad. So a decoder reads all fields and checks `bad` once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"

#define VPP_HEADER_SIZE ((size_t)16)
#define VPP_NAME_SIZE ((size_t)64) /* of message and client names; padded with NULs */

/* ---- writing ---- */

void vpp_put_u8(struct buf *b, uint8_t v);
void vpp_put_u16(struct buf *b, uint16_t v);
void vpp_put_u32(struct buf *b, uint32_t v);
/* 17 bytes: the family and the address, padded with zeros. a must be set. */
void vpp_put_addr(struct buf *b, const struct addr *a);
/* 18 bytes: an address and a prefix length, at most 32 or 128. */
void vpp_put_prefix(struct buf *b, const struct addr *a, uint8_t length);
/* Exactly size bytes: as much of text as fits, padded with NULs. */
void vpp_put_name(struct buf *b, const char *text, size_t size);
/* A 32-bit length and that many bytes. */
void vpp_put_text(struct buf *b, struct str text);

/*
 * Appends a frame header and returns its offset. The caller appends the message, then
 * vpp_frame_end() fills in the length.
 */
size_t vpp_frame_begin(struct buf *b);
void vpp_frame_end(struct buf *b, size_t begin);

/* ---- reading ---- */

struct vpp_reader {
	const uint8_t *p;
	size_t n; /* not read yet */
	bool bad;
};

static inline struct vpp_reader vpp_reader_of(const void *p, size_t n)
{
	return (struct vpp_reader){ p, n, false };
}

uint8_t vpp_get_u8(struct vpp_reader *r);
uint16_t vpp_get_u16(struct vpp_reader *r);
uint32_t vpp_get_u32(struct vpp_reader *r);
int32_t vpp_get_i32(struct vpp_reader *r);
/* n bytes, borrowed from the reader's memory. */
struct str vpp_get_bytes(struct vpp_reader *r, size_t n);
/* A field of size bytes, up to its first NUL. */
struct str vpp_get_name(struct vpp_reader *r, size_t size);
/* A length and that many bytes. */
struct str vpp_get_text(struct vpp_reader *r);
/* An unset address and a bad reader if the family is unknown. */
struct addr vpp_get_addr(struct vpp_reader *r);
/* The prefix length is returned as received; VPP does not check what clients store. */
struct addr vpp_get_prefix(struct vpp_reader *r, uint8_t *ret_length);
