/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vpp/segment.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VERSION 2
#define ALIGN 64
#define VECTOR_HEADER 8

/* Where the next vector is written. */
struct cursor {
	struct segment *s;
	size_t at, end;
};

struct segment_header *segment_header(const struct segment *s)
{
	return (struct segment_header *)(void *)s->map;
}

int segment_open(struct segment *s, size_t size, uint64_t base)
{
	int fd = memfd_create("stats", MFD_CLOEXEC);
	void *map;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return -errno;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*s = (struct segment){ .fd = fd, .map = map, .size = size };
	segment_header(s)->version = VERSION;
	segment_header(s)->base = base;
	return 0;
}

void segment_close(struct segment *s)
{
	if (!s->map)
		return;
	munmap(s->map, s->size);
	close(s->fd);
	*s = (struct segment){ .fd = -1 };
}

/*
 * Adds a vector of n elements with room for more; returns its place. In VPP the bytes after the
 * length are not initialised.
 */
static size_t add_vector(struct cursor *c, size_t n, size_t room, size_t size)
{
	static const uint8_t noise[] = { 0x08, 0x86, 0x03, 0x00 };
	size_t at = (c->at + VECTOR_HEADER + ALIGN - 1) / ALIGN * ALIGN;
	uint32_t length = (uint32_t)n;

	c->at = at + room * size;
	assert(c->at <= c->end);
	memcpy(c->s->map + at - VECTOR_HEADER, &length, sizeof(length));
	memcpy(c->s->map + at - VECTOR_HEADER + sizeof(length), noise, sizeof(noise));
	return at;
}

static uint64_t pointer_to(const struct cursor *c, size_t at)
{
	return segment_header(c->s)->base + at;
}

/* Counters are a vector of threads, each a vector of columns. The main thread counts nothing. */
static uint64_t write_counters(struct cursor *c, const struct segment_entry *e)
{
	size_t words = e->type == SEGMENT_COMBINED ? 2 : 1, size = words * sizeof(uint64_t);
	size_t threads = add_vector(c, SEGMENT_THREADS, SEGMENT_THREADS, sizeof(uint64_t));

	for (size_t i = 0; i < SEGMENT_THREADS; i++) {
		size_t at = add_vector(c, e->columns, e->capacity, size);
		uint64_t pointer = pointer_to(c, at);

		memcpy(c->s->map + threads + i * sizeof(pointer), &pointer, sizeof(pointer));
		if (i == 0)
			memset(c->s->map + at, 0, e->columns * size);
		else if (e->columns)
			memcpy(c->s->map + at, e->words, e->columns * size);
	}
	return pointer_to(c, threads);
}

static uint64_t write_names(struct cursor *c, const struct segment_entry *e)
{
	size_t list = add_vector(c, e->columns, e->columns, sizeof(uint64_t));

	for (size_t i = 0; i < e->columns; i++) {
		uint64_t pointer = 0; /* a name may be missing */

		if (e->names[i]) {
			size_t n = strlen(e->names[i]) + 1, at = add_vector(c, n, n, 1);

			memcpy(c->s->map + at, e->names[i], n);
			pointer = pointer_to(c, at);
		}
		memcpy(c->s->map + list + i * sizeof(pointer), &pointer, sizeof(pointer));
	}
	return pointer_to(c, list);
}

static uint64_t write_data(struct cursor *c, const struct segment_entry *e)
{
	switch (e->type) {
	case SEGMENT_SIMPLE:
	case SEGMENT_COMBINED:
	case SEGMENT_HISTOGRAM:
		return write_counters(c, e);
	case SEGMENT_NAMES:
		return write_names(c, e);
	default: /* also unknown types */
		return e->value;
	}
}

static void write_entry(struct cursor *c, size_t place, const struct segment_entry *e)
{
	uint64_t data = write_data(c, e);
	uint8_t *p = c->s->map + place;

	memcpy(p, &e->type, sizeof(e->type));
	memset(p + 4, 0, 4);
	memcpy(p + 8, &data, sizeof(data));
	memcpy(p + 16, e->name, sizeof(e->name));
}

static size_t half_start(const struct segment *s, bool upper)
{
	return upper ? s->size / 2 : sizeof(struct segment_header);
}

/* again: the entries exist already, and only their numbers can differ. */
static void write_all(struct segment *s, const struct segment_entry *entries, size_t n, bool again)
{
	struct cursor c = { .s = s,
			    .at = half_start(s, s->upper),
			    .end = s->upper ? s->size : s->size / 2 };
	size_t directory = add_vector(&c, n, n, SEGMENT_ENTRY_LEN);

	for (size_t i = 0; i < n; i++)
		if (!again || entries[i].type != SEGMENT_SYMLINK)
			write_entry(&c, directory + i * SEGMENT_ENTRY_LEN, &entries[i]);
	segment_header(s)->directory = pointer_to(&c, directory);
}

static void set_busy(struct segment *s, uint64_t busy)
{
	__atomic_store_n(&segment_header(s)->in_progress, busy, __ATOMIC_SEQ_CST);
}

/*
 * Writes everything to the other half and poisons the old one. in_progress is set meanwhile, and
 * the epoch changes before it is reset: the order that clients rely on to detect a change.
 */
static void rewrite(struct segment *s, const struct segment_entry *entries, size_t n,
		    unsigned epochs)
{
	size_t old = half_start(s, s->upper);
	struct segment_header *h = segment_header(s);
	uint64_t busy = h->in_progress; /* a test may have set it */

	set_busy(s, 1);
	s->upper = !s->upper;
	write_all(s, entries, n, false);
	memset(s->map + old, SEGMENT_POISON, (s->upper ? s->size / 2 : s->size) - old);
	__atomic_add_fetch(&h->epoch, epochs, __ATOMIC_SEQ_CST);
	set_busy(s, busy);
}

/* A hash of what decides the layout: the number of entries and the capacity of their vectors. */
static uint64_t shape_of(const struct segment_entry *entries, size_t n)
{
	uint64_t shape = n + 1;

	for (size_t i = 0; i < n; i++)
		shape = shape * 0x100000001b3u + entries[i].capacity;
	return shape;
}

void segment_publish(struct segment *s, const struct segment_entry *entries, size_t n)
{
	uint64_t shape = shape_of(entries, n);

	if (shape == s->shape) {
		write_all(s, entries, n, true);
		return;
	}
	s->shape = shape;
	rewrite(s, entries, n, 1);
}

void segment_move(struct segment *s, const struct segment_entry *entries, size_t n)
{
	s->shape = shape_of(entries, n);
	rewrite(s, entries, n, 0);
}
