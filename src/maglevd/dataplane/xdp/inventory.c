/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of bpf/abi.h for writers, in one place: which store makes a change visible, and which
 * entries rest before they are used again.
 *
 * VIPs are looked up in the cells in the same way as the program does it. The cell of an address
 * (port and protocol 0) is its all-port VIP; or ABI_CELL_BY_PORT, if the address only has VIPs by
 * port; or empty. Cells that are emptied rest as well: a packet may have read the index from a
 * cell whose key is about to change.
 *
 * Places are handed out in rotation and not lowest first, so that an operation seldom has to wait
 * for the end of a rest.
 */
#include "src/maglevd/dataplane/xdp/inventory.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "lib/loop/loop.h"

#define IN_USE INT64_MAX
#define REST (ABI_REST_S * NSEC_PER_SEC)

#define ICMP_GAP_NS 1000000 /* 1000 ICMP errors per second and CPU, ... */
/* ... of which this many may be sent at once */
#define ICMP_BURST 100
/* Per second and CPU; above this rate a connection is stored with its second packet. */
#define NEW_FLOWS 125000

/*
 * The store that makes a change visible to the program: everything written before it is seen too.
 */
#define STORE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELEASE)

/* ---- places ---- */

/* Numbers below first are allocated too, so that a place is its own array index. */
static void places_open(struct xdplb_places *p, uint32_t first, uint32_t n, int64_t until)
{
	*p = (struct xdplb_places){ .n = n, .first = first, .next = first };
	p->rest = mem_resize(NULL, n, sizeof(*p->rest));
	for (uint32_t i = 0; i < n; i++)
		p->rest[i] = until;
}

/*
 * Only the places that the maps name are in use. Before the maps are read again, every place in
 * use starts to rest; the reader then marks the ones that it finds.
 */
static void places_forget(struct xdplb_places *p)
{
	int64_t until = loop_monotonic() + REST;

	for (uint32_t i = p->first; i < p->n; i++)
		if (p->rest[i] == IN_USE)
			p->rest[i] = until;
}

/*
 * The search visits each place at most once. It also finds the earliest end of a rest, for
 * -EAGAIN.
 */
static int places_take(struct xdplb_inventory *b, struct xdplb_places *p, const char *what,
		       uint32_t *ret)
{
	int64_t now = loop_monotonic(), soonest = IN_USE;

	for (uint32_t tried = p->first; tried < p->n; tried++) {
		uint32_t i = p->next;

		p->next = i + 1 < p->n ? i + 1 : p->first;
		if (p->rest[i] <= now) {
			p->rest[i] = IN_USE;
			*ret = i;
			return 0;
		}
		if (p->rest[i] < soonest)
			soonest = p->rest[i];
	}
	b->full = what;
	b->wait = soonest;
	return soonest == IN_USE ? -ENOSPC : -EAGAIN;
}

static void places_let_go(struct xdplb_places *p, uint32_t i)
{
	p->rest[i] = loop_monotonic() + REST;
}

/* ---- cells ---- */

static struct abi_vip_key abi_key(const struct lb_vip_key *key)
{
	struct abi_vip_key ret = { .port = htons(key->port), .protocol = key->protocol };

	xdplb__put_address(&key->address, ret.address);
	return ret;
}

/* The key of the cell that every address with a VIP has. */
static struct abi_vip_key address_key(const struct lb_vip_key *key)
{
	struct abi_vip_key ret = abi_key(key);

	ret.port = 0;
	ret.protocol = 0;
	return ret;
}

static bool is_all_port(const struct lb_vip_key *key)
{
	return key->port == 0 && key->protocol == 0;
}

/* The number of cells is a power of two, so the mask also makes UINT32_MAX a step backwards. */
static uint32_t cell_at(const struct xdplb_inventory *b, uint32_t home, uint32_t probe)
{
	return (home + probe) & (b->maps->sizes.cells - 1);
}

static bool holds_key(const struct abi_vip_cell *cell, const struct abi_vip_key *key)
{
	return cell->vip != ABI_CELL_EMPTY && cell->vip != ABI_CELL_GONE &&
	       memcmp(&cell->key, key, sizeof(*key)) == 0;
}

