/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment: shared memory laid out as VPP's statistics, version 2.
 *
 * A header, a directory of entries, vectors of numbers; all in host order, and all pointers are
 * those of a process that has it mapped at base. The directory and everything it points to fill
 * one half of the memory; a change of shape writes them anew into the other half and scribbles
 * over the old one, so that whoever kept a pointer reads nonsense. Numbers alone change in place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum segment_type {
	SEGMENT_SCALAR = 1,
	SEGMENT_SIMPLE = 2,   /* packets */
	SEGMENT_COMBINED = 3, /* packets and bytes */
	SEGMENT_NAMES = 4,
	SEGMENT_FREE = 5,
	SEGMENT_SYMLINK = 6,
	SEGMENT_HISTOGRAM = 7,
	SEGMENT_RING = 8,
	SEGMENT_GAUGE = 9,
};

#define SEGMENT_NAME_LEN 128
#define SEGMENT_ENTRY_LEN 144
#define SEGMENT_THREADS 2 /* the main thread, which counts nothing, and a worker */
#define SEGMENT_POISON 0xa5

struct segment_entry {
	char name[SEGMENT_NAME_LEN];
	uint32_t type;
	uint64_t value;	       /* scalars; of a symlink: entry, and the column in the upper half */
	const uint64_t *words; /* counters of the worker */
	size_t columns, capacity;
	const char *const *names;
};

struct segment_header {
	uint64_t version, base, epoch, in_progress, directory;
};

struct segment {
	int fd;
	uint8_t *map;
	size_t size;
	uint64_t shape;
	bool upper; /* the half in use */
};

/* base: where VPP has it. 0 or -errno. */
int segment_open(struct segment *s, size_t size, uint64_t base);
void segment_close(struct segment *s);
struct segment_header *segment_header(const struct segment *s);
/* Another epoch when the shape is another. */
void segment_publish(struct segment *s, const struct segment_entry *entries, size_t n);
/* Everything to the other half without a new epoch: what VPP does when symlinks are added. */
void segment_move(struct segment *s, const struct segment_entry *entries, size_t n);
