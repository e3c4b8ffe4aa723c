/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/dataplane/xdp/vlans.h"

#include <string.h>

static void on_found(const struct xdp_vlan *vlan, void *user)
{
	struct xdplb_vlans *v = user;

	vec_push(&v->list, *vlan);
}

int xdplb__vlans_find(struct xdplb_vlans *ret)
{
	ret->list.n = 0;
	return xdp_vlans(on_found, ret);
}

static bool is_listed(const struct xdplb_vlans *v, uint32_t ifindex)
{
	for (size_t i = 0; i < v->list.n; i++)
		if (v->list.items[i].ifindex == ifindex)
			return true;
	return false;
}

/* Writes only what differs: this runs every second. */
static void put(const struct xdp_map *map, const struct xdp_vlan *vlan)
{
	struct abi_link want = { .ifindex = vlan->below,
				 .vlan = vlan->id,
				 .tag_type = vlan->tag_type };
	struct abi_link have;
	uint32_t key = vlan->ifindex;

	if (xdp_map_read(map, &key, &have) < 0 || memcmp(&have, &want, sizeof(want)) != 0)
		xdp_map_write(map, &key, &want);
}

/* Removing the current key breaks the iteration, so it starts again from the first key. */
static void remove_others(const struct xdp_map *map, const struct xdplb_vlans *v)
{
	uint32_t key, next;
	bool first = true;

	while (xdp_map_next(map, first ? NULL : &key, &next) == 0) {
		first = !is_listed(v, next);
		if (first && xdp_map_delete(map, &next) < 0)
			return;
		key = next;
	}
}

/*
 * The flag makes every packet do a lookup, so it is set only if there are VLANs. It is set after
 * the map is filled and cleared before the map is emptied.
 */
void xdplb__vlans_put(const struct xdplb_vlans *v, struct xdplb_inventory *b)
{
	if (!v->list.n)
		xdplb__inventory_set_flag(b, ABI_SET_LINKS, false);
	for (size_t i = 0; i < v->list.n; i++)
		put(&b->maps->map[PLANE_LINKS], &v->list.items[i]);
	remove_others(&b->maps->map[PLANE_LINKS], v);
	if (v->list.n)
		xdplb__inventory_set_flag(b, ABI_SET_LINKS, true);
}
