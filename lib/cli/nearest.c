/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest: what a mistyped flag was meant to be.
 *
 * The fewest insertions, deletions, replacements and swaps of neighbours that lead from one name to
 * the other, as long as they are few for a name of that length. Names are short; longer ones than
 * NAME_MAX_LEN are not looked at.
 */
#include <assert.h>

#include "lib/cli/cli_internal.h"

#define NAME_MAX_LEN 40

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(struct str a, struct str b)
{
	size_t cost[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1];

	assert(a.n <= NAME_MAX_LEN && b.n <= NAME_MAX_LEN);

	for (size_t i = 0; i <= a.n; i++)
		cost[i][0] = i;
	for (size_t j = 0; j <= b.n; j++)
		cost[0][j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		for (size_t j = 1; j <= b.n; j++) {
			size_t differs = a.p[i - 1] != b.p[j - 1];
			size_t c = min(cost[i - 1][j], cost[i][j - 1]) + 1;

			c = min(c, cost[i - 1][j - 1] + differs);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
				c = min(c, cost[i - 2][j - 2] + differs);
			cost[i][j] = c;
		}
	}
	return cost[a.n][b.n];
}

struct best {
	const char *name;
	size_t distance;
};

static void consider(struct best *best, struct str wanted, const struct cli_option *o)
{
	struct str name = str_of(o->name);
	size_t d;

	if (name.n > NAME_MAX_LEN)
		return;
	d = distance(wanted, name);
	if (d < best->distance)
		*best = (struct best){ o->name, d };
}

const char *cli__nearest(const struct cli_program *p, struct str name)
{
	struct best best = { NULL, 2 + name.n / 4 };

	if (name.n < 2 || name.n > NAME_MAX_LEN)
		return NULL;
	for (size_t i = 0; i < p->n_options; i++)
		consider(&best, name, &p->options[i]);
	for (size_t i = 0; i < CLI__BUILTINS; i++)
		consider(&best, name, &cli__builtins[i]);
	return best.name;
}
