/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: the Prometheus text format, version 0.0.4, written into a buffer.
 *
 * There is no registry: whoever has numbers writes them, family by family.
 *
 *	metrics_family(out, "maglev_probe_total", METRICS_COUNTER, "Probes by result.");
 *	for (...)
 *		metrics_u64(out, "maglev_probe_total", labels, n_labels, count);
 *
 * The format wants all samples of a family together, behind its one header, and no sample twice:
 * that is the caller's to keep. Nothing is remembered between calls, so a page may be written in
 * slices. Label values and help may hold any bytes: what is not UTF-8 becomes U+FFFD. Names are
 * the program's own, and asserted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

struct metrics_label {
	const char *name;
	struct str value;
};

/* The two lines that open a family. A counter's name ends in "_total". */
void metrics_family(struct buf *out, const char *name, enum metrics_type type, const char *help);

/* One sample. labels may be NULL when n is 0. */
void metrics_u64(struct buf *out, const char *name, const struct metrics_label *labels, size_t n,
		 uint64_t value);
void metrics_double(struct buf *out, const char *name, const struct metrics_label *labels, size_t n,
		    double value);

/* The shortest decimal that reads back as the same double; "NaN", "+Inf", "-Inf". Any locale. */
void metrics_add_double(struct buf *out, double value);

/*
 * A histogram. The bounds are a table of the program's, ascending, without +Inf, and must outlive
 * it; the counts are of each bucket alone and are summed up only when written.
 */
#define METRICS_BOUNDS_MAX 15

struct metrics_bounds {
	const double *le;
	size_t n; /* at most METRICS_BOUNDS_MAX */
};

struct metrics_histogram {
	const struct metrics_bounds *bounds;
	uint64_t buckets[METRICS_BOUNDS_MAX + 1]; /* the one behind the last bound is +Inf's */
	double sum;
};

void metrics_histogram_init(struct metrics_histogram *h, const struct metrics_bounds *bounds);
/* A value equal to a bound counts below it. Not NaN. */
void metrics_observe(struct metrics_histogram *h, double value);
/* name_bucket for every bound and +Inf, name_sum, name_count. "le" must not be among the labels. */
void metrics_histogram(struct buf *out, const char *name, const struct metrics_label *labels,
		       size_t n, const struct metrics_histogram *h);

/*
 * The families every Prometheus client has, of this process, from /proc: CPU seconds, resident and
 * virtual memory, open and allowed descriptors, start time. What cannot be read is left out.
 */
void metrics_process(struct buf *out);
