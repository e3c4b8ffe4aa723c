/* SPDX-License-Identifier: Apache-2.0 */
/* A BPF object for the tests: two programs with different verdicts, and a map of each kind. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64[2]);
} counts SEC(".maps");

SEC("xdp")
int pass_all(struct xdp_md *ctx)
{
	__u32 key = 1;
	__u64(*count)[2] = bpf_map_lookup_elem(&counts, &key);

	if (count) {
		(*count)[0]++;
		(*count)[1] += ctx->data_end - ctx->data;
	}
	return XDP_PASS;
}

SEC("xdp")
int drop_all(struct xdp_md *ctx)
{
	__u32 key = 0;
	__u64 *number = bpf_map_lookup_elem(&numbers, &key);

	return number && *number == 0 ? XDP_DROP : XDP_PASS;
}
