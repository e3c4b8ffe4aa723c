/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the fields that say where a request comes from: traceparent, X-Forwarded-For, Forwarded.
 *
 * A trace that was read and is written again is the same. Only a trusted peer is
 * believed, and the client that it names is an address.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/proxies.h"
#include "core/l7/trace.h"

static void check(bool fine)
{
	if (!fine)
		abort();
}

static void check_trace(struct str value)
{
	char text[L7_TRACE_SIZE];
	struct l7_trace t, back;

	if (!l7_trace_parse(value, &t))
		return;
	check(l7_trace_parse(str_of(l7_trace_format(&t, text)), &back));
	check(memcmp(&t, &back, sizeof(t)) == 0);
	check(value.n >= strlen(text) && memcmp(value.p + 2, text + 2, strlen(text) - 2) == 0);
}

static void check_client(struct str value)
{
	struct proxy loopback;
	const struct proxies trusted = { .items = &loopback, .n = 1 };
	const struct field fields[] = { { STR("x-forwarded-for"), value },
					{ STR("forwarded"), value } };
	struct addr near, far, found;

	check(proxy_parse("127.0.0.0/8", &loopback) == 0);
	check(addr_parse("127.0.0.1", &near) == 0 && addr_parse("192.0.2.1", &far) == 0);
	found = proxies_client(&trusted, &far, fields, 2);
	check(addr_cmp(&found, &far) == 0);
	found = proxies_client_forwarded(&trusted, &far, fields, 2);
	check(addr_cmp(&found, &far) == 0);
	found = proxies_client(&trusted, &near, fields, 2);
	check(addr_is_set(&found));
	found = proxies_client_forwarded(&trusted, &near, fields, 2);
	check(addr_is_set(&found));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str value = { (const char *)data, size };

	check_trace(value);
	check_client(value);
	return 0;
}
