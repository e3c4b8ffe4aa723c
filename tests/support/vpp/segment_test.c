/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the statistics segment with bytes recorded from a real VPP with one worker, one VIP and
 * ten flows of three packets. Pointers differ, because the heap of VPP has another layout; their
 * targets and every other byte are compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/support/vpp/stats.h"

#define BASE 0x7f7b3340b000
#define SIZE ((size_t)4 << 20)
#define FIRST_EPOCH 586 /* publishing makes it the recorded one */

static struct machine m;
static struct stats stats;
static struct segment segment;

static void publish(void)
{
	stats_collect(&stats, &m);
	segment_publish(&segment, stats.entries.items, stats.entries.n);
}

static void run(const char *line)
{
	struct buf out = { 0 };

	machine_cli(&m, line, &out);
	assert_null(strstr(buf_cstr(&out), "error"));
	buf_free(&out);
}

static int set_up(void **state)
{
	machine_init(&m, PERSONALITY_NEW, 1);
	stats = (struct stats){ .heartbeat = 2, .boot_time = 1794784269, .links = 100 };
	assert_int_equal(segment_open(&segment, SIZE, BASE), 0);
	segment_header(&segment)->epoch = FIRST_EPOCH;
	publish();
	return 0;
}

static int tear_down(void **state)
{
	segment_close(&segment);
	stats_free(&stats);
	machine_free(&m);
	return 0;
}

static void have_traffic(void)
{
	struct plugin_packet packet = { .protocol = 6, .port = 80, .length = 48 };

	run("lb vip 192.0.2.1/32 protocol tcp port 80");
	run("lb as 192.0.2.1/32 protocol tcp port 80 10.0.0.1");
	memcpy(packet.to.b + 12, "\xc0\x00\x02\x01", 4);
	for (unsigned i = 0; i < 30; i++) {
		packet.flow = i % 10;
		assert_int_not_equal(plugin_packet(&m.plugin, 0, &packet), 0);
	}
	publish();
}

/* ---- a reader that shares nothing with the writer ---- */

static uint64_t word(uint64_t at)
{
	uint64_t v;

	assert_true(at <= SIZE - 8);
	memcpy(&v, segment.map + at, 8);
	return v;
}

static uint32_t count(uint64_t at)
{
	return (uint32_t)word(at - 8);
}

static uint64_t directory(void)
{
	return word(32) - BASE;
}

static uint64_t entry(const char *name)
{
	for (uint32_t i = 0; i < count(directory()); i++)
		if (strcmp((char *)segment.map + directory() + i * 144 + 16, name) == 0)
			return directory() + i * 144;
	return 0;
}

static uint64_t thread(const char *name, unsigned n)
{
	return word(word(entry(name) + 8) - BASE + 8 * n) - BASE;
}

static void assert_bytes(uint64_t at, const char *bytes, size_t n)
{
	assert_memory_equal(segment.map + at, bytes, n);
}

/* ---- tests ---- */

static void the_header_is_the_recorded_one_but_for_the_directory(void **state)
{
	assert_bytes(0,
		     "\x02\0\0\0\0\0\0\0\x00\xb0\x40\x33\x7b\x7f\0\0"
		     "\x4b\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		     32);
	assert_in_range(directory(), 40, SIZE);
}

static void the_first_entry_is_the_recorded_heartbeat(void **state)
{
	assert_bytes(directory(), "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/sys/heartbeat\0\0", 32);
}

static void the_fifth_entry_is_the_recorded_symlink(void **state)
{
	assert_bytes(directory() + 4 * 144,
		     "\x06\0\0\0\0\0\0\0\x03\0\0\0\x01\0\0\0/mem/stat segment/used", 39);
}

static void the_counters_of_lb_come_with_the_first_vip(void **state)
{
	assert_int_equal(entry("first session packet"), 0);
	have_traffic();
	assert_bytes(entry("first session packet"), "\x02\0\0\0\0\0\0\0", 8);
	assert_bytes(word(entry("first session packet") + 8) - BASE - 8, "\x02\0\0\0\x08\x86\x03\0",
		     8);
	assert_bytes(thread("first session packet", 0) - 8,
		     "\x02\0\0\0\x08\x86\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
	assert_bytes(thread("first session packet", 1) - 8,
		     "\x02\0\0\0\x08\x86\x03\0\0\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0", 24);
	assert_int_equal(word(thread("packet from existing sessions", 1) + 8), 20);
	assert_int_equal(word(thread("untracked packet", 1) + 8), 0);
	assert_int_equal(word(thread("no server configured", 1) + 8), 0);
}

static void the_route_of_an_as_has_the_recorded_packets_and_bytes(void **state)
{
	have_traffic();
	assert_bytes(entry("/net/route/via"), "\x03\0\0\0\0\0\0\0", 8);
	assert_bytes(thread("/net/route/via", 1) + 16 * 9, "\x1e\0\0\0\0\0\0\0\x70\x08\0\0\0\0\0\0",
		     16);
	assert_int_equal(word(thread("/net/route/to", 1) + 16 * 8 + 8), 30 * 48);
}

static void counting_leaves_the_epoch_and_everything_in_place(void **state)
{
	uint64_t epoch, at;

	have_traffic();
	epoch = word(16);
	at = directory();
	m.plugin.counters[PLUGIN_FIRST].items[1] = 11;
	publish();
	assert_int_equal(word(16), epoch);
	assert_int_equal(directory(), at);
	assert_int_equal(word(thread("first session packet", 1) + 8), 11);
}

static void a_column_within_the_room_changes_no_epoch_and_beyond_it_does(void **state)
{
	uint64_t epoch;
	char line[] = "lb vip 192.0.2.100/32";

	have_traffic();
	epoch = word(16);
	for (unsigned i = 2; i < 12; i++) {
		line[16] = (char)('0' + i / 10);
		line[17] = (char)('0' + i % 10);
		run(line);
		publish();
		assert_int_equal(count(thread("first session packet", 1)), i + 1);
		assert_int_equal(word(16) != epoch, i >= 8);
	}
}

static void what_moved_leaves_scribble_behind(void **state)
{
	uint64_t at = directory(), epoch = word(16);

	stats.links++;
	stats_collect(&stats, &m);
	segment_move(&segment, stats.entries.items, stats.entries.n);
	assert_int_not_equal(directory(), at);
	assert_int_equal(segment.map[at], SEGMENT_POISON);
	assert_int_equal(word(16), epoch);
	assert_int_equal(word(24), 0);
	assert_int_not_equal(entry("/nodes/node-100/clocks"), 0);
}

static void names_may_be_missing(void **state)
{
	uint64_t list = word(entry("/if/names") + 8) - BASE;

	assert_int_equal(count(list), 3);
	assert_int_equal(word(list + 8), 0);
	assert_int_equal(count(word(list) - BASE), 7);
	assert_bytes(word(list) - BASE, "local0", 7);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_header_is_the_recorded_one_but_for_the_directory),
		CASE(the_first_entry_is_the_recorded_heartbeat),
		CASE(the_fifth_entry_is_the_recorded_symlink),
		CASE(the_counters_of_lb_come_with_the_first_vip),
		CASE(the_route_of_an_as_has_the_recorded_packets_and_bytes),
		CASE(counting_leaves_the_epoch_and_everything_in_place),
		CASE(a_column_within_the_room_changes_no_epoch_and_beyond_it_does),
		CASE(what_moved_leaves_scribble_behind),
		CASE(names_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
