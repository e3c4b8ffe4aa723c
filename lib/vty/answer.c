/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/vty/answer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define END_ZEROS 3
#define KEEP_MAX ((size_t)64 * 1024) /* a larger text is freed, not reused */

/* Fewer than three NUL bytes before another byte belong to the text. */
static void keep_zeros(struct vty_reader *r)
{
	buf_add(&r->text, "\0\0\0", r->zeros);
	r->zeros = 0;
}

/* Text up to the next NUL byte. */
static size_t take_text(struct vty_reader *r, const char *p, size_t n)
{
	const char *zero = memchr(p, '\0', n);
	size_t len = zero ? (size_t)(zero - p) : n;

	if (len) {
		keep_zeros(r);
		buf_add(&r->text, p, len);
	}
	return len;
}

long vty_reader_feed(struct vty_reader *r, const char *p, size_t n)
{
	size_t at = 0;

	while (at < n && !r->done) {
		if (r->zeros == END_ZEROS) {
			r->status = (uint8_t)p[at++];
			r->done = true;
			break;
		}
		at += take_text(r, p + at, n - at);
		if (r->text.n > VTY_TEXT_MAX)
			return -EMSGSIZE;
		if (at < n && r->zeros < END_ZEROS) {
			r->zeros++;
			at++;
		}
	}
	return (long)at;
}

void vty_reader_next(struct vty_reader *r)
{
	if (r->text.cap > KEEP_MAX)
		buf_free(&r->text);
	r->text.n = 0;
	r->zeros = 0;
	r->done = false;
}

void vty_reader_free(struct vty_reader *r)
{
	buf_free(&r->text);
	*r = (struct vty_reader){ 0 };
}

const char *vty_status_text(uint8_t status, char buf[static 16])
{
	switch (status) {
	case VTY_SUCCESS:
		return "success";
	case VTY_WARNING:
		return "warning";
	case VTY_NO_MATCH:
		return "unknown command";
	case VTY_INCOMPLETE:
		return "command incomplete";
	case VTY_CONFIG_FAILED:
		return "configuration failed";
	default:
		snprintf(buf, 16, "status %u", status);
		return buf;
	}
}
