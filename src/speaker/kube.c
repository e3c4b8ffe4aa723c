/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/kube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "src/speaker/kube_state.h"
#include "wire/metal.h"

#define PARALLEL 8		       /* statuses that are written at once */
#define WINDOW (7 * NSEC_PER_SEC / 10) /* three heartbeats and a half */

/* ---- changes of objects ---- */

static void touch_config(struct kube *k)
{
	k->stats.updates++;
	k->config_changed = true;
	kube__refresh_soon(k);
}

static void on_service(enum k8s_change change, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	struct kube *k = user;
	const struct k8s_object *o = new ? new : old;

	k->stats.updates++;
	kube__service_changed(k, o->namespace, o->name);
	if (k->mistake) /* it may have been the reason */
		touch_config(k);
}

static const char *service_of(const struct kube_slice *s)
{
	return k8s_map_get(&s->labels, "kubernetes.io/service-name");
}

static void on_slice(enum k8s_change change, const struct k8s_object *old,
		     const struct k8s_object *new, void *user)
{
	struct kube *k = user;
	const struct kube_slice *both[] = { (const struct kube_slice *)old,
					    (const struct kube_slice *)new };

	k->stats.updates++;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		if (both[i] && service_of(both[i]))
			kube__service_changed(k, both[i]->object.namespace, service_of(both[i]));
}

static void index_slice(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user)
{
	const char *service = service_of((const struct kube_slice *)o);
	_cleanup_(buf_free) struct buf key = { 0 };

	if (!service)
		return;
	buf_printf(&key, "%s/%s", o->namespace, service);
	add(buf_cstr(&key), to);
}

static bool same_labels(const struct kube_node *a, const struct kube_node *b)
{
	const struct k8s_pair *x = a->labels.items, *y = b->labels.items;

	if (a->labels.n != b->labels.n)
		return false;
	for (size_t i = 0; i < a->labels.n; i++)
		if (!cstr_eq(x[i].key, y[i].key) || !cstr_eq(x[i].value, y[i].value))
			return false;
	return true;
}

static bool same_conditions(const struct kube_node *a, const struct kube_node *b)
{
	const struct kube_condition *x = a->conditions.items, *y = b->conditions.items;

	if (a->conditions.n != b->conditions.n)
		return false;
	for (size_t i = 0; i < a->conditions.n; i++)
		if (!cstr_eq(x[i].type, y[i].type) || !cstr_eq(x[i].status, y[i].status))
			return false;
	return true;
}

/* Kubelets change the status of their node all the time. */
static void on_node(enum k8s_change change, const struct k8s_object *old,
		    const struct k8s_object *new, void *user)
{
	struct kube *k = user;
	const struct kube_node *a = (const struct kube_node *)old,
			       *b = (const struct kube_node *)new;
	bool labels = !a || !b || !same_labels(a, b);

	if (!labels && same_conditions(a, b))
		return;
	k->nodes_changed = true;
	/* labels choose peers and advertisements, and rules are about pairs of nodes */
	if (labels)
		touch_config(k);
	kube__refresh_soon(k);
}

static void on_lease(enum k8s_change change, const struct k8s_object *old,
		     const struct k8s_object *new, void *user)
{
	kube__lease_changed(user, (const struct kube_lease *)old, (const struct kube_lease *)new);
}

static void on_config(enum k8s_change change, const struct k8s_object *old,
		      const struct k8s_object *new, void *user)
{
	touch_config(user);
}

static void on_secret(enum k8s_change change, const struct k8s_object *old,
		      const struct k8s_object *new, void *user)
{
	struct kube *k = user;

	touch_config(k);
	if (k->judged)
		kube__find_key(k);
}

/* One function for each kind, because a change does not say of which kind it is. */
#define STATUS_CHANGED(function, kind)                                                             \
	static void function(enum k8s_change change, const struct k8s_object *old,                 \
			     const struct k8s_object *new, void *user)                             \
	{                                                                                          \
		kube_status_changed(((struct kube *)user)->status, kind, new ? new : old);         \
	}

