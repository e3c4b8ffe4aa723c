/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow is alive under the conditions of bpf/flow.h and bpf/choose.h: its server exists and still
 * has the generation that the flow stores, and the flow was seen within the timeout. All other
 * words are cleared. This is more than tidiness: a stamp has 15 bits and repeats after some hours,
 * so a dead flow that stays in the table would look alive again for the duration of a timeout.
 *
 * A word is cleared only if it is still the one that was judged. A packet that arrives in between
 * stores a newer word, which stays.
 */
#include "src/maglevd/dataplane/xdp/flows.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/log/log.h"
#include "lib/loop/loop.h"
#include "lib/net/privilege.h"

#define BUCKETS_OF_SLICE 8192 /* 512 KiB of memory that is mapped at a time */

/* The facts that decide whether a flow is alive. */
struct judge {
	const struct abi_as *servers;
	uint32_t n_servers, now, timeout;
};

static int open_clock(void)
{
	bool bpf = privilege_raise(CAP_BPF) == 1;
	bool net_admin = privilege_raise(CAP_NET_ADMIN) == 1;
	int clock = xdp_clock_open();

	if (net_admin)
		privilege_lower(CAP_NET_ADMIN);
	if (bpf)
		privilege_lower(CAP_BPF);
	return clock;
}

/* The present tick of the flow clock. */
static int read_tick(struct xdplb_flows *f, const struct xdplb_maps *m, uint32_t *ret)
{
	uint32_t jiffies;
	int r = 0;

	if (!f->has_clock) {
		r = f->clock = open_clock();
		f->has_clock = r >= 0;
	}
	if (r >= 0)
		r = xdp_clock_read(f->clock, &jiffies);
	if (r == 0)
		*ret = jiffies >> m->config->clock_shift;
	return r;
}

static void set_failed(struct xdplb_flows *f, int err)
{
	if (err && !f->failed)
		log_warn("xdp-flows-unknown", LOG_S("error", strerror(-err)));
	f->failed = err != 0;
}

static bool is_alive(const struct judge *j, uint64_t flow)
{
	uint32_t age = (j->now + 2 - ABI_FLOW_STAMP(flow)) & ABI_FLOW_STAMP_MASK;
	uint32_t id = ABI_FLOW_AS(flow);

	return id && id < j->n_servers && j->servers[id].vip &&
	       j->servers[id].generation == ABI_FLOW_GENERATION(flow) && age <= j->timeout + 2;
}

static void count_slice(const struct judge *j, struct xdp_window *slice, uint32_t n,
			uint32_t *counts)
{
	struct abi_bucket *buckets = slice->values;

	for (size_t i = 0; i < (size_t)n * ABI_BUCKET_FLOWS; i++) {
		__u64 *word = &buckets[i / ABI_BUCKET_FLOWS].flow[i % ABI_BUCKET_FLOWS];
		__u64 flow = __atomic_load_n(word, __ATOMIC_ACQUIRE);

		if (!flow)
			continue;
		if (is_alive(j, flow))
			counts[ABI_FLOW_AS(flow)]++;
		else
			__atomic_compare_exchange_n(word, &flow, 0, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
	}
}

void xdplb__flows_begin(struct xdplb_flows *f, const struct xdplb_maps *m)
{
	xdplb__flows_stop(f);
	f->counts = mem_zalloc(m->sizes.servers * sizeof(*f->counts));
	f->next = 0;
	f->since = loop_monotonic();
}

bool xdplb__flows_step(struct xdplb_flows *f, const struct xdplb_maps *m)
{
	uint32_t left = m->sizes.buckets - f->next;
	uint32_t n = left < BUCKETS_OF_SLICE ? left : BUCKETS_OF_SLICE;
	struct judge j = { .servers = m->servers,
			   .n_servers = m->sizes.servers,
			   .timeout = m->config->settings[m->config->active & 1].flow_timeout };
	struct xdp_window slice;
	int r = read_tick(f, m, &j.now);

	if (r == 0)
		r = xdp_window_open(&m->map[PLANE_FLOWS], f->next, n, &slice);
	if (r == 0) {
		count_slice(&j, &slice, n, f->counts);
		xdp_window_close(&slice);
		f->next += n;
	}
	if (r < 0 || f->next == m->sizes.buckets)
		set_failed(f, r);
	return r < 0 || f->next == m->sizes.buckets;
}

void xdplb__flows_stop(struct xdplb_flows *f)
{
	free(f->counts);
	f->counts = NULL;
}

void xdplb__flows_free(struct xdplb_flows *f)
{
	xdplb__flows_stop(f);
	if (f->has_clock)
		close(f->clock);
	f->has_clock = false;
}
