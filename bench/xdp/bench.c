/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench: net nanoseconds per packet of the XDP program, and of Katran in the same run if an object
 * file of it is named.
 *
 * Each row is a kind of traffic. The wrapper (wrapper.bpf.c) calls the real program for a million
 * packets, in rounds that alternate with the peer and with a program that does nothing; the
 * difference to the latter is the cost of a program. Both have the same VIPs with 16 servers each,
 * tables of 65537 and room for a million flows; Katran sends IPIP, this program GRE. The last
 * figures are packets per second through a veth. Everything runs in its own network namespace.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include <wrapper.skel.h>

#include "base/cleanup.h"
#include "bench/xdp/subject.h"
#include "bench/xdp/veth.h"
#include "bench/xdp/wrapper.h"

#define ROUNDS 11
#define PACKETS 1000000
#define FRESH 0xffffffffu	/* as mask: no flow occurs twice */
#define ONE_NET 0x0ac80001u	/* 10.200.0.1: the VIPs of rows with one VIP */
#define SHARING_NET 0x0ac90000u /* 10.201.0.0/16: a thousand VIPs with the same servers */
#define OWNING_NET 0x0aca0000u	/* 10.202.0.0/16: VIPs with servers of their own */

struct row {
	const char *name;
	bool v6;
	uint8_t protocol;
	uint8_t tcp_flags;
	uint16_t port;
	uint32_t mask; /* number of flows - 1 */
	uint32_t length;
	uint32_t net; /* the first VIP */
	uint32_t vips;
	bool churned; /* measured after a round of fresh flows */
};

static const struct row rows[] = {
	{ "tcp-ack, 1 flow", false, 6, 0x10, 80, 0, 64, ONE_NET, 1, false },
	{ "tcp-ack, 1 k flows", false, 6, 0x10, 80, 1023, 64, ONE_NET, 1, false },
	{ "tcp-ack, 64 k flows", false, 6, 0x10, 80, 65535, 64, ONE_NET, 1, false },
	{ "tcp-ack, 512 k flows", false, 6, 0x10, 80, 524287, 64, ONE_NET, 1, false },
	{ "tcp-ack, 64 k, 1400 B", false, 6, 0x10, 80, 65535, 1400, ONE_NET, 1, false },
	{ "udp, 64 k flows", false, 17, 0, 80, 65535, 64, ONE_NET, 1, false },
	{ "not a VIP (pass)", false, 6, 0x10, 81, 65535, 64, ONE_NET, 1, false },
	{ "tcp-syn, fresh flows", false, 6, 0x02, 80, FRESH, 64, ONE_NET, 1, false },
	{ "udp, fresh flows", false, 17, 0, 80, FRESH, 64, ONE_NET, 1, false },
	{ "tcp-ack, 64 k after churn", false, 6, 0x10, 80, 65535, 64, ONE_NET, 1, true },
	{ "IPv6 tcp-ack, 1 flow", true, 6, 0x10, 80, 0, 80, ONE_NET, 1, false },
	{ "IPv6 tcp-ack, 64 k flows", true, 6, 0x10, 80, 65535, 80, ONE_NET, 1, false },
#define SHARING SHARING_NET, SHARING_VIPS
	{ "1000 VIPs, 1 k flows", false, 6, 0x10, 80, 1023, 64, SHARING, false },
	{ "1000 VIPs, 64 k flows", false, 6, 0x10, 80, 65535, 64, SHARING, false },
	{ "1000 VIPs, 512 k flows", false, 6, 0x10, 80, 524287, 64, SHARING, false },
	{ "1000 VIPs, 64 k, 1400 B", false, 6, 0x10, 80, 65535, 1400, SHARING, false },
	{ "1000 VIPs, fresh tcp-syn", false, 6, 0x02, 80, FRESH, 64, SHARING, false },
	{ "1000 VIPs, 64 k after churn", false, 6, 0x10, 80, 65535, 64, SHARING, true },
	{ "250 VIPs, own servers, 64 k", false, 6, 0x10, 80, 65535, 64, OWNING_NET, OWNING_VIPS,
	  false },
};

