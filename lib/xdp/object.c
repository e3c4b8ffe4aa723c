/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object: an xdp_object is a libbpf object and nothing more. It owns the descriptors of its maps
 * and programs. Pins are names in a BPF file system, one per map, and stay until xdp_unpin()
 * removes them.
 *
 * libbpf reports details of a failure through one callback per process. Its warnings are kept
 * here, up to the last 2 KiB, until the next call that may fail.
 */
#include "lib/xdp/xdp.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/xdp/internal.h"

#define PATH_SIZE 512

struct xdp_object {
	struct bpf_object *bpf;
};

static char why[2048];

/* The verifier's log is long and its last lines say what is wrong, so the end is kept. */
static void append_why(const char *text)
{
	size_t n = strlen(why), more = strlen(text), room = sizeof(why) - 1;

	if (more > room) {
		text += more - room;
		more = room;
	}
	if (n + more > room) {
		memmove(why, why + n + more - room, room - more);
		n = room - more;
	}
	memcpy(why + n, text, more + 1);
}

__attribute__((format(printf, 1, 0))) static void add_why(const char *fmt, va_list args)
{
	_cleanup_(cleanup_free) char *text = NULL;

	if (vasprintf(&text, fmt, args) >= 0)
		append_why(text);
}

__attribute__((format(printf, 2, 0))) static int on_message(enum libbpf_print_level level,
							    const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN)
		add_why(fmt, args);
	return 0;
}

void xdp__clear_why(void)
{
	why[0] = 0;
}

void xdp__explain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_why(fmt, args);
	va_end(args);
}

const char *xdp_why(void)
{
	return why;
}

static int path_of(char path[static PATH_SIZE], const char *folder, const char *name)
{
	int n = snprintf(path, PATH_SIZE, "%s/%s", folder, name);

	return n < 0 || n >= PATH_SIZE ? -ENAMETOOLONG : 0;
}

int xdp_object_open(const void *elf, size_t size, struct xdp_object **ret)
{
	struct bpf_object *bpf;
	struct xdp_object *o;

	assert(elf && size > 0 && ret);
	libbpf_set_print(on_message);
	xdp__clear_why();
	bpf = bpf_object__open_mem(elf, size, NULL);
	if (!bpf)
		return -errno;
	o = mem_zalloc(sizeof(*o));
	o->bpf = bpf;
	*ret = o;
	return 0;
}

void xdp_object_free(struct xdp_object *o)
{
	if (!o)
		return;
	bpf_object__close(o->bpf);
	free(o);
}

int xdp_object_resize(struct xdp_object *o, const char *map, uint32_t entries)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->bpf, map);

	assert(entries > 0);
	return m ? bpf_map__set_max_entries(m, entries) : -ENOENT;
}

/* max_entries is not compared: libbpf takes over that of an adopted map. */
static int check_same(const struct bpf_map *m, const struct bpf_map_info *info)
{
	if (info->type == bpf_map__type(m) && info->key_size == bpf_map__key_size(m) &&
	    info->value_size == bpf_map__value_size(m) && info->map_flags == bpf_map__map_flags(m))
		return 0;
	xdp__explain("pinned map %s: type %u, key %u, value %u, flags %#x; "
		     "wanted: type %u, key %u, value %u, flags %#x\n",
		     bpf_map__name(m), info->type, info->key_size, info->value_size,
		     info->map_flags, (unsigned)bpf_map__type(m), bpf_map__key_size(m),
		     bpf_map__value_size(m), bpf_map__map_flags(m));
	return -ESTALE;
}

/* 1 if the map was pinned and is adopted, 0 if it was not pinned. */
static int adopt_map(struct bpf_map *m, const char *folder)
{
	struct bpf_map_info info = { 0 };
	_cleanup_(cleanup_fd) int fd = -1;
	__u32 size = sizeof(info);
	char path[PATH_SIZE];
	int r = path_of(path, folder, bpf_map__name(m));

	if (r < 0)
		return r;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return -errno;
	r = check_same(m, &info);
	if (r == 0)
		r = bpf_map__reuse_fd(m, fd);
	return r < 0 ? r : 1;
}

/*
 * Internal maps (.rodata, .bss) belong to one load of the program and are never adopted or
 * pinned.
 */
int xdp_object_adopt(struct xdp_object *o, const char *folder)
{
	struct bpf_map *m;
	int adopted = 0, r;

	xdp__clear_why();
	bpf_object__for_each_map(m, o->bpf)
	{
		if (bpf_map__is_internal(m))
			continue;
		r = adopt_map(m, folder);
		if (r < 0)
			return r;
		adopted += r;
	}
	return adopted;
}

int xdp_object_share(struct xdp_object *o, const char *name, const struct xdp_map *map)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->bpf, name);

	return m ? bpf_map__reuse_fd(m, map->fd) : -ENOENT;
}

int xdp_object_load(struct xdp_object *o)
{
	xdp__clear_why();
	return bpf_object__load(o->bpf);
}

/* A pin that exists is left alone: after xdp_object_adopt() it is the same map. */
int xdp_object_pin(const struct xdp_object *o, const char *folder)
{
	struct bpf_map *m;
	char path[PATH_SIZE];
	int r;

	xdp__clear_why();
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	bpf_object__for_each_map(m, o->bpf)
	{
		if (bpf_map__is_internal(m))
			continue;
		r = path_of(path, folder, bpf_map__name(m));
		if (r < 0)
			return r;
		if (access(path, F_OK) < 0 && bpf_obj_pin(bpf_map__fd(m), path) < 0)
			return -errno;
	}
	return 0;
}

int xdp_unpin(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			r = -errno;
	}
	closedir(dir);
	if (r == 0 && rmdir(folder) < 0)
		r = -errno;
	return r;
}

int xdp_object_program(const struct xdp_object *o, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o->bpf, name);

	return p ? bpf_program__fd(p) : -ENOENT;
}

int xdp_program_pin(int program, const char *path)
{
	return bpf_obj_pin(program, path) < 0 ? -errno : 0;
}

int xdp_program_open(const char *path)
{
	int fd = bpf_obj_get(path);

	return fd < 0 ? -errno : fd;
}

int xdp_map(const struct xdp_object *o, const char *name, struct xdp_map *ret)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o->bpf, name);

	if (!m || bpf_map__fd(m) < 0)
		return -ENOENT;
	*ret = (struct xdp_map){ .fd = bpf_map__fd(m),
				 .type = bpf_map__type(m),
				 .key_size = bpf_map__key_size(m),
				 .value_size = bpf_map__value_size(m),
				 .entries = bpf_map__max_entries(m) };
	return 0;
}