STATUS_CHANGED(on_service_bgp, KUBE_SERVICE_BGP)
STATUS_CHANGED(on_service_l2, KUBE_SERVICE_L2)
STATUS_CHANGED(on_session_status, KUBE_SESSION_STATUS)
STATUS_CHANGED(on_session_state, KUBE_SESSION_STATE)
STATUS_CHANGED(on_configuration, KUBE_CONFIGURATION)

/* ---- the table of kinds ---- */

static void add_metal_kind(struct kube *k, enum kube_kind at, enum wire_metal_kind kind)
{
	const struct wire_metal_row *row = &wire_metal_kinds[kind];

	k->kinds[at] = (struct operator_kind){
		.resource = { row->group, row->version, row->plural },
		.layout = row->layout,
		.namespace = kind == WIRE_NAMESPACES ? NULL : OPERATOR_OWN_NAMESPACE,
		.optional = strcmp(row->group, WIRE_METAL_GROUP) == 0,
		.changed = kind == WIRE_SECRETS ? on_secret : on_config,
	};
}

static void add_status_kind(struct kube *k, enum kube_kind at, const char *namespace,
			    const char *selector,
			    void (*changed)(enum k8s_change, const struct k8s_object *,
					    const struct k8s_object *, void *))
{
	k->kinds[at] = (struct operator_kind){ .resource = *kube_status_resource(at),
					       .layout = &kube_status_layout,
					       .namespace = namespace,
					       .label_selector = selector,
					       .optional = true,
					       .indexes = { kube_status_index },
					       .changed = changed };
}

static char *selector_of(const char *label, const char *node)
{
	char *text;

	if (asprintf(&text, "%s=%s", label, node) < 0)
		abort();
	return text;
}

static void make_kinds(struct kube *k)
{
	k->kinds[KUBE_SERVICES] = (struct operator_kind){ .resource = { "", "v1", "services" },
							  .layout = &kube_service_layout,
							  .changed = on_service };
	k->kinds[KUBE_SLICES] =
		(struct operator_kind){ .resource = { "discovery.k8s.io", "v1", "endpointslices" },
					.layout = &kube_slice_layout,
					.label_selector = "kubernetes.io/service-name",
					.indexes = { index_slice },
					.changed = on_slice };
	k->kinds[KUBE_NODES] = (struct operator_kind){ .resource = { "", "v1", "nodes" },
						       .layout = &kube_node_layout,
						       .changed = on_node };
	k->kinds[KUBE_LEASES] =
		(struct operator_kind){ .resource = { "coordination.k8s.io", "v1", "leases" },
					.layout = &kube_lease_layout,
					.namespace = OPERATOR_OWN_NAMESPACE,
					.label_selector = KUBE_LABEL_NODE,
					.changed = on_lease };
	add_metal_kind(k, KUBE_POOLS, WIRE_POOLS);
	add_metal_kind(k, KUBE_PEERS, WIRE_PEERS);
	add_metal_kind(k, KUBE_BGP_ADVERTISEMENTS, WIRE_BGP_ADVERTISEMENTS);
	add_metal_kind(k, KUBE_L2_ADVERTISEMENTS, WIRE_L2_ADVERTISEMENTS);
	add_metal_kind(k, KUBE_BFD_PROFILES, WIRE_BFD_PROFILES);
	add_metal_kind(k, KUBE_COMMUNITIES, WIRE_COMMUNITIES);
	add_metal_kind(k, KUBE_NAMESPACES, WIRE_NAMESPACES);
	add_metal_kind(k, KUBE_SECRETS, WIRE_SECRETS);
	k->node_selectors[0] = selector_of(KUBE_LABEL_NODE, k->label);
	k->node_selectors[1] = selector_of(KUBE_LABEL_FRR_NODE, k->label);
	k->node_selectors[2] = selector_of(KUBE_LABEL_NODE_NAME, k->label);
	add_status_kind(k, KUBE_SERVICE_BGP, NULL, k->node_selectors[0], on_service_bgp);
	add_status_kind(k, KUBE_SERVICE_L2, NULL, k->node_selectors[0], on_service_l2);
	add_status_kind(k, KUBE_SESSION_STATUS, OPERATOR_OWN_NAMESPACE, k->node_selectors[0],
			on_session_status);
	add_status_kind(k, KUBE_SESSION_STATE, OPERATOR_OWN_NAMESPACE, k->node_selectors[1],
			on_session_state);
	add_status_kind(k, KUBE_CONFIGURATION, OPERATOR_OWN_NAMESPACE, k->node_selectors[2],
			on_configuration);
}

