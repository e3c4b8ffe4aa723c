/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_groups: the backends of a channel, from its EndpointSlices, or from its Endpoints if it has
 * no slice (nobody mirrors them, or they must not be mirrored). Ports get the names of the mux;
 * ports that the channel does not have on the mux are left out, and so are groups without any.
 */
#include <string.h>

#include "src/mux/plan_private.h"

static const char *mux_name_of(const struct mux_view_channel *c, const struct mux_endpoint_port *p)
{
	enum mux_protocol protocol;

	if (!p->name || !p->port || mux_protocol_parse(p->protocol, &protocol) < 0)
		return NULL;
	for (size_t i = 0; i < c->n_ports; i++)
		if (c->ports[i].mux_name && c->ports[i].protocol == protocol &&
		    strcmp(c->ports[i].name, p->name) == 0)
			return c->ports[i].mux_name;
	return NULL;
}

static struct k8s_list rename_ports(struct mux_planning *p, const struct mux_view_channel *c,
				    const struct k8s_list *list)
{
	const struct mux_endpoint_port *from = list->items;
	struct mux_endpoint_port *to =
		arena_array_of(p->arena, list->n + 1, struct mux_endpoint_port);
	uint32_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const char *name = mux_name_of(c, &from[i]);

		if (!name)
			continue;
		to[n] = from[i];
		to[n].name = name;
		to[n].protocol = from[i].protocol ? from[i].protocol : "TCP";
		n++;
	}
	return (struct k8s_list){ to, n };
}

static bool is_ip(const char *family)
{
	return cstr_eq(family, "IPv4") || cstr_eq(family, "IPv6");
}

static size_t from_slices(struct mux_planning *p, const struct mux_view_channel *c,
			  const struct mux_sight *sight, struct mux_group *groups)
{
	size_t n = 0;

	for (size_t i = 0; i < sight->n_slices; i++) {
		const struct mux_slice *s = sight->slices[i];

		/* what we wrote is never a source: a circle would feed itself */
		if (s->object.deleting == K8S_YES || !is_ip(s->family) ||
		    cstr_eq(k8s_map_get(&s->labels, MUX_LABEL_MANAGED_BY), MUX_MANAGED_BY))
			continue;
		groups[n++] = (struct mux_group){ s->object.name, s->family, s->endpoints,
						  rename_ports(p, c, &s->ports) };
	}
	return n;
}

static size_t add_addresses(struct mux_planning *p, const struct k8s_list *list, bool ready,
			    bool v6, struct mux_endpoint *ret)
{
	const struct mux_address *a = list->items;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const char **ip;

		if (!a[i].ip || (strchr(a[i].ip, ':') != NULL) != v6)
			continue;
		ip = arena_new_of(p->arena, const char *);
		*ip = a[i].ip;
		ret[n++] = (struct mux_endpoint){ .addresses = { ip, 1 },
						  .hostname = a[i].hostname,
						  .node = a[i].node,
						  .target = a[i].target,
						  .ready = ready ? K8S_YES : K8S_NO };
	}
	return n;
}

static size_t from_endpoints(struct mux_planning *p, const struct mux_view_channel *c,
			     const struct mux_endpoints *e, struct mux_group *groups)
{
	static const char *const families[] = { "IPv4", "IPv6" };
	const struct mux_subset *subsets = e->subsets.items;
	size_t n = 0;

	for (size_t i = 0; i < e->subsets.n * 2; i++) {
		const struct mux_subset *s = &subsets[i / 2];
		struct mux_endpoint *items = arena_array_of(
			p->arena, (size_t)s->ready.n + s->not_ready.n + 1, struct mux_endpoint);
		size_t k = add_addresses(p, &s->ready, true, i % 2, items);

		k += add_addresses(p, &s->not_ready, false, i % 2, items + k);
		groups[n++] = (struct mux_group){
			arena_printf(p->arena, "subset-%zu-%s", i / 2, families[i % 2]),
			families[i % 2],
			{ items, (uint32_t)k },
			rename_ports(p, c, &s->ports),
		};
	}
	return n;
}

/* Each family has all pods, so the one with more addresses counts. */
static void count(struct mux_view_channel *c, const struct mux_group *groups, size_t n)
{
	uint32_t ready[2] = { 0 }, not_ready[2] = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct mux_endpoint *e = groups[i].endpoints.items;
		bool v6 = strcmp(groups[i].family, "IPv6") == 0;

		for (size_t j = 0; j < groups[i].endpoints.n; j++)
			if (e[j].ready == K8S_NO)
				not_ready[v6]++;
			else
				ready[v6]++;
	}
	c->ready = ready[0] > ready[1] ? ready[0] : ready[1];
	c->not_ready = not_ready[0] > not_ready[1] ? not_ready[0] : not_ready[1];
}

size_t mux__groups(struct mux_planning *p, struct mux_view_channel *c,
		   const struct mux_sight *sight, const struct mux_group **ret)
{
	size_t n, room = sight->n_slices, kept = 0;
	struct mux_group *groups;

	if (!room && sight->endpoints)
		room = (size_t)sight->endpoints->subsets.n * 2;
	groups = arena_array_of(p->arena, room + 1, struct mux_group);
	n = from_slices(p, c, sight, groups);
	if (!sight->n_slices && sight->endpoints && sight->endpoints->object.deleting != K8S_YES)
		n = from_endpoints(p, c, sight->endpoints, groups);
	count(c, groups, n);
	for (size_t i = 0; i < n; i++)
		if (groups[i].endpoints.n && groups[i].ports.n)
			groups[kept++] = groups[i];
	*ret = groups;
	return c->fate == MUX_SERVED ? kept : 0;
}
