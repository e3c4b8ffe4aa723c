/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_services: Services are judged, and what follows is told to FRR, to the interfaces and to the
 * API server.
 *
 * A Service whose object or slices changed is judged in the next turn of the loop; all of them are
 * judged in slices when the configuration or a node changed. FRR and the interfaces are told when
 * none is left to be judged: so nothing is withdrawn in between that is announced afterwards, and
 * nothing at all before every Service was judged once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/units.h"
#include "lib/json/tree.h"
#include "lib/log/log.h"
#include "src/speaker/kube_state.h"
#include "wire/labels.h"

#define RANK_CHANGED 0 /* before those that are only judged again */
#define RANK_AGAIN 1
#define PROTOCOL_BGP "bgp"
#define PROTOCOL_L2 "layer2"

/* ---- entries ---- */

static size_t place_of(const struct kube *k, const char *key)
{
	return sorted_place(k->entries.n, i, strcmp(k->entries.items[i]->key, key) < 0);
}

static struct kube_entry *find(const struct kube *k, const char *key)
{
	size_t i = place_of(k, key);

	return i < k->entries.n && strcmp(k->entries.items[i]->key, key) == 0 ? k->entries.items[i]
									      : NULL;
}

const struct kube_entry *kube__find(const struct kube *k, const char *key)
{
	return find(k, key);
}

static struct kube_entry *add(struct kube *k, const char *key, const char *namespace,
			      const char *name)
{
	size_t i = place_of(k, key);
	struct kube_entry *e = mem_zalloc(sizeof(*e));

	*e = (struct kube_entry){ .of = k,
				  .key = mem_strdup(key),
				  .namespace = mem_strdup(namespace),
				  .name = mem_strdup(name),
				  .uid = mem_strdup("") };
	vec_insert_at(&k->entries, i);
	k->entries.items[i] = e;
	k->shown_old = true;
	return e;
}

static void free_entry(struct kube_entry *e)
{
	queue_forget(&e->of->queue, &e->queued);
	if (e->arena)
		arena_free(e->arena);
	kube_view_unref(e->view);
	free(e->key);
	free(e->namespace);
	free(e->name);
	free(e->uid);
	free(e);
}

static void drop(struct kube_entry *e)
{
	struct kube *k = e->of;

	kube_status_drop(k->status, KUBE_SERVICE_BGP, e->key);
	kube_status_drop(k->status, KUBE_SERVICE_L2, e->key);
	vec_remove_at(&k->entries, place_of(k, e->key));
	k->shown_old = true;
	free_entry(e);
}

static bool bgp_is_sent(const struct kube_entry *e)
{
	return e->view && (e->bgp.reason == SPEAK_ANNOUNCED || e->draining);
}

static bool l2_is_owned(const struct kube_entry *e)
{
	return e->view && e->l2.reason == SPEAK_ANNOUNCED;
}

bool kube__is_announced(const struct kube_entry *e)
{
	return bgp_is_sent(e) || l2_is_owned(e);
}

/* ---- facts ---- */

static const struct kube_service *service_of(const struct kube_entry *e)
{
	return (const struct kube_service *)k8s_cache_get(operator_cache(e->of->op, KUBE_SERVICES),
							  e->namespace, e->name);
}

/* Why a Service is none of ours; SPEAK_ANNOUNCED: it is. */
static enum speak_reason judge_kind(const struct kube *k, const struct kube_service *s)
{
	const char *class = k->options->lb_class;

	if (!s)
		return SPEAK_DELETED;
	if (!cstr_eq(s->type, "LoadBalancer"))
		return SPEAK_NOT_LOAD_BALANCER;
	return cstr_eq(s->class ? s->class : "", class) ? SPEAK_ANNOUNCED : SPEAK_OTHER_CLASS;
}

static enum speak_reason read_addresses(const struct kube_service *s, struct arena *arena,
					struct speak_service *ret)
{
	const struct kube_ingress *list = s->ingress.items;
	struct addr *made = arena_array_of(arena, s->ingress.n, struct addr);

