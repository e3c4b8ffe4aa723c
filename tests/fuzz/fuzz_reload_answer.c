/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as frr-reloader's answer to maglev-speaker. An answer is a success for one id only, and
 * every other judgement has a reason that fits into its buffer, however small that is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/speaker/reload.h"

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

static bool is_success(struct str text, int64_t id, size_t n)
{
	char *error = malloc(n);
	bool success;

	memset(error, 'x', n);
	reload_judge(text, id, error, n);
	check(memchr(error, '\0', n) != NULL);
	success = !*error;
	free(error);
	return success;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = copy_of(data, size);
	bool first = is_success(text, 7, 512);

	check(!(first && is_success(text, 8, 512)));
	check(is_success(text, 7, 2) == first);
	free((char *)(uintptr_t)text.p);
	return 0;
}
