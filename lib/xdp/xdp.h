/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xdp: BPF objects, their maps and their links to network devices, over libbpf.
 *
 * An object is opened from the bytes of an ELF file, may adopt the maps that an earlier process
 * pinned, is loaded, and is then pinned itself: what is pinned outlives this process. The order
 * is open, resize, adopt, load, pin, attach. The caller must know what the maps contain and
 * whether their bytes still mean the same; this room compares only their type, sizes and flags.
 *
 * Functions return 0 or a negative errno, and outputs are untouched on failure. Nothing waits for
 * events, but the kernel needs some tens of milliseconds to load a program and about ten for a
 * link update. For one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xdp_object;
struct xdp_map;

/*
 * Parses the ELF bytes, which are not needed afterwards. The caller frees *ret with
 * xdp_object_free().
 */
int xdp_object_open(const void *elf, size_t size, struct xdp_object **ret);
/* Closes the descriptors; pinned and attached objects stay. NULL is allowed. */
void xdp_object_free(struct xdp_object *o);
/* Before loading: sets the number of entries of a map. -ENOENT if there is no such map. */
int xdp_object_resize(struct xdp_object *o, const char *map, uint32_t entries);
/*
 * Before loading: the maps pinned in a folder replace those of the object, and keep their
 * entries. Returns how many were adopted, or -ESTALE for one of another type or size, which
 * xdp_why() names. A folder that does not exist holds none.
 */
int xdp_object_adopt(struct xdp_object *o, const char *folder);
/*
 * Before loading: an existing map replaces that of the object. -ENOENT if the object has no such
 * map.
 */
int xdp_object_share(struct xdp_object *o, const char *name, const struct xdp_map *map);
/* Loads maps and programs into the kernel; xdp_why() has the verifier's complaint. */
int xdp_object_load(struct xdp_object *o);
/* Pins the maps that are not pinned yet. Creates the folder, which must be in a BPF file system. */
int xdp_object_pin(const struct xdp_object *o, const char *folder);
/*
 * Removes all pins in a folder, and the folder. Continues after an error and returns the last
 * one.
 */
int xdp_unpin(const char *folder);
/* The descriptor of a program, which the object owns; -ENOENT if there is no such program. */
int xdp_object_program(const struct xdp_object *o, const char *name);
int xdp_program_pin(int program, const char *path);
/* The descriptor of a pinned program, which the caller closes. */
int xdp_program_open(const char *path);

/*
 * The messages of libbpf and the kernel about the last failure in this room; "" if there were
 * none. Valid until the next call.
 */
const char *xdp_why(void);

struct xdp_map {
	int fd; /* owned by the object, or by the caller after xdp_map_open() */
	uint32_t type, key_size, value_size, entries;
};

/* A map of a loaded object, also an adopted or shared one. -ENOENT if there is none. */
int xdp_map(const struct xdp_object *o, const char *name, struct xdp_map *ret);
/* Opens a pinned map without an object; the caller closes it with xdp_map_close(). */
int xdp_map_open(const char *path, struct xdp_map *ret);
void xdp_map_close(struct xdp_map *m);
int xdp_map_pin(const struct xdp_map *m, const char *path);
/*
 * The values of an array as memory shared with the kernel; xdp_map_unmap() undoes it. The map
 * must have BPF_F_MMAPABLE. Child processes do not inherit the mapping.
 */
int xdp_map_memory(const struct xdp_map *m, void **ret);
void xdp_map_unmap(const struct xdp_map *m, void *memory);
/* The same for a range of values, because the kernel needs long to map a large array as a whole. */
struct xdp_window {
	void *values;
	void *memory; /* the mapped pages that hold them; NULL: closed */
	size_t size;
};
int xdp_window_open(const struct xdp_map *m, uint32_t first, uint32_t n, struct xdp_window *ret);
/* Closing twice is allowed. */
void xdp_window_close(struct xdp_window *w);
int xdp_map_read(const struct xdp_map *m, const void *key, void *value);
int xdp_map_write(const struct xdp_map *m, const void *key, const void *value);
int xdp_map_delete(const struct xdp_map *m, const void *key);
/* The key after *key (NULL: the first key); -ENOENT after the last. */
int xdp_map_next(const struct xdp_map *m, const void *key, void *ret_key);

