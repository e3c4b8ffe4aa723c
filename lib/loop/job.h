/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: work in a child process, for code that would block the loop or must not be able to harm
 * it.
 *
 * The child is a fork: it sees the memory of the parent as it was when the job started. Of the
 * parent's descriptors it has only the standard ones and those in `keep`. It is killed when its
 * parent ends. It answers with bytes through a pipe, in shared memory (arena_new_shared()), or
 * both.
 *
 * For the main thread. Of several threads only the one that forks exists in the child, and locks
 * that others held at that moment are never released there. The C library takes care of those of
 * malloc() and stdio, and job_start() of those that the address sanitizer of clang 14 has in their
 * place. The thread sanitizer has more of them: under it a child may hang until its deadline. In a
 * program with several threads the work must not use OpenSSL (lib/tls) or the log, and must not
 * wait for another thread. A name lookup is safe because the parent never calls the resolver
 * itself. After a fork each thread of the parent copies every page that it writes to for the first
 * time: a program with data threads starts jobs rarely.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct job;

#define JOB_KEEP_MAX 8

enum job_end {
	JOB_DONE,     /* work() returned 0 */
	JOB_TIMEOUT,  /* the deadline passed; the child was killed */
	JOB_SIGNAL,   /* a signal ended it */
	JOB_EXIT,     /* work() returned something else */
	JOB_OVERFLOW, /* it wrote more than result_max bytes; the child was killed */
	JOB_UNKNOWN,  /* other code of this process waited for the child and has its status */
};

struct job_result {
	enum job_end end;
	int number;	    /* JOB_SIGNAL: the signal; JOB_EXIT: the exit code */
	const char *reason; /* "ended by signal 9", to follow a noun; "" for JOB_DONE */
	const void *bytes;  /* what the child wrote, even if it failed; freed after done() */
	size_t n;
};

/*
 * Runs in the child. The result is written to `out` (see job_write()), which is -1 if result_max
 * is 0. Returns the exit code of the child, 0 for success. Must not touch the parent's loop.
 */
typedef int (*job_work_fn)(int out, void *user);
/* Runs in the parent, from the loop, once. The job is already freed and must not be cancelled. */
typedef void (*job_done_fn)(const struct job_result *result, void *user);

struct job_spec {
	job_work_fn work;
	job_done_fn done;
	void *user;	   /* for work and done */
	size_t result_max; /* maximum bytes of the result; 0: no pipe */
	int64_t timeout;   /* ns; 0: no limit */
	const int *keep;   /* descriptors that stay open in the child, under the same numbers */
	size_t n_keep;	   /* at most JOB_KEEP_MAX */
	/*
	 * The child leads a process group of its own, and all of the group is killed with it: for
	 * work that executes a program which starts others.
	 */
	bool group;
};

/*
 * Starts the job without blocking. done() is called once, unless the job is cancelled. Returns
 * the errno of pipe, fork or pidfd; *ret is untouched then and done() is not called. spec is not
 * needed afterwards.
 *
 * Any loop works. If the process runs libev's default loop, the job should be on that one: a
 * default loop reaps every child, and only there the job can get the status.
 *
 * The kernel kills the child when the thread that started it ends, so call this from a thread
 * that lives on.
 */
int job_start(struct ev_loop *loop, const struct job_spec *spec, struct job **ret);
/* Kills the child and waits for its end, which is short; done() is not called. NULL is allowed. */
void job_cancel(struct job *j);

/*
 * For work(): writes all bytes, and blocks while the pipe is full. -errno; -EPIPE if the parent
 * has closed the pipe.
 */
int job_write(int out, const void *bytes, size_t n);
