/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the fields of a request of HTTP/2: the first says whether a body follows, then names and
 * values alternate, each after its length in one byte.
 *
 * What is accepted is one head of HTTP/1.1 with nothing after it, and the parser reads from it what
 * the router believes that it says.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/router/convert.h"

static struct http_head head, again;
static char packed[HTTP_HEAD_MAX], text[HTTP_HEAD_MAX];

static void check(bool fine)
{
	if (!fine)
		abort();
}

static struct str take(const uint8_t **p, const uint8_t *end)
{
	size_t n = *p < end ? *(*p)++ : 0;
	struct str s = { (const char *)*p, n };

	if (n > (size_t)(end - *p))
		s.n = (size_t)(end - *p);
	*p += s.n;
	return s;
}

static void check_same(void)
{
	check(str_eq(head.method, again.method) && str_eq(head.target, again.target));
	check(head.n_headers == again.n_headers);
	for (size_t i = 0; i < head.n_headers; i++)
		check(str_eq(head.headers[i].name, again.headers[i].name) &&
		      str_eq(head.headers[i].value, again.headers[i].value));
	check(head.chunked == again.chunked && head.has_length == again.has_length);
	check(head.length == again.length && head.upgrade == again.upgrade);
	check(head.keep_alive && again.keep_alive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct convert_fields fields = { .p = packed, .cap = sizeof(packed) };
	struct convert_request r = { .fields = &fields, .key = STR("dGhlIHNhbXBsZSBub25jZQ==") };
	const uint8_t *p = data, *end = data + size;
	int n;

	r.ended = p < end && *p++ & 1;
	while (p < end) {
		struct str name = take(&p, end), value = take(&p, end);

		convert_add(&fields, name, value);
	}
	n = convert_request(&r, text, &head);
	if (n <= 0)
		return 0;
	check(http_parse_request(text, (size_t)n, NULL, &again) == n);
	check_same();
	return 0;
}
