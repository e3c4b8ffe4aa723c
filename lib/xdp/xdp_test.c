/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in its own network and mount namespaces, with a BPF file system. */
#include "lib/xdp/xdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/bpf.h>
#include <xdp_test.skel.h>

#include "base/cleanup.h"
#include "lib/xdp/internal.h"

static char root_folder[] = "/tmp/xdp-test-XXXXXX";
static char maps[64], pin[64];

static struct xdp_object *opened(void)
{
	struct xdp_object *o;
	size_t size;
	const void *elf = xdp_test__elf_bytes(&size);

	assert_int_equal(xdp_object_open(elf, size, &o), 0);
	return o;
}

static struct xdp_object *loaded(void)
{
	struct xdp_object *o = opened();

	assert_int_equal(xdp_object_load(o), 0);
	return o;
}

static struct xdp_map map_of(const struct xdp_object *o, const char *name)
{
	struct xdp_map m = { .fd = -1 };

	assert_int_equal(xdp_map(o, name, &m), 0);
	return m;
}

/* A pair of veth devices, made for each test. */
static int make_devices(void **state)
{
	return system(
		"ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up");
}

static int remove_devices(void **state)
{
	if (access(pin, F_OK) == 0)
		unlink(pin);
	if (access(maps, F_OK) == 0)
		assert_int_equal(xdp_unpin(maps), 0);
	return if_nametoindex("d0") ? system("ip link del d0") : 0;
}

/* The kernel detaches some milliseconds after the last descriptor is closed. */
static void wait_until_free(unsigned ifindex)
{
	struct xdp_device_state state = { .program = 1 };
	time_t deadline = time(NULL) + 5;

	while (state.program != 0) {
		assert_int_equal(xdp_device_state(ifindex, &state), 0);
		assert_true(time(NULL) < deadline);
	}
}

static uint32_t verdict_of(int program)
{
	uint8_t frame[64] = { 0 };
	struct xdp_run run = { .frame = frame, .size = sizeof(frame) };

	assert_int_equal(xdp_run(program, &run), 0);
	return run.verdict;
}

static void bytes_that_are_no_object_are_refused_with_a_word(void **state)
{
	struct xdp_object *o = NULL;

	assert_true(xdp_object_open("nonsense", 8, &o) < 0);
	assert_null(o);
	assert_string_not_equal(xdp_why(), "");
}

static void maps_take_the_size_they_are_given(void **state)
{
	struct xdp_object *o = opened();
	struct xdp_map m;

	assert_int_equal(xdp_object_resize(o, "numbers", 1000), 0);
	assert_int_equal(xdp_object_resize(o, "nothing", 1000), -ENOENT);
	assert_int_equal(xdp_map(o, "numbers", &m), -ENOENT); /* not loaded yet */
	assert_int_equal(xdp_object_load(o), 0);
	m = map_of(o, "numbers");
	assert_int_equal(m.entries, 1000);
	assert_int_equal(m.value_size, 8);
	assert_int_equal(xdp_map(o, "nothing", &m), -ENOENT);
	assert_int_equal(xdp_object_program(o, "nothing"), -ENOENT);
	xdp_object_free(o);
}

static void a_hash_is_written_walked_and_emptied(void **state)
{
	struct xdp_object *o = loaded();
	struct xdp_map m = map_of(o, "pairs");
	uint32_t key = 7, value = 70, got = 0;

	assert_int_equal(xdp_map_read(&m, &key, &got), -ENOENT);
	assert_int_equal(xdp_map_write(&m, &key, &value), 0);
	assert_int_equal(xdp_map_read(&m, &key, &got), 0);
	assert_int_equal(got, 70);
	assert_int_equal(xdp_map_next(&m, NULL, &got), 0);
	assert_int_equal(got, 7);
	assert_int_equal(xdp_map_next(&m, &key, &got), -ENOENT);
	assert_int_equal(xdp_map_delete(&m, &key), 0);
	assert_int_equal(xdp_map_delete(&m, &key), -ENOENT);
	assert_int_equal(xdp_map_next(&m, NULL, &got), -ENOENT);
	xdp_object_free(o);
}