	for (size_t i = 0; i < s->ingress.n; i++) {
		if (!list[i].ip || !*list[i].ip)
			continue;
		if (addr_parse(list[i].ip, &made[ret->n_addresses]) < 0)
			return SPEAK_INVALID_IP;
		ret->n_addresses++;
	}
	ret->addresses = made;
	return SPEAK_ANNOUNCED;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The nodes of all usable endpoints of its slices. */
static void read_endpoints(const struct kube_entry *e, struct arena *arena,
			   struct speak_service *ret)
{
	const struct k8s_cache *cache = operator_cache(e->of->op, KUBE_SLICES);
	size_t first, n = k8s_cache_find(cache, 0, e->key, &first), max = 0, count = 0;
	const char **nodes;

	for (size_t i = 0; i < n; i++)
		max += ((const struct kube_slice *)k8s_cache_found(cache, 0, first + i))
			       ->endpoints.n;
	nodes = arena_array_of(arena, max, const char *);
	for (size_t i = 0; i < n; i++) {
		const struct kube_slice *slice =
			(const struct kube_slice *)k8s_cache_found(cache, 0, first + i);
		const struct kube_endpoint *list = slice->endpoints.items;

		for (size_t k = 0; k < slice->endpoints.n; k++) {
			bool usable = kube_endpoint_is_usable(&list[k]);

			ret->has_endpoint |= usable;
			if (usable && list[k].node)
				nodes[count++] = list[k].node;
		}
	}
	if (count)
		qsort(nodes, count, sizeof(*nodes), by_text);
	for (size_t i = 0; i < count; i++)
		if (!i || strcmp(nodes[ret->n_nodes - 1], nodes[i]) != 0)
			nodes[ret->n_nodes++] = nodes[i];
	ret->nodes = nodes;
}

static bool is_shared(const struct kube_service *s)
{
	const char *key = k8s_map_get(&s->annotations, "metallb.io/allow-shared-ip");

	if (!key)
		key = k8s_map_get(&s->annotations, "metallb.universe.tf/allow-shared-ip");
	return key && *key;
}

/* ---- the decision ---- */

/* While the node drains, what it would announce without the label stays, marked as leaving. */
static bool is_draining(const struct kube *k, const struct speak_bgp *b)
{
	return b->reason == SPEAK_NODE_EXCLUDED && k->draining;
}

static struct metal_texts reached(const struct kube_view *v, const struct kube_entry *e,
				  struct arena *arena)
{
	const struct plan_announcement a = { e->addresses, e->n_addresses, e->bgp.advertisements,
					     e->bgp.n, e->draining };

