/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a stats segment, mapped (a first byte that is odd) or read. Everything in its directory
 * that has one of the names below is read as every kind there is.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/vpp/segment.h"

#define SIZE_MAX_OF_INPUT ((size_t)256 * 1024)

static const uint32_t columns[] = { 0, 1, 1000, VPP_NO_COLUMN };

static void read_as_everything(struct vpp_segment *s, struct vpp_entry *e)
{
	struct vpp_count traffic[ARRAY_SIZE(columns)] = { 0 };
	uint64_t counts[ARRAY_SIZE(columns)] = { 0 };

	vpp_segment_scalar(s, e, counts);
	for (uint32_t t = 0; t < 4; t++) {
		vpp_segment_simple(s, e, t, columns, ARRAY_SIZE(columns), counts);
		vpp_segment_combined(s, e, t, columns, ARRAY_SIZE(columns), traffic);
	}
}

static int make_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("stats", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
		abort();
	if ((data[0] & 1) && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vpp_entry entries[] = {
		{ .name = "/sys/boottime" },
		{ .name = "first session packet" },
		{ .name = "/net/route/via", .index = 3 },
		{ .name = "/if/names", .index = UINT32_MAX },
		{ .name = "" },
	};
	struct vpp_segment *s;

	if (size < 2 || size > SIZE_MAX_OF_INPUT || vpp_segment_open(make_file(data, size), &s) < 0)
		return 0;
	if (vpp_segment_begin(s) == 0) {
		for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
			read_as_everything(s, &entries[i]);
		if (vpp_segment_end(s) != 0)
			abort(); /* nobody wrote */
	}
	vpp_segment_close(s);
	return 0;
}