static void memory_of_a_map_is_what_the_program_sees(void **state)
{
	struct xdp_object *o = loaded();
	struct xdp_map m = map_of(o, "numbers");
	void *memory;
	uint64_t *number;

	assert_int_equal(xdp_map_memory(&m, &memory), 0);
	number = memory;
	assert_int_equal(verdict_of(xdp_object_program(o, "drop_all")), XDP_DROP);
	number[0] = 1;
	assert_int_equal(verdict_of(xdp_object_program(o, "drop_all")), XDP_PASS);
	xdp_map_unmap(&m, memory);
	xdp_object_free(o);
}

/* A window across pages that does not begin at the first value of a page. */
static void a_window_shows_the_values_that_it_is_opened_for(void **state)
{
	struct xdp_object *o = opened();
	struct xdp_window w = { 0 };
	struct xdp_map m;

	assert_int_equal(xdp_object_resize(o, "numbers", 4096), 0);
	assert_int_equal(xdp_object_load(o), 0);
	m = map_of(o, "numbers");
	for (uint32_t i = 0; i < m.entries; i++) {
		const uint64_t value = i;

		assert_int_equal(xdp_map_write(&m, &i, &value), 0);
	}
	assert_int_equal(xdp_window_open(&m, 1000, 3096, &w), 0);
	for (uint64_t i = 0; i < 3096; i++)
		assert_int_equal(((uint64_t *)w.values)[i], 1000 + i);
	xdp_window_close(&w);
	xdp_window_close(&w);
	xdp_object_free(o);
}

static void counters_of_all_cpus_add_up_and_are_cleared(void **state)
{
	struct xdp_object *o = loaded();
	struct xdp_map m = map_of(o, "counts");
	uint64_t sum[2];

	for (unsigned i = 0; i < 3; i++)
		verdict_of(xdp_object_program(o, "pass_all"));
	assert_int_equal(xdp_map_sum(&m, 1, sum, 2), 0);
	assert_int_equal(sum[0], 3);
	assert_int_equal(sum[1], 3 * 64);
	assert_int_equal(xdp_map_clear(&m, 1), 0);
	assert_int_equal(xdp_map_sum(&m, 1, sum, 2), 0);
	assert_int_equal(sum[0] + sum[1], 0);
	assert_int_equal(xdp_map_sum(&m, 2, sum, 2), -ENOENT);
	xdp_object_free(o);
}

/* Numbers of processors may have gaps. */
static void every_processor_has_a_number_below_the_limit(void **state)
{
	assert_true(xdp_cpu_numbers() >= xdp_cpus());
	assert_true((unsigned)sched_getcpu() < xdp_cpu_numbers());
}

static void pinned_maps_are_adopted_with_what_is_in_them(void **state)
{
	struct xdp_object *first = opened(), *second = opened();
	uint32_t key = 5, value = 50, got = 0;
	struct xdp_map m;

	assert_int_equal(xdp_object_adopt(first, maps), 0);
	assert_int_equal(xdp_object_resize(first, "numbers", 77), 0);
	assert_int_equal(xdp_object_load(first), 0);
	assert_int_equal(xdp_object_pin(first, maps), 0);
	m = map_of(first, "pairs");
	assert_int_equal(xdp_map_write(&m, &key, &value), 0);
	xdp_object_free(first);

	assert_int_equal(xdp_object_adopt(second, maps), 3);
	assert_int_equal(xdp_object_load(second), 0);
	m = map_of(second, "pairs");
	assert_int_equal(xdp_map_read(&m, &key, &got), 0);
	assert_int_equal(got, 50);
	assert_int_equal(map_of(second, "numbers").entries, 77);
	assert_int_equal(xdp_object_pin(second, maps), 0);
	xdp_object_free(second);
}

static void a_map_that_was_deleted_is_made_and_pinned_again(void **state)
{
	struct xdp_object *first = loaded(), *second = opened(), *third = opened();
	char path[128];

	assert_int_equal(xdp_object_pin(first, maps), 0);
	snprintf(path, sizeof(path), "%s/pairs", maps);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(xdp_object_adopt(second, maps), 2);
	assert_int_equal(xdp_object_load(second), 0);
	assert_int_equal(xdp_object_pin(second, maps), 0);
	assert_int_equal(xdp_object_adopt(third, maps), 3);
	xdp_object_free(first);
	xdp_object_free(second);
	xdp_object_free(third);
}

