/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/xdp/xdp.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/mem.h"

/* The kernel stores array values, and returns per-CPU values, at multiples of 8 bytes. */
static size_t padded(const struct xdp_map *m)
{
	return ((size_t)m->value_size + 7) & ~(size_t)7;
}

/* mmap() of a map must not exceed its size rounded up to whole pages. */
static size_t memory_size(const struct xdp_map *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (padded(m) * m->entries + page - 1) / page * page;
}

/* MADV_DONTFORK because a fork would copy the page tables of a large map, which takes long. */
int xdp_map_memory(const struct xdp_map *m, void **ret)
{
	void *p = mmap(NULL, memory_size(m), PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	madvise(p, memory_size(m), MADV_DONTFORK);
	*ret = p;
	return 0;
}

void xdp_map_unmap(const struct xdp_map *m, void *memory)
{
	if (memory)
		munmap(memory, memory_size(m));
}

/*
 * The offset of mmap() must be a multiple of the page size, so the mapping may begin before
 * `first`.
 */
int xdp_window_open(const struct xdp_map *m, uint32_t first, uint32_t n, struct xdp_window *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t from = padded(m) * first, to = from + padded(m) * n, start = from / page * page;
	void *p;

	assert(n > 0 && first < m->entries && n <= m->entries - first);
	p = mmap(NULL, to - start, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, (off_t)start);
	if (p == MAP_FAILED)
		return -errno;
	madvise(p, to - start, MADV_DONTFORK);
	*ret = (struct xdp_window){ .values = (char *)p + (from - start),
				    .memory = p,
				    .size = to - start };
	return 0;
}

void xdp_window_close(struct xdp_window *w)
{
	if (w->memory)
		munmap(w->memory, w->size);
	w->memory = NULL;
}

int xdp_map_open(const char *path, struct xdp_map *ret)
{
	_cleanup_(cleanup_fd) int fd = bpf_obj_get(path);
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return -errno;
	*ret = (struct xdp_map){ .fd = TAKE_FD(fd),
				 .type = info.type,
				 .key_size = info.key_size,
				 .value_size = info.value_size,
				 .entries = info.max_entries };
	return 0;
}

void xdp_map_close(struct xdp_map *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

int xdp_map_pin(const struct xdp_map *m, const char *path)
{
	return bpf_obj_pin(m->fd, path) < 0 ? -errno : 0;
}

int xdp_map_read(const struct xdp_map *m, const void *key, void *value)
{
	return bpf_map_lookup_elem(m->fd, key, value);
}

int xdp_map_write(const struct xdp_map *m, const void *key, const void *value)
{
	return bpf_map_update_elem(m->fd, key, value, BPF_ANY);
}

int xdp_map_delete(const struct xdp_map *m, const void *key)
{
	return bpf_map_delete_elem(m->fd, key);
}

int xdp_map_next(const struct xdp_map *m, const void *key, void *ret_key)
{
	return bpf_map_get_next_key(m->fd, key, ret_key);
}

/* The kernel copies a value for every possible CPU, so buffers must have room for all of them. */
unsigned xdp_cpus(void)
{
	int n = libbpf_num_possible_cpus();

	if (n <= 0)
		abort(); /* a guess would let the kernel write past the buffers */
	return (unsigned)n;
}

/* The file is a list of ranges, such as "0-3" or "0,2-5". */
unsigned xdp_cpu_numbers(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	unsigned n = xdp_cpus(), number;

	while (file && fscanf(file, "%u%*[,-]", &number) == 1)
		n = number >= n ? number + 1 : n;
	if (file)
		fclose(file);
	return n;
}

int xdp_map_sum(const struct xdp_map *m, uint32_t key, uint64_t *ret, size_t n)
{
	size_t words = padded(m) / sizeof(uint64_t);
	_cleanup_(cleanup_free) uint64_t *values = mem_zalloc(padded(m) * xdp_cpus());
	int r = bpf_map_lookup_elem(m->fd, &key, values);

	assert(n <= words);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		ret[i] = 0;
		for (unsigned cpu = 0; cpu < xdp_cpus(); cpu++)
			ret[i] += values[cpu * words + i];
	}
	return 0;
}

int xdp_map_clear(const struct xdp_map *m, uint32_t key)
{
	_cleanup_(cleanup_free) void *zeros = mem_zalloc(padded(m) * xdp_cpus());

	return bpf_map_update_elem(m->fd, &key, zeros, BPF_ANY);
}

int xdp_map_copy(const struct xdp_map *m, uint32_t key, const struct xdp_map *to)
{
	_cleanup_(cleanup_free) void *values = mem_zalloc(padded(m) * xdp_cpus());
	int r;

	assert(m->value_size == to->value_size);
	r = bpf_map_lookup_elem(m->fd, &key, values);
	return r < 0 ? r : bpf_map_update_elem(to->fd, &key, values, BPF_ANY);
}
