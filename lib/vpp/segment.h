/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment: what VPP counts, read from memory that VPP writes while we read.
 *
 * Nothing in there is believed: every pointer and length is checked against the size of the file,
 * and nothing is waited for. A read is
 *
 *	vpp_segment_begin()		-EAGAIN: VPP is changing it, come back later
 *	vpp_segment_scalar() ...	copies; whatever they say counts only if
 *	vpp_segment_end()		0: nothing moved meanwhile. -EAGAIN: forget it, come back
 *
 * A broken pointer (-EBADMSG) between a begin and an end that say 0 is VPP's or somebody's fault,
 * and not a matter of time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vpp_segment;

/*
 * A name in the directory, and what was learnt about it: keep it from one read to the next, and the
 * directory, which is long, is searched only when it may have changed. Zero at first.
 */
struct vpp_entry {
	const char *name;
	uint32_t index;	       /* where it was: a hint that is checked before it is used */
	bool absent;	       /* it was not there ... */
	uint64_t absent_epoch; /* ... and will not be before this epoch has passed */
};

struct vpp_count {
	uint64_t packets, bytes;
};

/*
 * The file that VPP handed out; fd is the segment's from now on, also when this fails. -EBADMSG
 * when it is no such file, -EPROTONOSUPPORT when its layout is of another version, or a negative
 * errno; *ret untouched then.
 */
int vpp_segment_open(int fd, struct vpp_segment **ret);
void vpp_segment_close(struct vpp_segment *s); /* NULL is fine */

int vpp_segment_begin(struct vpp_segment *s);
int vpp_segment_end(struct vpp_segment *s);

/* All: -ENOENT when there is no such name, -EBADMSG when it is of another kind or broken. */
int vpp_segment_scalar(struct vpp_segment *s, struct vpp_entry *e, uint64_t *ret);
#define VPP_NO_COLUMN UINT32_MAX
/*
 * Adds what one of VPP's threads has counted, in each of n columns, to sum; a column that it does
 * not have counts nothing. -ERANGE behind the last thread. One thread at a time, as there may be
 * many of both; what is in sum is undefined on another failure.
 */
int vpp_segment_simple(struct vpp_segment *s, struct vpp_entry *e, uint32_t thread,
		       const uint32_t *columns, size_t n, uint64_t *sum);
int vpp_segment_combined(struct vpp_segment *s, struct vpp_entry *e, uint32_t thread,
			 const uint32_t *columns, size_t n, struct vpp_count *sum);
