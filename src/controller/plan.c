/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps are those of MetalLB, in its order: a service keeps what it has as long as the pools
 * and its own wishes allow it, and gets something else only if they do not.
 */
#include "src/controller/plan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define FAMILIES "IPFamilyForAddresses: "

/* One service on its way through the steps. */
struct turn {
	struct ipam *ipam;
	const struct service *s;
	struct arena *arena;
	struct plan *plan;
	struct ipam_request request;
	struct addr current[IPAM_ADDRESSES];
	size_t n_current;
	struct buf why;
};

static const char *annotation(const struct service *s, const char *name)
{
	char text[128];
	const char *value;

	snprintf(text, sizeof(text), ANNOTATIONS "%s", name);
	value = k8s_map_get(&s->annotations, text);
	if (value)
		return value;
	snprintf(text, sizeof(text), OLD_ANNOTATIONS "%s", name);
	value = k8s_map_get(&s->annotations, text);
	return value ? value : "";
}

const char *plan_old_annotation(const struct service *s)
{
	const struct k8s_pair *pairs = s->annotations.items;

	for (size_t i = 0; i < s->annotations.n; i++)
		if (strncmp(pairs[i].key, OLD_ANNOTATIONS, strlen(OLD_ANNOTATIONS)) == 0)
			return pairs[i].key;
	return NULL;
}

const char *plan_key(const struct k8s_object *o, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", o->namespace, o->name);
}

bool plan_is_ours(const struct service *s, const char *class)
{
	return cstr_eq(s->class ? s->class : "", class ? class : "");
}

bool plan_has_addresses(const struct service *s)
{
	const struct service_ingress *in = s->ingress.items;

	for (size_t i = 0; i < s->ingress.n; i++)
		if (in[i].ip && *in[i].ip)
			return true;
	return false;
}

static bool is(const char *value, const char *word)
{
	return value && strcmp(value, word) == 0;
}

static void tell(struct turn *t, bool warning, const char *reason, const char *note)
{
	assert(t->plan->n_events < PLAN_EVENTS);
	t->plan->events[t->plan->n_events++] = (struct plan_event){ warning, reason, note };
}

static const char *take_why(struct turn *t)
{
	const char *text = arena_strndup(t->arena, t->why.p ? t->why.p : "", t->why.n);

	t->why.n = 0;
	return text;
}

static void let_go(struct turn *t)
{
	ipam_release(t->ipam, t->request.key);
	t->n_current = 0;
}

/* ---- families ---- */

/* The text of the addresses as Go prints a list of strings: ["a" "b"]. */
static const char *quoted(struct turn *t, const struct k8s_list *list)
{
	struct buf text = { 0 };
	const char *copy;

	for (size_t i = 0; i < list->n; i++)
		buf_printf(&text, "%s\"%s\"", i ? " " : "", k8s_string_at(list, i));
	copy = arena_printf(t->arena, "[%.*s]", (int)text.n, text.p ? text.p : "");
	buf_free(&text);
	return copy;
}

/* The families of the cluster addresses; IPAM_NONE with the reason in why. */
static enum ipam_families cluster_families(struct turn *t)
{
	const struct k8s_list *list = &t->s->cluster_ips;
	const struct k8s_list one = { &t->s->cluster_ip, 1 };
	struct addr addresses[IPAM_ADDRESSES];
	enum ipam_families found;

	if (!list->n)
		list = &one;
	if (list->n > IPAM_ADDRESSES) {
		buf_printf(&t->why, FAMILIES "invalid ips length %u %s", list->n, quoted(t, list));
		return IPAM_NONE;
	}
	for (size_t i = 0; i < list->n; i++)
		if (addr_parse(k8s_string_at(list, i), &addresses[i]) < 0) {
			buf_printf(&t->why, FAMILIES "Invalid address %s", quoted(t, list));
			return IPAM_NONE;
		}
	found = ipam_families_of(addresses, list->n);
	if (found == IPAM_NONE)
		buf_printf(&t->why, FAMILIES "same address family %s", quoted(t, list));
	return found;
}

/* ---- what the service asks for ---- */

/* The addresses that it wants by name. False, with the reason in why, if that is not possible. */
static bool read_wanted(struct turn *t)
{
	const char *text = annotation(t->s, ANNOTATION_ADDRESSES);
	bool has_spec = t->s->wanted_ip && *t->s->wanted_ip;
	struct addr *list = arena_array_of(t->arena, IPAM_ADDRESSES + 1, struct addr);
	struct str rest = str_of(*text ? text : has_spec ? t->s->wanted_ip : ""), part;
	size_t n = 0;

	if (*text && has_spec) {
		buf_adds(&t->why, "service can not have both " ANNOTATIONS ANNOTATION_ADDRESSES
				  " and svc.Spec.LoadBalancerIP");
		return false;
	}
	for (; rest.n && n <= IPAM_ADDRESSES && str_cut(&rest, ',', &part); n++) {
		part = str_trim(part);
		if (addr_parse(arena_strndup(t->arena, part.p, part.n), &list[n]) == 0)
			continue;
		buf_printf(&t->why,
			   *text ? "invalid " ANNOTATIONS ANNOTATION_ADDRESSES ": \"%s\""
				 : "invalid spec.loadBalancerIP \"%s\"",
			   *text ? text : t->s->wanted_ip);
		return false;
	}
	t->request.wanted = list;
	t->request.n_wanted = n;
	if (!n || ipam_families_of(list, n) != IPAM_NONE)
		return true;
	buf_adds(&t->why, n > IPAM_ADDRESSES ? FAMILIES "invalid ips length "
					     : FAMILIES "same address family ");
	ipam_format(&t->why, list, n);
	return false;
}

