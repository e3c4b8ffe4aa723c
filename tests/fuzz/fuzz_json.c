/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON from bytes. The first byte picks the size of the pieces, whether the text is a stream, and
 * at which depth values are skipped. However the text is cut, tokens, places and errors are the
 * same; a text that is refused is also refused when values are skipped, with the same error. A text
 * that is accepted can be written and reads back the same. jansson must agree (see kit_judge()).
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "lib/json/testkit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine)
{
	if (!fine)
		abort();
}

static struct str str_of_buf(const struct buf *b)
{
	return (struct str){ b->p, b->n };
}

static void check_pieces(struct str text, size_t piece, const struct json_options *options)
{
	_cleanup_(buf_free) struct buf whole = { 0 }, pieces = { 0 };

	check(kit_tokens(text, 0, options, &whole) == kit_tokens(text, piece, options, &pieces));
	check(str_eq(str_of_buf(&whole), str_of_buf(&pieces)));
}

static struct str last_line(const struct buf *b)
{
	struct str all = str_of_buf(b);
	const char *newline = all.n ? memrchr(all.p, '\n', all.n - 1) : NULL;

	return newline ? (struct str){ newline + 1, all.n - (size_t)(newline + 1 - all.p) } : all;
}

static void check_skipping(struct str text, size_t piece, const struct json_options *options,
			   unsigned depth)
{
	_cleanup_(buf_free) struct buf all = { 0 }, skipped = { 0 }, pieces = { 0 };
	int e = kit_tokens(text, 0, options, &all);

	check(kit_tokens_skipping(text, 0, options, depth, &skipped) == e);
	check(kit_tokens_skipping(text, piece, options, depth, &pieces) == e);
	check(str_eq(str_of_buf(&skipped), str_of_buf(&pieces)));
	check(str_eq(last_line(&skipped), last_line(&all)));
}

static void check_rewriting(struct str text, const struct json_options *options)
{
	_cleanup_(buf_free) struct buf once = { 0 }, twice = { 0 };

	if (kit_rewrite(text, options, &once) < 0)
		return;
	check(kit_rewrite(str_of_buf(&once), options, &twice) == 0);
	check(str_eq(str_of_buf(&once), str_of_buf(&twice)));
}

/* Limits are out of the way, but for the depth: the judge goes deeper than we do. */
static void check_judge(struct str text)
{
	struct json_options options = { .limits = { .depth = JSON_DEPTH_MAX } };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *tree = NULL;

	if (json_parse(text, &options, arena, &tree, &errors) < 0)
		check(errors.n > 0);
	if (errors.n && strncmp(errors.items[errors.n - 1].text, "nested", 6) == 0)
		return;
	check(kit_judge(text, tree) != KIT_DIFFERENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_options options = { 0 }, tight = {
		.limits = { .bytes = 40, .string = 5, .members = 7, .depth = 3 },
		.no_nul = true,
	};
	struct str text;
	size_t piece;

	if (!size || size > 4096)
		return 0;
	piece = data[0] % 16 + 1;
	options.stream = tight.stream = data[0] & 0x80;
	text = (struct str){ (const char *)data + 1, size - 1 };
	check_pieces(text, piece, &options);
	check_pieces(text, piece, &tight);
	check_skipping(text, piece, &options, data[0] >> 4 & 7);
	check_rewriting(text, &options);
	check_judge(text);
	return 0;
}
