/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer: the bytes that a daemon of FRR sends on its vty socket, split into answers.
 *
 * An answer is a text, then three NUL bytes, then one byte with the status of the command. There is
 * no length and no greeting. Pure: bytes in, answers out, in whatever pieces the bytes arrive.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define VTY_TEXT_MAX ((size_t)64 * 1024 * 1024) /* bytes of one answer */

/* Statuses that FRR sends; there are others. */
enum vty_status {
	VTY_SUCCESS = 0,
	VTY_WARNING = 1,
	VTY_NO_MATCH = 2, /* unknown command */
	VTY_INCOMPLETE = 4,
	VTY_CONFIG_FAILED = 13,
};

/* A zeroed struct waits for the first answer. */
struct vty_reader {
	struct buf text; /* of the answer so far; the caller clears it with vty_reader_next() */
	unsigned zeros;	 /* NUL bytes at the end, which are not in text yet */
	uint8_t status;	 /* of a complete answer */
	bool done;
};

/*
 * Consumes up to n bytes, and stops after the first complete answer. Returns the number of bytes
 * consumed, or -EMSGSIZE if the text is longer than VTY_TEXT_MAX. After a complete answer, with
 * done set, nothing is consumed until vty_reader_next().
 */
long vty_reader_feed(struct vty_reader *r, const char *p, size_t n);
/* Waits for the next answer. The memory of a long text is freed. */
void vty_reader_next(struct vty_reader *r);
void vty_reader_free(struct vty_reader *r);

/* "unknown command", "command incomplete", ...; "status 99" is written to buf for unknown ones. */
const char *vty_status_text(uint8_t status, char buf[static 16]);
