/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table against an obvious model: all entries in one list, in the order of names and matches,
 * and the first that applies wins. Names, paths and conditions come from small sets, so that rules
 * overlap in many ways. The explanation of each answer must name the same entry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l7/explain.h"
#include "core/l7/table.h"
#include "core/testing/random.h"

#define ENTRIES 60
#define TABLES 200
#define REQUESTS 300

static const char *const hosts[] = {
	"", "a.b.c", "b.c", "*.b.c", "*.c", "x.a.b.c", "*.a.b.c", "C"
};
static const char *const asked_hosts[] = { "",	      "a.b.c",	 "A.B.C:80", "b.c", "x.b.c",
					   "x.a.b.c", "y.a.b.c", "c",	     "d",   "x.c" };
static const char *const paths[] = { "/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/b", "/a//b" };
static const char *const asked_paths[] = { "/",	       "/a",  "/a/",   "/a/b", "/a/b/",
					   "/a/b/c/d", "/ab", "/ab/c", "/b",   "/a//b",
					   "//",       "*",   "/b/b",  "/b/c", "/ab/b" };
static const char *const methods[] = { "", "GET", "POST" };
static const char *const queries[] = { "", "q=1", "q=2", "p=1&q=1", "p=1" };

static const struct l7_condition wanted_headers[] = { { .name = { "x", 1 }, .value = { "1", 1 } },
						      { .name = { "y", 1 }, .value = { "1", 1 } } };
static const struct l7_condition wanted_queries[] = { { .name = { "q", 1 }, .value = { "1", 1 } },
						      { .name = { "p", 1 }, .value = { "1", 1 } } };
static const struct field fields[] = { { { "X", 1 }, { "1", 1 } }, { { "Y", 1 }, { "1", 1 } } };

/* Services and methods; what is empty may be anything. */
static const char *const services[] = { "", "a", "b" };
static const char *const calls[] = { "", "b", "c" };

#define PICK(d, list) str_of((list)[dice_roll((d), ARRAY_SIZE(list))])

/* The pointer is a length: paths that are as long. */
static bool by_length(const struct l7_regex *regex, struct str text)
{
	return text.n == (size_t)(uintptr_t)regex;
}

/* As validate_rule.c makes it. */
static void roll_grpc(struct dice *d, struct l7_match *m, struct l7_grpc_match *g, char path[8])
{
	const char *service = services[dice_roll(d, ARRAY_SIZE(services))];
	const char *method = calls[dice_roll(d, ARRAY_SIZE(calls))];
	bool regex = dice_roll(d, 2);

	*g = (struct l7_grpc_match){ str_of(service), str_of(method),
				     (const struct l7_regex *)(uintptr_t)(1 + dice_roll(d, 2)),
				     (const struct l7_regex *)(uintptr_t)(1 + dice_roll(d, 2)) };
	if (!*method && (!regex || !*service))
		m->kind = L7_PREFIX;
	else if (regex)
		m->kind = L7_REGEX;
	else
		m->kind = *service ? L7_EXACT : L7_METHOD;
	snprintf(path, 8, m->kind == L7_EXACT ? "/%s/%s" : "/%s%s", service, method);
	m->path = str_of(path);
	m->method = STR("");
	m->n_queries = 0;
	m->grpc = g;
}

struct roll {
	struct l7_entry entries[ENTRIES];
	struct l7_grpc_match grpc[ENTRIES];
	char paths[ENTRIES][8];
};

static void roll_entries(struct dice *d, struct roll *roll, size_t n)
{
	struct l7_entry *entries = roll->entries;

	for (size_t i = 0; i < n; i++) {
		struct l7_match *m = &entries[i].match;

		entries[i].host = PICK(d, hosts);
		*m = (struct l7_match){
			.kind = (enum l7_kind)dice_roll(d, 3),
			.path = PICK(d, paths),
			.regex = (const struct l7_regex *)(uintptr_t)(1 + dice_roll(d, 8)),
			.method = PICK(d, methods),
			.headers = wanted_headers,
			.n_headers = dice_roll(d, 3),
			.queries = wanted_queries,
			.n_queries = dice_roll(d, 3),
			.order = (uint32_t)i
		};
		if (m->kind == L7_REGEX && dice_roll(d, 4))
			m->kind = L7_PREFIX;
		if (!dice_roll(d, 3))
			roll_grpc(d, m, &roll->grpc[i], roll->paths[i]);
	}
	for (size_t i = n; i-- > 1;) { /* an order other than that of the array */
		size_t k = dice_roll(d, (unsigned)i + 1);
		uint32_t order = entries[i].match.order;

		entries[i].match.order = entries[k].match.order;
		entries[k].match.order = order;
	}
}

/* ---- the model ---- */

/* How specific a name is for a host: 0 if it does not match. */
static size_t name_rank(struct str name, struct str host)
{
	if (!name.n)
		return 1;
	if (name.p[0] != '*')
		return str_ieq(name, host) ? 1000 : 0;
	name.p++;
	name.n--;
	if (host.n <= name.n)
		return 0;
	return str_ieq(name, (struct str){ host.p + host.n - name.n, name.n }) ? 1 + name.n : 0;
}

static size_t model_find(const struct l7_entry *entries, size_t n, const struct l7_request *r)
{
	struct str host = l7_host_name(r->host);
	size_t best = L7_NONE, best_rank = 0;

	for (size_t i = 0; i < n; i++) {
		size_t rank = name_rank(entries[i].host, host);

		if (!rank || !l7_match_all(&entries[i].match, r, by_length))
			continue;
		if (best == L7_NONE || rank > best_rank ||
		    (rank == best_rank &&
		     l7_match_cmp(&entries[i].match, &entries[best].match) < 0)) {
			best = i;
			best_rank = rank;
		}
	}
	return best;
}

/* Whatever is left out, the one that is found is not. */
static size_t explained(const struct l7_entry *entries, size_t n, const struct l7_request *r,
			size_t most)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct l7_explanation e = l7_explain(entries, n, r, by_length, most, arena);

	for (size_t i = 0; i < e.n; i++)
		assert_int_equal(e.candidates[i].verdict == L7_FOUND,
				 e.candidates[i].entry == e.found);
	return e.found;
}

static void the_table_finds_what_the_model_finds(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice d = dice_of_run(run);
		size_t found = 0;

		for (unsigned t = 0; t < TABLES; t++) {
			_cleanup_(arena_freep) struct arena *arena = arena_new();
			struct roll roll;
			const struct l7_entry *entries = roll.entries;
			size_t n = dice_roll(&d, ENTRIES);
			const struct l7_table *table;

			roll_entries(&d, &roll, n);
			table = l7_table_build(arena, entries, n, by_length);
			for (unsigned i = 0; i < REQUESTS; i++) {
				const struct l7_request r = { .host = PICK(&d, asked_hosts),
							      .path = PICK(&d, asked_paths),
							      .query = PICK(&d, queries),
							      .method = STR("GET"),
							      .headers = fields,
							      .n_headers = dice_roll(&d, 3) };
				size_t want = model_find(entries, n, &r);

				found += want != L7_NONE;
				if (l7_table_find(table, &r) != want ||
				    explained(entries, n, &r, 1 + dice_roll(&d, 8)) != want)
					fail_msg("seed %llu: host %.*s path %.*s",
						 (unsigned long long)d.seed, (int)r.host.n,
						 r.host.p, (int)r.path.n, r.path.p);
			}
		}
		assert_true(found > (size_t)TABLES * REQUESTS / 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_finds_what_the_model_finds),
	};

	return cmocka_run_group_tests_name("core/l7/table_random", tests, NULL, NULL);
}
