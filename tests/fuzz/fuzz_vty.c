/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as what a daemon of FRR sends on its vty socket, in pieces that the first byte chooses: the
 * answers must not depend on the pieces.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/vty/answer.h"

static void check(bool fine)
{
	if (!fine)
		abort();
}

/* All answers, each with its status and its length, then what was left of the last one. */
static void read_all(const char *p, size_t n, size_t piece, struct buf *out)
{
	struct vty_reader r = { 0 };

	while (n) {
		size_t some = n < piece ? n : piece;
		long used = vty_reader_feed(&r, p, some);

		check(used > 0 && (size_t)used <= some);
		p += used;
		n -= (size_t)used;
		if (r.done) {
			buf_printf(out, "%u %zu ", r.status, r.text.n);
			buf_add(out, r.text.p, r.text.n);
			vty_reader_next(&r);
		}
	}
	buf_printf(out, "left %zu %u", r.text.n, r.zeros);
	vty_reader_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = { 0 }, pieces = { 0 };

	if (!size)
		return 0;
	read_all((const char *)data + 1, size - 1, size, &whole);
	read_all((const char *)data + 1, size - 1, data[0] % 16 + 1, &pieces);
	check(whole.n == pieces.n && memcmp(whole.p, pieces.p, whole.n) == 0);
	buf_free(&whole);
	buf_free(&pieces);
	return 0;
}
