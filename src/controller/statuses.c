/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses: of pools, and of the configuration under both of its names. */
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "src/controller/private.h"

#define STATUS_NAME "config-status"
#define STATE_NAME "controller"
#define CONDITION "poolReconcilerValid"
#define POOL_DELAY 0.2 /* s: between two writes of the status of a pool */

/* ---- pools ---- */

static void write_usage(struct buf *out, const struct ipam_usage *u)
{
	static const char *const cases[] = { "IPv", "IPV" };

	buf_adds(out, "{\"status\":{");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		buf_printf(out,
			   "\"assigned%s4\":%lld,\"assigned%s6\":%lld,\"available%s4\":%lld,"
			   "\"available%s6\":%lld,",
			   cases[i], (long long)u->assigned4, cases[i], (long long)u->assigned6,
			   cases[i], (long long)u->available4, cases[i], (long long)u->available6);
	buf_printf(out, "\"services\":%zu}}", u->services);
}

static bool shows(const struct wire_pool *p, const struct ipam_usage *u)
{
	return p->assigned4 == u->assigned4 && p->assigned6 == u->assigned6 &&
	       p->available4 == u->available4 && p->available6 == u->available6 &&
	       p->services == (int64_t)u->services;
}

static enum queue_result pool_turn(struct controller *c, struct key *k)
{
	const char *namespace = operator_namespace(c->op);
	_cleanup_(buf_free) struct buf body = { 0 };
	const struct wire_pool *p = (const struct wire_pool *)k8s_cache_get(
		operator_cache(c->op, KIND_METAL + WIRE_POOLS), namespace, k->id);
	struct ipam_usage usage;

	if (!p) {
		controller__drop(c, &c->pools, k);
		return QUEUE_PENDING; /* the key is gone */
	}
	usage = ipam_usage(c->ipam, k->id);
	if (!c->in_force || !metal_config_pool(c->in_force, k->id) || shows(p, &usage))
		return QUEUE_DONE;
	write_usage(&body, &usage);
	return controller__write(c, k,
				 &(struct k8s_call_config){ .verb = K8S_VERB_MERGE_PATCH,
							    .namespace = namespace,
							    .name = k->id,
							    .subresource = "status",
							    .body = { body.p, body.n } });
}

/* A burst of services makes few writes. */
void statuses__pool(struct controller *c, const char *name)
{
	struct key *k;

	if (!name || !*name)
		return;
	k = controller__key(c, &c->pools, name, KIND_METAL + WIRE_POOLS, pool_turn);
	if (ev_is_active(&k->soon))
		return;
	ev_timer_set(&k->soon, POOL_DELAY, 0);
	ev_timer_start(c->loop, &k->soon);
}

/* ---- the configuration ---- */

static enum queue_result create(struct controller *c, struct key *k, const char *kind,
				const char *name, const char *labels)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_printf(&body,
		   "{\"apiVersion\":\"" WIRE_METAL_GROUP
		   "/v1beta1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"labels\":{%s}}}",
		   kind, name, labels);
	return controller__write(c, k,
				 &(struct k8s_call_config){ .verb = K8S_VERB_CREATE,
							    .namespace = operator_namespace(c->op),
							    .body = { body.p, body.n } });
}

static enum queue_result patch(struct controller *c, struct key *k, const char *name,
			       const struct buf *body)
{
	return controller__write(c, k,
				 &(struct k8s_call_config){ .verb = K8S_VERB_MERGE_PATCH,
							    .namespace = operator_namespace(c->op),
							    .name = name,
							    .subresource = "status",
							    .body = { body->p, body->n } });
}

static bool is_served(const struct controller *c, size_t kind)
{
	return k8s_informer_state(operator_informer(c->op, kind)) != K8S_ABSENT;
}

static const struct k8s_object *find(const struct controller *c, const struct key *k,
				     const char *name)
{
	return k8s_cache_get(operator_cache(c->op, k->kind), operator_namespace(c->op), name);
}

static void add_text(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "\"%s\":", key);
	json_write_string(out, value, strlen(value));
}

enum queue_result statuses__status_turn(struct controller *c, struct key *k)
{
	const struct config_status *now = (const struct config_status *)find(c, k, STATUS_NAME);
	const char *error = c->error ? c->error : "";
	const char *in_force = !c->in_force ? "none" : c->pool_error ? "previous" : "current";
	_cleanup_(buf_free) struct buf body = { 0 };

	if (!c->checked || !is_served(c, k->kind))
		return QUEUE_DONE;
	if (!now)
		return create(c, k, "ConfigurationStatus", STATUS_NAME, "");
	if (now->valid == (*error ? K8S_NO : K8S_YES) && cstr_eq(now->error, error) &&
	    cstr_eq(now->last_error, error) && cstr_eq(now->in_force, in_force))
		return QUEUE_DONE;
	buf_printf(&body, "{\"status\":{\"validConfig\":%s,", *error ? "false" : "true");
	add_text(&body, "error", error);
	buf_addc(&body, ',');
	add_text(&body, "lastError", error);
	buf_addc(&body, ',');
	add_text(&body, "inForce", in_force);
	buf_adds(&body, "}}");
	return patch(c, k, STATUS_NAME, &body);
}

/* ---- ConfigurationState ---- */

static bool state_is(const struct config_state *now, const char *result, const char *message)
{
	const struct condition *all = now->conditions.items;
	bool valid = !*message;

	return cstr_eq(now->result, result) && cstr_eq(now->summary, message) &&
	       now->conditions.n == 1 && cstr_eq(all->type, CONDITION) &&
	       cstr_eq(all->status, valid ? "True" : "False") &&
	       cstr_eq(all->reason, valid ? "Reconciled" : "ConfigurationError") &&
	       cstr_eq(all->message, message);
}

static void write_state(struct buf *out, const char *result, const char *message)
{
	char time[TIME_STRLEN];
	bool valid = !*message;

	time_format(loop_realtime() / NSEC_PER_SEC * NSEC_PER_SEC, time);
	buf_adds(out, "{\"status\":{");
	add_text(out, "result", result);
	buf_addc(out, ',');
	add_text(out, "errorSummary", message);
	buf_printf(out,
		   ",\"conditions\":[{\"type\":\"" CONDITION
		   "\",\"status\":\"%s\",\"reason\":\"%s\",\"lastTransitionTime\":\"%s\",",
		   valid ? "True" : "False", valid ? "Reconciled" : "ConfigurationError", time);
	add_text(out, "message", message);
	buf_adds(out, "}]}}");
}

/* It is about the pools alone: what a speaker makes of peers, the speakers say. */
enum queue_result statuses__state_turn(struct controller *c, struct key *k)
{
	const struct config_state *now = (const struct config_state *)find(c, k, STATE_NAME);
	_cleanup_(buf_free) struct buf body = { 0 }, message = { 0 };
	const char *result = c->pool_error ? "Invalid" : "Valid";

	if (!c->checked || !is_served(c, k->kind))
		return QUEUE_DONE;
	if (!now)
		return create(c, k, "ConfigurationState", STATE_NAME,
			      "\"metallb.io/component-type\":\"controller\"");
	if (c->pool_error)
		buf_printf(&message, "configuration error: %s", c->pool_error);
	if (state_is(now, result, buf_cstr(&message)))
		return QUEUE_DONE;
	write_state(&body, result, buf_cstr(&message));
	return patch(c, k, STATE_NAME, &body);
}
