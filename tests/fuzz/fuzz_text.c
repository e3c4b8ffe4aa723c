/* SPDX-License-Identifier: Apache-2.0 */
/* What reads short texts in base: whatever was accepted must come back the same when printed. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/addr.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void duration_round_trip(const char *text)
{
	char buf[DURATION_STRLEN];
	int64_t ns, back;

	if (duration_parse(text, &ns) == 0)
		assert(duration_parse(duration_format(ns, buf), &back) == 0 && back == ns);
}

static void endpoint_round_trip(const char *text)
{
	char buf[ENDPOINT_STRLEN];
	struct endpoint e, back;

	if (endpoint_parse(text, &e) < 0)
		return;
	assert(endpoint_parse(endpoint_format(&e, buf), &back) == 0);
	assert(addr_cmp(&e.addr, &back.addr) == 0 && e.port == back.port);
}

static void parts_cover_the_text(const char *text)
{
	struct str rest = str_of(text), part;
	size_t n = 0, parts = 0;

	for (; str_cut(&rest, ',', &part); parts++)
		n += part.n;
	assert(n + parts == strlen(text) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	utf8_valid(text, size);
	duration_round_trip(text);
	endpoint_round_trip(text);
	parts_cover_the_text(text);
	free(text);
	return 0;
}
