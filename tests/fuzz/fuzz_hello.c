/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the first of a TLS client: whole, and in pieces that the first byte chooses.
 *
 * The answer must not depend on the pieces, and a message that is complete stays so when more bytes
 * follow it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/hello.h"

static void check(bool fine)
{
	if (!fine)
		abort();
}

/* In memory of exactly that size. */
static int look_copy(struct tls_hello *h, const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ?: 1);
	int r;

	memcpy(copy, data, n);
	r = tls_hello_look(h, copy, n);
	free(copy);
	return r;
}

static int look_pieces(struct tls_hello *h, const uint8_t *data, size_t n, size_t step)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < n) {
		at += step < n - at ? step : n - at;
		r = look_copy(h, data, at);
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tls_hello whole = { 0 }, pieces = { 0 };
	int r, s;

	if (size < 2)
		return 0;
	r = look_copy(&whole, data + 1, size - 1);
	s = look_pieces(&pieces, data + 1, size - 1, (size_t)data[0] + 1);
	check(r == s);
	if (r <= 0)
		return 0;
	check(strlen(whole.name) <= TLS_HELLO_NAME);
	check(strlen(whole.protocols) < TLS_HELLO_PROTOCOLS);
	check(strcmp(whole.name, pieces.name) == 0 && whole.version == pieces.version);
	check(strcmp(whole.protocols, pieces.protocols) == 0);
	return 0;
}