static enum ipam_policy policy_of(const struct service *s)
{
	return is(s->family_policy, "RequireDualStack")	 ? IPAM_REQUIRE_DUAL
	       : is(s->family_policy, "PreferDualStack") ? IPAM_PREFER_DUAL
							 : IPAM_SINGLE_STACK;
}

/* Services that send to other pods may not share an address if its traffic stays on a node. */
static const char *backend_of(struct turn *t)
{
	const struct labels selector = { (const struct label *)t->s->selector.items,
					 t->s->selector.n };
	const char *copy = "";

	if (is(t->s->traffic_policy, "Local")) {
		labels_format(&selector, &t->why);
		copy = take_why(t);
	}
	return copy;
}

static void read_request(struct turn *t)
{
	const struct service_port *from = t->s->ports.items;
	struct ipam_port *ports = arena_array_of(t->arena, t->s->ports.n, struct ipam_port);

	for (size_t i = 0; i < t->s->ports.n; i++)
		ports[i] = (struct ipam_port){ from[i].protocol ? from[i].protocol : "TCP",
					       (uint16_t)from[i].port };
	t->request = (struct ipam_request){
		.key = plan_key(&t->s->object, t->arena),
		.namespace = t->s->object.namespace,
		.labels = { (const struct label *)t->s->labels.items, t->s->labels.n },
		.policy = policy_of(t->s),
		.prefers6 = t->s->families.n && is(k8s_string_at(&t->s->families, 0), "IPv6"),
		.sharing = annotation(t->s, ANNOTATION_SHARING),
		.backend = backend_of(t),
		.ports = ports,
		.n_ports = t->s->ports.n,
		.pool = annotation(t->s, ANNOTATION_POOL),
	};
}

/* ---- the steps ---- */

/* Reads the addresses of the status. False, with an event, if they are not what a service has. */
static bool read_current(struct turn *t)
{
	const struct service_ingress *in = t->s->ingress.items;
	bool bad = false;

	for (size_t i = 0; i < t->s->ingress.n; i++) {
		if (!in[i].ip || !*in[i].ip)
			continue;
		bad |= t->n_current == IPAM_ADDRESSES ||
		       addr_parse(in[i].ip, &t->current[t->n_current]) < 0;
		if (bad)
			break;
		t->n_current++;
	}
	if (t->n_current && ipam_families_of(t->current, t->n_current) == IPAM_NONE)
		bad = true;
	if (bad)
		tell(t, true, "nolbIPsIPFamily",
		     arena_printf(t->arena, "Failed to retrieve LBIPs IPFamily for \"%s\"",
				  t->request.key));
	return !bad;
}

/* Whether the families of what it has are not those that it should have. */
static bool family_changed(const struct turn *t)
{
	enum ipam_families have = ipam_families_of(t->current, t->n_current);

	if (have == t->request.families)
		return false;
	return t->request.families != IPAM_DUAL || t->request.policy != IPAM_PREFER_DUAL;
}

static bool has_wanted(const struct turn *t)
{
	size_t found = 0;

	for (size_t i = 0; i < t->request.n_wanted; i++)
		for (size_t j = 0; j < t->n_current; j++)
			found += addr_cmp(&t->request.wanted[i], &t->current[j]) == 0;
	return found == t->request.n_wanted && found == t->n_current;
}

/* Keeps what the service has, if that is still allowed and wanted. False: the turn ends. */
static bool keep_current(struct turn *t)
{
	const struct ipam_lease *lease;

	if (ipam_assign(t->ipam, &t->request, t->current, t->n_current, &t->why) < 0) {
		tell(t, false, "ClearAssignment",
		     arena_printf(
			     t->arena,
			     "current IP for \"%s\" not allowed by config, will attempt for new "
			     "IP assignment: %s",
			     t->request.key, take_why(t)));
		let_go(t);
	}
	lease = ipam_get(t->ipam, t->request.key);
	if (lease && *t->request.pool && strcmp(lease->pool, t->request.pool) != 0)
		let_go(t);
	if (!read_wanted(t)) {
		t->plan->failed = take_why(t);
		tell(t, true, "LoadBalancerFailed",
		     arena_printf(t->arena, "invalid requested loadbalancer IPs: %s",
				  t->plan->failed));
		t->plan->keep = true;
		return false;
	}
	if (t->n_current && t->request.n_wanted && !has_wanted(t))
		let_go(t);
	return true;
}

