/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: work in a child process, for what would block the loop or must not be able to harm it.
 *
 * The child is a fork: it sees the memory of the parent as it was when the job started. It has no
 * descriptor of the parent but the standard ones and those named in `keep`, and it ends with its
 * parent. It answers with bytes through a pipe, or in memory that both share (arena_new_shared()),
 * or both.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct job;

#define JOB_KEEP_MAX 8

enum job_end {
	JOB_DONE,     /* work() returned 0 */
	JOB_TIMEOUT,  /* the deadline passed, and the child was killed */
	JOB_SIGNAL,   /* a signal ended it */
	JOB_EXIT,     /* work() returned something else */
	JOB_OVERFLOW, /* it wrote more than result_max bytes, and was killed */
	JOB_UNKNOWN,  /* other code of this process waited for the child and has its status */
};

struct job_result {
	enum job_end end;
	int number;	    /* JOB_SIGNAL: which; JOB_EXIT: the exit code */
	const char *reason; /* "ended by signal 9": what happened, after a noun; "" for JOB_DONE */
	const void *bytes;  /* what the child wrote, also when it failed; gone after done() */
	size_t n;
};

/*
 * Runs in the child. `out` takes the result (see job_write()), -1 if result_max is 0. Returns the
 * exit code of the child, 0 for success. Must not touch the loop of the parent.
 */
typedef int (*job_work_fn)(int out, void *user);
/* Runs in the parent, from the loop, once. The job is gone when it is called. */
typedef void (*job_done_fn)(const struct job_result *result, void *user);

struct job_spec {
	job_work_fn work;
	job_done_fn done;
	void *user;	   /* for both */
	size_t result_max; /* bytes that the child may write; 0: it has no pipe */
	int64_t timeout;   /* ns; 0: it may take as long as it wants */
	const int *keep;   /* descriptors that stay open in the child, under the same numbers */
	size_t n_keep;	   /* at most JOB_KEEP_MAX */
};

/*
 * Does not block. Calls done() once, unless the job is cancelled. -errno of pipe, fork or pidfd;
 * *ret is untouched then and done() is not called.
 *
 * Any loop will do. Where a default loop runs in the process, it should be that one: a default loop
 * takes the status of every child, and only there can the job learn of it.
 *
 * The kernel ends the child with the thread that started it: call this from one that lives on.
 */
int job_start(struct ev_loop *loop, const struct job_spec *spec, struct job **ret);
/* Kills the child and waits until it is gone; done() is not called. NULL is fine. */
void job_cancel(struct job *j);

/* For work(): writes all of it. -errno; -EPIPE when the parent has no more interest. */
int job_write(int out, const void *bytes, size_t n);
