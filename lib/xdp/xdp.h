/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xdp: BPF objects, their maps and their links to network devices, over libbpf.
 *
 * An object is opened from the bytes of an ELF file, may adopt the maps that an earlier process has
 * pinned, is loaded, and then pinned in turn: what is pinned lives on without this process. The
 * order is open, resize, adopt, load, pin, attach. What is in the maps, and whether their bytes
 * still mean the same, is the caller's to know; here only their type and sizes are compared.
 *
 * Functions return 0 or a negative errno. Nothing here waits for events, but loading a program
 * takes the kernel some tens of milliseconds and a link update about ten. One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xdp_object;
struct xdp_map;

int xdp_object_open(const void *elf, size_t size, struct xdp_object **ret);
/* Closes descriptors; what is pinned or attached stays. NULL is fine. */
void xdp_object_free(struct xdp_object *o);
/* Before loading: how many entries a map has. -ENOENT for no such map. */
int xdp_object_resize(struct xdp_object *o, const char *map, uint32_t entries);
/*
 * Before loading: the maps pinned in a folder become those of the object, with the entries that
 * they have. How many there were, or -ESTALE for one that is of another type or other sizes;
 * xdp_why() names it. A folder that is not there holds none.
 */
int xdp_object_adopt(struct xdp_object *o, const char *folder);
/* Before loading: a map that is there already becomes that of the object. -ENOENT. */
int xdp_object_share(struct xdp_object *o, const char *name, const struct xdp_map *map);
int xdp_object_load(struct xdp_object *o);
/* Pins the maps that were not adopted; makes the folder, in a BPF file system, if it must. */
int xdp_object_pin(const struct xdp_object *o, const char *folder);
/* Removes all pins in a folder, and the folder. */
int xdp_unpin(const char *folder);
/* The descriptor of a program, which the object owns; -ENOENT. */
int xdp_object_program(const struct xdp_object *o, const char *name);
int xdp_program_pin(int program, const char *path);
/* The descriptor of one that is pinned, which the caller closes. */
int xdp_program_open(const char *path);

/* What libbpf and the kernel had to say of the last failure here; "" when nothing. */
const char *xdp_why(void);

struct xdp_map {
	int fd; /* the object's, or the caller's if xdp_map_open() made it */
	uint32_t type, key_size, value_size, entries;
};

/* A map of a loaded object, or one that was adopted or is shared. -ENOENT. */
int xdp_map(const struct xdp_object *o, const char *name, struct xdp_map *ret);
/* A map that is pinned, without an object; to be closed. */
int xdp_map_open(const char *path, struct xdp_map *ret);
void xdp_map_close(struct xdp_map *m);
int xdp_map_pin(const struct xdp_map *m, const char *path);
/*
 * Values of an array as memory, shared with the kernel; to be undone with xdp_map_unmap(). A child
 * process does not have it.
 */
int xdp_map_memory(const struct xdp_map *m, void **ret);
void xdp_map_unmap(const struct xdp_map *m, void *memory);
/* The same of some values: a large array takes the kernel long to map as a whole. */
struct xdp_window {
	void *values;
	void *memory; /* the pages that hold them; NULL: closed */
	size_t size;
};
int xdp_window_open(const struct xdp_map *m, uint32_t first, uint32_t n, struct xdp_window *ret);
/* Twice is fine. */
void xdp_window_close(struct xdp_window *w);
int xdp_map_read(const struct xdp_map *m, const void *key, void *value);
int xdp_map_write(const struct xdp_map *m, const void *key, const void *value);
int xdp_map_delete(const struct xdp_map *m, const void *key);
/* The key after *key (NULL: the first); -ENOENT behind the last. */
int xdp_map_next(const struct xdp_map *m, const void *key, void *ret_key);

/* Per CPU maps hold xdp_cpus() values, each at a multiple of 8 bytes. */
unsigned xdp_cpus(void);
/* Adds up the 64-bit words [0, n) of all CPUs. */
int xdp_map_sum(const struct xdp_map *m, uint32_t key, uint64_t *ret, size_t n);
/* Zero on all CPUs. */
int xdp_map_clear(const struct xdp_map *m, uint32_t key);
/* The values of all CPUs into another map of the same kind. */
int xdp_map_copy(const struct xdp_map *m, uint32_t key, const struct xdp_map *to);

enum xdp_mode { XDP_MODE_AUTO, XDP_MODE_NATIVE, XDP_MODE_GENERIC };
const char *xdp_mode_name(enum xdp_mode mode); /* "auto", "native", "generic" */

struct xdp_link;

/*
 * -EBUSY or -EEXIST when the device has a program already; right after a detach that may take some
 * milliseconds to pass. Automatic mode is native, or generic where the device refuses that.
 */
int xdp_attach(int program, unsigned ifindex, enum xdp_mode mode, struct xdp_link **ret);
/* A pinned link. -ENOENT; -EINVAL when the pin is no XDP link. */
int xdp_link_open(const char *path, struct xdp_link **ret);
int xdp_link_pin(const struct xdp_link *link, const char *path);
/* Puts another program in place, between two packets. -ENOLINK when the device is gone. */
int xdp_link_update(const struct xdp_link *link, int program);
/* Off the device at once, whoever else holds the link or a pin of it. */
int xdp_link_detach(const struct xdp_link *link);
/* Closes the descriptor: detaches, unless the link is pinned. NULL is fine. */
void xdp_link_free(struct xdp_link *link);

struct xdp_link_state {
	unsigned ifindex; /* 0: the device is gone */
	uint32_t program; /* id */
};
int xdp_link_state(const struct xdp_link *link, struct xdp_link_state *ret);

/* What runs on a device, whoever put it there. */
struct xdp_device_state {
	uint32_t program;   /* id; 0: none */
	enum xdp_mode mode; /* of it */
};
int xdp_device_state(unsigned ifindex, struct xdp_device_state *ret);
/*
 * How many receive queues a device has in use; -EOPNOTSUPP where it does not tell. A program runs
 * on those that were there when it was attached or last updated.
 */
int xdp_device_queues(const char *name, uint32_t *ret);
/* A VLAN device of this network namespace, and what it stands for. */
struct xdp_vlan {
	unsigned ifindex, below; /* the device, and that which its frames go through */
	uint16_t id;
	uint16_t tag_type; /* network order: 0x8100 or 0x88a8 */
};
typedef void (*xdp_vlan_fn)(const struct xdp_vlan *vlan, void *user);
/* All of them, in no order; programs cannot redirect to such a device. */
int xdp_vlans(xdp_vlan_fn found, void *user);

/* The id of a program, as in the two states. */
int xdp_program_id(int program, uint32_t *ret);

/* One packet through a program, or the same one repeat times. Nothing is sent. */
struct xdp_run {
	const void *frame;
	uint32_t size;
	unsigned ifindex;  /* where it comes in; 0: loopback */
	uint32_t repeat;   /* 0: once */
	void *out;	   /* what the frame became; may be NULL */
	uint32_t out_size; /* in: room; out: its length */
	uint32_t verdict;  /* out: XDP_* */
	uint32_t ns;	   /* out: of one run */
};
int xdp_run(int program, struct xdp_run *run);
