/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decap: for servers behind the balancer whose kernel has no GRE. Removes the outer header and
 * GRE, both families outside and inside; all other packets pass untouched.
 *
 * Only what the balancer sends is decapsulated: no VLAN tags, IPv4 options, IPv6 extension
 * headers, outer fragments, or GRE with optional fields. Which hosts may send GRE to the server
 * is up to its firewall and the network. There is no map and no state.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_FRAGMENT 0x3fff /* more fragments, or an offset */

struct gre {
	__be16 flags, type;
};

/* The length of an outer header that is followed by GRE, or 0. */
static __always_inline __u32 outer_of(const struct ethhdr *eth, const void *end)
{
	const struct iphdr *v4 = (const void *)(eth + 1);
	const struct ipv6hdr *v6 = (const void *)(eth + 1);

	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return (const void *)(v4 + 1) <= end && v4->version == 4 && v4->ihl == 5 &&
				       v4->protocol == IPPROTO_GRE &&
				       !(v4->frag_off & bpf_htons(IP_FRAGMENT))
			       ? sizeof(*v4)
			       : 0;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		return (const void *)(v6 + 1) <= end && v6->version == 6 &&
				       v6->nexthdr == IPPROTO_GRE
			       ? sizeof(*v6)
			       : 0;
	return 0;
}

/*
 * The link header is saved before the head moves, and written in front of the inner packet with
 * its EtherType. After adjust_head all pointers are invalid and must be derived from ctx again.
 */
SEC("xdp")
int maglev_decap(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data, link;
	struct gre *gre;
	__u32 outer;

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	outer = outer_of(eth, end);
	gre = (void *)(eth + 1) + outer;
	if (outer == 0 || (void *)(gre + 1) > end || gre->flags ||
	    (gre->type != bpf_htons(ETH_P_IP) && gre->type != bpf_htons(ETH_P_IPV6)))
		return XDP_PASS;
	__builtin_memcpy(&link, eth, sizeof(link));
	link.h_proto = gre->type;
	if (bpf_xdp_adjust_head(ctx, (int)(outer + sizeof(*gre))))
		return XDP_PASS;
	eth = (void *)(long)ctx->data;
	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	*eth = link;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
