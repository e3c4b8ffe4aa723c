/* SPDX-License-Identifier: Apache-2.0 */
/* Services: one turn of one service, from its projection to the write of its status. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/json/json.h"
#include "src/controller/private.h"

static enum queue_result turn(struct controller *c, struct key *k);

struct key *services__key(struct controller *c, const struct k8s_object *o)
{
	_cleanup_(buf_free) struct buf id = { 0 };

	buf_printf(&id, "%s/%s", o->namespace, o->name);
	return controller__key(c, &c->services, buf_cstr(&id), KIND_SERVICES, turn);
}

void services__add(struct controller *c, const struct k8s_object *o)
{
	bool assigned = plan_has_addresses((const struct service *)o);

	operator_add(c->op, &services__key(c, o)->item, assigned ? RANK_ASSIGNED : RANK_UNASSIGNED);
}

void services__add_all(struct controller *c)
{
	const struct k8s_cache *cache = operator_cache(c->op, KIND_SERVICES);

	for (size_t i = 0; i < k8s_cache_count(cache); i++)
		services__add(c, k8s_cache_at(cache, i));
}

void services__room(struct controller *c)
{
	if (c->stats.pending)
		operator_add(c->op, &c->retry.item, RANK_PENDING);
}

enum queue_result services__retry_turn(struct controller *c, struct key *k)
{
	const struct k8s_cache *cache = operator_cache(c->op, KIND_SERVICES);

	for (size_t i = 0; i < k8s_cache_count(cache); i++) {
		const struct k8s_object *o = k8s_cache_at(cache, i);

		if (services__key(c, o)->pending)
			services__add(c, o);
	}
	return QUEUE_DONE;
}

static void set_pending(struct controller *c, struct key *k, bool pending)
{
	if (k->pending != pending)
		c->stats.pending += pending ? 1 : (size_t)-1;
	k->pending = pending;
}

/* ---- what is told ---- */

static void emit(struct controller *c, const struct service *s, const struct plan_event *e)
{
	operator_emit(c->op, &(struct k8s_event){ .regarding = { .api_version = "v1",
								 .kind = "Service",
								 .namespace = s->object.namespace,
								 .name = s->object.name,
								 .uid = s->object.uid },
						  .warning = e->warning,
						  .reason = e->reason,
						  .action = e->reason,
						  .note = e->note });
}

static void log_event(const struct key *k, const struct plan_event *e)
{
	if (e->warning)
		log_warn("service-warned", LOG_S("service", k->id), LOG_S("event", e->reason),
			 LOG_S("note", e->note));
	else
		log_info("service-told", LOG_S("service", k->id), LOG_S("event", e->reason),
			 LOG_S("note", e->note));
}

/* A service that is looked at again with the same result is not told so again. */
static void tell(struct controller *c, struct key *k, const struct service *s, const struct plan *p)
{
	_cleanup_(buf_free) struct buf said = { 0 };

	for (size_t i = 0; i < p->n_events; i++)
		buf_printf(&said, "%s %s\n", p->events[i].reason, p->events[i].note);
	if (cstr_eq(k->said ? k->said : "", buf_cstr(&said)))
		return;
	for (size_t i = 0; i < p->n_events; i++) {
		emit(c, s, &p->events[i]);
		log_event(k, &p->events[i]);
		c->stats.allocated += strcmp(p->events[i].reason, "IPAllocated") == 0;
		c->stats.failed += strcmp(p->events[i].reason, "AllocationFailed") == 0;
	}
	free(k->said);
	k->said = mem_strdup(buf_cstr(&said));
}

static void tell_old_annotation(struct controller *c, struct key *k, const struct service *s)
{
	const char *name = plan_old_annotation(s);
	_cleanup_(buf_free) struct buf note = { 0 };
	struct plan_event e = { .warning = true, .reason = "deprecatedAnnotation" };

	if (!name)
		return;
	buf_printf(&note, "Service uses deprecated annotation %s", name);
	e.note = buf_cstr(&note);
	emit(c, s, &e);
	log_event(k, &e);
}

/* ---- the write ---- */

