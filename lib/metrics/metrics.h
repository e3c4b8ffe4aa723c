/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics: the Prometheus text format, version 0.0.4, written into a buffer.
 *
 * There is no registry: the code that has the numbers writes them, family by family.
 *
 *	metrics_family(out, "maglev_probe_total", METRICS_COUNTER, "Probes by result.");
 *	for (...)
 *		metrics_u64(out, "maglev_probe_total", labels, n_labels, count);
 *
 * The format wants all samples of a family together, after its one header, and no sample twice;
 * the caller has to ensure both. No state is kept between calls, so a page may be written in
 * slices. Label values and help may hold any bytes: invalid UTF-8 becomes U+FFFD. Names are the
 * program's own and are asserted. Nothing here blocks except metrics_process(), which reads
 * /proc.
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

/* Writes the HELP and TYPE lines of a family. By convention a counter's name ends in "_total". */
void metrics_family(struct buf *out, const char *name, enum metrics_type type, const char *help);

/* Writes one sample. labels may be NULL if n is 0. */
void metrics_u64(struct buf *out, const char *name, const struct metrics_label *labels, size_t n,
		 uint64_t value);
void metrics_double(struct buf *out, const char *name, const struct metrics_label *labels, size_t n,
		    double value);

/*
 * Writes the shortest decimal that parses to the same double, or "NaN", "+Inf", "-Inf", with a
 * point in every locale.
 */
void metrics_add_double(struct buf *out, double value);

/*
 * A histogram. The bounds are a table of the program, ascending, without +Inf, and must outlive
 * the histogram. Each bucket counts alone; the cumulative counts are computed when they are
 * written.
 */
#define METRICS_BOUNDS_MAX 15

struct metrics_bounds {
	const double *le;
	size_t n; /* at most METRICS_BOUNDS_MAX */
};

struct metrics_histogram {
	const struct metrics_bounds *bounds;
	uint64_t buckets[METRICS_BOUNDS_MAX + 1]; /* the one after the last bound is +Inf's */
	double sum;
};

void metrics_histogram_init(struct metrics_histogram *h, const struct metrics_bounds *bounds);
/* Counts one value. A value equal to a bound belongs to that bound's bucket. NaN is not allowed. */
void metrics_observe(struct metrics_histogram *h, double value);
/*
 * Writes name_bucket for every bound and +Inf, name_sum and name_count. "le" must not be a label.
 */
void metrics_histogram(struct buf *out, const char *name, const struct metrics_label *labels,
		       size_t n, const struct metrics_histogram *h);

/*
 * The process_* families of the Prometheus clients, for this process, from /proc: CPU seconds,
 * resident and virtual memory, open and allowed descriptors, start time. A value that cannot be
 * read is left out.
 */
void metrics_process(struct buf *out);