/* ---- the operator ---- */

static enum queue_result on_step(struct queue_item *item, void *user)
{
	return kube_status_step(((struct kube *)user)->status, item);
}

static void on_synced(void *user)
{
	struct kube *k = user;
	const struct k8s_cache *services = operator_cache(k->op, KUBE_SERVICES);

	log_info("synced", LOG_U("services", k8s_cache_count(services)));
	k->config_changed = k->nodes_changed = true;
	kube__refresh_soon(k);
}

static void on_trouble(const struct operator_trouble *t, void *user)
{
	log_warn("kubernetes-failed", LOG_S("doing", t->doing), LOG_S("what", t->what),
		 LOG_S("code", k8s_code_name(t->code)), LOG_S("error", t->message),
		 LOG_T("retry", t->delay));
}

static void on_status_written(enum kube_kind kind, const char *key, const char *before, void *user)
{
	kube__written(user, kind, key, before);
}

/* ---- timers and other rooms ---- */

static void on_refresh(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct kube *k = container_of(timer, struct kube, refresh);

	if (k->config_changed)
		kube__reconfigure(k);
	if (k->nodes_changed)
		kube__review(k);
}

static void on_due(struct ev_loop *loop, ev_timer *timer, int revents)
{
	kube__judge_alive(container_of(timer, struct kube, due));
}

static void on_drained(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct kube *k = container_of(timer, struct kube, drained);

	k->draining = false;
	kube__judge_all(k);
}

static void on_publish(struct ev_loop *loop, ev_timer *timer, int revents)
{
	kube__publish(container_of(timer, struct kube, publish));
}

static void on_heard(const char *node, bool leaves, void *user)
{
	struct kube *k = user;
	bool was = alive_is(&k->alive, node);

	if (leaves)
		alive_left(&k->alive, node, loop_monotonic());
	else
		alive_heard(&k->alive, node, loop_monotonic());
	if (leaves || !was || !ev_is_active(&k->due))
		ev_feed_event(k->loop, &k->due, EV_TIMER);
}

static void on_interfaces(void *user)
{
	struct kube *k = user;

	if (k->view)
		kube__judge_all(k);
}

static void on_bgpd_again(void *user)
{
	struct kube *k = user;

	if (!k->judged)
		return;
	log_warn("bgpd-restarted");
	reload_repeat(k->reload);
}

static void on_reloaded(const struct reload_result *result, void *user)
{
	if (result->success)
		log_info("frr-applied", LOG_U("batch", result->batch),
			 LOG_T("duration", result->duration));
	else
		log_error("frr-refused", LOG_S("error", result->error),
			  LOG_T("duration", result->duration));
}

/* ---- the door ---- */

static int make_operator(struct kube *k, struct errs *errors)
{
	return operator_new(&(struct operator_config){ .loop = k->loop,
						       .options = &k->options->kube,
						       .name = "maglev-speaker",
						       .controller = "maglev.dev/speaker",
						       .kinds = k->kinds,
						       .n_kinds = KUBE_KINDS,
						       .step = on_step,
						       .parallel = PARALLEL,
						       .synced = on_synced,
						       .trouble = on_trouble,
						       .user = k },
			    &k->op, errors);
}