/* One patch for the annotation and the addresses, of exactly the version that was looked at. */
static void write_patch(const struct service *s, const struct plan *p, struct buf *out)
{
	char text[ADDR_STRLEN];

	buf_printf(out,
		   "{\"metadata\":{\"resourceVersion\":\"%llu\",\"annotations\":{\"" ANNOTATIONS
			   ANNOTATION_FROM_POOL "\":",
		   (unsigned long long)s->object.version);
	if (p->pool)
		json_write_string(out, p->pool, strlen(p->pool));
	else
		buf_adds(out, "null");
	buf_adds(out, "}},\"status\":{\"loadBalancer\":{\"ingress\":");
	for (size_t i = 0; i < p->n; i++)
		buf_printf(out, "%s{\"ip\":\"%s\"}", i ? "," : "[",
			   addr_format(&p->addresses[i], text));
	buf_adds(out, p->n ? "]}}}" : "null}}}");
}

static enum queue_result write_status(struct controller *c, struct key *k, const struct service *s,
				      const struct plan *p)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	write_patch(s, p, &body);
	tell_old_annotation(c, k, s);
	return controller__write(c, k,
				 &(struct k8s_call_config){ .verb = K8S_VERB_MERGE_PATCH,
							    .namespace = s->object.namespace,
							    .name = s->object.name,
							    .subresource = "status",
							    .body = { body.p, body.n } });
}

/* ---- the turn ---- */

/* What a lease was, to tell what has changed by it. */
struct before {
	char *pool;
	char *sharing;
	struct addr addresses[IPAM_ADDRESSES];
	size_t n;
};

static struct before look(const struct ipam *ipam, const char *id)
{
	const struct ipam_lease *l = ipam_get(ipam, id);
	struct before b = { 0 };

	if (l) {
		b = (struct before){ mem_strdup(l->pool), mem_strdup(l->sharing), { { 0 } }, l->n };
		memcpy(b.addresses, l->addresses, sizeof(b.addresses));
	}
	return b;
}

/*
 * Others may have what this one no longer has, or may share what they could not share before: its
 * key or its ports may be new.
 */
static void compare(struct controller *c, const struct before *b, const struct ipam_lease *now)
{
	bool same = now && b->n == now->n &&
		    memcmp(b->addresses, now->addresses, b->n * sizeof(*b->addresses)) == 0;

	if (b->n && (!same || *now->sharing || *b->sharing))
		services__room(c);
	if (same && cstr_eq(b->pool, now->pool))
		return;
	statuses__pool(c, b->pool);
	statuses__pool(c, now ? now->pool : NULL);
}

static void finish(struct controller *c, struct key *k, struct before *b)
{
	compare(c, b, ipam_get(c->ipam, k->id));
	free(b->pool);
	free(b->sharing);
}

static enum queue_result leave(struct controller *c, struct key *k)
{
	struct before b = look(c->ipam, k->id);

	if (ipam_release(c->ipam, k->id))
		log_info("address-freed", LOG_S("service", k->id), LOG_S("reason", "service-gone"));
	finish(c, k, &b);
	controller__drop(c, &c->services, k);
	return QUEUE_PENDING; /* the key is gone */
}

static const struct service *find(const struct controller *c, const char *id)
{
	const char *slash = strchr(id, '/');
	_cleanup_(buf_free) struct buf namespace = { 0 };

	buf_add(&namespace, id, (size_t)(slash - id));
	return (const struct service *)k8s_cache_get(operator_cache(c->op, KIND_SERVICES),
						     buf_cstr(&namespace), slash + 1);
}

static enum queue_result turn(struct controller *c, struct key *k)
{
	_cleanup_(arena_freep) struct arena *arena = NULL;
	const struct service *s = find(c, k->id);
	struct before before;
	struct plan plan;

	if (!s || !plan_is_ours(s, c->options->lb_class))
		return leave(c, k);
	if (!c->in_force)
		return QUEUE_DONE; /* all services are looked at when there are pools */
	arena = arena_new();
	before = look(c->ipam, k->id);
	plan_service(c->ipam, c->in_force->n_pools, s, arena, &plan);
	set_pending(c, k, plan.failed && !plan.keep);
	finish(c, k, &before);
	tell(c, k, s, &plan);
	return plan_differs(s, &plan) ? write_status(c, k, s, &plan) : QUEUE_DONE;
}
