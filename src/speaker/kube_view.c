/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_view: the configuration and the nodes, from the caches.
 *
 * Decisions refer to the view that they were made from, so it stays until the last of them was
 * replaced: judging thousands of Services again is done in slices.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"
#include "lib/tls/digest.h"
#include "src/speaker/kube_state.h"
#include "wire/labels.h"
#include "wire/metal.h"

static const enum kube_kind kinds_of[WIRE_METAL_KINDS] = {
	[WIRE_POOLS] = KUBE_POOLS,
	[WIRE_PEERS] = KUBE_PEERS,
	[WIRE_BGP_ADVERTISEMENTS] = KUBE_BGP_ADVERTISEMENTS,
	[WIRE_L2_ADVERTISEMENTS] = KUBE_L2_ADVERTISEMENTS,
	[WIRE_BFD_PROFILES] = KUBE_BFD_PROFILES,
	[WIRE_COMMUNITIES] = KUBE_COMMUNITIES,
	[WIRE_NODES] = KUBE_NODES,
	[WIRE_NAMESPACES] = KUBE_NAMESPACES,
	[WIRE_SECRETS] = KUBE_SECRETS,
};

void kube_config_unref(struct kube_config *c)
{
	if (c && --c->refs == 0)
		arena_free(c->arena);
}

struct kube_view *kube_view_ref(struct kube_view *v)
{
	v->refs++;
	return v;
}

void kube_view_unref(struct kube_view *v)
{
	if (!v || --v->refs)
		return;
	kube_config_unref(v->config);
	arena_free(v->arena);
}

static const struct kube_node *own_node(const struct kube *k)
{
	return (const struct kube_node *)k8s_cache_get(operator_cache(k->op, KUBE_NODES), "",
						       k->node);
}

/* ---- the configuration ---- */

static void collect(const struct kube *k, struct arena *arena, struct wire_metal *ret)
{
	for (size_t i = 0; i < WIRE_METAL_KINDS; i++) {
		const struct k8s_cache *cache = operator_cache(k->op, kinds_of[i]);
		size_t n = k8s_cache_count(cache);
		const struct k8s_object **items =
			arena_array_of(arena, n, const struct k8s_object *);

		for (size_t j = 0; j < n; j++)
			items[j] = k8s_cache_at(cache, j);
		ret->kinds[i] = (struct wire_metal_objects){ items, n };
	}
}

/* What other nodes have is not checked in every respect: their own speakers do that. */
static void build_all(const struct metal_doc *doc, struct arena *arena, struct kube_config *made)
{
	struct metal_error error;

	made->has_all = metal_config_build(doc,
					   &(struct metal_options){ .early = true,
								    .without_secrets = true },
					   arena, &made->all, &error) == 0;
}

/* NULL, or why it is not valid: in the arena. */
static const char *build(struct kube *k, const struct kube_node *node, struct arena *arena,
			 struct kube_config *made)
{
	_cleanup_(arena_freep) struct arena *document = arena_new();
	const struct labels labels = wire_labels(&node->labels);
	struct wire_metal objects;
	struct metal_error error;
	struct metal_doc doc;
	const char *orphan, *mistake;

	collect(k, document, &objects);
	wire_metal_doc(&objects, document, &doc);
	if (metal_config_build(&doc, &(struct metal_options){ .node = &labels }, arena,
			       &made->metal, &error) < 0)
		return error.text;
	build_all(&doc, arena, made);
	mistake = plan_kube_peers(&made->metal, arena, &made->frr);
	if (mistake)
		return mistake;
	orphan = kube__orphaned_by(k, &made->metal);
	return orphan ? arena_printf(arena, "service %s has no configuration under new config",
				     orphan)
		      : NULL;
}

static void use(struct kube *k, struct kube_config *c)
{
	kube_config_unref(k->config);
	k->config = c;
	k->nodes_changed = true;
	k->stats.configs++;
	k->loaded_at = loop_realtime();
	sessions_configure(k->sessions, &c->frr);
	kube__show_again(k);
	if (c->frr.n_peers && !k->sessions_started) {
		sessions_start(k->sessions);
		k->sessions_started = true;
	}
	if (k->mistake)
		free(TAKE_PTR(k->mistake));
	log_info("config-loaded", LOG_U("pools", c->metal.n_pools),
		 LOG_U("peers", c->metal.n_peers), LOG_U("bgp_advertisements", c->metal.n_bgp),
		 LOG_U("l2_advertisements", c->metal.n_l2));
}

