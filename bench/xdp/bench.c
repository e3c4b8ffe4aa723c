/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench: net nanoseconds per packet of the XDP program, compared with Katran.
 *
 * Each row is a kind of traffic. The wrapper (wrapper.bpf.c) calls the real program for a million
 * packets, in rounds that alternate with a program that does nothing; the difference is the cost of
 * the program. Katran was measured on the same kind of machine with the same wrapper: one VIP, 16
 * servers, a table of 65537, IPIP. Here it is GRE, with a flow table of a million entries. The last
 * figures are packets per second through a veth. Everything runs in its own network namespace.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include <lb.skel.h>
#include <wrapper.skel.h>

#include "base/cleanup.h"
#include "bench/xdp/veth.h"
#include "bench/xdp/wrapper.h"
#include "bpf/abi.h"
#include "lib/xdp/xdp.h"

#define ROUNDS 11
#define PACKETS 1000000
#define TABLE_SIZE 65537
#define TABLE_LINES ((TABLE_SIZE + ABI_LINE_SLOTS - 1) / ABI_LINE_SLOTS)
#define NEW_FLOWS 125000 /* a second and CPU, as Katran */
#define VIPS 3
#define CELLS 1024
#define SERVERS 16
#define BUCKETS (1u << 17)
#define FRESH 0xffffffffu /* as mask: no flow occurs twice */

struct row {
	const char *name;
	bool v6;
	uint8_t protocol;
	uint8_t tcp_flags;
	uint16_t port;
	uint32_t mask; /* number of flows - 1 */
	uint32_t length;
	bool churned; /* measured after a round of fresh flows */
	const char *katran_min, *katran_median;
};

/* The figures of Katran are nanoseconds, minimum and median; "-": not measured. */
static const struct row rows[] = {
	{ "tcp-ack, 1 flow", false, 6, 0x10, 80, 0, 64, false, "126", "126" },
	{ "tcp-ack, 1 k flows", false, 6, 0x10, 80, 1023, 64, false, "128", "130" },
	{ "tcp-ack, 64 k flows", false, 6, 0x10, 80, 65535, 64, false, "211", "242" },
	{ "tcp-ack, 512 k flows", false, 6, 0x10, 80, 524287, 64, false, "289", "307" },
	{ "tcp-ack, 64 k, 1400 B", false, 6, 0x10, 80, 65535, 1400, false, "284", "336" },
	{ "udp, 64 k flows", false, 17, 0, 80, 65535, 64, false, "254", "275" },
	{ "not a VIP (pass)", false, 6, 0x10, 81, 65535, 64, false, "42", "44" },
	{ "tcp-syn, fresh flows", false, 6, 0x02, 80, FRESH, 64, false, "179", "211" },
	{ "udp, fresh flows", false, 17, 0, 80, FRESH, 64, false, "477", "515" },
	{ "tcp-ack, 64 k after churn", false, 6, 0x10, 80, 65535, 64, true, "153", "209" },
	{ "IPv6 tcp-ack, 1 flow", true, 6, 0x10, 80, 0, 80, false, "-", "-" },
	{ "IPv6 tcp-ack, 64 k flows", true, 6, 0x10, 80, 65535, 80, false, "-", "-" },
};

struct bench {
	struct xdp_object *lb, *wrapper;
	int program, lb_program, nothing;
	unsigned ifindex;
	struct wrapper_order *order;
	struct xdp_map subjects;
	struct abi_bucket *flows;
};

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n%s", what, strerror(-r), xdp_why());
	exit(1);
}

static void shell(const char *command)
{
	if (system(command) != 0) {
		fprintf(stderr, "failed: %s\n", command);
		exit(1);
	}
}

