/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments made by the test, one of them recorded from a real VPP. Every test runs twice: on a
 * sealed file, as VPP has in ordinary pages, and on one without seals, as in huge pages.
 */
#include "lib/vpp/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define SIZE ((size_t)2 << 20)
#define BASE 0x7f7b3340b000

static struct vpp_entry first, via; /* of the recorded one */

/* A file, and its memory as VPP sees it. */
struct image {
	int fd; /* kept to shrink the file */
	uint8_t *p;
	struct vpp_segment *segment;
};

static bool sealed; /* which of the two runs this is */

static void image_begin(struct image *m)
{
	m->fd = memfd_create("stats", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(m->fd >= 0);
	assert_int_equal(ftruncate(m->fd, SIZE), 0);
	m->p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	assert_true(m->p != MAP_FAILED);
	m->segment = NULL;
}

static int image_open(struct image *m)
{
	if (sealed)
		assert_int_equal(fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return vpp_segment_open(dup(m->fd), &m->segment);
}

static void image_end(struct image *m)
{
	vpp_segment_close(m->segment);
	munmap(m->p, SIZE);
	close(m->fd);
}

static void put(struct image *m, size_t at, const void *p, size_t n)
{
	assert_true(at + n <= SIZE);
	memcpy(m->p + at, p, n);
}

static void put_u64(struct image *m, size_t at, uint64_t v)
{
	put(m, at, &v, sizeof(v));
}

static void put_u32(struct image *m, size_t at, uint32_t v)
{
	put(m, at, &v, sizeof(v));
}

static void put_hex(struct image *m, size_t at, const char *text)
{
	unsigned value;
	int used;

	for (; sscanf(text, "%2x%n", &value, &used) == 1; text += used)
		m->p[at++] = (uint8_t)value;
}

/* The recorded bytes: one worker, one VIP, ten flows of three packets. */
#define DIRECTORY 0x2a980
#define ENTRY(i) (DIRECTORY + (size_t)(i)*144)

static void put_recorded(struct image *m)
{
	put_hex(m, 0,
		"02 00 00 00 00 00 00 00  00 b0 40 33 7b 7f 00 00"
		"4b 02 00 00 00 00 00 00  00 00 00 00 00 00 00 00"
		"80 59 43 33 7b 7f 00 00");
	put_hex(m, 0x2a978, "c4 12 00 00 02 03 46 00");
	put_hex(m, 0x2a980,
		"01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00"
		"2f 73 79 73 2f 68 65 61 72 74 62 65 61 74 00");
	put_hex(m, ENTRY(4), "06 00 00 00 00 00 00 00  03 00 00 00 01 00 00 00");
	put(m, ENTRY(4) + 16, "/mem/stat segment/used", 23);
	put_hex(m, ENTRY(4785), "02 00 00 00 00 00 00 00  c0 1c 43 33 7b 7f 00 00");
	put_hex(m, 0xd2d20, "66 69 72 73 74 20 73 65 73 73 69 6f 6e 20 70 61 63 6b 65 74 00");
	put_hex(m, 0x26cb8, "02 00 00 00 08 86 03 00");
	put_hex(m, 0x26cc0, "80 1d 43 33 7b 7f 00 00  40 1e 43 33 7b 7f 00 00");
	put_hex(m, 0x26d78, "02 00 00 00 08 86 03 00");
	put_hex(m, 0x26e38,
		"02 00 00 00 08 86 03 00  00 00 00 00 00 00 00 00  0a 00 00 00 00 00 00 00");
	put_hex(m, ENTRY(3017), "03 00 00 00 00 00 00 00  00 41 41 33 7b 7f 00 00");
	put(m, ENTRY(3017) + 16, "/net/route/via", 15);
	put_hex(m, 0x90f8, "02 00 00 00 08 86 01 00  c0 87 42 33 7b 7f 00 00 80 46 41 33 7b 7f 00");
	put_hex(m, 0x9678, "11 00 00 00 08 86 02 00");
	memset(m->p + SIZE - 16, 1, 16); /* a length that is read here is not zero */
	put_hex(m, 0x9680 + 16 * 12, "1e 00 00 00 00 00 00 00  70 08 00 00 00 00 00 00");
}

static void begin_recorded(struct image *m)
{
	first = (struct vpp_entry){ .name = "first session packet" };
	via = (struct vpp_entry){ .name = "/net/route/via" };
	image_begin(m);
	put_recorded(m);
	assert_int_equal(image_open(m), 0);
	assert_int_equal(vpp_segment_begin(m->segment), 0);
}

/* The sum over all threads. */
static int sum_simple(struct image *m, struct vpp_entry *e, const uint32_t *columns, size_t n,
		      uint64_t *ret)
{
	int r = 0;

	memset(ret, 0, n * sizeof(*ret));
	for (uint32_t t = 0; r == 0; t++)
		r = vpp_segment_simple(m->segment, e, t, columns, n, ret);
	return r == -ERANGE ? 0 : r;
}

static void recorded_counters_are_read(void **state)
{
	const uint32_t columns[] = { 0, 1, 2, VPP_NO_COLUMN }, column12[] = { 12, 16, 17 };
	struct vpp_entry heartbeat = { .name = "/sys/heartbeat" };
	uint64_t counts[4], scalar;
	struct vpp_count traffic[3] = { 0 };
	struct image m;

	begin_recorded(&m);
	assert_int_equal(vpp_segment_scalar(m.segment, &heartbeat, &scalar), 0);
	assert_int_equal(scalar, 2);
	assert_int_equal(sum_simple(&m, &first, columns, 4, counts), 0);
	assert_int_equal(counts[0], 0);
	assert_int_equal(counts[1], 10);
	assert_int_equal(counts[2], 0);
	assert_int_equal(counts[3], 0);
	for (uint32_t t = 0; t < 2; t++)
		assert_int_equal(vpp_segment_combined(m.segment, &via, t, column12, 3, traffic), 0);
	assert_int_equal(vpp_segment_combined(m.segment, &via, 2, column12, 3, traffic), -ERANGE);
	assert_int_equal(traffic[0].packets, 30);
	assert_int_equal(traffic[0].bytes, 2160);
	assert_int_equal(traffic[1].packets, 0);
	assert_int_equal(traffic[2].packets, 0);
	assert_int_equal(vpp_segment_end(m.segment), 0);
	assert_int_equal(first.index, 4785);
	image_end(&m);
}

static void all_threads_are_summed(void **state)
{
	const uint32_t columns[] = { 0, 1 };
	uint64_t counts[2];
	struct image m;

	begin_recorded(&m);
	put_u64(&m, 0x26d80, 5);     /* thread 0, column 0 */
	put_u64(&m, 0x26d80 + 8, 7); /* thread 0, column 1 */
	put_u64(&m, 0x26e40, 100);   /* thread 1, column 0 */
	put_u32(&m, 0x26e38, 1);     /* thread 1 has no column 1 */
	assert_int_equal(sum_simple(&m, &first, columns, 2, counts), 0);
	assert_int_equal(counts[0], 105);
	assert_int_equal(counts[1], 7);
	image_end(&m);
}

static void a_thread_without_counters_counts_nothing(void **state)
{
	const uint32_t column = 1;
	uint64_t count;
	struct image m;

	begin_recorded(&m);
	put_u64(&m, 0x26cc0, 0); /* null: an empty vector */
	assert_int_equal(sum_simple(&m, &first, &column, 1, &count), 0);
	assert_int_equal(count, 10);
	image_end(&m);
}

/* A wrong hint is noticed, and the directory is searched. */
static void an_entry_that_moved_is_found_again(void **state)
{
	const uint32_t column = 1;
	uint64_t count;
	struct image m;

	begin_recorded(&m);
	memmove(m.p + ENTRY(4784), m.p + ENTRY(4785), 144);
	memset(m.p + ENTRY(4785), 0, 144);
	first.index = 4785;
	assert_int_equal(sum_simple(&m, &first, &column, 1, &count), 0);
	assert_int_equal(count, 10);
	assert_int_equal(first.index, 4784);
	first.index = UINT32_MAX;
	assert_int_equal(sum_simple(&m, &first, &column, 1, &count), 0);
	assert_int_equal(first.index, 4784);
	image_end(&m);
}

/* VPP adds a name together with a new epoch. */
static void what_was_not_there_is_not_looked_for_twice(void **state)
{
	struct vpp_entry e = { .name = "/new" };
	uint64_t value;
	struct image m;

	begin_recorded(&m);
	assert_int_equal(vpp_segment_scalar(m.segment, &e, &value), -ENOENT);
	put_u32(&m, ENTRY(4803), 1);
	put_u64(&m, ENTRY(4803) + 8, 5);
	put(&m, ENTRY(4803) + 16, "/new", 5);
	assert_int_equal(vpp_segment_begin(m.segment), 0);
	assert_int_equal(vpp_segment_scalar(m.segment, &e, &value), -ENOENT);
	put_u64(&m, 16, 588);
	assert_int_equal(vpp_segment_begin(m.segment), 0);
	assert_int_equal(vpp_segment_scalar(m.segment, &e, &value), 0);
	assert_int_equal(value, 5);
	assert_int_equal(e.index, 4803);
	image_end(&m);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct vpp_entry nothing = { .name = "/no/such" };
	uint64_t value = 77;
	struct image m;

	begin_recorded(&m);
	assert_int_equal(vpp_segment_scalar(m.segment, &nothing, &value), -ENOENT);
	assert_int_equal(vpp_segment_scalar(m.segment, &first, &value), -EBADMSG); /* counters */
	assert_int_equal(value, 77);
	image_end(&m);
}

static void a_segment_being_changed_is_not_waited_for(void **state)
{
	struct image m;

	begin_recorded(&m);
	put_u64(&m, 24, 1);
	assert_int_equal(vpp_segment_begin(m.segment), -EAGAIN);
	put_u64(&m, 24, 0);
	assert_int_equal(vpp_segment_begin(m.segment), 0);
	assert_int_equal(vpp_segment_end(m.segment), 0);
	image_end(&m);
}

static void a_change_during_a_read_spoils_it(void **state)
{
	struct image m;

	begin_recorded(&m);
	put_u64(&m, 16, 588);
	assert_int_equal(vpp_segment_end(m.segment), -EAGAIN);
	assert_int_equal(vpp_segment_begin(m.segment), 0);
	put_u64(&m, 24, 1);
	assert_int_equal(vpp_segment_end(m.segment), -EAGAIN);
	image_end(&m);
}

/* The recorded segment with invalid pointers and lengths. */
static void lies_are_found_out(void **state)
{
	static const struct {
		size_t at, width;
		uint64_t value;
	} lies[] = {
		{ ENTRY(4785) + 8, 8, BASE + SIZE },	 /* threads, after the end */
		{ ENTRY(4785) + 8, 8, BASE + SIZE - 4 }, /* half in */
		{ ENTRY(4785) + 8, 8, BASE + 4 },	 /* its length before the start */
		{ ENTRY(4785) + 8, 8, BASE - 8 },	 /* before the start */
		{ ENTRY(4785) + 8, 8, UINT64_MAX },	 /* far away */
		{ 0x26cb8, 4, 0xffffffff },		 /* threads without end */
		{ 0x26cb8, 4, 1025 },			 /* more threads than the limit */
		{ 0x26cc8, 8, BASE + SIZE + 8 },	 /* thread 1 */
		{ 0x26cc8, 8, 8 },			 /* not an address of VPP's */
		{ 0x26e38, 4, 0xffffffff },		 /* columns without end */
	};
	const uint32_t columns[] = { 1, 0xfffffffe };
	uint64_t counts[2];

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct image m;

		begin_recorded(&m);
		put(&m, lies[i].at, &lies[i].value, lies[i].width);
		assert_int_equal(sum_simple(&m, &first, columns, 2, counts), -EBADMSG);
		assert_int_equal(vpp_segment_end(m.segment), 0); /* so a retry would not help */
		image_end(&m);
	}
}

static void a_directory_that_lies_is_found_out(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
	} lies[] = {
		{ 32, BASE + SIZE },	 { 32, 1 },
		{ 32, UINT64_MAX },	 { 8, 0 },
		{ 8, UINT64_MAX },	 { 0x2a978, 1 << 20 },
		{ 0x2a978, UINT32_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct image m;

		begin_recorded(&m);
		put_u64(&m, lies[i].at, lies[i].value);
		assert_int_equal(vpp_segment_begin(m.segment), -EBADMSG);
		image_end(&m);
	}
}

static void a_half_written_directory_is_a_matter_of_time(void **state)
{
	struct image m;

	begin_recorded(&m);
	put_u64(&m, 32, UINT64_MAX);
	put_u64(&m, 24, 1);
	assert_int_equal(vpp_segment_begin(m.segment), -EAGAIN);
	image_end(&m);
}

static void an_empty_directory_has_nothing(void **state)
{
	uint64_t value;
	struct image m;

	begin_recorded(&m);
	put_u64(&m, 32, 0);
	assert_int_equal(vpp_segment_begin(m.segment), 0);
	assert_int_equal(vpp_segment_scalar(m.segment, &first, &value), -ENOENT);
	image_end(&m);
}

static void another_version_is_refused(void **state)
{
	struct image m;

	image_begin(&m);
	put_recorded(&m);
	put_u64(&m, 0, 3);
	assert_int_equal(image_open(&m), -EPROTONOSUPPORT);
	assert_null(m.segment);
	image_end(&m);

	begin_recorded(&m);
	put_u64(&m, 0, 1);
	assert_int_equal(vpp_segment_begin(m.segment), -EPROTONOSUPPORT);
	image_end(&m);
}

static void what_is_no_segment_is_refused(void **state)
{
	struct vpp_segment *s = NULL;
	int pipes[2], empty = memfd_create("empty", MFD_CLOEXEC);

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(vpp_segment_open(pipes[0], &s), -EBADMSG);
	assert_int_equal(vpp_segment_open(empty, &s), -EBADMSG);
	assert_int_equal(vpp_segment_open(open("/", O_RDONLY | O_CLOEXEC), &s), -EBADMSG);
	assert_null(s);
	close(pipes[1]);
}

/* Reading past the end of a mapped file raises SIGBUS. */
static void a_file_that_shrinks_is_an_error_and_not_the_end(void **state)
{
	const uint32_t column = 1;
	uint64_t count;
	struct image m;

	begin_recorded(&m);
	if (sealed) {
		assert_int_equal(ftruncate(m.fd, 4096), -1);
		assert_int_equal(errno, EPERM);
		assert_int_equal(sum_simple(&m, &first, &column, 1, &count), 0);
	} else {
		assert_int_equal(ftruncate(m.fd, 4096), 0);
		assert_int_equal(sum_simple(&m, &first, &column, 1, &count), -EBADMSG);
		assert_int_equal(ftruncate(m.fd, 8), 0);
		assert_int_equal(vpp_segment_begin(m.segment), -EBADMSG);
		assert_int_equal(vpp_segment_end(m.segment), -EBADMSG);
	}
	image_end(&m);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_counters_are_read),
		cmocka_unit_test(all_threads_are_summed),
		cmocka_unit_test(a_thread_without_counters_counts_nothing),
		cmocka_unit_test(an_entry_that_moved_is_found_again),
		cmocka_unit_test(what_was_not_there_is_not_looked_for_twice),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(a_segment_being_changed_is_not_waited_for),
		cmocka_unit_test(a_change_during_a_read_spoils_it),
		cmocka_unit_test(lies_are_found_out),
		cmocka_unit_test(a_directory_that_lies_is_found_out),
		cmocka_unit_test(a_half_written_directory_is_a_matter_of_time),
		cmocka_unit_test(an_empty_directory_has_nothing),
		cmocka_unit_test(another_version_is_refused),
		cmocka_unit_test(what_is_no_segment_is_refused),
		cmocka_unit_test(a_file_that_shrinks_is_an_error_and_not_the_end),
	};

	sealed = argc > 1; /* sealed against shrinking, so that it is mapped */
	return cmocka_run_group_tests_name(sealed ? "mapped" : "read", tests, NULL, NULL);
}