struct bench {
	struct subject ours, peer; /* peer.object is NULL if no object file is named */
	struct xdp_object *wrapper;
	int program, nothing;
	unsigned ifindex;
	struct wrapper_order *order;
	struct xdp_map subjects;
};

void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n%s", what, strerror(-r), xdp_why());
	exit(1);
}

uint32_t server_address(uint32_t server)
{
	return htonl(0x0a002000 + server);
}

uint32_t server_of_slot(uint32_t slot)
{
	return slot * 2654435761u / (1u << 28);
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
	shell("ip addr add 10.0.2.2/24 dev l0 && ip route add 10.0.32.0/19 via 10.0.2.1");
	shell("ip neigh replace 10.0.2.1 dev l0 lladdr 02:00:00:00:02:01 nud permanent");
	b->ifindex = if_nametoindex("l0");
}

static void add_vips(struct vip *vips, size_t *n, uint32_t net, uint32_t count, uint32_t servers)
{
	for (uint32_t i = 0; i < count; i++)
		vips[(*n)++] = (struct vip){ .protocol = 6,
					     .address = { 0, 0, 0, htonl(net + i) },
					     .first_server = servers ? servers + i * SERVERS
								     : SHARED_SERVER };
}

/* A VIP for TCP, one for UDP, one for IPv6, and many. */
static size_t list_vips(struct vip vips[static VIPS])
{
	size_t n = 0;

	add_vips(vips, &n, ONE_NET, 1, 0);
	vips[n] = vips[0];
	vips[n++].protocol = 17;
	vips[n++] = (struct vip){ .v6 = true,
				  .protocol = 6,
				  .address = { htonl(0x20010db8), htonl(0x00c80000), 0, htonl(1) },
				  .first_server = SHARED_SERVER };
	add_vips(vips, &n, SHARING_NET, SHARING_VIPS, 0);
	add_vips(vips, &n, OWNING_NET, OWNING_VIPS, OWNED_SERVER);
	return n;
}