/*
 * The program's lookup: at most ABI_VIP_PROBES cells, and none after the first empty one. NULL:
 * none.
 */
static struct abi_vip_cell *find_cell(const struct xdplb_inventory *b,
				      const struct abi_vip_key *key)
{
	uint32_t home = abi_vip_home(key);

	for (uint32_t i = 0; i < ABI_VIP_PROBES; i++) {
		struct abi_vip_cell *cell = &b->maps->cells[cell_at(b, home, i)];

		if (cell->vip == ABI_CELL_EMPTY)
			return NULL;
		if (holds_key(cell, key))
			return cell;
	}
	return NULL;
}

/*
 * Finds a free cell for a key that has none. A key is never stored after an empty cell, because
 * lookups stop there; so a resting empty cell ends the search.
 */
static int find_free_cell(struct xdplb_inventory *b, const struct abi_vip_key *key,
			  struct abi_vip_cell **ret)
{
	uint32_t home = abi_vip_home(key);
	int64_t now = loop_monotonic();

	b->wait = IN_USE;
	b->full = "cells of VIPs";
	for (uint32_t i = 0; i < ABI_VIP_PROBES; i++) {
		uint32_t at = cell_at(b, home, i);
		struct abi_vip_cell *cell = &b->maps->cells[at];

		if (cell->vip != ABI_CELL_EMPTY && cell->vip != ABI_CELL_GONE)
			continue;
		if (b->cell_rest[at] <= now) {
			*ret = cell;
			return 0;
		}
		if (b->cell_rest[at] < b->wait)
			b->wait = b->cell_rest[at];
		if (cell->vip == ABI_CELL_EMPTY)
			break;
	}
	return b->wait == IN_USE ? -ENOSPC : -EAGAIN;
}

/* The key first: a lookup that sees the index must also see the key. */
static void fill_cell(struct abi_vip_cell *cell, const struct abi_vip_key *key, uint32_t vip)
{
	cell->key = *key;
	STORE(cell->vip, vip);
}

/*
 * Removes a key. If the following cell is empty, no lookup has to go on past this cell, and it
 * becomes empty together with the GONE cells right before it. Otherwise it becomes GONE, so that
 * the keys after it are still found.
 */
static void empty_cell(struct xdplb_inventory *b, struct abi_vip_cell *cell)
{
	uint32_t at = (uint32_t)(cell - b->maps->cells);

	b->cell_rest[at] = loop_monotonic() + REST;
	if (b->maps->cells[cell_at(b, at, 1)].vip != ABI_CELL_EMPTY) {
		STORE(cell->vip, ABI_CELL_GONE);
		return;
	}
	STORE(cell->vip, ABI_CELL_EMPTY);
	for (at = cell_at(b, at, UINT32_MAX); b->maps->cells[at].vip == ABI_CELL_GONE;
	     at = cell_at(b, at, UINT32_MAX))
		STORE(b->maps->cells[at].vip, ABI_CELL_EMPTY);
}

/* ---- hosts ---- */

static void hosts_open(struct xdplb_hosts *h, uint32_t n, int64_t until)
{
	places_open(&h->places, 1, n, until);
	h->users = mem_zalloc(n * sizeof(*h->users));
	h->next = mem_zalloc(n * sizeof(*h->next));
	for (h->mask = 1; h->mask < n; h->mask *= 2)
		;
	h->first = mem_zalloc(h->mask * sizeof(*h->first));
	h->mask--;
}

static void hosts_close(struct xdplb_hosts *h)
{
	free(h->places.rest);
	free(h->users);
	free(h->next);
	free(h->first);
}

/* All hosts in use start to rest; note_host() marks those that servers have. */
static void hosts_forget(struct xdplb_hosts *h)
{
	places_forget(&h->places);
	memset(h->users, 0, h->places.n * sizeof(*h->users));
	memset(h->first, 0, (h->mask + 1) * sizeof(*h->first));
}

/* The first host with the hash of an address. */
static uint16_t *chain_of(const struct xdplb_inventory *b, const __u32 *address)
{
	__u64 hash =
		abi_mix((__u64)address[0] << 32 | address[1], (__u64)address[2] << 32 | address[3]);

	return &b->hosts.first[hash & b->hosts.mask];
}

