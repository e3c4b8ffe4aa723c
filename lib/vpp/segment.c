/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment: VPP's stats segment, a file that VPP shares with us.
 *
 * All reading goes through fetch(), which copies bytes at an offset or fails. If the file is
 * sealed against shrinking it is mapped, and a fetch is a memcpy(). A segment in huge pages is
 * not sealed: if VPP shrank it, an access to a mapping would raise SIGBUS, so it is read with
 * pread(), one block at a time.
 *
 * Pointers are addresses in VPP; minus VPP's base address they are offsets. The length of a
 * vector is stored eight bytes before its first element. Threads may have vectors of different
 * lengths. All numbers are in host byte order, as VPP runs on the same host.
 */
#include "lib/vpp/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define VERSION 2
#define NAME_SIZE 128
#define VECTOR_LENGTH_BEFORE 8
#define DIRECTORY_MAX ((uint32_t)1 << 18) /* VPP has about 5,000, and 25 per interface */
#define THREADS_MAX 1024
#define ENTRIES_AT_ONCE 28
#define BLOCK_SIZE ((size_t)4096)

/* The types of directory entries, as VPP numbers them; others are not read. */
enum { SCALAR = 1, SIMPLE = 2, COMBINED = 3, GAUGE = 9 };

/*
 * The start of the file, as VPP lays it out. epoch changes whenever the directory or a vector
 * does.
 */
struct header {
	uint64_t version, base, epoch, in_progress, directory;
};

struct directory_entry {
	uint32_t type, padding;
	uint64_t value; /* or, for counters, a pointer to a vector of vectors */
	char name[NAME_SIZE];
};
_Static_assert(sizeof(struct directory_entry) == 144, "as VPP lays it out");
_Static_assert(ENTRIES_AT_ONCE * sizeof(struct directory_entry) <= BLOCK_SIZE, "in one block");

struct vector {
	uint64_t at; /* offset of the first element */
	uint32_t n;
};

/* The last pread(), so that neighbouring fields cost one system call. */
struct block {
	uint64_t at;
	size_t n; /* 0: empty */
	uint8_t bytes[BLOCK_SIZE];
};

struct vpp_segment {
	int fd;
	const uint8_t *map; /* NULL: read with pread() */
	struct block block;
	uint64_t size;	      /* of the file, when it was opened */
	uint64_t base, epoch; /* of the current read */
	struct vector directory;
};

/* Written so that no sum can overflow: at and n come from the segment. */
static bool is_in(const struct block *b, uint64_t at, size_t n)
{
	return at >= b->at && at - b->at <= b->n && n <= b->n - (at - b->at);
}

static int fetch_by_block(struct vpp_segment *s, uint64_t at, void *to, size_t n)
{
	struct block *b = &s->block;
	ssize_t got;

	if (!is_in(b, at, n)) {
		got = pread(s->fd, b->bytes, sizeof(b->bytes), (off_t)at);
		b->at = at;
		b->n = got > 0 ? (size_t)got : 0;
	}
	if (!is_in(b, at, n))
		return -EBADMSG;
	memcpy(to, b->bytes + (at - b->at), n);
	return 0;
}

static int fetch(struct vpp_segment *s, uint64_t at, void *to, size_t n)
{
	if (at > s->size || n > s->size - at)
		return -EBADMSG;
	if (!s->map)
		return fetch_by_block(s, at, to, n);
	memcpy(to, s->map + at, n);
	return 0;
}

/*
 * Later fetches see data that is at least as new as this moment. The fence keeps the processor
 * from moving the reads of a mapping across the checks of the epoch.
 */
static void forget_block(struct vpp_segment *s)
{
	s->block.n = 0;
	atomic_thread_fence(memory_order_acquire);
}

/* Checks a pointer to a vector of elements of the given size. NULL is an empty vector in VPP. */
static int find_vector(struct vpp_segment *s, uint64_t pointer, size_t size, struct vector *ret)
{
	uint64_t at = pointer - s->base;
	uint32_t n;

	if (!pointer) {
		*ret = (struct vector){ 0 };
		return 0;
	}
	if (pointer < s->base || at < VECTOR_LENGTH_BEFORE ||
	    fetch(s, at - VECTOR_LENGTH_BEFORE, &n, sizeof(n)) < 0)
		return -EBADMSG;
	if (at > s->size || n > (s->size - at) / size)
		return -EBADMSG;
	*ret = (struct vector){ at, n };
	return 0;
}

/* Resolves element i of a vector of pointers as a vector. */
static int follow(struct vpp_segment *s, const struct vector *v, uint32_t i, size_t size,
		  struct vector *ret)
{
	uint64_t pointer;
	int r = fetch(s, v->at + (uint64_t)i * sizeof(pointer), &pointer, sizeof(pointer));

	return r < 0 ? r : find_vector(s, pointer, size, ret);
}

/* ---- the directory ---- */

static bool is_named(const struct directory_entry *d, const char *name)
{
	return strncmp(d->name, name, NAME_SIZE) == 0;
}

static int read_entries(struct vpp_segment *s, uint32_t first, uint32_t n,
			struct directory_entry *ret)
{
	return fetch(s, s->directory.at + (uint64_t)first * sizeof(*ret), ret, n * sizeof(*ret));
}

