/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment: shared memory laid out as VPP's statistics, version 2.
 *
 * A header, a directory of entries, and vectors of numbers, all in host byte order. Pointers are
 * those of a process that has it mapped at base. The directory and everything it refers to are in
 * one half of the memory. A change of shape writes them to the other half and overwrites the old
 * one with garbage, so that a client that kept a pointer is found out. Numbers change in place.
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
#define SEGMENT_THREADS 2 /* the main thread, which counts nothing, and one worker */
#define SEGMENT_POISON 0xa5

struct segment_entry {
	char name[SEGMENT_NAME_LEN];
	uint32_t type;
	uint64_t value;	       /* scalar; symlink: the entry, column in the upper 32 bits */
	const uint64_t *words; /* the counters of the worker */
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
	bool upper; /* the upper half is in use */
};

/* Creates a segment; base is the address at which VPP would map it. Returns 0 or -errno. */
int segment_open(struct segment *s, size_t size, uint64_t base);
void segment_close(struct segment *s);
struct segment_header *segment_header(const struct segment *s);
/* Writes the entries. The epoch changes if their shape has changed. */
void segment_publish(struct segment *s, const struct segment_entry *entries, size_t n);
/*
 * Writes everything to the other half without a new epoch, as VPP does when symlinks are added.
 */
void segment_move(struct segment *s, const struct segment_entry *entries, size_t n);
