/* SPDX-License-Identifier: Apache-2.0 */
#include "src/controller/certificates.h"
#include "src/controller/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"

#define PARALLEL 32 /* writes under way */

/* ---- keys ---- */

static void on_soon(EV_P_ ev_timer *timer, int events)
{
	struct key *k = container_of(timer, struct key, soon);

	operator_add(k->of->op, &k->item, RANK_STATUS);
}

static void init_key(struct controller *c, struct key *k, size_t kind, turn_fn turn)
{
	k->of = c;
	k->kind = kind;
	k->turn = turn;
	ev_timer_init(&k->soon, on_soon, 0, 0);
}

struct key *controller__key(struct controller *c, struct map *in, const char *id, size_t kind,
			    turn_fn turn)
{
	struct key *k = map_get(in, id);

	if (k)
		return k;
	k = mem_zalloc(sizeof(*k));
	init_key(c, k, kind, turn);
	k->id = mem_strdup(id);
	map_put(in, k->id, k);
	return k;
}

static void forget_key(struct controller *c, struct key *k)
{
	k8s_call_cancel(k->call);
	k->call = NULL;
	operator_forget(c->op, &k->item);
	ev_timer_stop(c->loop, &k->soon);
	free(k->said);
	k->said = NULL;
}

void controller__drop(struct controller *c, struct map *from, struct key *k)
{
	map_remove(from, k->id);
	if (k->pending)
		c->stats.pending--;
	forget_key(c, k);
	free(k->id);
	free(k);
}

static void drop_all(struct controller *c, struct map *keys)
{
	for (size_t i = 0; i < keys->cap; i++) {
		struct key *k = keys->slots[i].key ? keys->slots[i].value : NULL;

		if (!k)
			continue;
		forget_key(c, k);
		free(k->id);
		free(k);
	}
	map_free(keys);
}

/* ---- writes ---- */

static void on_written(const struct k8s_result *result, void *user)
{
	struct key *k = user;
	struct controller *c = k->of;
	const char *what = c->rows[k->kind].resource.plural;

	k->call = NULL;
	if (result->code == K8S_OK) {
		k->mark = operator_mark(c->op, k->kind, result);
		operator_done(c->op, &k->item, QUEUE_DONE);
		return;
	}
	c->stats.failures++;
	log_warn("write-failed", LOG_S("kind", what), LOG_S("name", k->id ? k->id : ""),
		 LOG_S("code", k8s_code_name(result->code)), LOG_S("error", result->message));
	operator_done(c->op, &k->item, QUEUE_FAILED);
}

enum queue_result controller__write(struct controller *c, struct key *k,
				    const struct k8s_call_config *call)
{
	struct k8s_call_config config = *call;
	const char *what = c->rows[k->kind].resource.plural;

	if (operator_is_dry_run(c->op)) {
		log_info("would-write", LOG_S("kind", what), LOG_S("name", k->id ? k->id : ""),
			 LOG_SN("body", call->body.p, call->body.n));
		return QUEUE_DONE;
	}
	config.resource = &c->rows[k->kind].resource;
	config.done = on_written;
	config.user = k;
	if (operator_call(c->op, &config, &k->call) < 0)
		return QUEUE_FAILED;
	return QUEUE_PENDING;
}

/* ---- what the operator tells ---- */

static enum queue_result on_step(struct queue_item *item, void *user)
{
	struct key *k = container_of(item, struct key, item);
	struct controller *c = user;

	if (!operator_seen(c->op, k->kind, k->mark))
		return QUEUE_FAILED;
	c->stats.turns++;
	return k->turn(c, k);
}

static void on_service(enum k8s_change change, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	services__add(user, new ? new : old);
}

static void on_config(enum k8s_change change, const struct k8s_object *old,
		      const struct k8s_object *new, void *user)
{
	struct controller *c = user;

	operator_add(c->op, &c->config.item, RANK_CONFIG);
}

static bool same_map(const struct k8s_list *a, const struct k8s_list *b)
{
	const struct k8s_pair *x = a->items, *y = b->items;

	for (size_t i = 0; a->n == b->n && i < a->n; i++)
		if (strcmp(x[i].key, y[i].key) != 0 || strcmp(x[i].value, y[i].value) != 0)
			return false;
	return a->n == b->n;
}

/* Nodes and namespaces matter only by their labels. */
static void on_place(enum k8s_change change, const struct k8s_object *old,
		     const struct k8s_object *new, void *user)
{
	if (change != K8S_UPDATED || !same_map(&((const struct wire_place *)old)->labels,
					       &((const struct wire_place *)new)->labels))
		on_config(change, old, new, user);
}

/* A change of the status alone is usually our own; one by another hand is put right. */
static void on_pool(enum k8s_change change, const struct k8s_object *old,
		    const struct k8s_object *new, void *user)
{
	if (change != K8S_UPDATED || old->generation != new->generation ||
	    !same_map(&((const struct wire_pool *)old)->labels,
		      &((const struct wire_pool *)new)->labels))
		on_config(change, old, new, user);
	statuses__pool(user, (new ? new : old)->name);
}

static void on_status(enum k8s_change change, const struct k8s_object *old,
		      const struct k8s_object *new, void *user)
{
	struct controller *c = user;

	operator_add(c->op, &c->status.item, RANK_STATUS);
	operator_add(c->op, &c->state.item, RANK_STATUS);
}

static void on_secret(enum k8s_change change, const struct k8s_object *old,
		      const struct k8s_object *new, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct certificates now = certificates_of((const struct secret *)new, arena);
	struct controller *c = user;

	operator_add(c->op, &c->bundles.item, RANK_STATUS);
	if (now.certificate && now.key)
		c->calls.certificates(now.certificate, now.key, c->calls.user);
}

