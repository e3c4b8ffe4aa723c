/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/tables: how long a table takes to build, how even it is, and how little moves, compared
 * with the textbook algorithm in the same run. Time is processor time, the minimum of many runs;
 * movement is the mean over fleets; balance is the worst of them.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "bench/tables/textbook.h"
#include "core/maglev/measure.h"

#define SIZE 65537
#define FLEETS 8
#define RUNS 12 /* of each fleet */

struct result {
	double ms;
	double balance;
	double removed, one_less, half; /* percent that moves beyond the unavoidable */
};

static const struct {
	enum measure_mix mix;
	const char *name;
} mixes[] = {
	{ MEASURE_EQUAL, "equal" },
	{ MEASURE_RANDOM, "random 1-100" },
	{ MEASURE_ONE_HEAVY, "one 100, rest 1" },
	{ MEASURE_ONE_LIGHT, "one 1, rest 100" },
};

static const size_t sizes[] = { 1, 2, 3, 16, 100, 256, 1000, 5000 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double time_build(measure_build *build, const struct maglev_member *members, size_t n,
			 uint16_t *table)
{
	double least = 1e9;

	for (unsigned run = 0; run < RUNS; run++) {
		double start = now_ms(), took;

		build(members, n, table, SIZE);
		took = now_ms() - start;
		least = took < least ? took : least;
	}
	return least;
}

/* Changes the member that differs from the others, if there is one. */
static void measure_changes(measure_build *build, struct maglev_member *members, size_t n,
			    enum measure_mix mix, struct result *sum)
{
	size_t member = mix == MEASURE_ONE_HEAVY || mix == MEASURE_ONE_LIGHT ? 0 : n / 2;
	const double percent = 100.0 / FLEETS;

	if (n < 2)
		return;
	sum->removed += percent * measure_disruption(build, members, n, member, 0, SIZE);
	members[member].weight = 100;
	sum->one_less += percent * measure_disruption(build, members, n, member, 99, SIZE);
	sum->half += percent * measure_disruption(build, members, n, member, 50, SIZE);
}

static struct result measure(measure_build *build, enum measure_mix mix, size_t n)
{
	_cleanup_(cleanup_free) struct maglev_member *members =
		mem_resize(NULL, n, sizeof(*members));
	_cleanup_(cleanup_free) uint16_t *table = mem_resize(NULL, SIZE, sizeof(*table));
	struct result r = { .ms = 1e9 };

	for (unsigned fleet = 0; fleet < FLEETS; fleet++) {
		double ms, balance;

		measure_fleet(mix, fleet, members, n);
		ms = time_build(build, members, n, table);
		balance = measure_balance(members, n, table, SIZE);
		r.ms = ms < r.ms ? ms : r.ms;
		r.balance = balance > r.balance ? balance : r.balance;
		measure_changes(build, members, n, mix, &r);
	}
	return r;
}

static void print_row(const char *mix, size_t n, const struct result *a, const struct result *b)
{
	printf("| %zu | %s | %.2f | %.2f | %.2f | %.4f / %.4f | %.3f / %.3f | %.3f / %.3f | %.3f / "
	       "%.3f |\n",
	       n, mix, a->ms, b->ms, a->ms / b->ms, a->balance, b->balance, a->removed, b->removed,
	       a->one_less, b->one_less, a->half, b->half);
}

/* JSON has no infinity: the balance is null if a member has no slot. */
static void print_json(const char *who, const char *mix, size_t n, const struct result *r)
{
	char balance[32] = "null";

	if (r->balance < 1e9)
		snprintf(balance, sizeof(balance), "%.4f", r->balance);
	printf("{\"builder\":\"%s\",\"members\":%zu,\"weights\":\"%s\",\"ms\":%.3f,\"balance\":%s,"
	       "\"removed_percent\":%.3f,\"one_less_percent\":%.3f,\"half_percent\":%.3f}\n",
	       who, n, mix, r->ms, balance, r->removed, r->one_less, r->half);
}

int main(int argc, char **argv)
{
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;

	if (!json)
		printf("Tables of %d slots; pairs are ours / textbook; what moves is in %% of all "
		       "slots, beyond "
		       "what has to.\n\n"
		       "| members | weights | ms | textbook ms | ratio | max/min share | one "
		       "removed "
		       "| 100 to 99 | 100 to 50 |\n|---|---|---|---|---|---|---|---|---|\n",
		       SIZE);
	for (size_t m = 0; m < ARRAY_SIZE(mixes); m++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct result ours = measure(maglev_build, mixes[m].mix, sizes[i]);
			struct result book = measure(textbook_build, mixes[m].mix, sizes[i]);

			if (json) {
				print_json("maglev", mixes[m].name, sizes[i], &ours);
				print_json("textbook", mixes[m].name, sizes[i], &book);
			} else {
				print_row(mixes[m].name, sizes[i], &ours, &book);
			}
			fflush(stdout);
		}
	}
	return 0;
}
