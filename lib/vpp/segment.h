/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment: VPP's counters, read from shared memory while VPP writes it.
 *
 * No value in the segment is trusted: every pointer and length is checked against the size of the
 * file, and no call waits. A read is
 *
 *	vpp_segment_begin()		-EAGAIN: VPP is changing the segment, try later
 *	vpp_segment_scalar() ...	copies; they are valid only if
 *	vpp_segment_end()		returns 0. -EAGAIN: discard them, try later
 *
 * An invalid pointer (-EBADMSG) between a begin and an end that return 0 is a real error in the
 * segment, and trying again does not help.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vpp_segment;

/*
 * A name in the directory, and what is known about it. The caller keeps it from one read to the
 * next, so that the long directory is searched only if it may have changed. Initialise with the
 * name and zeros.
 */
struct vpp_entry {
	const char *name;
	uint32_t index;	       /* last position: a hint, checked before use */
	bool absent;	       /* it was not found ... */
	uint64_t absent_epoch; /* ... and cannot appear while the epoch is this one */
};

struct vpp_count {
	uint64_t packets, bytes;
};

/*
 * Opens the file that VPP sent. The segment owns fd from now on, also if this fails. -EBADMSG if
 * it is no stats segment, -EPROTONOSUPPORT if its layout has another version, or a negative
 * errno; *ret is untouched then.
 */
int vpp_segment_open(int fd, struct vpp_segment **ret);
void vpp_segment_close(struct vpp_segment *s); /* NULL is allowed */

int vpp_segment_begin(struct vpp_segment *s);
int vpp_segment_end(struct vpp_segment *s);

/* All three: -ENOENT if there is no such name, -EBADMSG if it is of another type or invalid. */
int vpp_segment_scalar(struct vpp_segment *s, struct vpp_entry *e, uint64_t *ret);
/* A column index that never exists. */
#define VPP_NO_COLUMN UINT32_MAX
/*
 * Adds the counts of one VPP thread, in each of n columns, to sum; a column that the thread does
 * not have adds nothing. -ERANGE after the last thread. One thread per call, so that a caller can
 * divide the work; on another failure the contents of sum are undefined.
 */
int vpp_segment_simple(struct vpp_segment *s, struct vpp_entry *e, uint32_t thread,
		       const uint32_t *columns, size_t n, uint64_t *sum);
int vpp_segment_combined(struct vpp_segment *s, struct vpp_entry *e, uint32_t thread,
			 const uint32_t *columns, size_t n, struct vpp_count *sum);