	return plan_kube_reached(&v->config->frr, &a, arena);
}

static bool is_reached(const struct kube_view *v, const struct kube_entry *e)
{
	return reached(v, e, e->arena).n > 0;
}

/* Of what nobody says, only what it is this node's turn to say. */
static void keep_own_words(const struct kube_entry *e, struct kube_entry *made)
{
	bool is_said = made->bgp_absence.reason != SPEAK_ANNOUNCED ||
		       made->l2_absence.reason != SPEAK_ANNOUNCED;
	char text[ADDR_STRLEN];

	if (is_said &&
	    !speak_is_reporter(&e->of->view->cluster,
			       made->n_addresses ? addr_format(&made->addresses[0], text) : e->key))
		made->bgp_absence = made->l2_absence = (struct speak_absence){ 0 };
	/* the owner of an address knows its interfaces and its data plane */
	if (made->l2.reason == SPEAK_NO_INTERFACE || made->l2.reason == SPEAK_NO_DATA_PLANE)
		made->l2_absence = (struct speak_absence){ made->l2.reason,
							   speak_reason_text(made->l2.reason) };
}

static void decide(struct kube_entry *e, const struct kube_service *s, struct kube_entry *made)
{
	struct kube *k = e->of;
	struct speak_service facts = { .labels = wire_labels(&s->labels),
				       .local = cstr_eq(s->policy, "Local"),
				       .shared = is_shared(s) };
	enum speak_reason r = read_addresses(s, made->arena, &facts);

	made->addresses = facts.addresses;
	made->n_addresses = facts.n_addresses;
	if (r != SPEAK_ANNOUNCED) {
		made->bgp.reason = made->l2.reason = r;
		return;
	}
	read_endpoints(e, made->arena, &facts);
	kube__plane_read(e, s, made);
	facts.by_data_plane = made->by_data_plane;
	facts.is_served = kube__plane_serves(e, made);
	speak_bgp(&k->view->cluster, &facts, made->arena, &made->bgp);
	speak_l2(&k->view->cluster, &facts, made->arena, &made->l2);
	if (made->l2.reason == SPEAK_ANNOUNCED && !kube_l2_has(k->l2, &made->l2.interfaces))
		made->l2.reason = SPEAK_NO_INTERFACE;
	made->draining = is_draining(k, &made->bgp);
	if (made->bgp.reason != SPEAK_ANNOUNCED || !is_reached(k->view, made))
		speak_bgp_absence(&k->view->cluster, &facts, made->arena, &made->bgp_absence);
	speak_l2_absence(&k->view->cluster, &facts, &made->l2, made->arena, &made->l2_absence);
	keep_own_words(e, made);
}

/* ---- statuses ---- */

static void add_texts(struct buf *out, const char *key, const char *const *list, size_t n)
{
	buf_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? "," : "");
		kube__json(out, list[i]);
	}
	buf_adds(out, "],");
}

/* node: NULL if none announces it. */
static void add_subject(struct buf *out, const struct kube_entry *e, const char *node)
{
	if (node) {
		buf_adds(out, "\"node\":");
		kube__json(out, node);
		buf_adds(out, ",");
	}
	buf_adds(out, "\"serviceName\":");
	kube__json(out, e->name);
	buf_adds(out, ",\"serviceNamespace\":");
	kube__json(out, e->namespace);
	buf_adds(out, "}");
}

static void wish(const struct kube_entry *e, enum kube_kind kind, const char *name,
		 const char *status)
{
	_cleanup_(buf_free) struct buf labels = { 0 }, owner = { 0 };

	buf_printf(&labels,
		   "\"" KUBE_LABEL_NODE "\":\"%s\",\"" KUBE_LABEL_SERVICE
		   "\":\"%s\",\"" KUBE_LABEL_SERVICE_NAME
		   "\":\"%s\",\"" KUBE_LABEL_SERVICE_NAMESPACE "\":\"%s\"",
		   e->of->label, e->name, e->name, e->namespace);
	buf_printf(&owner,
		   "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"name\":\"%s\",\"uid\":\"%s\"}",
		   e->name, e->uid);
	kube_status_wish(e->of->status, kind, e->key,
			 &(struct kube_wish){ .namespace = e->namespace,
					      .name = name,
					      .labels = buf_cstr(&labels),
					      .owner = buf_cstr(&owner),
					      .status = status });
}

static int by_prefix(const void *pa, const void *pb)
{
	const struct metal_prefix *a = pa, *b = pb;
	int r = addr_cmp(&a->address, &b->address);

	return r ? r : (int)a->length - (int)b->length;
}

static void add_prefixes(struct buf *out, const struct kube_entry *e, bool sent)
{
	size_t n = sent ? e->n_addresses * e->bgp.n : 0;
	_cleanup_(cleanup_free) struct metal_prefix *list = mem_zalloc((n + 1) * sizeof(*list));
	char text[METAL_PREFIX_STRLEN];

	for (size_t i = 0; i < n; i++)
		list[i] = metal_bgp_prefix(e->bgp.advertisements[i % e->bgp.n],
					   &e->addresses[i / e->bgp.n]);
	if (n)
		qsort(list, n, sizeof(*list), by_prefix);
	buf_adds(out, "\"prefixes\":[");
	for (size_t i = 0; i < n; i++)
		if (!i || by_prefix(&list[i - 1], &list[i]) != 0)
			buf_printf(out, "%s\"%s\"", i ? "," : "",
				   metal_prefix_format(&list[i], text));
	buf_adds(out, "],");
}