/* A hash is pinned under the name of the array. */
static void a_pinned_map_of_another_shape_is_refused_by_name(void **state)
{
	struct xdp_object *first = loaded(), *second = opened();
	char from[128], to[128];

	assert_int_equal(xdp_object_pin(first, maps), 0);
	snprintf(from, sizeof(from), "%s/pairs", maps);
	snprintf(to, sizeof(to), "%s/numbers", maps);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(xdp_object_adopt(second, maps), -ESTALE);
	assert_non_null(strstr(xdp_why(), "numbers"));
	xdp_object_free(first);
	xdp_object_free(second);
}

static void unpinning_leaves_nothing(void **state)
{
	struct xdp_object *o = loaded();

	assert_int_equal(xdp_object_pin(o, maps), 0);
	assert_int_equal(xdp_unpin(maps), 0);
	assert_int_equal(access(maps, F_OK), -1);
	assert_int_equal(xdp_unpin(maps), -ENOENT);
	xdp_object_free(o);
}

static void a_pinned_link_outlives_its_maker(void **state)
{
	struct xdp_object *o = loaded();
	unsigned d0 = if_nametoindex("d0");
	struct xdp_device_state device;
	struct xdp_link_state state_of;
	struct xdp_link *link;
	uint32_t id;

	assert_int_equal(xdp_program_id(xdp_object_program(o, "pass_all"), &id), 0);
	assert_int_equal(xdp_attach(xdp_object_program(o, "pass_all"), d0, XDP_MODE_NATIVE, &link),
			 0);
	assert_int_equal(xdp_link_pin(link, pin), 0);
	xdp_link_free(link);
	xdp_object_free(o);
	assert_int_equal(xdp_device_state(d0, &device), 0);
	assert_int_equal(device.program, id);
	assert_int_equal(device.mode, XDP_MODE_NATIVE);
	assert_int_equal(xdp_link_open(pin, &link), 0);
	assert_int_equal(xdp_link_state(link, &state_of), 0);
	assert_int_equal(state_of.ifindex, d0);
	assert_int_equal(state_of.program, id);
	xdp_link_free(link);
	assert_int_equal(unlink(pin), 0);
	wait_until_free(d0);
}

static void a_link_changes_programs_in_place(void **state)
{
	struct xdp_object *o = loaded();
	unsigned d0 = if_nametoindex("d0");
	struct xdp_device_state device;
	struct xdp_link *link;
	uint32_t id;

	assert_int_equal(xdp_attach(xdp_object_program(o, "pass_all"), d0, XDP_MODE_AUTO, &link),
			 0);
	assert_int_equal(xdp_program_id(xdp_object_program(o, "drop_all"), &id), 0);
	assert_int_equal(xdp_link_update(link, xdp_object_program(o, "drop_all")), 0);
	assert_int_equal(xdp_device_state(d0, &device), 0);
	assert_int_equal(device.program, id);
	xdp_link_free(link);
	wait_until_free(d0);
	xdp_object_free(o);
}

static void a_device_has_room_for_one_program(void **state)
{
	struct xdp_object *o = loaded();
	unsigned d0 = if_nametoindex("d0");
	int program = xdp_object_program(o, "pass_all");
	struct xdp_link *link, *second = NULL;

	assert_int_equal(xdp_attach(program, d0, XDP_MODE_NATIVE, &link), 0);
	assert_int_equal(xdp_attach(program, d0, XDP_MODE_NATIVE, &second), -EBUSY);
	assert_int_equal(xdp_attach(program, d0, XDP_MODE_AUTO, &second), -EBUSY);
	assert_true(xdp_attach(program, d0, XDP_MODE_GENERIC, &second) < 0);
	assert_null(second);
	xdp_link_free(link);
	wait_until_free(d0);
	xdp_object_free(o);
}

/* Loopback has no native mode. */
static void automatic_mode_falls_back_to_generic(void **state)
{
	struct xdp_object *o = loaded();
	int program = xdp_object_program(o, "pass_all");
	struct xdp_device_state device;
	struct xdp_link *link;

	assert_true(xdp_attach(program, 1, XDP_MODE_NATIVE, &link) < 0);
	assert_int_equal(xdp_attach(program, 1, XDP_MODE_AUTO, &link), 0);
	assert_int_equal(xdp_device_state(1, &device), 0);
	assert_int_equal(device.mode, XDP_MODE_GENERIC);
	xdp_link_free(link);
	wait_until_free(1);
	xdp_object_free(o);
}

