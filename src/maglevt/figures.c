/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/figures.h"

#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"

/*
 * Below ten of a unit one decimal is shown. A value that rounds to 1000 of a unit is shown in
 * the next one, so the result never gets longer than five columns.
 */
const char *figure_latency(int64_t ns, char buf[static FIGURE_LEN])
{
	static const struct {
		int64_t unit;
		const char *name;
	} units[] = { { NSEC_PER_MSEC, "ms" }, { NSEC_PER_SEC, "s" } };
	int64_t us = (ns + NSEC_PER_USEC / 2) / NSEC_PER_USEC;

	if (us < 1000) {
		snprintf(buf, FIGURE_LEN, "%lldµs", (long long)us);
		return buf;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		int64_t tenths = (ns * 10 + units[i].unit / 2) / units[i].unit;
		int64_t whole = (ns + units[i].unit / 2) / units[i].unit;

		if (tenths < 100)
			snprintf(buf, FIGURE_LEN, "%lld.%lld%s", (long long)tenths / 10,
				 (long long)tenths % 10, units[i].name);
		else
			snprintf(buf, FIGURE_LEN, "%lld%s", (long long)whole, units[i].name);
		if (whole < 1000)
			break;
	}
	return buf;
}

/* Rounds down: 100k means at least that many. */
const char *figure_count(uint64_t n, char buf[static FIGURE_LEN])
{
	if (n < 100000)
		snprintf(buf, FIGURE_LEN, "%llu", (unsigned long long)n);
	else if (n < 100000000)
		snprintf(buf, FIGURE_LEN, "%lluk", (unsigned long long)(n / 1000));
	else
		snprintf(buf, FIGURE_LEN, "%lluM", (unsigned long long)(n / 1000000));
	return buf;
}

const char *figure_share(double share, char buf[static FIGURE_LEN])
{
	unsigned hundredths = (unsigned)(share * 10000);

	if (hundredths >= 10000)
		snprintf(buf, FIGURE_LEN, "100%%");
	else
		snprintf(buf, FIGURE_LEN, "%u.%02u%%", hundredths / 100, hundredths % 100);
	return buf;
}
