/* SPDX-License-Identifier: Apache-2.0 */
/* report: what a batch found, as text or JSON. Pure. */
#pragma once

#include "base/str.h"
#include "src/maglevt/tester.h"

struct report {
	const struct tester *tester;
	int64_t started;  /* ns since the epoch */
	int64_t duration; /* ns */
};

/* As good as the options ask for, over its lifetime; a VIP that was never asked is not. */
bool report_is_good(const struct options *o, const struct tally *lifetime);
/* Whether all are; the text is added to out. */
bool report_write(const struct report *r, struct buf *out);