/* One more server has this host. */
static void note_host(struct xdplb_inventory *b, uint32_t host)
{
	struct xdplb_hosts *h = &b->hosts;
	uint16_t *first = chain_of(b, b->maps->hosts[host].address);

	if (h->users[host]++)
		return;
	h->places.rest[host] = IN_USE;
	h->next[host] = *first;
	*first = (uint16_t)host;
}

/* The host of an address, which is written if no server has it yet. */
static int take_host(struct xdplb_inventory *b, const struct addr *a, uint32_t *ret)
{
	struct abi_host host = { .family = a->family == AF_INET6 ? 6 : 4 };
	uint32_t i;
	int r;

	xdplb__put_address(a, host.address);
	for (i = *chain_of(b, host.address); i; i = b->hosts.next[i])
		if (memcmp(b->maps->hosts[i].address, host.address, 16) == 0)
			break;
	if (!i) {
		r = places_take(b, &b->hosts.places, "servers", &i);
		if (r < 0)
			return r;
		b->maps->hosts[i] = host;
	}
	note_host(b, i);
	*ret = i;
	return 0;
}

/* One server less has this host. Without any it rests. */
static void drop_host(struct xdplb_inventory *b, uint32_t host)
{
	struct xdplb_hosts *h = &b->hosts;
	uint16_t *link = chain_of(b, b->maps->hosts[host].address);

	if (--h->users[host])
		return;
	while (*link != host)
		link = &h->next[*link];
	*link = h->next[host];
	places_let_go(&h->places, host);
}

/* ---- reading ---- */

static void forget_vips(struct xdplb_inventory *b)
{
	for (uint32_t i = 0; i < b->maps->sizes.vips; i++) {
		b->vips[i].used = false;
		b->vips[i].servers.n = 0;
	}
}

/*
 * The index check also skips ABI_CELL_BY_PORT and ABI_CELL_GONE, which are larger than any index.
 */
static void read_cell(struct xdplb_inventory *b, const struct abi_vip_cell *cell)
{
	struct xdplb_vip *vip;

	if (cell->vip == ABI_CELL_EMPTY || cell->vip >= b->maps->sizes.vips)
		return;
	vip = &b->vips[cell->vip];
	vip->used = true;
	vip->key = (struct lb_vip_key){ .address = xdplb__get_address(cell->key.address),
					.protocol = cell->key.protocol,
					.port = ntohs(cell->key.port) };
	b->indexes.rest[cell->vip] = IN_USE;
}

/* A table number in the maps is one higher than its place; 0 means none. */
static void read_table(struct xdplb_inventory *b, uint32_t vip)
{
	uint32_t table = b->maps->vips[vip].table;

	if (b->vips[vip].used && table && table <= b->maps->sizes.tables)
		b->tables.rest[table - 1] = IN_USE;
}

static int compare_address(const struct xdplb_inventory *b, uint16_t id, const __u32 *address)
{
	return memcmp(b->maps->hosts[b->maps->servers[id].host].address, address, 16);
}

/*
 * The position of the server with that address in the sorted list, or where it would be inserted.
 */