/* The directory is read in chunks of one block, since with pread() each entry would cost a call. */
static int search(struct vpp_segment *s, struct vpp_entry *e, struct directory_entry *ret)
{
	struct directory_entry some[ENTRIES_AT_ONCE];

	for (uint32_t first = 0; first < s->directory.n; first += ENTRIES_AT_ONCE) {
		uint32_t left = s->directory.n - first;
		uint32_t n = left < ENTRIES_AT_ONCE ? left : ENTRIES_AT_ONCE;

		if (read_entries(s, first, n, some) < 0)
			return -EBADMSG;
		for (uint32_t i = 0; i < n; i++)
			if (is_named(&some[i], e->name)) {
				*ret = some[i];
				e->index = first + i;
				return 0;
			}
	}
	return -ENOENT;
}

/* A name that was not found is not searched again until VPP's epoch changes. */
static int find(struct vpp_segment *s, struct vpp_entry *e, struct directory_entry *ret)
{
	int r;

	if (e->absent && e->absent_epoch == s->epoch)
		return -ENOENT;
	e->absent = false;
	if (e->index < s->directory.n && read_entries(s, e->index, 1, ret) == 0 &&
	    is_named(ret, e->name))
		return 0;
	r = search(s, e, ret);
	e->absent = r == -ENOENT;
	e->absent_epoch = s->epoch;
	return r;
}

/* The vector of counters of one thread. THREADS_MAX only catches a corrupt segment. */
static int find_thread(struct vpp_segment *s, struct vpp_entry *e, uint32_t type, uint32_t thread,
		       struct vector *ret)
{
	struct directory_entry d;
	struct vector threads;
	int r = find(s, e, &d);

	if (r < 0)
		return r;
	if (d.type != type || find_vector(s, d.value, sizeof(uint64_t), &threads) < 0 ||
	    threads.n > THREADS_MAX)
		return -EBADMSG;
	if (thread >= threads.n)
		return -ERANGE;
	return follow(s, &threads, thread,
		      type == SIMPLE ? sizeof(uint64_t) : sizeof(struct vpp_count), ret);
}

/* ---- beginning and end ---- */

/* Checks the file and decides between mmap() and pread(). */
static int attach(struct vpp_segment *s)
{
	int seals = fcntl(s->fd, F_GET_SEALS);
	struct stat st;
	void *map;

	if (fstat(s->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct header))
		return -EBADMSG;
	s->size = (uint64_t)st.st_size;
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return 0;
	map = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	s->map = map;
	return 0;
}

int vpp_segment_open(int fd, struct vpp_segment **ret)
{
	struct vpp_segment *s = mem_zalloc(sizeof(*s));
	uint64_t version;
	int r;

	s->fd = fd;
	r = attach(s);
	if (r == 0)
		r = fetch(s, offsetof(struct header, version), &version, sizeof(version));
	if (r == 0 && version != VERSION)
		r = -EPROTONOSUPPORT;
	if (r < 0) {
		vpp_segment_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void vpp_segment_close(struct vpp_segment *s)
{
	if (!s)
		return;
	if (s->map)
		munmap((void *)(uintptr_t)s->map, s->size);
	cleanup_fd(&s->fd);
	free(s);
}

/*
 * The epoch is read before in_progress. If VPP starts a change after that, vpp_segment_end() sees
 * another epoch. An error that a concurrent change may explain is reported as -EAGAIN.
 */
int vpp_segment_begin(struct vpp_segment *s)
{
	struct header h;
	int r;

	forget_block(s);
	r = fetch(s, offsetof(struct header, epoch), &s->epoch, sizeof(s->epoch));
	forget_block(s);
	if (r == 0)
		r = fetch(s, 0, &h, sizeof(h));
	if (r < 0)
		return r;
	if (h.version != VERSION)
		return -EPROTONOSUPPORT;
	if (h.in_progress)
		return -EAGAIN;
	s->base = h.base;
	s->directory = (struct vector){ 0 };
	r = find_vector(s, h.directory, sizeof(struct directory_entry), &s->directory);
	if (r == 0 && s->directory.n > DIRECTORY_MAX)
		r = -EBADMSG;
	return r < 0 && vpp_segment_end(s) < 0 ? -EAGAIN : r;
}

int vpp_segment_end(struct vpp_segment *s)
{
	struct header h;

	forget_block(s);
	if (fetch(s, 0, &h, sizeof(h)) < 0)
		return -EBADMSG;
	return h.in_progress || h.epoch != s->epoch ? -EAGAIN : 0;
}

/* ---- what is read ---- */

int vpp_segment_scalar(struct vpp_segment *s, struct vpp_entry *e, uint64_t *ret)
{
	struct directory_entry d;
	int r = find(s, e, &d);

	if (r < 0)
		return r;
	if (d.type != SCALAR && d.type != GAUGE)
		return -EBADMSG;
	*ret = d.value;
	return 0;
}

int vpp_segment_simple(struct vpp_segment *s, struct vpp_entry *e, uint32_t thread,
		       const uint32_t *columns, size_t n, uint64_t *sum)
{
	struct vector v;
	int r = find_thread(s, e, SIMPLE, thread, &v);

	for (size_t i = 0; r == 0 && i < n; i++) {
		uint64_t count = 0;

		if (columns[i] < v.n)
			r = fetch(s, v.at + columns[i] * sizeof(count), &count, sizeof(count));
		sum[i] += count;
	}
	return r;
}

int vpp_segment_combined(struct vpp_segment *s, struct vpp_entry *e, uint32_t thread,
			 const uint32_t *columns, size_t n, struct vpp_count *sum)
{
	struct vector v;
	int r = find_thread(s, e, COMBINED, thread, &v);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct vpp_count count = { 0 };

		if (columns[i] < v.n)
			r = fetch(s, v.at + columns[i] * sizeof(count), &count, sizeof(count));
		sum[i].packets += count.packets;
		sum[i].bytes += count.bytes;
	}
	return r;
}
