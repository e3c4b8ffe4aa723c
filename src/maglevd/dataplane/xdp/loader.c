/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that answers with one struct xdplb_report. It inherits the capabilities of the parent, and
 * keeps the lock on the folder as long as it runs: no other maglevd can take the folder before a
 * child that still writes there has ended.
 */
#include "src/maglevd/dataplane/xdp/loader.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* In the child. The report is zeroed with its padding, because its bytes are written to a pipe. */
static int work(int out, void *user)
{
	const struct xdplb_loader *l = user;
	struct xdplb_report report;

	memset(&report, 0, sizeof(report));
	l->work(l->order, &report);
	return job_write(out, &report, sizeof(report)) < 0;
}

/* In the parent. A child that died or wrote too little counts as a failed load. */
static void on_done(const struct job_result *result, void *user)
{
	struct xdplb_loader *l = user;
	struct xdplb_report report = { .err = -ECHILD };

	l->job = NULL;
	if (result->end == JOB_DONE && result->n == sizeof(report))
		memcpy(&report, result->bytes, sizeof(report));
	else
		xdplb__explain(&report.why, "the process that loads the program %s",
			       result->reason);
	l->done(l->user, &report);
}

int xdplb__loader_start(struct xdplb_loader *l, xdplb_job_fn job, const void *order)
{
	const struct job_spec spec = { .work = work,
				       .done = on_done,
				       .user = l,
				       .result_max = sizeof(struct xdplb_report),
				       .keep = l->keep,
				       .n_keep = l->n_keep };

	assert(!l->job && l->n_keep <= PLANE_KEEP_MAX);
	l->work = job;
	l->order = order;
	return job_start(l->loop, &spec, &l->job);
}

bool xdplb__loader_busy(const struct xdplb_loader *l)
{
	return l->job != NULL;
}

void xdplb__loader_stop(struct xdplb_loader *l)
{
	job_cancel(TAKE_PTR(l->job));
}
