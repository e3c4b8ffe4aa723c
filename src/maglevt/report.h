/* SPDX-License-Identifier: Apache-2.0 */
/* report: the result of a batch, as text or JSON. Pure. */
#pragma once

#include "base/str.h"
#include "src/maglevt/tester.h"

struct report {
	const struct tester *tester;
	int64_t started;  /* ns since the epoch */
	int64_t duration; /* ns */
};

/*
 * Whether a VIP meets --min-success and --max-p99 over its lifetime. A VIP that was never asked
 * does not.
 */
bool report_is_good(const struct options *o, const struct tally *lifetime);
/* Appends the report to out; returns whether all VIPs are good. */
bool report_write(const struct report *r, struct buf *out);