static void add_advertisements(struct buf *out, const struct kube_entry *e)
{
	buf_adds(out, "\"advertisements\":[");
	for (size_t i = 0; i < e->bgp.n; i++) {
		buf_adds(out, i ? "," : "");
		kube__json(out, e->bgp.advertisements[i]->name);
	}
	buf_adds(out, "],");
}

/*
 * Reasons that people look for. The others are the usual case on most nodes: an object for each of
 * them would cost more than it tells.
 */
static bool is_told(const struct kube_entry *e)
{
	static const bool told[SPEAK_REASONS] = { [SPEAK_CONFLICT] = true,
						  [SPEAK_NODE_NETWORK] = true,
						  [SPEAK_NODE_EXCLUDED] = true,
						  [SPEAK_NO_ENDPOINTS] = true,
						  [SPEAK_NO_DATA_PLANE] = true };

	return told[e->bgp.reason];
}

/* Why nobody announces it, or else why this node does not. */
static struct speak_absence why_not(const struct speak_absence *absence, enum speak_reason own)
{
	return absence->reason != SPEAK_ANNOUNCED
		       ? *absence
		       : (struct speak_absence){ own, speak_reason_text(own) };
}

static void add_why(struct buf *out, const struct speak_absence *why)
{
	buf_printf(out, "\"reason\":\"%s\",\"message\":",
		   why->reason == SPEAK_ANNOUNCED ? "" : speak_reason_name(why->reason));
	kube__json(out, why->message);
	buf_adds(out, ",");
}

static void wish_bgp(const struct kube_entry *e)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf status = { 0 }, name = { 0 };
	struct metal_texts peers = reached(e->view, e, arena);
	const struct speak_absence why = why_not(&e->bgp_absence, e->bgp.reason);
	bool is_absent = e->bgp_absence.reason != SPEAK_ANNOUNCED, sent = bgp_is_sent(e);

	if (!is_absent && (!peers.n || (!sent && !is_told(e)))) {
		kube_status_drop(e->of->status, KUBE_SERVICE_BGP, e->key);
		return;
	}
	if (!sent)
		peers.n = 0;
	buf_adds(&status, "{");
	add_advertisements(&status, e);
	add_texts(&status, "bgpPeers", peers.items, peers.n);
	add_texts(&status, "peers", peers.items, peers.n);
	add_prefixes(&status, e, sent);
	add_why(&status, &why);
	add_subject(&status, e, e->of->node);
	buf_printf(&name, "%s-%s", e->name, e->of->node);
	wish(e, KUBE_SERVICE_BGP, buf_cstr(&name), buf_cstr(&status));
}

static void wish_l2(const struct kube_entry *e)
{
	_cleanup_(buf_free) struct buf status = { 0 };
	bool owned = l2_is_owned(e);
	const struct speak_absence why = why_not(&e->l2_absence, e->l2.reason);

	if (!owned && e->l2_absence.reason == SPEAK_ANNOUNCED) {
		kube_status_drop(e->of->status, KUBE_SERVICE_L2, e->key);
		return;
	}
	buf_adds(&status, "{\"advertisements\":[");
	for (size_t i = 0; i < e->l2.n; i++) {
		buf_adds(&status, i ? "," : "");
		kube__json(&status, e->l2.advertisements[i]->name);
	}
	buf_adds(&status, "],");
	add_texts(&status, "candidates", e->l2.candidates, e->l2.n_candidates);
	buf_adds(&status, "\"interfaces\":[");
	for (size_t i = 0; i < e->l2.interfaces.n; i++) {
		buf_adds(&status, i ? ",{\"name\":" : "{\"name\":");
		kube__json(&status, e->l2.interfaces.items[i]);
		buf_adds(&status, "}");
	}
	buf_adds(&status, "],");
	add_why(&status, &why);
	add_subject(&status, e, owned ? e->of->node : NULL);
	wish(e, KUBE_SERVICE_L2, e->name, buf_cstr(&status));
}