static void init_timers(struct kube *k)
{
	double interval = loop_seconds(k->options->status_interval);

	ev_timer_init(&k->refresh, on_refresh, 0., 0.);
	ev_timer_init(&k->publish, on_publish, interval, interval);
	ev_init(&k->due, on_due);
	ev_init(&k->drained, on_drained);
}

static void make_rooms(struct kube *k)
{
	const struct options *o = k->options;

	k->status = kube_status_new(&(struct kube_status_config){
		.op = k->op, .node = k->node, .written = on_status_written, .user = k });
	k->l2 = kube_l2_new(&(struct kube_l2_config){ .loop = k->loop,
						      .node = k->label,
						      .exclude = o->l2_exclude,
						      .heard = on_heard,
						      .changed = on_interfaces,
						      .user = k });
	k->reload = reload_new(
		k->loop,
		&(struct reload_config){ .file = o->frr_conf,
					 .socket = *o->reloader_socket ? o->reloader_socket : NULL,
					 .pid_file = o->reloader_pid,
					 .status_file = o->reloader_status,
					 .retry = o->retry,
					 .done = on_reloaded,
					 .user = k });
	k->sessions = sessions_new(k->loop, o->vty_dir, on_bgpd_again, k);
	k->alive = (struct alive){ .own = k->label,
				   .rule = { .duration = o->lease_duration, .window = WINDOW } };
	kube__services_init(k);
	kube__plane_init(k);
	k->started_at = loop_realtime();
	kube__show_again(k);
}

int kube_new(struct ev_loop *loop, const struct options *options, struct kube **ret,
	     struct errs *errors)
{
	struct kube *k = mem_zalloc(sizeof(*k));
	int r;

	k->loop = loop;
	k->options = options;
	k->node = mem_strdup(options->node_name);
	kube_label(k->node, k->label);
	make_kinds(k);
	init_timers(k);
	r = make_operator(k, errors);
	if (r < 0) {
		kube_free(k);
		return r;
	}
	make_rooms(k);
	*ret = k;
	return 0;
}

void kube_start(struct kube *k)
{
	operator_start(k->op);
	kube__plane_start(k);
	ev_timer_start(k->loop, &k->publish);
}

void kube_drain(struct kube *k, void (*done)(void *user), void *user)
{
	kube_l2_leave(k->l2);
	kube__lease_release(k, done, user);
}

static void stop_timers(struct kube *k)
{
	ev_timer_stop(k->loop, &k->refresh);
	ev_timer_stop(k->loop, &k->publish);
	ev_timer_stop(k->loop, &k->due);
	ev_timer_stop(k->loop, &k->drained);
}

void kube_free(struct kube *k)
{
	if (!k)
		return;
	stop_timers(k);
	if (k->op) {
		kube__lease_free(k);
		kube__plane_free(k);
		kube__services_free(k);
		kube__info_free(k);
		kube_status_free(k->status);
		sessions_free(k->sessions);
		reload_free(k->reload);
		kube_l2_free(k->l2);
		alive_free(&k->alive);
		kube_view_unref(k->view);
		kube_config_unref(k->config);
		operator_free(k->op);
	}
	for (size_t i = 0; i < ARRAY_SIZE(k->node_selectors); i++)
		free(k->node_selectors[i]);
	free(k->mistake);
	free(k->node);
	free(k);
}

void kube_set_api(struct kube *k, const struct api *api)
{
	k->api = api;
}

const char *kube_unready(void *user)
{
	const struct kube *k = user;

	if (!operator_is_synced(k->op))
		return operator_unready(k->op);
	if (!k->config)
		return k->mistake ? k->mistake : "the node of this speaker is not known";
	return k->judged ? NULL : "the Services are not judged yet";
}
