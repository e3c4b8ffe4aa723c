/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include <stddef.h>

/*
 * After a mismatch only the last "*" takes one byte more: an earlier one could not help, because
 * the last one can take whatever is between them. So the time is not exponential, as it would be
 * with a recursion for every "*".
 */
bool glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL; /* behind the last "*", and where its text began */

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
