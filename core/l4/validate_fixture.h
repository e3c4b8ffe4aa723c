/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate_fixture: a valid document for the tests of validate, and rows that spoil it.
 *
 * Every value has a line of its own. fixture.touched is the place of the value that was set last;
 * a complaint about it must have that place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/validate.h"

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC

struct fixture {
	struct arena *arena;
	struct errs errors, warnings;
	struct l4_rules rules;
	struct l4_config config;
	unsigned line;
	struct place touched; /* where the error of the row must be */

	struct l4_doc doc;
	struct doc_check check[3];
	struct doc_backend backend[4];
	struct doc_frontend frontend[3];
	struct doc_pool www_pool[2], six_pool[1], all_pool[1];
	struct doc_member primary[2], fallback[1], six[1], all[1];
	struct doc_text interface[65];
};

enum { WEB, PING, CONN };	/* check[] */
enum { WEB1, WEB2, WEB9, SIX }; /* backend[] */
enum { F_WWW, F_SIX, F_ALL };	/* frontend[] */

struct place next_place(struct fixture *f);
void set_text(struct fixture *f, struct doc_text *d, const char *v);
void set_number(struct fixture *f, struct doc_int *d, int64_t v);
void set_duration(struct fixture *f, struct doc_duration *d, int64_t v);
void set_flag(struct fixture *f, struct doc_bool *d, bool v);
void make_pool(struct fixture *f, struct doc_pool *pool, const char *name,
	       struct doc_member *members, size_t n);

/* Changes with which many rows begin. */
void use_xdp(struct fixture *f);
void use_none(struct fixture *f);

void fixture_begin(struct fixture *f);
void fixture_end(struct fixture *f);
int fixture_build(struct fixture *f);
/* Builds; there must be neither an error nor a warning. */
void assert_clean(struct fixture *f);

#define WEB_KEY "maglev.healthchecks.web."
#define PARAMS_KEY WEB_KEY "params."
#define WEB1_ADDRESS "maglev.backends.web1.address"
#define WWW_KEY "maglev.frontends.www."
#define PRIMARY_KEY WWW_KEY "pools[0]."
#define LB_KEY "maglev.vpp.lb."

enum kind { CHANGE, TEXT, NUMBER, DURATION, FLAG, MISSING };

struct row {
	enum kind kind;
	size_t field; /* offset in struct fixture of the value to set or to clear */
	size_t owner; /* MISSING: the place that is reported instead */
	const char *text;
	int64_t number;
	void (*change)(struct fixture *f); /* runs before the value is set */
	const char *key, *fragment;
};

#define AT(member) offsetof(struct fixture, member)
/* clang-format off */
#define ROW(how, change_it, what, words, ...) \
	{ .kind = (how), .change = (change_it), .key = (what), .fragment = (words), __VA_ARGS__ }
/* clang-format on */
#define JUST(change, key, fragment) ROW(CHANGE, change, key, fragment, .field = 0)
#define SET_TEXT(change, member, v, key, fragment)                                                 \
	ROW(TEXT, change, key, fragment, .field = AT(member), .text = (v))
#define SET_NUMBER(change, member, v, key, fragment)                                               \
	ROW(NUMBER, change, key, fragment, .field = AT(member), .number = (v))
#define SET_DURATION(change, member, v, key, fragment)                                             \
	ROW(DURATION, change, key, fragment, .field = AT(member), .number = (v))
#define SET_FLAG(change, member, v, key, fragment)                                                 \
	ROW(FLAG, change, key, fragment, .field = AT(member), .number = (v))
#define LEAVE_OUT(change, member, owner_at, key, fragment)                                         \
	ROW(MISSING, change, key, fragment, .field = AT(member.set), .owner = AT(owner_at))

/* The only entry of list has the row's key, text and place. */
void assert_told(const struct fixture *f, const struct errs *list, const struct row *row);
/* One error, no warning, and the result is untouched. */
void assert_refused(const struct row *row);
/* One warning and no error. */
void assert_doubted(const struct row *row);
void assert_accepted(const struct row *row);
void each(const struct row *rows, size_t n, void (*assert_row)(const struct row *row));
#define EACH(rows, assert_row) each(rows, ARRAY_SIZE(rows), assert_row)

/* A string of n times c, valid until the next call. */
const char *repeat(char c, size_t n);
