/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distance is the "optimal string alignment" distance, computed row by row over the usual
 * matrix (rows: characters of a, columns: those of b). A path through the matrix that leaves the
 * diagonal by more than limit costs more than limit, so only that band is computed: ten thousand
 * names are compared quickly if the limit is small.
 */
#include "base/near.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint16_t near_row[NEAR_BYTES + 2]; /* the column to the right of the band is written, too */

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t difference(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

/* Whether the last two characters of both prefixes are the same, swapped. */
static bool is_swap(struct str a, struct str b, size_t i, size_t j)
{
	return i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1];
}

/*
 * Fills the band of row i from the two rows above it (rows[1] and rows[2]) and returns the smallest
 * cost in it. The cells next to the band are set to limit + 1, because the next row reads them.
 */
static size_t fill_row(struct str a, struct str b, size_t i, size_t limit, near_row *const rows[3])
{
	const uint16_t *above = *rows[1], *above2 = *rows[2];
	size_t first = i > limit ? i - limit : 1, last = min(b.n, i + limit);
	uint16_t *row = *rows[0];
	size_t best;

	row[first - 1] = (uint16_t)(first == 1 ? i : limit + 1);
	best = row[first - 1];
	for (size_t j = first; j <= last; j++) {
		size_t cost = above[j - 1] + (a.p[i - 1] != b.p[j - 1]);

		cost = min(cost, min(above[j], row[j - 1]) + 1);
		if (is_swap(a, b, i, j))
			cost = min(cost, above2[j - 2] + 1);
		row[j] = (uint16_t)cost;
		best = min(best, cost);
	}
	row[last + 1] =
		(uint16_t)(limit + 1); /* outside of the band: too far, whatever it would be */
	return best;
}

size_t near_distance(struct str a, struct str b, size_t limit)
{
	near_row cells[3] = { 0 };
	near_row *rows[3] = { &cells[0], &cells[1], &cells[2] };

	if (a.n > NEAR_BYTES || b.n > NEAR_BYTES || difference(a.n, b.n) > limit)
		return limit + 1;
	limit = min(limit, NEAR_BYTES); /* no distance is larger */
	for (size_t j = 0; j <= b.n + 1; j++)
		cells[0][j] = (uint16_t)j;
	for (size_t i = 1; i <= a.n; i++) {
		near_row *oldest = rows[2];

		rows[2] = rows[1];
		rows[1] = rows[0];
		rows[0] = oldest;
		/*
		 * the least cost of a row never decreases, so no later row can be within the
		 * limit
		 */
		if (fill_row(a, b, i, limit, rows) > limit)
			return limit + 1;
	}
	return min((*rows[0])[b.n], limit + 1);
}

void near_consider(struct near *near, const char *name)
{
	size_t limit = near->limit, place = near->n, d;

	assert(near->max >= 1 && near->max <= NEAR_MAX);

	/* once the list is full, only a name that is nearer than its last one is kept */
	if (near->n == near->max) {
		size_t last = near->found[near->n - 1].distance;

		if (!last)
			return;
		limit = min(limit, last - 1);
	}
	d = near_distance(near->wanted, str_of(name), limit);
	if (d > limit)
		return;
	if (near->n < near->max)
		near->n++;
	else
		place--;
	for (; place && near->found[place - 1].distance > d; place--)
		near->found[place] = near->found[place - 1];
	near->found[place] = (struct near_name){ name, d };
}