static void load(struct bench *b, const char *peer)
{
	static struct vip vips[VIPS];
	size_t size, n = list_vips(vips);
	const void *elf = wrapper__elf_bytes(&size);
	struct xdp_map orders;
	void *memory;

	ours_open(&b->ours, vips, n);
	if (peer)
		peer_open(&b->peer, peer, vips, n);
	check(xdp_object_open(elf, size, &b->wrapper), "open");
	check(xdp_object_load(b->wrapper), "load");
	b->program = xdp_object_program(b->wrapper, "wrapper");
	b->nothing = xdp_object_program(b->wrapper, "nothing");
	check(xdp_map(b->wrapper, "orders", &orders), "orders");
	check(xdp_map_memory(&orders, &memory), "orders");
	b->order = memory;
	check(xdp_map(b->wrapper, "subjects", &b->subjects), "subjects");
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/*
 * The checksum of a header in which the low halves of both addresses and the id add up to ffff, so
 * that it is the same for all flows and VIPs.
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
	ip[0] = 0x45;
	put16(ip + 2, row->length - 14);
	put16(ip + 4, 0xffff);
	ip[8] = 64;
	ip[9] = row->protocol;
	ip[12] = 10;
	ip[13] = 1;
	put16(ip + 16, row->net >> 16);
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
	o->vip_at = row->v6 ? 0 : 14 + 18;
	o->first_vip = row->net & 0xffff;
	o->vips = row->vips;
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
		ours_tell_events(&b->ours);
		exit(1);
	}
	return run.ns;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

/* Stores the flows of a row before it is measured. Fresh flows cannot be stored in advance. */
static void prepare(const struct bench *b, const struct row *row, int program)
{
	struct row fresh = *row;

	b->order->next = 0;
	give_order(b, row);
	measure(b, row, program);
	if (!row->churned)
		return;
	fresh.mask = FRESH;
	give_order(b, &fresh);
	b->order->next = 1u << 20;
	measure(b, &fresh, program);
	give_order(b, row);
}

static void prepare_all(const struct bench *b, const struct row *row)
{
	ours_forget(&b->ours);
	prepare(b, row, b->ours.program);
	if (!b->peer.object)
		return;
	peer_forget(&b->peer);
	prepare(b, row, b->peer.program);
}

/* The sorted times of the rounds of one program. */
struct times {
	int ns[ROUNDS];
};

static int least(const struct times *t, const struct times *null)
{
	return t->ns[0] - null->ns[0];
}

static int median(const struct times *t, const struct times *null)
{
	return t->ns[ROUNDS / 2] - null->ns[ROUNDS / 2];
}

static void print_row(const struct row *row, const struct times *null, const struct times *ours,
		      const struct times *peer)
{
	printf("%-28s %5d/%-5d  %5d/%-5d", row->name, null->ns[0], null->ns[ROUNDS / 2],
	       least(ours, null), median(ours, null));
	if (peer)
		printf("  %5d/%-5d  %4.2f/%.2f", least(peer, null), median(peer, null),
		       (double)least(ours, null) / least(peer, null),
		       (double)median(ours, null) / median(peer, null));
	printf("\n");
	fflush(stdout);
}

static void run_row(const struct bench *b, const struct row *row)
{
	struct times null, ours, peer;

	prepare_all(b, row);
	for (unsigned i = 0; i < ROUNDS; i++) {
		null.ns[i] = (int)measure(b, row, b->nothing);
		ours.ns[i] = (int)measure(b, row, b->ours.program);
		if (b->peer.object)
			peer.ns[i] = (int)measure(b, row, b->peer.program);
	}
	qsort(null.ns, ROUNDS, sizeof(*null.ns), by_value);
	qsort(ours.ns, ROUNDS, sizeof(*ours.ns), by_value);
	if (b->peer.object)
		qsort(peer.ns, ROUNDS, sizeof(*peer.ns), by_value);
	print_row(row, &null, &ours, b->peer.object ? &peer : NULL);
}

/* The minimum of the rounds: other activity of the machine can only make a round slower. */
static void run_veth(const struct veth *v, const char *name, int subject)
{
	unsigned best = UINT32_MAX, ns;
	double delivered, fewest = 1;

	for (unsigned i = 0; i < ROUNDS; i++) {
		check(veth_measure(v, subject, PACKETS, &ns, &delivered), name);
		best = ns < best ? ns : best;
		fewest = delivered < fewest ? delivered : fewest;
	}
	printf("%-28s %5.2f Mpps  %5u ns  %5.1f %% delivered\n", name, 1000.0 / best, best,
	       100 * fewest);
}

static void run_veths(const struct bench *b)
{
	struct veth v = { .generator = xdp_object_program(b->wrapper, "generator"),
			  .sink = xdp_object_program(b->wrapper, "sink"),
			  .near = if_nametoindex("r0"),
			  .far = b->ifindex,
			  .order = b->order };
	struct row row = rows[2]; /* 64 k flows */

	prepare_all(b, &row);
	check(veth_open(&v), "veth");
	printf("\nthrough a veth, 64 k flows, generator and sink included, best of %d rounds\n",
	       ROUNDS);
	run_veth(&v, "room for a header, XDP_TX", b->nothing);
	run_veth(&v, "this program", b->ours.program);
	if (b->peer.object)
		run_veth(&v, "peer", b->peer.program);
}

/* The words of a row's name that select it; NULL: all rows. */
static void run_rows(const struct bench *b, const char *only)
{
	printf("ns per packet, min/median of %d rounds of %d packets\n", ROUNDS, PACKETS);
	printf("%-28s %11s  %11s", "", "wrapper", "net");
	if (b->peer.object)
		printf("  %11s  %9s", "peer net", "ours/peer");
	printf("\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!only || strstr(rows[i].name, only))
			run_row(b, &rows[i]);
	if (!only)
		run_veths(b);
}

int main(int argc, char **argv)
{
	const char *peer = getenv("MAGLEV_BENCH_PEER");
	struct bench b = { 0 };

	build_network(&b);
	load(&b, peer && *peer ? peer : NULL);
	run_rows(&b, argc > 1 ? argv[1] : NULL);
	xdp_object_free(b.ours.object);
	xdp_object_free(b.peer.object);
	xdp_object_free(b.wrapper);
	return 0;
}