static void widen(struct turn *t)
{
	const struct ipam_lease *lease = ipam_get(t->ipam, t->request.key);
	struct addr before;
	char text[ADDR_STRLEN];

	if (!lease || lease->n != 1 || t->request.policy != IPAM_PREFER_DUAL ||
	    t->request.families != IPAM_DUAL || t->request.n_wanted)
		return;
	before = lease->addresses[0];
	if (ipam_widen(t->ipam, &t->request, &t->why) < 0) {
		tell(t, false, "AdditionalAssignFailed",
		     arena_printf(t->arena, "cannot assign additional IP in PreferDualStack: %s",
				  take_why(t)));
		return;
	}
	lease = ipam_get(t->ipam, t->request.key);
	addr_format(&lease->addresses[addr_cmp(&lease->addresses[0], &before) == 0], text);
	tell(t, false, "IPAllocated",
	     arena_printf(t->arena, "Assigned additional IP \"%s\"", text));
}

static void allocate(struct turn *t)
{
	const struct ipam_lease *lease;

	if (!read_wanted(t) || ipam_allocate(t->ipam, &t->request, &t->why) < 0) {
		t->plan->failed = take_why(t);
		tell(t, true, "AllocationFailed",
		     arena_printf(t->arena, "Failed to allocate IP for \"%s\": %s", t->request.key,
				  t->plan->failed));
		return;
	}
	lease = ipam_get(t->ipam, t->request.key);
	ipam_format(&t->why, lease->addresses, lease->n);
	tell(t, false, "IPAllocated", arena_printf(t->arena, "Assigned IP %s", take_why(t)));
}

/* True if the service can have addresses; else it has none. */
static bool check_basis(struct turn *t, bool has_pools)
{
	const struct service *s = t->s;

	if (!is(s->type, "LoadBalancer"))
		return false;
	if (!has_pools) {
		t->plan->failed = "there are no pools";
		return false;
	}
	if (!s->cluster_ips.n && (!s->cluster_ip || !*s->cluster_ip)) {
		t->plan->failed = "it has no cluster IP";
		return false;
	}
	if (t->request.policy == IPAM_REQUIRE_DUAL && s->cluster_ips.n < 2) {
		t->plan->failed =
			arena_printf(t->arena,
				     "Service requires dual stack but not enough clusterips [%s]",
				     s->cluster_ips.n ? k8s_string_at(&s->cluster_ips, 0) : "");
		tell(t, true, "not enough clusterips", t->plan->failed);
		return false;
	}
	return true;
}

static void converge(struct turn *t)
{
	t->request.families = cluster_families(t);
	if (t->request.families == IPAM_NONE) {
		t->plan->failed = take_why(t);
		tell(t, true, "noclusterIPsIPFamily",
		     arena_printf(t->arena, "Failed to retrieve ClusterIPs IPFamily for \"%s\": %s",
				  t->request.key, t->plan->failed));
		t->plan->keep = plan_has_addresses(t->s);
		return;
	}
	if (!read_current(t) || !t->n_current || family_changed(t))
		let_go(t);
	if (t->n_current && !keep_current(t))
		return;
	widen(t);
	if (!ipam_get(t->ipam, t->request.key))
		allocate(t);
}

void plan_service(struct ipam *ipam, bool has_pools, const struct service *s, struct arena *arena,
		  struct plan *ret)
{
	struct turn t = { .ipam = ipam, .s = s, .arena = arena, .plan = ret };
	const struct ipam_lease *lease;

	*ret = (struct plan){ 0 };
	read_request(&t);
	if (check_basis(&t, has_pools))
		converge(&t);
	else
		let_go(&t);
	lease = ipam_get(ipam, t.request.key);
	if (lease) {
		memcpy(ret->addresses, lease->addresses, lease->n * sizeof(*lease->addresses));
		ret->n = lease->n;
		ret->pool = arena_strdup(arena, lease->pool);
	}
	buf_free(&t.why);
}

/* ---- the difference ---- */

static bool same_addresses(const struct service *s, const struct plan *p)
{
	const struct service_ingress *in = s->ingress.items;
	char text[ADDR_STRLEN];

	if (s->ingress.n != p->n)
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (!in[i].ip || strcmp(in[i].ip, addr_format(&p->addresses[i], text)) != 0)
			return false;
	return true;
}

bool plan_differs(const struct service *s, const struct plan *p)
{
	const char *pool = k8s_map_get(&s->annotations, ANNOTATIONS ANNOTATION_FROM_POOL);

	if (p->keep)
		return false;
	if (!cstr_eq(pool, p->pool))
		return true;
	/* the addresses of a service of another type are not ours, and the server clears them */
	return is(s->type, "LoadBalancer") && !same_addresses(s, p);
}
