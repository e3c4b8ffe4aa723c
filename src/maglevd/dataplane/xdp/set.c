/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps cannot be resized. When the configuration asks for other sizes, new maps are made beside the
 * old ones, filled under the same indexes, ids and generations, and each interface is switched to a
 * program over the new ones: a packet sees one set or the other. The flow table is part of both if
 * its size is the same, so that flows stay; with another size it starts empty. The new pins lie
 * in a folder of their own until all is done, and are renamed then: a crash leaves the old folder,
 * or the new one, whole.
 */
#include "src/maglevd/dataplane/xdp/set.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"

/* ---- the folder ---- */

void plane__folder_init(struct plane_folder *f, const char *pin)
{
	snprintf(f->pin, sizeof(f->pin), "%s", pin);
	snprintf(f->maps, sizeof(f->maps), "%s/maps", f->pin);
	snprintf(f->next, sizeof(f->next), "%s/next", f->pin);
	f->lock = -1;
}

static bool is_bpf_filesystem(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

static int open_folder(const struct plane_folder *f, struct plane_why *why)
{
	int fd;

	if (mkdir(f->pin, 0700) < 0 && errno != EEXIST) {
		int r = -errno;

		plane__explain(why, "cannot make %s: %s", f->pin, strerror(-r));
		return r;
	}
	fd = open(f->pin, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		plane__explain(why, "cannot open %s: %s", f->pin, strerror(errno));
		return -errno;
	}
	if (is_bpf_filesystem(fd))
		return fd;
	plane__explain(why, "%s is not in a BPF file system: see xdp.pin, or mount one", f->pin);
	rmdir(f->pin);
	close(fd);
	return -EINVAL;
}

int plane__folder_lock(struct plane_folder *f, struct plane_why *why)
{
	_cleanup_(cleanup_fd) int fd = open_folder(f, why);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		plane__explain(why, "another maglevd drives %s", f->pin);
		return -EBUSY;
	}
	f->lock = TAKE_FD(fd);
	return 0;
}

