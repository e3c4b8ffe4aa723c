/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the header of the PROXY protocol: whole, and in pieces that the first byte chooses.
 *
 * The answer must not depend on the pieces. What was read and is written again must be read as the
 * same; only fields that nobody knows are lost on the way.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stream/proxy.h"

static void check(bool fine)
{
	if (!fine)
		abort();
}

static bool same(struct str a, struct str b)
{
	return !a.p == !b.p && (!a.p || str_eq(a, b));
}

static void compare(const struct stream_proxy *a, const struct stream_proxy *b)
{
	check(a->version == b->version && a->kind == b->kind && a->local == b->local);
	check(a->datagram == b->datagram && a->checksum == b->checksum);
	check(addr_cmp(&a->source.addr, &b->source.addr) == 0);
	check(addr_cmp(&a->destination.addr, &b->destination.addr) == 0);
	check(a->source.port == b->source.port && a->destination.port == b->destination.port);
	check(same(a->source_path, b->source_path));
	check(same(a->destination_path, b->destination_path));
	check(same(a->authority, b->authority) && same(a->alpn, b->alpn));
	check(same(a->unique_id, b->unique_id));
	check(a->ssl.present == b->ssl.present && a->ssl.client == b->ssl.client);
	check(a->ssl.verify == b->ssl.verify && same(a->ssl.version, b->ssl.version));
	check(same(a->ssl.cn, b->ssl.cn) && same(a->ssl.cipher, b->ssl.cipher));
	check(same(a->ssl.signature, b->ssl.signature) && same(a->ssl.key, b->ssl.key));
}

static void round_trip(const struct stream_proxy *h)
{
	enum stream_proxy_fault fault;
	struct stream_proxy back;
	struct buf out = { 0 };
	ssize_t r;

	r = stream_proxy_format(h, &out);
	/* what nobody knows is left out, and so it never grows */
	check(r == 0 && out.n <= STREAM_PROXY_MAX);
	r = stream_proxy_parse((struct str){ out.p, out.n }, &back, &fault);
	check(r == (ssize_t)out.n);
	compare(h, &back);
	buf_free(&out);
}

/* As much as the piece is, in memory of exactly that size. */
static ssize_t parse_copy(const uint8_t *data, size_t n)
{
	enum stream_proxy_fault fault;
	struct stream_proxy h;
	char *copy = malloc(n ? n : 1);
	ssize_t r;

	memcpy(copy, data, n);
	r = stream_proxy_parse((struct str){ copy, n }, &h, &fault);
	free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum stream_proxy_fault fault;
	struct stream_proxy h;
	ssize_t whole, r;
	size_t piece;

	if (!size)
		return 0;
	piece = data[0] % 16 + 1;
	data++;
	size--;
	whole = stream_proxy_parse((struct str){ (const char *)data, size }, &h, &fault);
	check(whole != -EAGAIN || size < STREAM_PROXY_MAX);
	check(whole <= (ssize_t)size && (whole > 0 || whole == -EAGAIN || whole == -EPROTO));
	for (size_t n = 0; n < size; n += piece) {
		r = parse_copy(data, n);
		check(r == -EAGAIN || r == whole);
		check(r <= 0 || r <= (ssize_t)n);
	}
	if (whole > 0)
		round_trip(&h);
	return 0;
}
