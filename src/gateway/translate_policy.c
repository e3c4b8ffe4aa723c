/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BackendTLSPolicies: TLS to the servers of a Service.
 *
 * A policy is for a Service, or for one port of it by name; that for the port goes first. Of two
 * policies for the same the older one counts. The result of a policy is what pools need of it, and
 * its verdicts.
 */
#include <stdlib.h>
#include <string.h>

#include "src/gateway/model.h"

void gw__policy_free(void *result)
{
	struct gw__policy *p = result;

	gw__verdict_free(&p->accepted);
	gw__verdict_free(&p->resolved);
	for (size_t i = 0; i < p->gateways.n; i++)
		free(p->gateways.items[i]);
	vec_free(&p->gateways);
	arena_free(p->arena);
	free(p);
}

static int by_age(const struct gw_policy *a, const struct gw_policy *b)
{
	int diff = strcmp(gw__text(a->created), gw__text(b->created));

	return diff ? diff : strcmp(a->object.name, b->object.name);
}

static bool is_service(const struct gw_ref *target)
{
	return strcmp(gw__text(target->group), "") == 0 &&
	       strcmp(gw__text(target->kind), "Service") == 0;
}

/* Whether a policy is for a Service, and for this port; section "": for all of it. */
static bool is_for(const struct gw_policy *p, const char *service, const char *section)
{
	const struct gw_ref *targets = p->targets.items;

	for (size_t i = 0; i < p->targets.n; i++)
		if (is_service(&targets[i]) && strcmp(gw__text(targets[i].name), service) == 0 &&
		    strcmp(gw__text(targets[i].section), section) == 0)
			return true;
	return false;
}

/* The policy that counts for exactly this target; NULL: none. */
static struct gw__node *winner(struct gw *g, const char *namespace, const char *service,
			       const char *section)
{
	const struct gw__node *list =
		gw__need(g, GW__POLICIES, gw__key(g->scratch, namespace, service));
	struct gw__node *best = NULL;

	for (size_t i = 0; i < list->members.n; i++) {
		struct gw__node *n = list->members.items[i];

		if (is_for((const void *)n->object, service, section) &&
		    (!best || by_age((const void *)n->object, (const void *)best->object) < 0))
			best = n;
	}
	return best;
}

const struct gw__policy *gw__policy_for(struct gw *g, const struct gw__pool *pool, const char *port)
{
	struct gw__node *n = *port ? winner(g, pool->namespace, pool->service, port) : NULL;

	if (!n)
		n = winner(g, pool->namespace, pool->service, "");
	return n ? gw__need(g, GW_BACKEND_TLS_POLICY, n->key)->result : NULL;
}

/* ---- the result ---- */

static void judge_authorities(struct gw *g, struct gw__policy *p, const struct gw_policy *object)
{
	static const struct gw__ca_words words = { "InvalidCACertificateRef", "InvalidKind" };
	/* references to other namespaces do not exist here */
	const struct gw__from from = { "BackendTLSPolicy", object->object.namespace };
	const char *ca;

	if (object->well_known && strcmp(object->well_known, "System") != 0)
		gw__fail(&p->accepted, "Invalid", "wellKnownCACertificates %s is not supported",
			 object->well_known);
	if (object->well_known)
		return;
	ca = gw__authorities(g, &from, &object->ca, &words, &p->resolved);
	if (!ca)
		gw__fail(&p->accepted, "NoValidCACertificate", "none of the authorities is valid");
	else
		p->ca = arena_strdup(p->arena, ca);
}

static void list_names(struct gw__policy *p, const struct gw_policy *object)
{
	const struct gw_alternative *list = object->alternatives.items;
	const char **names = arena_array_of(p->arena, object->alternatives.n, const char *);

	for (size_t i = 0; i < object->alternatives.n; i++)
		names[i] = arena_strdup(p->arena, gw__text(gw__or(list[i].uri, list[i].hostname)));
	p->names = names;
	p->n_names = object->alternatives.n;
}

/* Whether another policy counts for each of its targets, and which Gateways use them. */
static void judge_targets(struct gw *g, struct gw__node *n, struct gw__policy *p)
{
	const struct gw_policy *object = (const void *)n->object;
	const struct gw_ref *targets = object->targets.items;
	const struct gw__node *other = NULL;
	bool counts = false;

	for (size_t i = 0; i < object->targets.n; i++) {
		struct gw__node *best;

		if (!is_service(&targets[i])) {
			gw__fail(&p->accepted, "Invalid", "%s is not supported as a target",
				 gw__text(targets[i].kind));
			continue;
		}
		best = winner(g, object->object.namespace, gw__text(targets[i].name),
			      gw__text(targets[i].section));
		counts |= best == n;
		if (best != n)
			other = best;
	}
	if (!counts && other)
		gw__fail(&p->accepted, "Conflicted", "the older policy %s is for the same target",
			 other->key);
}

static void add_gateway(struct gw__policy *p, const char *key)
{
	for (size_t i = 0; i < p->gateways.n; i++)
		if (strcmp(p->gateways.items[i], key) == 0)
			return;
	vec_push(&p->gateways, mem_strdup(key));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_gateways(struct gw *g, struct gw__policy *p, const struct gw_policy *object)
{
	const struct gw_ref *targets = object->targets.items;

	for (size_t i = 0; i < object->targets.n; i++) {
		const struct gw__node *list = gw__need(g, GW__CONSUMERS,
						       gw__key(g->scratch, object->object.namespace,
							       gw__text(targets[i].name)));

		for (size_t j = 0; j < list->members.n; j++) {
			const struct gw__route *r = list->members.items[j]->result;

			for (size_t k = 0; k < r->gateways.n; k++)
				add_gateway(p, r->gateways.items[k]->key);
		}
	}
	if (p->gateways.n)
		qsort(p->gateways.items, p->gateways.n, sizeof(char *), by_text);
}

/* Pools and other policies see only what is in here. */
static uint64_t digest_of(const struct gw__policy *p)
{
	struct arena *arena = arena_new();
	char *text = arena_printf(arena, "%d %s %s", p->valid, p->hostname, gw__text(p->ca));
	uint64_t digest;

	for (size_t i = 0; i < p->n_names; i++)
		text = arena_printf(arena, "%s %s", text, p->names[i]);
	digest = gw__digest(text);
	arena_free(arena);
	return digest;
}

void gw__make_policy(struct gw *g, struct gw__node *n)
{
	const struct gw_policy *object = (const void *)n->object;
	const struct gw__policy *old = n->result;
	uint64_t before = old ? old->digest : 0;
	struct gw__policy *p = NULL;

	if (object) {
		p = mem_zalloc(sizeof(*p));
		p->arena = arena_new();
		p->accepted.ok = p->resolved.ok = true;
		p->hostname = arena_strdup(p->arena, gw__text(object->hostname));
		judge_targets(g, n, p);
		judge_authorities(g, p, object);
		list_names(p, object);
		list_gateways(g, p, object);
		/* one that lost a conflict for one target may count for another */
		p->valid = p->accepted.ok || strcmp(p->accepted.reason, "Conflicted") == 0;
		p->digest = digest_of(p);
	}
	gw__free_result(g, n);
	n->result = p;
	if (!p || p->digest != before)
		gw__touch_users(g, n);
	if (object)
		gw__status_due(g, n);
}