bool plane__folder_holds(const struct plane_folder *f)
{
	struct stat held, there;

	return f->lock >= 0 && fstat(f->lock, &held) == 0 && stat(f->pin, &there) == 0 &&
	       held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

void plane__folder_unlock(struct plane_folder *f)
{
	if (f->lock >= 0)
		close(f->lock);
	f->lock = -1;
}

/* ---- a set ---- */

/* What a maglevd that ended in the middle of making maps anew has left. */
static void clean_up(const struct plane_folder *f)
{
	if (access(f->next, F_OK) < 0)
		return;
	if (access(f->maps, F_OK) == 0)
		xdp_unpin(f->next);
	else if (rename(f->next, f->maps) < 0)
		xdp_unpin(f->next);
}

static int adopt(const struct plane_folder *f, struct plane_set *s, struct plane_why *why)
{
	const char *missing = plane__maps_unpinned(f->maps);
	int r = plane__maps_adopt(f->maps, &s->maps, why);

	if (r == -ENODATA) {
		log_warn("xdp-maps-lost", LOG_S("pin", f->pin), LOG_S("reason", why->text));
		xdp_unpin(f->maps);
		return -ENOENT;
	}
	if (r < 0 || !missing)
		return r;
	log_warn("xdp-repair", LOG_S("map", missing), LOG_S("reason", "its pin was gone"));
	return plane__maps_pin(&s->maps, f->maps, why);
}

static int make(const struct plane_folder *f, const struct l4_config *c, struct plane_set *s,
		struct plane_why *why)
{
	struct plane_sizes sizes;
	int r;

	plane__sizes_for(c, &sizes);
	r = plane__maps_make(&sizes, NULL, &s->maps, why);
	return r < 0 ? r : plane__maps_pin(&s->maps, f->maps, why);
}

int plane__set_open(const struct plane_folder *f, const struct l4_config *c, struct plane_set **ret,
		    bool *ret_adopted, struct plane_why *why)
{
	struct plane_set *s = mem_zalloc(sizeof(*s));
	bool adopted;
	int r;

	clean_up(f);
	r = adopt(f, s, why);
	adopted = r == 0;
	if (r == -ENOENT)
		r = make(f, c, s, why);
	if (r < 0) {
		plane__set_close(s);
		return r;
	}
	plane__book_open(&s->book, &s->maps, !adopted);
	*ret = s;
	*ret_adopted = adopted;
	return 0;
}

void plane__set_close(struct plane_set *s)
{
	if (!s)
		return;
	plane__book_close(&s->book);
	plane__maps_close(&s->maps);
	free(s);
}

/* ---- one in the place of another ---- */

static void copy_events(const struct plane_maps *from, const struct plane_maps *to)
{
	for (uint32_t i = 0; i < ABI_EVENTS; i++)
		xdp_map_copy(&from->events, i, &to->events);
}

int plane__remake_begin(struct plane_remake *r, struct plane_set *from, const struct l4_config *c,
			struct plane_why *why)
{
	struct plane_set *s = mem_zalloc(sizeof(*s));
	struct plane_sizes sizes;
	int err;

	assert(!r->set);
	plane__sizes_for(c, &sizes);
	plane__sizes_grow(&sizes, &from->maps.sizes);
	err = plane__maps_make(&sizes, &from->maps, &s->maps, why);
	if (err < 0) {
		plane__set_close(s);
		return err;
	}
	plane__book_open(&s->book, &s->maps, true);
	err = plane__book_import(&s->book, &from->book);
	if (err < 0) {
		plane__explain(why, "no room for what is programmed: %s", strerror(-err));
		plane__set_close(s);
		return err;
	}
	copy_events(&from->maps, &s->maps);
	r->from = from;
	r->set = s;
	r->vip = 0;
	r->same_size = sizes.table_size == from->maps.sizes.table_size;
	return 0;
}

static void copy_counters(const struct plane_remake *r)
{
	const struct plane_vip *v = &r->set->book.vips[r->vip];
	const struct plane_maps *from = &r->from->maps, *to = &r->set->maps;

	xdp_map_copy(&from->vip_counts, r->vip, &to->vip_counts);
	for (size_t i = 0; i < v->servers.n; i++)
		xdp_map_copy(&from->as_local, v->servers.items[i], &to->as_local);
}

/* Under the same number. */
static void copy_table(const struct plane_remake *r)
{
	const struct plane_maps *from = &r->from->maps, *to = &r->set->maps;
	uint32_t table = from->vips[r->vip].table;
	size_t lines = from->sizes.table_lines;

	if (!table || table > from->sizes.tables)
		return;
	memcpy(&to->tables[(table - 1) * lines], &from->tables[(table - 1) * lines],
	       lines * sizeof(*to->tables));
	to->vips[r->vip].table = table;
}

/* The next VIP that is used; false: there is none. */
static bool next_vip(struct plane_remake *r)
{
	const struct plane_book *b = &r->set->book;

	do {
		r->vip++;
	} while (r->vip < b->maps->sizes.vips && !b->vips[r->vip].used);
	return r->vip < b->maps->sizes.vips;
}

enum plane_pace plane__remake_step(struct plane_remake *r)
{
	if (r->table->book) {
		plane__table_step(r->table);
		return PLANE_MORE;
	}
	if (!next_vip(r)) {
		plane__book_read(&r->set->book);
		return PLANE_DONE;
	}
	copy_counters(r);
	if (r->same_size)
		copy_table(r);
	else if (plane__table_begin(r->table, &r->set->book, r->vip) < 0)
		plane__book_set_changing(&r->set->book, r->vip, true);
	return PLANE_MORE;
}

int plane__remake_finish(struct plane_remake *r, const struct plane_folder *f,
			 struct plane_links *links, struct plane_set **ret, struct plane_why *why)
{
	int err;

	if (access(f->next, F_OK) == 0)
		xdp_unpin(f->next);
	err = plane__maps_pin(&r->set->maps, f->next, why);
	if (err < 0)
		return err;
	plane__links_switch(links, &r->set->maps);
	xdp_unpin(f->maps);
	if (rename(f->next, f->maps) < 0)
		log_warn("xdp-repair", LOG_S("map", f->next), LOG_S("reason", strerror(errno)));
	plane__set_close(r->from);
	*ret = r->set;
	r->set = r->from = NULL;
	return 0;
}

void plane__remake_stop(struct plane_remake *r)
{
	if (r->table && r->set)
		plane__table_stop(r->table);
	plane__set_close(r->set);
	r->set = r->from = NULL;
}
