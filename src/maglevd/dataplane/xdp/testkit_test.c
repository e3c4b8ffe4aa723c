/* SPDX-License-Identifier: Apache-2.0 */
/* The code of testkit.h; no test itself. */
#include "src/maglevd/dataplane/xdp/testkit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"
#include "lib/net/privilege.h"
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/testing.h"

#define ROUTER_MAC "02:00:00:00:02:01"

/* The BPF file system of this process; each world has a folder in it. */
static char root_folder[] = "/tmp/xdp-driver-test-XXXXXX";

void testing_run(const char *command)
{
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

/* The mount is private to the namespace, but the folder is not. */
static void remove_root(void)
{
	umount(root_folder);
	rmdir(root_folder);
}

const char *testing_prepare(void)
{
	if (!privilege_effective(CAP_BPF) || unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		return "BPF or namespaces are not permitted here";
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_non_null(mkdtemp(root_folder));
	assert_int_equal(mount("bpf", root_folder, "bpf", 0, NULL), 0);
	atexit(remove_root);
	testing_run("ip link set lo up");
	return NULL;
}

int testing_skip(const char *reason)
{
	printf("1..1\nok 1 - the driver of the XDP data plane # SKIP %s\n", reason);
	return 0;
}

/* Forwarding must be on and the neighbours known: otherwise the FIB lookup of the program fails. */
static const char *const network[] = {
	"ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up",
	"cd /proc/sys/net && echo 0 > ipv6/conf/d0/accept_dad && echo 1 > ipv4/ip_forward",
	"cd /proc/sys/net && echo 1 | tee ipv6/conf/*/forwarding ipv4/conf/*/forwarding >/dev/null",
	"ip addr add 10.0.2.2/24 dev d0; ip addr add 2001:db8:2::2/64 dev d0 nodad",
	"ip neigh replace 10.0.2.1 dev d0 lladdr " ROUTER_MAC " nud permanent",
	"ip neigh replace 2001:db8:2::1 dev d0 lladdr " ROUTER_MAC " nud permanent",
	"ip route add 10.0.0.0/8 via 10.0.2.1; ip route add 2001:db8:11::/64 via 2001:db8:2::1",
};

static void on_log(const struct log_line *line, void *user)
{
	struct world *w = user;

	buf_add(&w->log, line->json.p, line->json.n);
}

static struct world *world_new(struct ev_loop *loop)
{
	static unsigned number;
	struct world *w = mem_zalloc(sizeof(*w));

	w->loop = loop;
	w->maps.program = -1;
	w->sink = log_add_sink(LOG_DEBUG, on_log, w);
	snprintf(w->pin, sizeof(w->pin), "%s/%u", root_folder, number++);
	return w;
}

int world_setup(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(network); i++)
		testing_run(network[i]);
	*state = world_new(ev_loop_new(0));
	return 0;
}

void world_twin(struct world *w, struct world **ret)
{
	*ret = world_new(w->loop);
}

void world_twin_free(struct world *w)
{
	struct buf out = { 0 };

	world_stop(w);
	world_forget_maps(w);
	if (w->snapshot)
		dataplane_xdp.remove(&w->snapshot->config, &out);
	buf_free(&out);
	snapshot_free(w->snapshot);
	snapshot_free(w->before);
	lb_state_free(&w->state);
	log_remove_sink(w->sink);
	buf_free(&w->log);
	free(w);
}

int world_teardown(void **state)
{
	struct world *w = *state;
	struct ev_loop *loop = w->loop;

	world_twin_free(w);
	ev_loop_destroy(loop);
	return if_nametoindex("d0") ? system("ip link del d0") : 0;
}

/* ---- the driver ---- */

static void on_up(void *user)
{
	struct world *w = user;

	w->ups++;
}

static void on_down(void *user, const char *why)
{
	struct world *w = user;

	w->downs++;
	snprintf(w->why, sizeof(w->why), "%s", why);
}

/*
 * The VIPs of the tests need not be configured: only the number of frontends and servers counts
 * here.
 */
static void on_problem(void *user)
{
	((struct world *)user)->problems++;
}

static struct snapshot *snapshot_of(const struct world *w, const struct world_config *c)
{
	struct buf text = { 0 };
	struct snapshot *s;
	unsigned n = c->frontends ? c->frontends : 4;

	buf_printf(&text, "maglev:\n  dataplane: xdp\n  backends: {");
	for (unsigned i = 0; i < 4; i++)
		buf_printf(&text, " b%u: { address: 10.0.0.%u },", i, i + 1);
	buf_printf(&text, " }\n  frontends: {");
	for (unsigned i = 0; i < n; i++)
		buf_printf(&text,
			   " f%u: { address: 192.0.%u.%u, pools: [ { name: p, backends: "
			   "{ b0: , b1: , b2: , b3: } } ] },",
			   i, i / 256, i % 256);
	buf_printf(&text,
		   " }\n  vpp: { lb: { ipv4-src-address: 10.0.2.2 } }\n  xdp: { interfaces: [%s], "
		   "mode: %s, pin: %s, table-size: %u, flow-table-size: %u }\n",
		   c->interfaces ? c->interfaces : "d0", c->mode ? c->mode : "auto",
		   c->pin ? c->pin : w->pin, c->table_size ? c->table_size : 1009,
		   c->flows ? c->flows : 4096);
	s = testing_snapshot(buf_cstr(&text));
	buf_free(&text);
	return s;
}

void world_start(struct world *w, const struct world_config *c)
{
	const struct dataplane_events events = {
		.up = on_up, .down = on_down, .problem = on_problem, .user = w
	};

	assert_null(w->dp);
	snapshot_free(w->snapshot);
	w->snapshot = snapshot_of(w, c);
	w->ups = w->downs = w->problems = 0;
	w->dp = dataplane_xdp.start(w->loop, &w->snapshot->config, &events);
}

static bool is_up(void *user)
{
	const struct world *w = user;

	return w->ups > w->downs;
}

static bool is_down(void *user)
{
	return !is_up(user);
}

void world_wait_up(struct world *w)
{
	assert_true(testing_wait(w->loop, is_up, w));
}

void world_wait_down(struct world *w)
{
	assert_true(testing_wait(w->loop, is_down, w));
}

void world_reconfigure(struct world *w, const struct world_config *c)
{
	snapshot_free(w->before);
	w->before = w->snapshot;
	w->snapshot = snapshot_of(w, c);
	dataplane_xdp.reconfigure(w->dp, &w->snapshot->config);
}

void world_stop(struct world *w)
{
	if (w->dp)
		dataplane_xdp.stop(w->dp);
	w->dp = NULL;
}

/* The user pointer of is_logged(). */
struct line {
	struct world *world;
	const char *text;
};

static bool is_logged(void *user)
{
	const struct line *line = user;

	return world_logged(line->world, line->text);
}

void world_wait_log(struct world *w, const char *text)
{
	struct line line = { w, text };

	if (!testing_wait(w->loop, is_logged, &line))
		fail_msg("not logged: %s\nbut: %s", text, buf_cstr(&w->log));
}

bool world_logged(struct world *w, const char *text)
{
	return strstr(buf_cstr(&w->log), text);
}

void world_forget_log(struct world *w)
{
	w->log.n = 0;
}

static bool is_answered(void *user)
{
	const struct world *w = user;

	return w->answered;
}

static void wait_answer(struct world *w)
{
	assert_true(testing_wait(w->loop, is_answered, w));
}

/* lb_state_copy() leaves out what was flushed, which the tests look at. */
static void on_observed(void *user, int err, const struct lb_state *state)
{
	struct world *w = user;

	w->answered = true;
	w->err = err;
	lb_state_free(&w->state);
	if (err)
		return;
	lb_state_copy(state, &w->state);
	for (size_t i = 0; i < state->vips.n; i++)
		for (size_t k = 0; k < state->vips.items[i].as.n; k++)
			w->state.vips.items[i].as.items[k].flush =
				state->vips.items[i].as.items[k].flush;
}

void world_observe(struct world *w)
{
	w->answered = false;
	dataplane_xdp.observe(w->dp, on_observed, w);
	assert_false(w->answered);
	wait_answer(w);
	assert_int_equal(w->err, 0);
}

static void on_applied(void *user, int err, size_t done)
{
	struct world *w = user;

	w->answered = true;
	w->err = err;
	w->done = done;
}

int world_apply(struct world *w, const struct lb_op *ops, size_t n)
{
	w->answered = false;
	dataplane_xdp.apply(w->dp, ops, n, on_applied, w);
	assert_false(w->answered);
	wait_answer(w);
	return w->err;
}

void world_do(struct world *w, const struct lb_op *ops, size_t n)
{
	assert_int_equal(world_apply(w, ops, n), 0);
	assert_int_equal(w->done, n);
}

/* ---- operations ---- */

struct addr testing_address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

struct lb_op op_conf(unsigned timeout)
{
	return (struct lb_op){ .kind = LB_OP_CONF,
			       .conf = { .src4 = testing_address("10.0.2.2"),
					 .src6 = testing_address("2001:db8:2::2"),
					 .sticky_buckets_per_core = 1024,
					 .flow_timeout_s = timeout } };
}

struct lb_op op_vip(enum lb_op_kind kind, const char *vip, unsigned port)
{
	return (struct lb_op){ .kind = kind,
			       .vip = { .address = testing_address(vip),
					.protocol = port ? IPPROTO_TCP : 0,
					.port = (uint16_t)port } };
}

struct lb_op op_as(enum lb_op_kind kind, const char *vip, unsigned port, const char *as,
		   unsigned weight)
{
	struct lb_op op = op_vip(kind, vip, port);

	op.as = testing_address(as);
	op.weight = (uint8_t)weight;
	return op;
}

/* ---- packets ---- */

struct frame {
	uint8_t bytes[256];
	size_t n;
};

static void put(struct frame *f, const void *bytes, size_t n)
{
	memcpy(f->bytes + f->n, bytes, n);
	f->n += n;
}

/* RFC 1071; n is even. */
static uint16_t checksum(const uint8_t *bytes, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* No options, DF set, 40 bytes in all. */
static void put_ip4(struct frame *f, const struct addr *from, const struct addr *to)
{
	uint8_t header[20] = { 0x45, 0, 0, 40, 0, 1, 0x40, 0, 64, IPPROTO_TCP };
	uint16_t sum;

	memcpy(header + 12, from->bytes, 4);
	memcpy(header + 16, to->bytes, 4);
	sum = htons(checksum(header, sizeof(header)));
	memcpy(header + 10, &sum, 2);
	put(f, header, sizeof(header));
}

static void put_ip6(struct frame *f, const struct addr *from, const struct addr *to)
{
	const uint8_t header[8] = { 0x60, 0, 0, 0, 0, 20, IPPROTO_TCP, 64 };

	put(f, header, sizeof(header));
	put(f, from->bytes, 16);
	put(f, to->bytes, 16);
}

/* The TCP checksum stays 0: the program does not look at it. */
static void build_frame(struct frame *f, const struct addr *client, unsigned client_port,
			const struct lb_vip_key *vip, unsigned flags)
{
	uint8_t tcp[20] = { (uint8_t)(client_port >> 8), (uint8_t)client_port,
			    (uint8_t)(vip->port >> 8), (uint8_t)vip->port };
	bool v6 = client->family == AF_INET6;
	const uint8_t ether[14] = {
		2, 0, 0, 0, 2, 2, 2, 0, 0, 0, 2, 1, v6 ? 0x86 : 0x08, v6 ? 0xdd : 0x00
	};

	tcp[12] = 0x50;
	tcp[13] = (uint8_t)flags;
	f->n = 0;
	put(f, ether, sizeof(ether));
	if (v6)
		put_ip6(f, client, &vip->address);
	else
		put_ip4(f, client, &vip->address);
	put(f, tcp, sizeof(tcp));
}

void world_forget_maps(struct world *w)
{
	xdplb__maps_close(&w->maps);
}

void testing_load(const char *pin, struct xdplb_maps *ret)
{
	const struct xdplb_sizes sizes = { 64, 64, 1024, 8, 1009, 32, 128 };
	struct xdplb_folder folder;
	struct xdplb_loaded loaded;
	struct xdplb_why why;

	xdplb__folder_init(&folder, pin);
	snprintf(folder.program, sizeof(folder.program), "%s/test", pin);
	if (xdplb__load(&folder, &sizes, &loaded, &why) < 0 ||
	    xdplb__maps_open(folder.maps, folder.program, ret, &why) < 0)
		fail_msg("%s", why.text);
}

static void find_maps(struct world *w)
{
	if (w->maps.program < 0)
		testing_load(w->pin, &w->maps);
}

/* Removes a VLAN tag; returns its number, 0 without one. */
static unsigned untag(struct frame *f)
{
	unsigned vlan = (unsigned)(f->bytes[14] & 0xf) << 8 | f->bytes[15];

	if (f->bytes[12] != 0x81)
		return 0;
	memmove(f->bytes + 12, f->bytes + 16, sizeof(f->bytes) - 16);
	return vlan;
}

/* The server is the destination of the outer header. */
static struct addr outer_destination(const struct frame *f)
{
	struct addr a = { .family = f->bytes[12] == 0x08 ? AF_INET : AF_INET6 };

	if (a.family == AF_INET)
		memcpy(a.bytes, f->bytes + 14 + 16, 4);
	else
		memcpy(a.bytes, f->bytes + 14 + 24, 16);
	return a;
}

struct addr world_send(struct world *w, const char *client, const struct lb_vip_key *vip,
		       unsigned port, unsigned flags)
{
	struct addr from = testing_address(client);
	struct frame in, out = { 0 };
	struct xdp_run run = { .frame = in.bytes,
			       .ifindex = if_nametoindex("d0"),
			       .out = out.bytes,
			       .out_size = sizeof(out.bytes) };

	find_maps(w);
	build_frame(&in, &from, port, vip, flags);
	run.size = (uint32_t)in.n;
	assert_int_equal(xdp_run(w->maps.program, &run), 0);
	w->vlan = untag(&out);
	return run.verdict == XDP_REDIRECT ? outer_destination(&out) : (struct addr){ 0 };
}

const struct lb_vip_key *world_www(void)
{
	static struct lb_vip_key key;

	key = op_vip(LB_OP_VIP_ADD, WORLD_VIP, 80).vip;
	return &key;
}

void world_make_www(struct world *w)
{
	const struct lb_op ops[] = {
		op_conf(40),
		op_vip(LB_OP_VIP_ADD, WORLD_VIP, 80),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.1", 100),
		op_as(LB_OP_AS_ADD, WORLD_VIP, 80, "10.0.0.2", 100),
	};

	world_do(w, ops, ARRAY_SIZE(ops));
}

/* Each new flow needs a port that was not used before, or the flow table would decide. */
static unsigned next_port(void)
{
	static unsigned port = 1024;

	return port++;
}

unsigned world_share(struct world *w, const struct lb_vip_key *vip, const char *server)
{
	struct addr address = testing_address(server);
	unsigned n = 0;

	for (unsigned i = 0; i < 100; i++) {
		struct addr to = world_send(w, "203.0.113.7", vip, next_port(), 2);

		n += addr_cmp(&to, &address) == 0;
	}
	return n;
}

unsigned world_open_flow(struct world *w)
{
	for (unsigned i = 0; i < 1000; i++) {
		unsigned port = next_port();

		if (world_send(w, "203.0.113.7", world_www(), port, 2).bytes[3] == 1)
			return port;
	}
	fail_msg("no flow goes to 10.0.0.1");
	return 0;
}

unsigned world_flow_server(struct world *w, unsigned port)
{
	return world_send(w, "203.0.113.7", world_www(), port, 16).bytes[3];
}

/* Builds the table again with the plain function of core/maglev, and compares all slots. */
static void check_table(const struct xdplb_inventory *b, uint32_t vip)
{
	const struct xdplb_maps *m = b->maps;
	const struct xdplb_vip *v = &b->vips[vip];
	struct maglev_member *members = mem_zalloc((v->servers.n + 1) * sizeof(*members));
	uint16_t *want = mem_zalloc(m->sizes.table_size * sizeof(*want));
	uint32_t table = m->vips[vip].table;
	struct xdp_window window = { 0 };
	const struct abi_table_line *lines;

	if (table)
		assert_int_equal(xdplb__maps_table(m, table - 1, &window), 0);
	lines = window.values;
	for (size_t i = 0; i < v->servers.n; i++)
		members[i] = (struct maglev_member){
			.address = xdplb__maps_server(m, v->servers.items[i]),
			.weight = m->servers[v->servers.items[i]].weight & ABI_AS_WEIGHT
		};
	maglev_build(members, v->servers.n, want, m->sizes.table_size);
	assert_int_equal(table > 0, want[0] != MAGLEV_NONE);
	for (uint32_t i = 0; table && i < m->sizes.table_size; i++)
		assert_int_equal(lines[i / ABI_LINE_SLOTS].as[i % ABI_LINE_SLOTS],
				 v->servers.items[want[i]]);
	xdp_window_close(&window);
	free(members);
	free(want);
}

void world_check_tables(struct world *w)
{
	struct xdplb_inventory b;

	find_maps(w);
	xdplb__inventory_open(&b, &w->maps, false);
	for (uint32_t i = 1; i < w->maps.sizes.vips; i++)
		if (b.vips[i].used)
			check_table(&b, i);
	xdplb__inventory_close(&b);
}
