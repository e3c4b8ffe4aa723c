/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: shared by the tests and the fuzzer of the reader. Everything that was read is printed,
 * so that two ways of reading can be compared as text; jansson, an independent parser, is the
 * reference.
 */
#pragma once

#include "lib/json/tree.h"

/*
 * Feeds text in pieces of that many bytes (0: all at once), each in memory of exactly its size that
 * is freed as soon as the contract allows. A line for each token goes to out, with its place, and a
 * last one for the error, "LINE:COLUMN: words". 0 or -EINVAL.
 */
int kit_tokens(struct str text, size_t piece, const struct json_options *options, struct buf *out);
/* The same, with json_skip() after every token at that depth. */
int kit_tokens_skipping(struct str text, size_t piece, const struct json_options *options,
			unsigned depth, struct buf *out);
/* Writes all documents without white space, each followed by a newline. */
int kit_rewrite(struct str text, const struct json_options *options, struct buf *out);

enum kit_verdict {
	KIT_SAME, /* both refuse it, or both read the same values */
	/*
	 * jansson refuses a number that is too large for its types, or accepts a NUL byte outside
	 * strings, which it loses right after a word or a number.
	 */
	KIT_EXCUSED,
	KIT_DIFFERENT, /* one of the two is wrong */
};

/*
 * Parses the text with jansson too, and compares. tree is our result, NULL if our parser refused.
 */
enum kit_verdict kit_judge(struct str text, const struct json_node *tree);
