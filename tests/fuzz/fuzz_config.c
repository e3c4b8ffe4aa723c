/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a configuration file, read both ways: an answer, within the bounds, and what is
 * refused is refused with words that can be printed.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "wire/config_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): the check must not depend on how the harness was built. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_words(const struct errs *errors)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	size_t lines = 0;

	errs_print(errors, "fuzz", &out);
	require(utf8_valid(out.p, out.n));
	for (size_t i = 0; i < out.n; i++)
		lines += out.p[i] == '\n';
	require(lines == errors->n + !!errors->dropped);
}

static int parse(const uint8_t *data, size_t size, enum config_mode mode)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct l4_doc doc = { 0 };
	int r = config_yaml_parse((const char *)data, size, mode, arena, &doc, &errors);

	require(r == 0 || r == -EINVAL);
	require((r == 0) == (errors.n == 0));
	if (r < 0)
		check_words(&errors);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int strict = parse(data, size, CONFIG_STRICT);
	int lenient = parse(data, size, CONFIG_LENIENT);

	/* Whoever passes the strict reader passes the lenient one. */
	require(strict < 0 || lenient == 0);
	return 0;
}
