/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: a program of two instructions that calls the helper and returns its result. It is run like
 * a program on a frame, but never attached.
 */
#include "lib/xdp/xdp.h"

#include <assert.h>
#include <errno.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "lib/xdp/internal.h"

int xdp_clock_open(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_jiffies64 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd;

	xdp__clear_why();
	fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "maglev_clock", "Apache-2.0", code, ARRAY_SIZE(code),
			   NULL);
	return fd < 0 ? -errno : fd;
}

int xdp_clock_read(int clock, uint32_t *ret)
{
	static const char frame[64]; /* the kernel refuses a frame that is too short */
	struct xdp_run run = { .frame = frame, .size = sizeof(frame) };
	int r = xdp_run(clock, &run);

	if (r == 0)
		*ret = run.verdict;
	return r;
}
