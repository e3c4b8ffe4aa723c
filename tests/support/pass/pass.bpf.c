/* SPDX-License-Identifier: Apache-2.0 */
/* pass: an XDP program for the peer of a veth, which takes frames of XDP_TX only if it has one. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}
