/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that answers with one struct plane_report. It inherits the capabilities of the parent, and
 * keeps the lock on the folder as long as it runs: no other maglevd can take the folder before a
 * child that still writes there has ended.
 */
#include "src/maglevd/dataplane/xdp/loader.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static int work(int out, void *user)
{
	const struct plane_loader *l = user;
	struct plane_report report;

	memset(&report, 0, sizeof(report));
	l->work(l->order, &report);
	return job_write(out, &report, sizeof(report)) < 0;
}

static void on_done(const struct job_result *result, void *user)
{
	struct plane_loader *l = user;
	struct plane_report report = { .err = -ECHILD };

	l->job = NULL;
	if (result->end == JOB_DONE && result->n == sizeof(report))
		memcpy(&report, result->bytes, sizeof(report));
	else
		plane__explain(&report.why, "the process that loads the program %s",
			       result->reason);
	l->done(l->user, &report);
}

int plane__loader_start(struct plane_loader *l, plane_job_fn job, const void *order)
{
	const struct job_spec spec = { .work = work,
				       .done = on_done,
				       .user = l,
				       .result_max = sizeof(struct plane_report),
				       .keep = l->keep,
				       .n_keep = l->n_keep };

	assert(!l->job && l->n_keep <= PLANE_KEEP_MAX);
	l->work = job;
	l->order = order;
	return job_start(l->loop, &spec, &l->job);
}

bool plane__loader_busy(const struct plane_loader *l)
{
	return l->job != NULL;
}

void plane__loader_stop(struct plane_loader *l)
{
	job_cancel(TAKE_PTR(l->job));
}