/* ---- events ---- */

static void emit(const struct kube_entry *e, bool warning, const char *reason, const char *note)
{
	operator_emit(e->of->op, &(struct k8s_event){ .regarding = { .api_version = "v1",
								     .kind = "Service",
								     .namespace = e->namespace,
								     .name = e->name,
								     .uid = e->uid },
						      .warning = warning,
						      .reason = reason,
						      .action = reason,
						      .note = note });
}

/* Whether a status says that something is announced. */
static bool is_announcement(const char *status)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *root, *reason;

	if (!status || json_parse(str_of(status), NULL, arena, &root, &errors) < 0)
		return false;
	reason = json_find(root, "reason");
	return !reason || reason->kind != JSON_KIND_STRING || !*reason->text;
}

void kube__written(struct kube *k, enum kube_kind kind, const char *key, const char *before)
{
	const struct kube_entry *e = find(k, key);
	_cleanup_(buf_free) struct buf note = { 0 };

	if (!e || (kind != KUBE_SERVICE_BGP && kind != KUBE_SERVICE_L2))
		return;
	if (is_announcement(before) ||
	    !(kind == KUBE_SERVICE_BGP ? bgp_is_sent(e) : l2_is_owned(e)))
		return;
	buf_printf(&note, "announcing from node \"%s\" with protocol \"%s\"", k->node,
		   kind == KUBE_SERVICE_BGP ? PROTOCOL_BGP : PROTOCOL_L2);
	emit(e, false, "nodeAssigned", buf_cstr(&note));
}

static void log_change(struct kube_entry *e, const char *protocol, bool was, bool is,
		       enum speak_reason reason)
{
	char text[ADDR_STRLEN] = "";

	if (was == is)
		return;
	e->of->stats.transitions++;
	if (e->n_addresses)
		addr_format(&e->addresses[0], text);
	if (is)
		log_info("service-announced", LOG_S("service", e->key), LOG_S("protocol", protocol),
			 LOG_S("ip", text));
	else
		log_info("service-withdrawn", LOG_S("service", e->key), LOG_S("protocol", protocol),
			 LOG_S("reason", speak_reason_name(reason)));
}

static void tell_missing_interface(struct kube_entry *e, enum speak_reason before)
{
	if (e->l2.reason == SPEAK_NO_INTERFACE && before != SPEAK_NO_INTERFACE)
		emit(e, true, "announceFailed",
		     "none of the interfaces of the L2Advertisements exists on the node");
}

/* ---- a turn ---- */

static bool same_addresses(const struct kube_entry *a, const struct kube_entry *b)
{
	bool same = a->n_addresses == b->n_addresses;

	for (size_t i = 0; same && i < a->n_addresses; i++)
		same = addr_cmp(&a->addresses[i], &b->addresses[i]) == 0;
	return same;
}

/* Takes the new decision; the old one is freed. */
static void take(struct kube_entry *e, const struct kube_entry *made)
{
	bool was_sent = bgp_is_sent(e), was_owned = l2_is_owned(e), is_first = !e->view;
	enum speak_reason before = e->view ? e->l2.reason : SPEAK_NO_CONFIG;

	e->of->shown_old |= !same_addresses(e, made);
	if (e->arena)
		arena_free(e->arena);
	kube_view_unref(e->view);
	e->view = kube_view_ref(e->of->view);
	e->arena = made->arena;
	e->addresses = made->addresses;
	e->n_addresses = made->n_addresses;
	e->bgp = made->bgp;
	e->l2 = made->l2;
	e->bgp_absence = made->bgp_absence;
	e->l2_absence = made->l2_absence;
	e->draining = made->draining;
	e->by_data_plane = made->by_data_plane;
	e->frontends = made->frontends;
	e->n_frontends = made->n_frontends;
	if (is_first || was_sent != bgp_is_sent(e) || was_owned != l2_is_owned(e)) {
		e->since = loop_realtime();
		e->transitions += !is_first;
	}
	log_change(e, PROTOCOL_BGP, was_sent, bgp_is_sent(e), e->bgp.reason);
	log_change(e, PROTOCOL_L2, was_owned, l2_is_owned(e), e->l2.reason);
	tell_missing_interface(e, before);
	wish_bgp(e);
	wish_l2(e);
	kube__shown_changed(e->of);
	e->of->unapplied = true;
}

