/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the names that a misspelt one could have been. */
#include <string.h>

#include "core/l4/validate_build.h"

#define NEAR_MAX 3	/* names offered */
#define NEAR_DISTANCE 2 /* characters added, dropped, changed or swapped */
#define NEAR_ERRORS 20	/* errors after which nobody reads it any more */

/* Whether a becomes b with at most budget edits. The budget bounds the recursion. */
static bool within(const char *a, const char *b, unsigned budget)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return true;
	if (!budget)
		return false;
	budget--;
	if (*a && within(a + 1, b, budget))
		return true;
	if (*b && within(a, b + 1, budget))
		return true;
	if (*a && *b && within(a + 1, b + 1, budget))
		return true;
	return *a && *b && a[0] == b[1] && a[1] == b[0] && within(a + 2, b + 2, budget);
}

/* The nearest come first; the shorter the name, the fewer edits it may have. */
static size_t collect(const char *name, const struct l4__entry *entries, size_t n,
		      const char *found[NEAR_MAX])
{
	size_t count = 0;
	unsigned limit = strlen(name) < 4 ? 1 : NEAR_DISTANCE;

	for (unsigned budget = 1; budget <= limit; budget++)
		for (size_t i = 0; i < n && count < NEAR_MAX; i++)
			if (within(name, entries[i].name, budget) &&
			    (budget == 1 || !within(name, entries[i].name, budget - 1)))
				found[count++] = entries[i].name;
	return count;
}

const char *l4__near(struct l4__build *b, const char *name, const struct l4__entry *entries,
		     size_t n)
{
	const char *found[NEAR_MAX];
	const char *text = "";
	size_t count;

	/* every name is looked at, so a file full of wrong ones would take long */
	if (b->errors->n >= NEAR_ERRORS)
		return "";
	count = collect(name, entries, n, found);
	for (size_t i = 0; i < count; i++)
		text = arena_printf(b->scratch, "%s%s%s", text,
				    i == 0	     ? "; did you mean "
				    : i + 1 == count ? " or "
						     : ", ",
				    l4__quote(b, found[i]));
	return count ? arena_printf(b->scratch, "%s?", text) : "";
}