/*
 * A value of a per-CPU map is xdp_cpus() values, each at a multiple of 8 bytes. The number counts
 * possible CPUs, not only those online.
 */
unsigned xdp_cpus(void);
/* The number that a processor of this machine can have at most, plus one. */
unsigned xdp_cpu_numbers(void);
/* Sums the 64-bit words [0, n) of a value over all CPUs into ret. */
int xdp_map_sum(const struct xdp_map *m, uint32_t key, uint64_t *ret, size_t n);
/* Sets the value to zero on all CPUs. */
int xdp_map_clear(const struct xdp_map *m, uint32_t key);
/* Copies the values of all CPUs into another map with values of the same size. */
int xdp_map_copy(const struct xdp_map *m, uint32_t key, const struct xdp_map *to);

enum xdp_mode { XDP_MODE_AUTO, XDP_MODE_NATIVE, XDP_MODE_GENERIC };
const char *xdp_mode_name(enum xdp_mode mode); /* "auto", "native", "generic" */

struct xdp_link;

/*
 * Attaches a program to a device. -EBUSY or -EEXIST if the device already has one; after a detach
 * this may last for some milliseconds. Automatic mode tries native and falls back to generic if
 * the device refuses native.
 */
int xdp_attach(int program, unsigned ifindex, enum xdp_mode mode, struct xdp_link **ret);
/* Opens a pinned link. -ENOENT if there is none, -EINVAL if the pin is not an XDP link. */
int xdp_link_open(const char *path, struct xdp_link **ret);
int xdp_link_pin(const struct xdp_link *link, const char *path);
/* Replaces the program atomically, between two packets. -ENOLINK if the device is gone. */
int xdp_link_update(const struct xdp_link *link, int program);
/* Detaches from the device at once, even if other processes or pins hold the link. */
int xdp_link_detach(const struct xdp_link *link);
/* Closes the descriptor, which detaches the program unless the link is pinned. NULL is allowed. */
void xdp_link_free(struct xdp_link *link);

struct xdp_link_state {
	unsigned ifindex; /* 0: the device is gone */
	uint32_t program; /* id */
};
int xdp_link_state(const struct xdp_link *link, struct xdp_link_state *ret);

/* The program on a device, whichever process attached it. */
struct xdp_device_state {
	uint32_t program;   /* id; 0: none */
	enum xdp_mode mode; /* of it */
};
int xdp_device_state(unsigned ifindex, struct xdp_device_state *ret);
/*
 * The number of receive queues in use; -EOPNOTSUPP if the driver does not report it. A program
 * runs only on the queues that existed when it was attached or last updated.
 */
int xdp_device_queues(const char *name, uint32_t *ret);
/* A VLAN device of this network namespace, and the device and tag it stands for. */
struct xdp_vlan {
	unsigned ifindex, below; /* the VLAN device, and the device that carries its frames */
	uint16_t id;
	uint16_t tag_type; /* network byte order: 0x8100 or 0x88a8 */
};
typedef void (*xdp_vlan_fn)(const struct xdp_vlan *vlan, void *user);
/*
 * Calls found for each VLAN device, in no particular order. XDP programs cannot redirect to such
 * a device, so they need the one below and the tag.
 */
int xdp_vlans(xdp_vlan_fn found, void *user);

/* The id of a program, as in the states above. */
int xdp_program_id(int program, uint32_t *ret);

/* Runs a program on one frame, once or repeat times. No frame is sent. */
struct xdp_run {
	const void *frame;
	uint32_t size;
	unsigned ifindex;  /* receiving device; 0: loopback */
	uint32_t repeat;   /* 0: once */
	void *out;	   /* the frame afterwards; may be NULL */
	uint32_t out_size; /* in: size of out; out: length of the frame */
	uint32_t verdict;  /* out: XDP_* */
	uint32_t ns;	   /* out: average duration of one run */
};
int xdp_run(int program, struct xdp_run *run);

/*
 * The clock that programs read with bpf_jiffies64(), of which the kernel gives user space no exact
 * copy. Opening loads a program, which takes CAP_BPF and CAP_NET_ADMIN; the caller closes the
 * descriptor. Reading takes some microseconds and no capability; *ret is the low half of the clock.
 */
int xdp_clock_open(void);
int xdp_clock_read(int clock, uint32_t *ret);