static void withdraw(struct kube_entry *e, enum speak_reason reason)
{
	log_change(e, PROTOCOL_BGP, bgp_is_sent(e), false, reason);
	log_change(e, PROTOCOL_L2, l2_is_owned(e), false, reason);
	e->of->unapplied = true;
	kube__shown_changed(e->of);
	drop(e);
}

static enum queue_result on_turn(struct queue_item *item, void *user)
{
	struct kube_entry *e = container_of(item, struct kube_entry, queued);
	const struct kube_service *s = service_of(e);
	enum speak_reason kind = judge_kind(e->of, s);
	struct kube_entry made = { 0 };

	if (kind != SPEAK_ANNOUNCED) {
		withdraw(e, kind);
		return QUEUE_PENDING;
	}
	if (!e->of->view)
		return QUEUE_DONE;
	if (strcmp(e->uid, s->object.uid) != 0) {
		free(e->uid);
		e->uid = mem_strdup(s->object.uid);
	}
	made.arena = arena_new();
	decide(e, s, &made);
	take(e, &made);
	return QUEUE_DONE;
}

/* ---- what FRR and the interfaces are told ---- */

static void apply_bgp(struct kube *k)
{
	_cleanup_(cleanup_free) struct plan_announcement *list =
		mem_zalloc((k->entries.n + 1) * sizeof(*list));
	_cleanup_(buf_free) struct buf text = { 0 };
	size_t n = 0;

	if (!k->sessions_started)
		return;
	for (size_t i = 0; i < k->entries.n; i++) {
		const struct kube_entry *e = k->entries.items[i];

		if (bgp_is_sent(e))
			list[n++] = (struct plan_announcement){ e->addresses, e->n_addresses,
								e->bgp.advertisements, e->bgp.n,
								e->draining };
	}
	plan_kube_text(&k->view->config->metal, &k->view->config->frr, list, n, &text);
	reload_apply(k->reload, (struct str){ text.p, text.n });
}

static int by_address(const void *a, const void *b)
{
	return addr_cmp(&((const struct kube_l2_claim *)a)->address,
			&((const struct kube_l2_claim *)b)->address);
}

/* Services that share an address: the interfaces of both, or all if one of them has no list. */
static void merge(struct kube_l2_claim *into, const struct kube_l2_claim *from, struct arena *arena)
{
	const char **names;
	size_t n = 0;

	if (!into->interfaces.n || !from->interfaces.n) {
		into->interfaces.n = 0;
		return;
	}
	names = arena_array_of(arena, into->interfaces.n + from->interfaces.n, const char *);
	for (size_t i = 0; i < into->interfaces.n; i++)
		names[n++] = into->interfaces.items[i];
	for (size_t i = 0; i < from->interfaces.n; i++)
		names[n++] = from->interfaces.items[i];
	into->interfaces = (struct metal_texts){ names, n };
}

