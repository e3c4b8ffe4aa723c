/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: the bytes of VPP's binary API.
 *
 * A frame is a header of 16 bytes, of which only the length counts, and a message: packed,
 * big-endian, no padding. What is written goes into a struct buf. What is read comes from a struct
 * vpp_reader, which never leaves its bytes: beyond their end, and where a value cannot be, it gives
 * zeros and turns bad for good, so that a decoder reads all it wants and asks once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"

#define VPP_HEADER_SIZE ((size_t)16)
#define VPP_NAME_SIZE ((size_t)64) /* of messages and clients: NUL padded */

/* ---- writing ---- */

void vpp_put_u8(struct buf *b, uint8_t v);
void vpp_put_u16(struct buf *b, uint16_t v);
void vpp_put_u32(struct buf *b, uint32_t v);
/* 17 bytes: family, and the address in front of zeros. a is set. */
void vpp_put_addr(struct buf *b, const struct addr *a);
/* 18 bytes: an address, and how much of it counts: at most 32, or 128. */
void vpp_put_prefix(struct buf *b, const struct addr *a, uint8_t length);
/* size bytes: as much of text as fits, and NULs. */
void vpp_put_name(struct buf *b, const char *text, size_t size);
/* A length and that many bytes. */
void vpp_put_text(struct buf *b, struct str text);

/* A frame's header, and where it is. The message follows; vpp_frame_end() sets its length. */
size_t vpp_frame_begin(struct buf *b);
void vpp_frame_end(struct buf *b, size_t begin);

/* ---- reading ---- */

struct vpp_reader {
	const uint8_t *p;
	size_t n; /* left */
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
/* n bytes where they are. */
struct str vpp_get_bytes(struct vpp_reader *r, size_t n);
/* Of a field of size bytes, what is before the first NUL. */
struct str vpp_get_name(struct vpp_reader *r, size_t size);
/* A length and that many bytes. */
struct str vpp_get_text(struct vpp_reader *r);
/* None when the family is neither. */
struct addr vpp_get_addr(struct vpp_reader *r);
/* The length is as it came: VPP lets nonsense in. */
struct addr vpp_get_prefix(struct vpp_reader *r, uint8_t *ret_length);