/* The next hop of the servers has a permanent neighbour entry, so that no ARP is needed. */
static void build_network(struct bench *b)
{
	if (unshare(CLONE_NEWNET) < 0)
		check(-errno, "unshare");
	shell("echo 1 > /proc/sys/net/ipv4/ip_forward");
	shell("ip link add l0 type veth peer name r0 && ip link set l0 up && ip link set r0 up");
	shell("ip addr add 10.0.2.2/24 dev l0 && ip route add 10.0.11.0/24 via 10.0.2.1");
	shell("ip neigh replace 10.0.2.1 dev l0 lladdr 02:00:00:00:02:01 nud permanent");
	b->ifindex = if_nametoindex("l0");
}

static void *memory_of(const struct xdp_object *o, const char *name)
{
	struct xdp_map map;
	void *memory;

	check(xdp_map(o, name, &map), name);
	check(xdp_map_memory(&map, &memory), name);
	return memory;
}

static void load(struct bench *b)
{
	size_t size;
	const void *elf = lb__elf_bytes(&size);

	check(xdp_object_open(elf, size, &b->lb), "open");
	check(xdp_object_resize(b->lb, ABI_MAP_FLOWS, BUCKETS), "resize");
	check(xdp_object_resize(b->lb, ABI_MAP_VIP_CELLS, CELLS), "resize");
	check(xdp_object_resize(b->lb, ABI_MAP_TABLES, VIPS * TABLE_LINES), "resize");
	check(xdp_object_load(b->lb), "load");
	b->lb_program = xdp_object_program(b->lb, ABI_PROGRAM);
	elf = wrapper__elf_bytes(&size);
	check(xdp_object_open(elf, size, &b->wrapper), "open");
	check(xdp_object_load(b->wrapper), "load");
	b->program = xdp_object_program(b->wrapper, "wrapper");
	b->nothing = xdp_object_program(b->wrapper, "nothing");
	b->order = memory_of(b->wrapper, "orders");
	b->flows = memory_of(b->lb, ABI_MAP_FLOWS);
	check(xdp_map(b->wrapper, "subjects", &b->subjects), "subjects");
}

static void configure(const struct bench *b)
{
	struct abi_config *c = memory_of(b->lb, ABI_MAP_CONFIG);
	struct timespec tick;
	unsigned hz;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	hz = (unsigned)(1000000000 / tick.tv_nsec);
	c->layout = ABI_LAYOUT;
	c->table_size = TABLE_SIZE;
	c->table_lines = TABLE_LINES;
	c->flow_mask = BUCKETS - 1;
	c->seed[0] = 0x243f6a8885a308d3;
	c->seed[1] = 0x13198a2e03707344;
	c->settings[0].flags = ABI_SET_TX;
	c->vip_mask = CELLS - 1;
	c->clock_shift = ABI_CLOCK_SHIFT(hz);
	c->settings[0].flow_timeout = ABI_FLOW_TIMEOUT(40, hz);
	c->settings[0].new_flows = NEW_FLOWS * (1u << ABI_CLOCK_SHIFT(hz)) / 4 / hz;
	c->settings[0].source4 = htonl(0x0a000202);
}

/* Sets up a VIP with sixteen servers and its table; 10.200.0.1 or 2001:db8:c8::1. */
static void add_vip(const struct bench *b, uint32_t vip, bool v6, uint8_t protocol)
{
	struct abi_vip_key key = { .port = htons(80), .protocol = protocol };
	struct abi_as *servers = memory_of(b->lb, ABI_MAP_SERVERS);
	struct abi_table_line *lines = memory_of(b->lb, ABI_MAP_TABLES);
	struct abi_vip *vips = memory_of(b->lb, ABI_MAP_VIPS);
	struct abi_vip_cell *cells = memory_of(b->lb, ABI_MAP_VIP_CELLS);
	uint32_t first = 1 + vip * SERVERS, table = vip - 1;

	for (uint32_t i = 0; i < SERVERS; i++)
		servers[first + i] =
			(struct abi_as){ .address = { 0, 0, htonl(0xffff), htonl(0x0a000b02 + i) },
					 .vip = vip,
					 .family = 4,
					 .generation = 1 };
	for (uint32_t slot = 0; slot < TABLE_SIZE; slot++)
		lines[table * TABLE_LINES + slot / ABI_LINE_SLOTS].as[slot % ABI_LINE_SLOTS] =
			(__u16)(first + slot * 2654435761u / (1u << 28));
	vips[vip].table = table + 1;
	key.address[2] = v6 ? 0 : htonl(0xffff);
	key.address[3] = v6 ? htonl(1) : htonl(0x0ac80001);
	if (v6) {
		key.address[0] = htonl(0x20010db8);
		key.address[1] = htonl(0x00c80000);
	}
	cells[abi_vip_home(&key) & (CELLS - 1)] = (struct abi_vip_cell){ .key = key, .vip = vip };
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/*
 * The checksum of a header in which the low half of the source address and the id add up to
 * ffff, so that it is the same for all flows.
 */
static void put_checksum4(uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~sum & 0xffff);
}

