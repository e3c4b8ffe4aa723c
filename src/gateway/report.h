/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: writes the status of objects, as translation wants it, while this process leads.
 *
 * Translation gives a patch only for objects whose status differs, made for the version that it has
 * seen. The server refuses it if another writer was faster; then the object comes again with what
 * that one wrote. A write that fails is repeated after 100 ms to 30 s.
 *
 * The cache follows our own writes with a delay. A patch for an object that is being written, or
 * whose last write the cache has not seen yet, is dropped: that write brings the object again.
 */
#pragma once

#include "lib/operator/operator.h"
#include "src/gateway/translate.h"

#define REPORT_PARALLEL 16 /* writes under way */

struct report;

struct report_config {
	struct ev_loop *loop;
	struct operator_frame *op; /* borrowed, as is gw */
	struct gw *gw;
	/* The served version of a kind; NULL: it is not installed. */
	const char *(*version)(enum gw_kind kind, void *user);
	/* The version of the object in the answer to a write; 0: not known. */
	uint64_t (*written)(enum gw_kind kind, const struct k8s_result *result, void *user);
	void *user;
};

struct report_stats {
	uint64_t written, conflicts, failures;
};

struct report *report_new(const struct report_config *config);
void report_free(struct report *s); /* NULL is allowed */
/* Starts writes, if the operator is active and translation has nothing left to do. */
void report_pump(struct report *s);
const struct report_stats *report_stats(const struct report *s);
