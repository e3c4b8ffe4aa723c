/* SPDX-License-Identifier: Apache-2.0 */
#include "core/maglev/measure.h"

#include <assert.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/testing/random.h"

static uint8_t weight_of(enum measure_mix mix, size_t i, struct dice *d)
{
	switch (mix) {
	case MEASURE_EQUAL:
		return 100;
	case MEASURE_RANDOM:
		return (uint8_t)(1 + dice_roll(d, 100));
	case MEASURE_ONE_HEAVY:
		return i == 0 ? 100 : 1;
	case MEASURE_ONE_LIGHT:
		return i == 0 ? 1 : 100;
	}
	assert(false);
	return 0;
}

void measure_fleet(enum measure_mix mix, uint64_t seed, struct maglev_member *members, size_t n)
{
	struct dice d = { seed, seed };
	uint8_t net = (uint8_t)dice_roll(&d, 256);

	for (size_t i = 0; i < n; i++) {
		struct addr *a = &members[i].address;
		size_t host = i % 2 ? 12 : 0; /* the last four bytes, or all */

		*a = (struct addr){ .family = i % 2 ? AF_INET6 : AF_INET };
		a->bytes[0] = i % 2 ? 0x20 : 10;
		a->bytes[host + 1] = net;
		a->bytes[host + 2] = (uint8_t)(i >> 8);
		a->bytes[host + 3] = (uint8_t)i;
		members[i].weight = weight_of(mix, i, &d);
	}
}

void measure_counts(const uint16_t *table, size_t size, size_t *counts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		counts[i] = 0;
	for (size_t i = 0; i < size; i++) {
		assert(table[i] < n);
		counts[table[i]]++;
	}
}

double measure_balance(const struct maglev_member *members, size_t n, const uint16_t *table,
		       size_t size)
{
	_cleanup_(cleanup_free) size_t *counts = mem_resize(NULL, n, sizeof(*counts));
	double most = 0, least = INFINITY;

	measure_counts(table, size, counts, n);
	for (size_t i = 0; i < n; i++) {
		if (members[i].weight == 0)
			continue;
		most = fmax(most, (double)counts[i] / members[i].weight);
		least = fmin(least, (double)counts[i] / members[i].weight);
	}
	return most / least;
}

/* The share of the member that is due by weight alone, from 0 to 1. */
static double share(const struct maglev_member *members, size_t n, size_t member)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += members[i].weight;
	return members[member].weight / sum;
}

/* The difference of the ideal shares is the least that any algorithm has to move. */
double measure_disruption(measure_build *build, struct maglev_member *members, size_t n,
			  size_t member, uint8_t weight, size_t size)
{
	_cleanup_(cleanup_free) uint16_t *before = mem_resize(NULL, size, sizeof(*before));
	_cleanup_(cleanup_free) uint16_t *after = mem_resize(NULL, size, sizeof(*after));
	uint8_t old = members[member].weight;
	double due = share(members, n, member);
	size_t moved = 0;

	build(members, n, before, size);
	members[member].weight = weight;
	due = fabs(due - share(members, n, member));
	build(members, n, after, size);
	members[member].weight = old;
	for (size_t i = 0; i < size; i++)
		moved += before[i] != after[i];
	return (double)moved / (double)size - due;
}
