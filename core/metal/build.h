/* SPDX-License-Identifier: Apache-2.0 */
/* build: what the files that build a configuration share. */
#pragma once

#include "base/vec.h"
#include "core/metal/config.h"

struct metal__alias {
	const char *name, *value;
};

struct metal__build {
	const struct metal_doc *doc;
	const struct metal_options *options;
	struct arena *arena;
	struct metal_config config;
	struct metal_error error;
	/* of the options, or those of the document */
	const struct metal_place *nodes;
	size_t n_nodes;
	const struct metal__alias *aliases;
	size_t n_aliases;
};

/* Sets the error; always -EINVAL. */
int metal__fail(struct metal__build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a reference to something that may come later. */
int metal__miss(struct metal__build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts more words before or after the text of an error; always -EINVAL. */
int metal__within(struct metal__build *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int metal__join(struct metal__build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A text from outside in double quotes. */
const char *metal__quote(struct metal__build *b, const char *text);

static inline bool metal__is_set(const char *text)
{
	return text && *text;
}

/* A copy; NULL for NULL and "". */
const char *metal__text(struct metal__build *b, const char *text);
struct metal_texts metal__texts(struct metal__build *b, struct metal_texts texts);
struct metal_texts metal__sorted(struct metal__build *b, struct metal_texts texts);
bool metal__has_text(struct metal_texts sorted, const char *text);
struct labels_selector metal__selector(struct metal__build *b, const struct labels_selector *s);
struct labels_selectors metal__selectors(struct metal__build *b, const struct labels_selectors *s);

/* `duplicate definition of WHAT "x"` */
int metal__unique(struct metal__build *b, struct metal_texts texts, const char *what);
int metal__unique_selectors(struct metal__build *b, const struct labels_selectors *s,
			    const char *what);
/* Whether Kubernetes would accept each of them. */
int metal__valid_selectors(struct metal__build *b, const struct labels_selectors *s);

/* One entry of the addresses of a pool, in the arena of b. */
struct metal__range {
	const struct metal_prefix *prefixes;
	size_t n;
};
int metal__range_parse(struct metal__build *b, const char *text, struct metal__range *ret);
struct metal_prefix metal__masked(const struct addr *a, uint8_t length);

int metal__build_profiles(struct metal__build *b);
int metal__build_peers(struct metal__build *b);
int metal__check_pairs(struct metal__build *b);
int metal__build_aliases(struct metal__build *b);
int metal__build_pools(struct metal__build *b);
int metal__build_l2(struct metal__build *b);
int metal__build_bgp(struct metal__build *b);