static void a_link_whose_device_is_gone_says_so(void **state)
{
	struct xdp_object *o = loaded();
	int program = xdp_object_program(o, "pass_all");
	struct xdp_link_state state_of;
	struct xdp_link *link;

	assert_int_equal(xdp_attach(program, if_nametoindex("d0"), XDP_MODE_NATIVE, &link), 0);
	assert_int_equal(system("ip link del d0"), 0);
	assert_int_equal(xdp_link_state(link, &state_of), 0);
	assert_int_equal(state_of.ifindex, 0);
	assert_int_equal(xdp_link_update(link, program), -ENOLINK);
	xdp_link_free(link);
	xdp_object_free(o);
}

static void a_pin_that_is_no_link_is_refused(void **state)
{
	struct xdp_object *o = loaded();
	struct xdp_link *link = NULL;
	char path[128];

	assert_int_equal(xdp_object_pin(o, maps), 0);
	snprintf(path, sizeof(path), "%s/pairs", maps);
	assert_true(xdp_link_open(path, &link) < 0);
	assert_int_equal(xdp_link_open(pin, &link), -ENOENT);
	assert_null(link);
	xdp_object_free(o);
}

/* The kernel's message about `ip link add link 7 name vlan5 type vlan protocol 802.1ad id 5`. */
struct told {
	struct nlmsghdr header;
	struct ifinfomsg body;
	struct rtattr link_at;
	uint32_t link;
	struct rtattr info_at, kind_at;
	char kind[8];
	struct rtattr data_at, id_at;
	uint16_t id, pad;
	struct rtattr type_at;
	uint16_t type, pad2;
};

static struct told told_vlan(void)
{
	return (struct told){
		.header = { .nlmsg_len = sizeof(struct told), .nlmsg_type = RTM_NEWLINK },
		.body = { .ifi_index = 9 },
		.link_at = { RTA_LENGTH(4), IFLA_LINK },
		.link = 7,
		.info_at = { RTA_LENGTH(sizeof(struct told) - offsetof(struct told, kind_at)),
			     IFLA_LINKINFO },
		.kind_at = { RTA_LENGTH(5), IFLA_INFO_KIND },
		.kind = "vlan",
		.data_at = { RTA_LENGTH(16), IFLA_INFO_DATA | NLA_F_NESTED },
		.id_at = { RTA_LENGTH(2), IFLA_VLAN_ID },
		.id = 5,
		.type_at = { RTA_LENGTH(2), IFLA_VLAN_PROTOCOL },
		.type = htons(0x88a8),
	};
}

static void a_vlan_is_read_from_what_the_kernel_tells(void **state)
{
	struct told told = told_vlan();
	struct xdp_vlan vlan;

	assert_true(xdp__read_vlan(&told.header, &vlan));
	assert_int_equal(vlan.ifindex, 9);
	assert_int_equal(vlan.below, 7);
	assert_int_equal(vlan.id, 5);
	assert_int_equal(vlan.tag_type, htons(0x88a8));
}

static void what_is_no_vlan_or_cut_off_is_left_out(void **state)
{
	struct told told = told_vlan();
	struct xdp_vlan vlan;

	memcpy(told.kind, "veth", 5);
	assert_false(xdp__read_vlan(&told.header, &vlan));
	told = told_vlan();
	told.header.nlmsg_type = RTM_DELLINK;
	assert_false(xdp__read_vlan(&told.header, &vlan));
	told = told_vlan();
	told.link_at.rta_type = IFLA_LINK_NETNSID;
	assert_false(xdp__read_vlan(&told.header, &vlan));
	for (uint32_t n = 0; n < sizeof(told) - 2; n++) {
		told = told_vlan();
		told.header.nlmsg_len = n;
		assert_false(xdp__read_vlan(&told.header, &vlan));
	}
}

static void count_vlan(const struct xdp_vlan *vlan, void *user)
{
	*(unsigned *)user += 1;
}