/* Another process may have led meanwhile: nothing that is known of leases is certain any more. */
static void begin(struct controller *c)
{
	ipam_free(c->ipam);
	c->ipam = ipam_new();
	arena_free(c->arena);
	c->arena = NULL;
	c->in_force = NULL;
	c->checked = false;
	operator_add(c->op, &c->config.item, RANK_CONFIG);
	if (c->calls.certificates)
		operator_add(c->op, &c->bundles.item, RANK_STATUS);
}

static void on_active(bool active, void *user)
{
	struct controller *c = user;

	log_info("active", LOG_B("active", active));
	if (active)
		begin(c);
	c->calls.active(active, c->calls.user);
}

static void on_synced(void *user)
{
	struct controller *c = user;

	log_info("synced",
		 LOG_U("services", k8s_cache_count(operator_cache(c->op, KIND_SERVICES))));
}

static void on_holder(const char *holder, void *user)
{
	log_info("leader", LOG_S("holder", holder));
}

static void on_trouble(const struct operator_trouble *t, void *user)
{
	log_warn("kube-trouble", LOG_S("doing", t->doing), LOG_S("what", t->what),
		 LOG_S("code", k8s_code_name(t->code)), LOG_S("error", t->message));
}

/* ---- the whole ---- */

static void fill_rows(struct controller *c)
{
	for (size_t i = 0; i < KIND_SERVICES; i++) {
		const struct wire_metal_row *row = &wire_metal_kinds[i];
		bool own = strcmp(row->group, WIRE_METAL_GROUP) == 0;

		c->rows[KIND_METAL + i] = (struct operator_kind){
			.resource = { row->group, row->version, row->plural },
			.layout = row->layout,
			.namespace = own ? OPERATOR_OWN_NAMESPACE : NULL,
			.optional = own,
			.changed = i == WIRE_POOLS ? on_pool
				   : own	   ? on_config
						   : on_place,
		};
	}
	c->rows[KIND_SERVICES] = (struct operator_kind){ .resource = { "", "v1", "services" },
							 .layout = &service_layout,
							 .changed = on_service };
	c->rows[KIND_STATUSES] = (struct operator_kind){
		.resource = { WIRE_METAL_GROUP, "v1beta1", "configurationstatuses" },
		.layout = &config_status_layout,
		.namespace = OPERATOR_OWN_NAMESPACE,
		.optional = true,
		.changed = on_status,
	};
	c->rows[KIND_STATES] = c->rows[KIND_STATUSES];
	c->rows[KIND_STATES].resource.plural = "configurationstates";
	c->rows[KIND_STATES].layout = &config_state_layout;
	c->rows[KIND_SECRETS] = (struct operator_kind){ .resource = { "", "v1", "secrets" },
							.layout = &secret_layout,
							.namespace = OPERATOR_OWN_NAMESPACE,
							.field_selector = c->secret_selector,
							.changed = on_secret };
}

int controller_new(struct ev_loop *loop, const struct options *options,
		   const struct controller_calls *calls, struct controller **ret,
		   struct errs *errors)
{
	struct controller *c = mem_zalloc(sizeof(*c));
	struct buf selector = { 0 };
	const struct operator_config config = {
		.loop = loop,
		.options = &options->operator,
		.name = "maglev-controller",
		.controller = "metallb-controller",
		.kinds = c->rows,
		.n_kinds = calls->certificates ? KINDS : KIND_SECRETS,
		.step = on_step,
		.parallel = PARALLEL,
		.synced = on_synced,
		.active = on_active,
		.holder = on_holder,
		.trouble = on_trouble,
		.user = c,
	};
	int r;

	c->loop = loop;
	c->options = options;
	c->calls = *calls;
	buf_printf(&selector, "metadata.name=%s", options->webhook_secret);
	c->secret_selector = mem_strdup(buf_cstr(&selector));
	buf_free(&selector);
	fill_rows(c);
	init_key(c, &c->config, KIND_METAL, config__turn);
	init_key(c, &c->retry, KIND_METAL, services__retry_turn);
	init_key(c, &c->status, KIND_STATUSES, statuses__status_turn);
	init_key(c, &c->state, KIND_STATES, statuses__state_turn);
	init_key(c, &c->bundles, KIND_SECRETS, bundles__turn);
	c->ipam = ipam_new();
	r = operator_new(&config, &c->op, errors);
	if (r < 0) {
		controller_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void controller_start(struct controller *c)
{
	operator_start(c->op);
}

void controller_drain(struct controller *c, void (*done)(void *user), void *user)
{
	operator_drain(c->op, done, user);
}

void controller_free(struct controller *c)
{
	if (!c)
		return;
	drop_all(c, &c->services);
	drop_all(c, &c->pools);
	if (c->op) {
		forget_key(c, &c->config);
		forget_key(c, &c->retry);
		forget_key(c, &c->status);
		forget_key(c, &c->state);
		forget_key(c, &c->bundles);
		k8s_update_cancel(c->update);
	}
	operator_free(c->op);
	ipam_free(c->ipam);
	arena_free(c->arena);
	free(c->error);
	free(c->pool_error);
	free(c->secret_selector);
	free(c->bundle);
	free(c);
}

struct operator_frame *controller_operator(const struct controller *c)
{
	return c->op;
}

const struct controller_stats *controller_stats(const struct controller *c)
{
	return &c->stats;
}

const struct ipam *controller_ipam(const struct controller *c)
{
	return c->ipam;
}

const struct metal_config *controller_pools(const struct controller *c)
{
	return c->in_force;
}