static void refuse(struct kube *k, const char *mistake)
{
	k->stats.config_errors++;
	if (cstr_eq(k->mistake, mistake))
		return;
	free(k->mistake);
	k->mistake = mem_strdup(mistake);
	log_error("config-stale", LOG_S("error", mistake));
}

/* The peers of the old one are used until all that refers to it was judged again. */
void kube__reconfigure(struct kube *k)
{
	const struct kube_node *node = own_node(k);
	struct arena *arena;
	struct kube_config *made;
	const char *mistake;

	k->config_changed = false;
	if (!node)
		return;
	arena = arena_new();
	made = arena_new_of(arena, struct kube_config);
	*made = (struct kube_config){ .refs = 1, .arena = arena };
	mistake = build(k, node, arena, made);
	if (mistake) {
		refuse(k, mistake);
		arena_free(arena);
	} else {
		use(k, made);
	}
	kube__publish_config(k);
}

/* ---- nodes ---- */

static bool is_network_unavailable(const struct kube_node *n)
{
	const struct kube_condition *list = n->conditions.items;

	for (size_t i = 0; i < n->conditions.n; i++)
		if (cstr_eq(list[i].type, "NetworkUnavailable") && cstr_eq(list[i].status, "True"))
			return true;
	return false;
}

static struct labels copy_labels(const struct k8s_list *from, struct arena *arena)
{
	const struct labels given = wire_labels(from);
	struct label *list = arena_array_of(arena, given.n, struct label);

	for (size_t i = 0; i < given.n; i++)
		list[i] = (struct label){ arena_strdup(arena, given.items[i].key),
					  arena_strdup(arena, given.items[i].value) };
	return (struct labels){ list, given.n };
}

static struct speak_node *list_nodes(const struct kube *k, struct arena *arena)
{
	const struct k8s_cache *cache = operator_cache(k->op, KUBE_NODES);
	size_t n = k8s_cache_count(cache);
	struct speak_node *list = arena_array_of(arena, n, struct speak_node);
	char label[KUBE_LABEL_SIZE];

	for (size_t i = 0; i < n; i++) {
		const struct kube_node *node = (const struct kube_node *)k8s_cache_at(cache, i);

		list[i] = (struct speak_node){
			.name = arena_strdup(arena, node->object.name),
			.labels = copy_labels(&node->labels, arena),
			.network_unavailable = is_network_unavailable(node),
			.is_alive = alive_is(&k->alive, kube_label(node->object.name, label)),
		};
	}
	return list;
}

/* A node that had the label before the start is not drained: that was done. */
static void note_exclusion(struct kube *k, const struct speak_cluster *c)
{
	bool excluded = speak_is_excluded(c, c->own);

	if (excluded && k->was_included && k->options->drain_time > 0) {
		k->draining = true;
		log_info("node-excluded", LOG_T("drain", k->options->drain_time));
		ev_timer_stop(k->loop, &k->drained);
		ev_timer_set(&k->drained, loop_seconds(k->options->drain_time), 0.);
		ev_timer_start(k->loop, &k->drained);
	}
	k->draining &= excluded;
	k->was_included = !excluded;
}

static void make_view(struct kube *k)
{
	struct arena *arena = arena_new();
	struct kube_view *v = arena_new_of(arena, struct kube_view);

	*v = (struct kube_view){ .refs = 1, .arena = arena, .config = k->config };
	k->config->refs++;
	v->cluster = (struct speak_cluster){
		.config = &k->config->metal,
		.whole = k->config->has_all ? &k->config->all : NULL,
		.nodes = list_nodes(k, arena),
		.n_nodes = k8s_cache_count(operator_cache(k->op, KUBE_NODES)),
		.ignore_exclude = k->options->ignore_exclude,
		.sha256 = tls_sha256,
	};
	v->cluster.own = speak_find_node(&v->cluster, k->node);
	k->view = v;
	note_exclusion(k, &v->cluster);
}

/* A node that is not known announces nothing new, and keeps what it announces. */
void kube__review(struct kube *k)
{
	k->nodes_changed = false;
	if (!k->config || !own_node(k))
		return;
	kube_view_unref(k->view);
	make_view(k);
	kube__judge_all(k);
}

/* ---- changes ---- */

void kube__refresh_soon(struct kube *k)
{
	if (operator_is_synced(k->op) && !ev_is_active(&k->refresh))
		ev_timer_start(k->loop, &k->refresh);
}