static size_t server_place(const struct xdplb_inventory *b, uint32_t vip, const __u32 *address)
{
	const struct xdplb_vip *v = &b->vips[vip];
	size_t low = 0, high = v->servers.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_address(b, v->servers.items[middle], address) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Inserts a server of the map into the list of its VIP. */
static void list_server(struct xdplb_inventory *b, uint32_t id)
{
	const struct abi_as *s = &b->maps->servers[id];
	struct xdplb_vip *v = &b->vips[s->vip];
	size_t at = server_place(b, s->vip, b->maps->hosts[s->host].address);

	vec_insert_at(&v->servers, at);
	v->servers.items[at] = (uint16_t)id;
	b->ids.rest[id] = IN_USE;
}

/* Whether a server counts: its VIP has a cell, and it has an address. */
static bool is_listed(const struct xdplb_inventory *b, const struct abi_as *s)
{
	return s->vip && s->vip < b->maps->sizes.vips && b->vips[s->vip].used && s->host &&
	       s->host < b->maps->sizes.servers;
}

/* Cells first, because tables and servers only count if their VIP has a cell. */
void xdplb__inventory_read(struct xdplb_inventory *b)
{
	const struct xdplb_maps *m = b->maps;

	forget_vips(b);
	places_forget(&b->indexes);
	places_forget(&b->ids);
	places_forget(&b->tables);
	hosts_forget(&b->hosts);
	for (uint32_t i = 0; i < m->sizes.cells; i++)
		read_cell(b, &m->cells[i]);
	for (uint32_t i = 1; i < m->sizes.vips; i++)
		read_table(b, i);
	for (uint32_t id = 1; id < m->sizes.servers; id++) {
		if (!is_listed(b, &m->servers[id]))
			continue;
		note_host(b, m->servers[id].host);
		list_server(b, id);
	}
}

void xdplb__inventory_open(struct xdplb_inventory *b, struct xdplb_maps *maps, bool fresh)
{
	const struct xdplb_sizes *s = &maps->sizes;
	int64_t until = fresh ? 0 : loop_monotonic() + REST;
	struct xdplb_places cells;

	*b = (struct xdplb_inventory){ .maps = maps };
	b->vips = mem_zalloc(s->vips * sizeof(*b->vips));
	places_open(&b->indexes, 1, s->vips, until);
	places_open(&b->ids, 1, s->servers, until);
	places_open(&b->tables, 0, s->tables, until);
	hosts_open(&b->hosts, s->servers, until);
	places_open(&cells, 0, s->cells, until);
	b->cell_rest = cells.rest;
	xdplb__inventory_read(b);
}

void xdplb__inventory_close(struct xdplb_inventory *b)
{
	for (uint32_t i = 0; b->vips && i < b->indexes.n; i++)
		vec_free(&b->vips[i].servers);
	free(b->vips);
	free(b->indexes.rest);
	free(b->ids.rest);
	free(b->tables.rest);
	hosts_close(&b->hosts);
	free(b->cell_rest);
	*b = (struct xdplb_inventory){ 0 };
}

uint32_t xdplb__inventory_vip(const struct xdplb_inventory *b, const struct lb_vip_key *key)
{
	struct abi_vip_key k = abi_key(key);
	const struct abi_vip_cell *cell = find_cell(b, &k);

	return cell && cell->vip != ABI_CELL_BY_PORT ? cell->vip : 0;
}

uint32_t xdplb__inventory_server(const struct xdplb_inventory *b, uint32_t vip,
				 const struct addr *address)
{
	const struct xdplb_vip *v = &b->vips[vip];
	__u32 bits[4];
	size_t at;

	xdplb__put_address(address, bits);
	at = server_place(b, vip, bits);
	if (at == v->servers.n || compare_address(b, v->servers.items[at], bits) != 0)
		return 0;
	return v->servers.items[at];
}

size_t xdplb__inventory_servers_after(const struct xdplb_inventory *b, uint32_t vip,
				      const struct addr *a)
{
	const struct xdplb_vip *v = &b->vips[vip];
	__u32 bits[4];
	size_t at;

	if (!addr_is_set(a))
		return 0;
	xdplb__put_address(a, bits);
	at = server_place(b, vip, bits);
	return at < v->servers.n && compare_address(b, v->servers.items[at], bits) == 0 ? at + 1
											: at;
}

/* ---- settings ---- */

/* Writes the idle half, then makes it the active one. A packet never sees a mixture of the two. */
static void put_settings(struct xdplb_inventory *b, const struct abi_settings *s)
{
	struct abi_config *c = b->maps->config;
	uint32_t idle = !c->active;

	c->settings[idle] = *s;
	STORE(c->active, idle);
}

/* The mask guards against a value that another program has written. */
static const struct abi_settings *settings(const struct xdplb_inventory *b)
{
	const struct abi_config *c = b->maps->config;

	return &c->settings[c->active & 1];
}

/* new_flows is per quarter of a tick of 2^ABI_CLOCK_SHIFT jiffies, as the program counts them. */
int xdplb__inventory_conf(struct xdplb_inventory *b, const struct lb_conf *conf)
{
	unsigned hz = b->maps->hz;
	struct abi_settings s = {
		.flags = settings(b)->flags,
		.flow_timeout = ABI_FLOW_TIMEOUT(conf->flow_timeout_s, hz),
		.icmp_gap_ns = ICMP_GAP_NS,
		.icmp_burst = ICMP_BURST,
		.new_flows = (__u32)(NEW_FLOWS * ((uint64_t)1 << ABI_CLOCK_SHIFT(hz)) / 4 / hz),
	};
	__u32 mapped[4];

	xdplb__put_address(&conf->src4, mapped);
	s.source4 = mapped[3];
	xdplb__put_address(&conf->src6, s.source6);
	put_settings(b, &s);
	return 0;
}

void xdplb__inventory_set_flag(struct xdplb_inventory *b, uint32_t flag, bool on)
{
	struct abi_settings s = *settings(b);

	if (on == !!(s.flags & flag))
		return;
	s.flags ^= flag;
	put_settings(b, &s);
}

/* The all-zero address stands for "none" in the maps. */
static struct addr address_or_none(struct addr a)
{
	static const uint8_t zero[16];

	return memcmp(a.bytes, zero, 16) == 0 ? (struct addr){ 0 } : a;
}

/*
 * The inverse of ABI_FLOW_TIMEOUT(). A tick is at most one second, so rounding up yields the
 * number of seconds that was written: otherwise the reconciler would see a difference forever.
 */
static void read_conf(const struct xdplb_inventory *b, struct lb_state *ret)
{
	const struct abi_config *c = b->maps->config;
	const struct abi_settings *s = settings(b);
	uint64_t ticks = s->flow_timeout;

	ret->has_conf = ticks > 0;
	if (!ret->has_conf)
		return;
	ret->conf.flow_timeout_s =
		(uint32_t)((((ticks - 1) << c->clock_shift) + b->maps->hz - 1) / b->maps->hz);
	ret->conf.src4.family = AF_INET;
	memcpy(ret->conf.src4.bytes, &s->source4, 4);
	ret->conf.src4 = address_or_none(ret->conf.src4);
	ret->conf.src6.family = AF_INET6;
	memcpy(ret->conf.src6.bytes, s->source6, 16);
	ret->conf.src6 = address_or_none(ret->conf.src6);
}

/* ---- VIPs ---- */

/* False for IPv4-mapped IPv6 addresses, which would be read back as IPv4. */
static bool is_representable(const struct addr *a)
{
	__u32 bits[4];
	struct addr back;

	xdplb__put_address(a, bits);
	back = xdplb__get_address(bits);
	return addr_cmp(&back, a) == 0;
}

/* Whether an address has a VIP by port. */
static bool has_ports(const struct xdplb_inventory *b, const struct addr *address)
{
	for (uint32_t i = 1; i < b->maps->sizes.vips; i++)
		if (b->vips[i].used && !is_all_port(&b->vips[i].key) &&
		    addr_cmp(&b->vips[i].key.address, address) == 0)
			return true;
	return false;
}

/* A cell that exists is that of the address, which was BY_PORT until its all-port VIP was added. */
static int put_cell(struct xdplb_inventory *b, const struct abi_vip_key *key, uint32_t vip)
{
	struct abi_vip_cell *cell = find_cell(b, key);
	int r;

	if (cell) { /* was BY_PORT until now */
		STORE(cell->vip, vip);
		return 0;
	}
	r = find_free_cell(b, key, &cell);
	if (r == 0)
		fill_cell(cell, key, vip);
	return r;
}

/*
 * Writes the cell of the address before the cell of a VIP by port: packets without ports (ICMP,
 * fragments) are found by the address alone, and must not be missed when the others are found.
 */
static int put_cells(struct xdplb_inventory *b, const struct lb_vip_key *key, uint32_t vip)
{
	struct abi_vip_key whole = abi_key(key), address = address_key(key);
	int r = 0;

	if (!is_all_port(key) && !find_cell(b, &address))
		r = put_cell(b, &address, ABI_CELL_BY_PORT);
	return r < 0 ? r : put_cell(b, &whole, vip);
}

/*
 * Sets the cell of an address after a VIP was removed, or could not be added: BY_PORT if it has
 * other VIPs by port, otherwise empty. An all-port VIP that is still there keeps its cell.
 */
static void settle_address(struct xdplb_inventory *b, const struct lb_vip_key *key)
{
	struct abi_vip_key address = address_key(key);
	struct abi_vip_cell *cell = find_cell(b, &address);
	bool ports = has_ports(b, &key->address);

	if (!cell || (!is_all_port(key) && cell->vip != ABI_CELL_BY_PORT))
		return;
	if (ports)
		STORE(cell->vip, ABI_CELL_BY_PORT);
	else
		empty_cell(b, cell);
}

int xdplb__inventory_import(struct xdplb_inventory *b, const struct xdplb_inventory *from)
{
	const struct xdplb_maps *m = from->maps;
	int r = 0;

	put_settings(b, settings(from));
	memcpy(b->maps->hosts, m->hosts, m->sizes.servers * sizeof(*m->hosts));
	memcpy(b->maps->servers, m->servers, m->sizes.servers * sizeof(*m->servers));
	for (uint32_t i = 1; i < m->sizes.vips && r == 0; i++) {
		if (!from->vips[i].used)
			continue;
		b->maps->vips[i].flags = m->vips[i].flags;
		r = put_cells(b, &from->vips[i].key, i);
	}
	xdplb__inventory_read(b);
	return r;
}

/*
 * The cells are last, because they make the VIP visible. After a failure no packet can have seen
 * the index, so it is free at once.
 */
int xdplb__inventory_vip_add(struct xdplb_inventory *b, const struct lb_op *op)
{
	uint32_t i;
	int r;

	if (xdplb__inventory_vip(b, &op->vip))
		return -EEXIST;
	if (!is_representable(&op->vip.address))
		return -EAFNOSUPPORT;
	r = places_take(b, &b->indexes, "VIPs", &i);
	if (r < 0)
		return r;
	xdplb__maps_clear(b->maps, PLANE_VIP_COUNTS, i);
	b->maps->vips[i] =
		(struct abi_vip){ .flags = (op->src_ip_sticky ? ABI_VIP_SRC_STICKY : 0) |
					   (op->encap == LB_ENCAP_GRE6 ? ABI_VIP_GRE6 : 0) };
	r = put_cells(b, &op->vip, i);
	if (r < 0) {
		settle_address(b, &op->vip);
		b->indexes.rest[i] = 0;
		return r;
	}
	b->vips[i].used = true;
	b->vips[i].key = op->vip;
	return 0;
}

/* The opposite order: first the VIP disappears from the cells, then its table and index rest. */
void xdplb__inventory_vip_del(struct xdplb_inventory *b, uint32_t vip)
{
	struct lb_vip_key key = b->vips[vip].key;
	struct abi_vip_key whole = abi_key(&key);

	assert(b->vips[vip].used && b->vips[vip].servers.n == 0);
	b->vips[vip].used = false;
	if (!is_all_port(&key))
		empty_cell(b, find_cell(b, &whole));
	settle_address(b, &key);
	xdplb__inventory_switch(b, vip, UINT32_MAX);
	places_let_go(&b->indexes, vip);
}

void xdplb__inventory_set_changing(struct xdplb_inventory *b, uint32_t vip, bool changing)
{
	__u32 flags = b->maps->vips[vip].flags & ~ABI_VIP_CHANGING;

	STORE(b->maps->vips[vip].flags, flags | (changing ? ABI_VIP_CHANGING : 0));
}

/* ---- servers ---- */

/* The program reads an AS as one word, so it is stored as one. */
static void put_as(struct xdplb_inventory *b, uint32_t id, struct abi_as as)
{
	__atomic_store(&b->maps->servers[id], &as, __ATOMIC_RELEASE);
}

/*
 * The host is written before the AS names it. The new generation keeps flows of the previous server
 * with this id from matching. A free id that finds no host was not used: it need not rest.
 */
int xdplb__inventory_server_add(struct xdplb_inventory *b, uint32_t vip, const struct lb_op *op,
				uint32_t *ret)
{
	bool gre6 = b->maps->vips[vip].flags & ABI_VIP_GRE6;
	uint32_t id, host;
	int r;

	if (xdplb__inventory_server(b, vip, &op->as))
		return -EEXIST;
	if ((op->as.family == AF_INET6) != gre6 || !is_representable(&op->as))
		return -EAFNOSUPPORT;
	r = places_take(b, &b->ids, "servers", &id);
	if (r < 0)
		return r;
	r = take_host(b, &op->as, &host);
	if (r < 0) {
		b->ids.rest[id] = 0;
		return r;
	}
	xdplb__maps_clear(b->maps, PLANE_AS_COUNTS, id);
	put_as(b, id,
	       (struct abi_as){ .vip = vip,
				.host = (__u16)host,
				.generation = (__u8)(b->maps->servers[id].generation + 1),
				.weight = op->weight & ABI_AS_WEIGHT });
	list_server(b, id);
	*ret = id;
	return 0;
}

/* The new generation ends the flows of the server at once. */
void xdplb__inventory_server_del(struct xdplb_inventory *b, uint32_t id)
{
	const struct abi_as s = b->maps->servers[id];
	struct xdplb_vip *v = &b->vips[s.vip];
	size_t at = server_place(b, s.vip, b->maps->hosts[s.host].address);

	assert(at < v->servers.n && v->servers.items[at] == id);
	vec_remove_at(&v->servers, at);
	put_as(b, id, (struct abi_as){ .generation = (__u8)(s.generation + 1) });
	places_let_go(&b->ids, id);
	drop_host(b, s.host);
}

/* The flag records for readers that the server was flushed and has had weight 0 since. */
void xdplb__inventory_flush(struct xdplb_inventory *b, uint32_t id)
{
	struct abi_as s = b->maps->servers[id];

	s.generation++;
	if ((s.weight & ABI_AS_WEIGHT) == 0)
		s.weight |= ABI_AS_FLUSHED;
	put_as(b, id, s);
}

/* ---- tables ---- */

int xdplb__inventory_table(struct xdplb_inventory *b, uint32_t *ret)
{
	return places_take(b, &b->tables, "tables", ret);
}

void xdplb__inventory_switch(struct xdplb_inventory *b, uint32_t vip, uint32_t table)
{
	uint32_t old = b->maps->vips[vip].table;

	STORE(b->maps->vips[vip].table, table == UINT32_MAX ? 0 : table + 1);
	b->vips[vip].switches++;
	if (old && old <= b->maps->sizes.tables)
		places_let_go(&b->tables, old - 1);
}

/* ---- all of it ---- */

/* The reconciler knows no weight above 100, but another program may have written one. */
static void read_servers(const struct xdplb_inventory *b, uint32_t index, struct lb_vip *ret)
{
	const struct xdplb_vip *v = &b->vips[index];

	vec_reserve(&ret->as, v->servers.n);
	for (size_t i = 0; i < v->servers.n; i++) {
		__u8 weight = b->maps->servers[v->servers.items[i]].weight;
		struct addr address = xdplb__maps_server(b->maps, v->servers.items[i]);
		struct lb_as *as = lb_vip_put_as(ret, &address);

		as->weight = (weight & ABI_AS_WEIGHT) <= 100 ? weight & ABI_AS_WEIGHT : 100;
		as->flush = weight == ABI_AS_FLUSHED;
	}
}

void xdplb__inventory_state(const struct xdplb_inventory *b, struct lb_state *ret)
{
	read_conf(b, ret);
	for (uint32_t i = 1; i < b->maps->sizes.vips; i++) {
		const __u32 flags = b->maps->vips[i].flags;
		struct lb_vip *vip;

		if (!b->vips[i].used)
			continue;
		vip = lb_state_put_vip(ret, &b->vips[i].key);
		vip->encap = flags & ABI_VIP_GRE6 ? LB_ENCAP_GRE6 : LB_ENCAP_GRE4;
		vip->src_ip_sticky = flags & ABI_VIP_SRC_STICKY;
		read_servers(b, i, vip);
	}
}
