/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by wire/router_json*.c: members of objects and elements of lists. The comma is written by
 * what follows: it is needed unless the last byte opened an object or list.
 */
#pragma once

#include "base/str.h"
#include "base/units.h"
#include "core/l7/config.h"
#include "lib/json/json.h"

static inline void rj__next(struct buf *out)
{
	char last = out->n ? out->p[out->n - 1] : '{';

	if (last != '{' && last != '[')
		buf_addc(out, ',');
}

static inline void rj__key(struct buf *out, const char *key)
{
	rj__next(out);
	buf_addc(out, '"');
	buf_adds(out, key);
	buf_add_lit(out, "\":");
}

static inline void rj__open(struct buf *out, const char *key, char bracket)
{
	rj__key(out, key);
	buf_addc(out, bracket);
}

static inline void rj__str(struct buf *out, const char *key, struct str value)
{
	rj__key(out, key);
	json_write_string(out, value.p, value.n);
}

static inline void rj__text(struct buf *out, const char *key, const char *value)
{
	rj__str(out, key, str_of(value));
}

static inline void rj__uint(struct buf *out, const char *key, uint64_t value)
{
	rj__key(out, key);
	buf_addu(out, value);
}

static inline void rj__bool(struct buf *out, const char *key, bool value)
{
	rj__key(out, key);
	buf_adds(out, value ? "true" : "false");
}

static inline void rj__duration(struct buf *out, const char *key, int64_t ns)
{
	char text[DURATION_STRLEN];

	rj__text(out, key, duration_format(ns, text));
}

/* A share of requests: percent or fraction; nothing for all of them. */
static inline void rj__share(struct buf *out, uint32_t numerator, uint32_t denominator)
{
	if (denominator == 100) {
		rj__uint(out, "percent", numerator);
	} else if (numerator != denominator) {
		rj__open(out, "fraction", '{');
		rj__uint(out, "numerator", numerator);
		rj__uint(out, "denominator", denominator);
		buf_addc(out, '}');
	}
}
/* How a rule names its pool: as the API does, or in a text that is compared. */
enum rj__form {
	RJ__NUMBERED, /* pool_idx where that is enough */
	RJ__FALLBACK, /* the same for the default route */
	RJ__NAMED,    /* always the name: numbers depend on the other pools */
};

/* The members of a rule except its name. */
void rj__rule(const struct l7_config *c, const struct l7_rule *r, enum rj__form form,
	      struct buf *out);
/* Where the requests of a rule, or the connections of a stream, go. */
void rj__backends(const struct l7_config *c, struct buf *out, const struct l7_backend *b, size_t n,
		  enum rj__form form);
/* The elements of the list of pools; plain: with private keys. */
struct router_json_state;
void rj__pools(const struct l7_config *c, const struct router_json_state *state, bool plain,
	       struct buf *out);
/* One of them, without the numbers of servers; plain: with private keys. */
void rj__pool(const struct l7_config *c, size_t i, bool plain, struct buf *out);
/* plain: with private keys. */
void rj__listener_tls(struct buf *out, const struct l7_listener_tls *t, bool plain);
/* The path of a file, or the text of a key, which is hidden unless it is to be plain. */
void rj__secret(struct buf *out, const char *key, const char *value, bool plain);
void rj__list(struct buf *out, const char *key, const struct str *list, size_t n);