static void put_ip4(uint8_t *ip, const struct row *row)
{
	static const uint8_t addresses[] = { 10, 1, 0, 0, 10, 200, 0, 1 };

	ip[0] = 0x45;
	put16(ip + 2, row->length - 14);
	put16(ip + 4, 0xffff);
	ip[8] = 64;
	ip[9] = row->protocol;
	memcpy(ip + 12, addresses, sizeof(addresses));
	put_checksum4(ip);
}

static void put_ip6(uint8_t *ip, const struct row *row)
{
	static const uint8_t prefix[] = { 0x20, 0x01, 0x0d, 0xb8, 0x00 };

	ip[0] = 0x60;
	put16(ip + 4, row->length - 54);
	ip[6] = row->protocol;
	ip[7] = 64;
	memcpy(ip + 8, prefix, sizeof(prefix));
	memcpy(ip + 24, prefix, sizeof(prefix));
	ip[29] = 0xc8;
	ip[39] = 1;
}

/* Builds the headers of the packets of a row, and says where the flow is written. */
static void give_order(const struct bench *b, const struct row *row)
{
	uint8_t frame[128] = { 2, 0, 0, 0, 2, 2, 2, 0, 0, 0, 2, 1 };
	uint8_t *ip = frame + 14, *transport = ip + (row->v6 ? 40 : 20);
	struct wrapper_order *o = b->order;

	put16(frame + 12, row->v6 ? 0x86dd : 0x0800);
	if (row->v6)
		put_ip6(ip, row);
	else
		put_ip4(ip, row);
	put16(transport + 2, row->port);
	transport[12] = 5 << 4;
	transport[13] = row->tcp_flags;
	memcpy(o->head, frame, WRAPPER_HEAD);
	o->length = row->length;
	o->mask = row->mask;
	o->address_at = row->v6 ? 14 + 8 + 14 : 14 + 12 + 2;
	o->port_at = row->v6 ? 14 + 40 : 14 + 20;
	o->id_at = row->v6 ? 0 : 14 + 4;
}

static void tell_events(const struct bench *b)
{
	struct xdp_map events;
	uint64_t n;

	check(xdp_map(b->lb, ABI_MAP_EVENTS, &events), "events");
	for (uint32_t i = 0; i < ABI_EVENTS; i++) {
		check(xdp_map_sum(&events, i, &n, 1), "events");
		if (n)
			fprintf(stderr, "event %u: %llu\n", i, (unsigned long long)n);
	}
}

