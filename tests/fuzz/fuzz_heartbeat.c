/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a heartbeat, as they are and with a valid signature after them. What was read and is
 * written again must be the same bytes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/l2/beat.h"
#include "lib/tls/digest.h"

#define KEY STR("key")

static void check(bool fine)
{
	if (!fine)
		abort();
}

/* In memory of exactly that size. */
static int decode(const uint8_t *data, size_t size, struct l2_beat *ret)
{
	char *copy = malloc(size ? size : 1);
	int r;

	memcpy(copy, data, size);
	r = l2_beat_decode((struct str){ copy, size }, KEY, ret);
	free(copy);
	return r;
}

static void round_trip(const struct l2_beat *b, const uint8_t *data, size_t size)
{
	struct l2_beat_guard guard = { 0 };
	uint8_t bytes[L2_BEAT_MAX];

	check(b->n <= L2_BEAT_VIPS && strlen(b->name) <= L2_BEAT_NAME);
	check(l2_beat_encode(b, KEY, bytes) == size && memcmp(bytes, data, size) == 0);
	check(l2_beat_is_fresh(&guard, b) && !l2_beat_is_fresh(&guard, b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t with_signature[L2_BEAT_MAX];
	struct l2_beat b;
	int r = decode(data, size, &b);

	check(r == 0 || r == -EPROTO || r == -EPROTONOSUPPORT || r == -EKEYREJECTED);
	if (size > L2_BEAT_MAX - TLS_SHA256)
		return 0;
	memcpy(with_signature, data, size);
	tls_hmac_sha256(KEY.p, KEY.n, data, size, with_signature + size);
	r = decode(with_signature, size + TLS_SHA256, &b);
	check(r == 0 || r == -EPROTO || r == -EPROTONOSUPPORT);
	if (r == 0)
		round_trip(&b, with_signature, size + TLS_SHA256);
	return 0;
}
