/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a request to frr-reloader. What is refused has a reason and changes nothing; what is
 * taken is the same request when it is written out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/frr-reloader/requests.h"

#define UNTOUCHED INT64_C(0x5a5a5a5a)

static void check(bool fine)
{
	if (!fine)
		abort();
}

/* In memory of exactly that size. */
static struct str copy_of(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	return (struct str){ copy, size };
}

static void round_trip(int64_t id)
{
	struct buf body = { 0 }, why = { 0 };
	int64_t back = ~id;

	buf_printf(&body, "{\"action\":\"reload\",\"id\":%" PRId64 "}", id);
	check(requests_parse((struct str){ body.p, body.n }, &back, &why) == 0 && back == id);
	buf_free(&body);
	buf_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = copy_of(data, size);
	int64_t id = UNTOUCHED;
	struct buf why = { 0 };
	int r = requests_parse(text, &id, &why);

	check(r == 0 || r == -EINVAL);
	if (r == 0) {
		check(!why.n);
		round_trip(id);
	} else {
		check(why.n && id == UNTOUCHED);
	}
	buf_free(&why);
	free((char *)(uintptr_t)text.p);
	return 0;
}