static void apply_l2(struct kube *k)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(cleanup_free) struct kube_l2_claim *list = NULL;
	size_t max = 0, n = 0, kept = 0;

	for (size_t i = 0; i < k->entries.n; i++)
		max += l2_is_owned(k->entries.items[i]) ? k->entries.items[i]->n_addresses : 0;
	list = mem_zalloc((max + 1) * sizeof(*list));
	for (size_t i = 0; i < k->entries.n; i++) {
		const struct kube_entry *e = k->entries.items[i];

		for (size_t a = 0; l2_is_owned(e) && a < e->n_addresses; a++)
			list[n++] = (struct kube_l2_claim){ e->addresses[a], e->l2.interfaces };
	}
	if (n)
		qsort(list, n, sizeof(*list), by_address);
	for (size_t i = 0; i < n; i++)
		if (i && by_address(&list[kept - 1], &list[i]) == 0)
			merge(&list[kept - 1], &list[i], arena);
		else
			list[kept++] = list[i];
	kube_l2_claim(k->l2, list, kept, k->claim_again);
	k->claim_again = false;
}

/* All Services are judged. */
static void settle(struct kube *k)
{
	if (!k->view || !operator_is_synced(k->op) || (!k->judged && kube__plane_is_awaited(k)))
		return;
	if (k->unapplied) {
		k->unapplied = false;
		apply_bgp(k);
		apply_l2(k);
	}
	if (!k->judged)
		kube__take_part(k);
	k->judged = true;
	kube_status_complete(k->status, KUBE_SERVICE_BGP);
	kube_status_complete(k->status, KUBE_SERVICE_L2);
}

static bool on_task(struct task *t)
{
	struct kube *k = container_of(t, struct kube, task);

	do {
		if (!queue_run(&k->queue)) {
			settle(k);
			return false;
		}
	} while (task_has_time(k->loop));
	return true;
}

static void on_wake(void *user)
{
	task_wake(&((struct kube *)user)->task);
}

/* ---- the door ---- */

void kube__services_init(struct kube *k)
{
	queue_init(
		&k->queue, k->loop,
		&(struct queue_spec){ .step = on_turn,
				      .wake = on_wake,
				      .user = k,
				      .parallel = 1,
				      .retry = { .first = NSEC_PER_SEC, .last = NSEC_PER_SEC } });
	task_init(&k->task, k->loop, TASK_ORDINARY, on_task);
}

void kube__services_free(struct kube *k)
{
	task_cancel(&k->task);
	for (size_t i = 0; i < k->entries.n; i++)
		free_entry(k->entries.items[i]);
	vec_free(&k->entries);
	queue_stop(&k->queue);
}

void kube__service_changed(struct kube *k, const char *namespace, const char *name)
{
	_cleanup_(buf_free) struct buf key = { 0 };
	struct kube_entry *e;

	buf_printf(&key, "%s/%s", namespace, name);
	e = find(k, buf_cstr(&key));
	if (!e) {
		const struct kube_service *s = (const struct kube_service *)k8s_cache_get(
			operator_cache(k->op, KUBE_SERVICES), namespace, name);

		if (judge_kind(k, s) != SPEAK_ANNOUNCED)
			return;
		e = add(k, key.p, namespace, name);
	}
	if (operator_is_synced(k->op))
		queue_add(&k->queue, &e->queued, RANK_CHANGED);
}

void kube__judge_all(struct kube *k)
{
	k->unapplied = true;
	for (size_t i = 0; i < k->entries.n; i++)
		queue_add(&k->queue, &k->entries.items[i]->queued, RANK_AGAIN);
	task_wake(&k->task);
}

void kube__judge_again(struct kube_entry *e)
{
	queue_add(&e->of->queue, &e->queued, RANK_CHANGED);
	task_wake(&e->of->task);
}

const char *kube__orphaned_by(struct kube *k, const struct metal_config *c)
{
	for (size_t i = 0; i < k->entries.n; i++) {
		const struct kube_entry *e = k->entries.items[i];

		if (kube__is_announced(e) && judge_kind(k, service_of(e)) == SPEAK_ANNOUNCED &&
		    service_of(e)->ingress.n && !metal_pool_of(c, e->addresses, e->n_addresses))
			return e->key;
	}
	return NULL;
}