/* There are two veth devices and a loopback, and none of them is a VLAN. */
static void devices_that_are_no_vlans_are_not_told(void **state)
{
	unsigned n = 0;

	assert_int_equal(xdp_vlans(count_vlan, &n), 0);
	assert_int_equal(n, 0);
}

static void a_map_is_shared_between_objects(void **state)
{
	struct xdp_object *first = loaded(), *second = opened();
	uint32_t key = 5, value = 50, got = 0;
	struct xdp_map m = map_of(first, "pairs");

	assert_int_equal(xdp_object_share(second, "nothing", &m), -ENOENT);
	assert_int_equal(xdp_object_share(second, "pairs", &m), 0);
	assert_int_equal(xdp_object_load(second), 0);
	assert_int_equal(xdp_map_write(&m, &key, &value), 0);
	m = map_of(second, "pairs");
	assert_int_equal(xdp_map_read(&m, &key, &got), 0);
	assert_int_equal(got, 50);
	xdp_object_free(first);
	xdp_object_free(second);
}

static void what_is_pinned_is_opened_without_an_object(void **state)
{
	struct xdp_object *o = loaded();
	uint32_t key = 5, value = 50, got = 0;
	struct xdp_map m = map_of(o, "pairs"), opened_map;
	int program;

	assert_int_equal(xdp_map_write(&m, &key, &value), 0);
	assert_int_equal(xdp_map_pin(&m, pin), 0);
	xdp_object_free(o);
	assert_int_equal(xdp_map_open(pin, &opened_map), 0);
	assert_int_equal(opened_map.entries, m.entries);
	assert_int_equal(opened_map.value_size, 4);
	assert_int_equal(xdp_map_read(&opened_map, &key, &got), 0);
	assert_int_equal(got, 50);
	xdp_map_close(&opened_map);
	assert_int_equal(unlink(pin), 0);
	assert_int_equal(xdp_map_open(pin, &opened_map), -ENOENT);

	o = loaded();
	assert_int_equal(xdp_program_pin(xdp_object_program(o, "drop_all"), pin), 0);
	xdp_object_free(o);
	program = xdp_program_open(pin);
	assert_true(program >= 0);
	assert_int_equal(verdict_of(program), XDP_DROP);
	close(program);
	assert_int_equal(unlink(pin), 0);
	assert_int_equal(xdp_program_open(pin), -ENOENT);
}

static void counters_are_copied_with_all_cpus(void **state)
{
	struct xdp_object *first = loaded(), *second = loaded();
	struct xdp_map from = map_of(first, "counts"), to = map_of(second, "counts");
	uint64_t sum[2];

	verdict_of(xdp_object_program(first, "pass_all"));
	verdict_of(xdp_object_program(first, "pass_all"));
	assert_int_equal(xdp_map_copy(&from, 1, &to), 0);
	assert_int_equal(xdp_map_sum(&to, 1, sum, 2), 0);
	assert_int_equal(sum[0], 2);
	assert_int_equal(xdp_map_copy(&from, 2, &to), -ENOENT);
	xdp_object_free(first);
	xdp_object_free(second);
}

static void a_link_is_detached_at_once_pinned_or_not(void **state)
{
	struct xdp_object *o = loaded();
	unsigned d0 = if_nametoindex("d0");
	struct xdp_device_state device;
	struct xdp_link_state state_of;
	struct xdp_link *link;

	assert_int_equal(xdp_attach(xdp_object_program(o, "pass_all"), d0, XDP_MODE_NATIVE, &link),
			 0);
	assert_int_equal(xdp_link_pin(link, pin), 0);
	assert_int_equal(xdp_link_detach(link), 0);
	assert_int_equal(xdp_device_state(d0, &device), 0);
	assert_int_equal(device.program, 0);
	assert_int_equal(xdp_link_state(link, &state_of), 0);
	assert_int_equal(state_of.ifindex, 0);
	xdp_link_free(link);
	xdp_object_free(o);
}

