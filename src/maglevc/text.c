/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/text.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"

void text_add_clean(struct buf *out, struct str s)
{
	buf_add_shown(out, s, SIZE_MAX);
}

void text_add_lines(struct buf *out, const char *prefix, const char *s)
{
	struct str rest = str_of(s), line;

	while (str_cut(&rest, '\n', &line)) {
		/* a final newline does not begin another line */
		if (!line.n && !rest.n)
			break;
		buf_adds(out, prefix);
		text_add_clean(out, line);
		buf_addc(out, '\n');
	}
}

const char *text_age(int64_t ns, char buf[static TEXT_AGE_LEN])
{
	static const struct {
		int64_t seconds;
		char name;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	int64_t seconds = ns > 0 ? ns / NSEC_PER_SEC : 0;
	size_t i = 0;
	int n;

	while (i < ARRAY_SIZE(units) - 1 && seconds < units[i].seconds)
		i++;
	n = snprintf(buf, TEXT_AGE_LEN, "%lld%c", (long long)(seconds / units[i].seconds),
		     units[i].name);
	seconds %= units[i].seconds;
	if (++i < ARRAY_SIZE(units) && seconds / units[i].seconds)
		snprintf(buf + n, TEXT_AGE_LEN - (size_t)n, "%lld%c",
			 (long long)(seconds / units[i].seconds), units[i].name);
	return buf;
}

const char *text_time(int64_t unix_ns, char buf[static TEXT_TIME_LEN])
{
	char whole[TIME_STRLEN];

	snprintf(buf, TEXT_TIME_LEN, "%.19sZ", time_format(unix_ns, whole));
	return buf;
}