/* Nanoseconds per packet, the wrapper included. */
static uint32_t measure(const struct bench *b, const struct row *row, int subject)
{
	uint8_t frame[1500] = { 0 };
	struct xdp_run run = {
		.frame = frame, .size = row->length, .ifindex = b->ifindex, .repeat = PACKETS
	};
	uint32_t zero = 0;

	check(xdp_map_write(&b->subjects, &zero, &subject), "subjects");
	check(xdp_run(b->program, &run), "run");
	if (run.verdict == XDP_ABORTED || (row->port == 80 && run.verdict != XDP_TX)) {
		fprintf(stderr, "%s: verdict %u\n", row->name, run.verdict);
		tell_events(b);
		exit(1);
	}
	return run.ns;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

/* Stores the flows of a row before it is measured. Fresh flows cannot be stored in advance. */
static void prepare(const struct bench *b, const struct row *row)
{
	struct row fresh = *row;

	memset(b->flows, 0, BUCKETS * sizeof(*b->flows));
	b->order->next = 0;
	give_order(b, row);
	measure(b, row, b->lb_program);
	if (!row->churned)
		return;
	fresh.mask = FRESH;
	give_order(b, &fresh);
	b->order->next = 1u << 20;
	measure(b, &fresh, b->lb_program);
	give_order(b, row);
}

static void run_row(const struct bench *b, const struct row *row)
{
	int null[ROUNDS], raw[ROUNDS], net[ROUNDS];

	prepare(b, row);
	for (unsigned i = 0; i < ROUNDS; i++) {
		null[i] = (int)measure(b, row, b->nothing);
		raw[i] = (int)measure(b, row, b->lb_program);
	}
	qsort(null, ROUNDS, sizeof(*null), by_value);
	qsort(raw, ROUNDS, sizeof(*raw), by_value);
	for (unsigned i = 0; i < ROUNDS; i++)
		net[i] = raw[i] - null[i];
	printf("%-27s %5d/%-5d %5d/%-5d  %5d/%-5d  %5s/%-5s\n", row->name, null[0],
	       null[ROUNDS / 2], raw[0], raw[ROUNDS / 2], net[0], net[ROUNDS / 2], row->katran_min,
	       row->katran_median);
	fflush(stdout);
}

/* The minimum of the rounds: other activity of the machine can only make a round slower. */
static void run_veth(const struct veth *v, const char *name, int subject, const char *katran)
{
	unsigned best = UINT32_MAX, ns;
	double delivered, least = 1;

	for (unsigned i = 0; i < ROUNDS; i++) {
		check(veth_measure(v, subject, PACKETS, &ns, &delivered), name);
		best = ns < best ? ns : best;
		least = delivered < least ? delivered : least;
	}
	printf("%-27s %5.2f Mpps  %5u ns  %5.1f %% delivered  %s\n", name, 1000.0 / best, best,
	       100 * least, katran);
}

static void run_veths(const struct bench *b)
{
	struct veth v = { .generator = xdp_object_program(b->wrapper, "generator"),
			  .sink = xdp_object_program(b->wrapper, "sink"),
			  .near = if_nametoindex("r0"),
			  .far = b->ifindex,
			  .order = b->order };
	struct row row = rows[2]; /* 64 k flows */

	prepare(b, &row);
	check(veth_open(&v), "veth");
	printf("\nthrough a veth, 64 k flows, generator and sink included, best of %d rounds\n",
	       ROUNDS);
	run_veth(&v, "room for a header, XDP_TX", b->nothing, "(there: 3.1-3.5 Mpps)");
	run_veth(&v, "this program", b->lb_program, "(Katran: 1.3-1.9 Mpps)");
}

int main(void)
{
	struct bench b = { 0 };

	build_network(&b);
	load(&b);
	configure(&b);
	add_vip(&b, 1, false, IPPROTO_TCP);
	add_vip(&b, 2, false, IPPROTO_UDP);
	add_vip(&b, 3, true, IPPROTO_TCP);
	printf("ns per packet, min/median of %d rounds of %d packets\n", ROUNDS, PACKETS);
	printf("%-27s %11s %11s  %11s  %11s\n", "", "wrapper", "with it", "net", "Katran net");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		run_row(&b, &rows[i]);
	run_veths(&b);
	xdp_object_free(b.lb);
	xdp_object_free(b.wrapper);
	return 0;
}