static void queues_in_use_are_counted(void **state)
{
	uint32_t n = 0;

	assert_int_equal(xdp_device_queues("d0", &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(xdp_device_queues("nothing", &n), -ENODEV);
	assert_int_equal(xdp_device_queues("a name that is far too long", &n), -ENODEV);
	assert_int_equal(xdp_device_queues("lo", &n), -EOPNOTSUPP);
}

static int64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* In the ticks of CLOCK_MONOTONIC_COARSE, which are the kernel's. */
static void the_clock_of_programs_goes_with_the_time(void **state)
{
	struct timespec tick;
	int clock = xdp_clock_open();
	int64_t begin = monotonic(), inner, end;
	uint32_t from, to;

	assert_true(clock >= 0);
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	assert_int_equal(xdp_clock_read(clock, &from), 0);
	for (inner = monotonic(); monotonic() < inner + 100000000;)
		continue;
	inner = monotonic() - inner;
	assert_int_equal(xdp_clock_read(clock, &to), 0);
	end = monotonic() - begin;
	assert_in_range(to - from, inner / tick.tv_nsec - 1, end / tick.tv_nsec + 1);
	close(clock);
}

static void modes_have_names(void **state)
{
	assert_string_equal(xdp_mode_name(XDP_MODE_AUTO), "auto");
	assert_string_equal(xdp_mode_name(XDP_MODE_NATIVE), "native");
	assert_string_equal(xdp_mode_name(XDP_MODE_GENERIC), "generic");
}

/* Returns NULL, or why the tests cannot run. The namespaces and the mount end with the process. */
static const char *prepare(void)
{
	struct xdp_object *o = opened();
	int r = xdp_object_load(o);

	xdp_object_free(o);
	if (r == -EPERM || unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		return "BPF or namespaces are not permitted here";
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_non_null(mkdtemp(root_folder));
	assert_int_equal(mount("bpf", root_folder, "bpf", 0, NULL), 0);
	snprintf(maps, sizeof(maps), "%s/maps", root_folder);
	snprintf(pin, sizeof(pin), "%s/link", root_folder);
	return system("ip link set lo up") == 0 ? NULL : "there is no ip command";
}

#define WITH_DEVICES(test) cmocka_unit_test_setup_teardown(test, make_devices, remove_devices)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DEVICES(bytes_that_are_no_object_are_refused_with_a_word),
		WITH_DEVICES(maps_take_the_size_they_are_given),
		WITH_DEVICES(a_hash_is_written_walked_and_emptied),
		WITH_DEVICES(memory_of_a_map_is_what_the_program_sees),
		WITH_DEVICES(a_window_shows_the_values_that_it_is_opened_for),
		WITH_DEVICES(counters_of_all_cpus_add_up_and_are_cleared),
		WITH_DEVICES(every_processor_has_a_number_below_the_limit),
		WITH_DEVICES(pinned_maps_are_adopted_with_what_is_in_them),
		WITH_DEVICES(a_map_that_was_deleted_is_made_and_pinned_again),
		WITH_DEVICES(a_pinned_map_of_another_shape_is_refused_by_name),
		WITH_DEVICES(unpinning_leaves_nothing),
		WITH_DEVICES(a_pinned_link_outlives_its_maker),
		WITH_DEVICES(a_link_changes_programs_in_place),
		WITH_DEVICES(a_device_has_room_for_one_program),
		WITH_DEVICES(automatic_mode_falls_back_to_generic),
		WITH_DEVICES(a_link_whose_device_is_gone_says_so),
		WITH_DEVICES(a_pin_that_is_no_link_is_refused),
		WITH_DEVICES(a_vlan_is_read_from_what_the_kernel_tells),
		WITH_DEVICES(what_is_no_vlan_or_cut_off_is_left_out),
		WITH_DEVICES(devices_that_are_no_vlans_are_not_told),
		WITH_DEVICES(a_map_is_shared_between_objects),
		WITH_DEVICES(what_is_pinned_is_opened_without_an_object),
		WITH_DEVICES(counters_are_copied_with_all_cpus),
		WITH_DEVICES(a_link_is_detached_at_once_pinned_or_not),
		WITH_DEVICES(queues_in_use_are_counted),
		WITH_DEVICES(the_clock_of_programs_goes_with_the_time),
		WITH_DEVICES(modes_have_names),
	};
	const char *reason = prepare();
	int failed;

	if (reason) {
		printf("1..1\nok 1 - objects, maps and links # SKIP %s\n", reason);
		return 0;
	}
	failed = cmocka_run_group_tests_name("xdp", tests, NULL, NULL);
	umount(root_folder);
	rmdir(root_folder);
	return failed;
}
