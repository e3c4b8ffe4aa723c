/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/gateway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/log/log.h"
#include "lib/loop/task.h"
#include "src/gateway/checks.h"
#include "src/gateway/kinds.h"

#define SLICE 8			       /* results that are made between two looks at the clock */
#define FIRST_WAIT (10 * NSEC_PER_SEC) /* for Secrets that cannot be read, after the start */
#define LOOK 2.			       /* s between two looks at the versions of kinds */

struct gateway {
	struct gateway_config config;
	struct operator_frame *op;
	struct observe *observe;
	struct wanted *wanted;
	struct checks *checks;
	struct gw *gw;
	struct addresses *addresses;
	struct services *services;
	struct report *report;
	struct document *document;
	struct push *push; /* NULL: nothing is pushed */
	struct task task;
	ev_timer look;	  /* from the sync on */
	int64_t deadline; /* of the first wait, monotonic; 0: not synced yet */
	bool open;	  /* everything was seen once, and pushing has begun */
	bool routers_changed;
	VEC(struct addr) routers; /* sorted, each once */
	struct gateway_stats stats;
};

/* ---- changes of objects ---- */

static bool is_router_slice(const struct gateway *g, const struct k8s_object *o)
{
	const struct gw_slice *s = (const struct gw_slice *)o;
	const struct options *options = g->config.options;
	const char *service;

	if (!o || !options->service_name)
		return false;
	service = k8s_map_get(&s->labels, GW_SERVICE_LABEL);
	return service && strcmp(service, options->service_name) == 0 &&
	       strcmp(o->namespace, options->service_namespace) == 0;
}

static void on_changed(enum gw_kind kind, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	struct gateway *g = user;

	g->stats.changes++;
	gw_changed(g->gw, kind, old, new);
	if (kind == GW_ENDPOINT_SLICE && (is_router_slice(g, old) || is_router_slice(g, new)))
		g->routers_changed = true;
	task_wake(&g->task);
}

static void on_known(void *user)
{
	struct gateway *g = user;

	task_wake(&g->task);
}

/* The Service of a Gateway has changed: its address, or somebody has removed it. */
static void on_service(const struct k8s_object *old, const struct k8s_object *new, void *user)
{
	struct gateway *g = user;
	const struct services_object *s = (const struct services_object *)(new ?: old);
	const struct services_owner *owners = s->owners.items;

	for (size_t i = 0; i < s->owners.n; i++)
		if (owners[i].kind && owners[i].name && strcmp(owners[i].kind, "Gateway") == 0)
			services_add(g->services, s->object.namespace, owners[i].name);
	task_wake(&g->task);
}

static void on_wanted(enum gw_kind kind, const char *namespace, const char *name, bool wanted,
		      void *user)
{
	struct gateway *g = user;

	wanted_set(g->wanted, kind, namespace, name, wanted);
}

static const char *on_pair(const char *certificate, const char *key, void *user)
{
	return checks_pair(((struct gateway *)user)->checks, certificate, key);
}

static const char *on_ca(const char *text, void *user)
{
	return checks_ca(((struct gateway *)user)->checks, text);
}

static void on_gateway(const char *namespace, const char *name, void *user)
{
	struct gateway *g = user;

	services_add(g->services, namespace, name);
}

/* ---- routers ---- */

static int by_address(const void *a, const void *b)
{
	return addr_cmp(a, b);
}

/* The port of that name, or the only one; 0: none. */
static uint16_t port_of(const struct gw_slice *s, const char *name)
{
	const struct gw_slice_port *ports = s->ports.items;

	for (size_t i = 0; i < s->ports.n; i++)
		if (ports[i].port > 0 && ports[i].name && strcmp(ports[i].name, name) == 0)
			return (uint16_t)ports[i].port;
	return s->ports.n == 1 && ports[0].port > 0 ? (uint16_t)ports[0].port : 0;
}

/* All endpoints: a router is not ready before it has a configuration. */
static void collect(struct gateway *g, const struct gw_slice *s, struct cli_list *to)
{
	const struct gw_endpoint *endpoints = s->endpoints.items;
	uint16_t port = port_of(s, g->config.options->router_port);
	char text[ENDPOINT_STRLEN];

	for (size_t i = 0; port && i < s->endpoints.n; i++)
		for (size_t n = 0; n < endpoints[i].addresses.n; n++) {
			struct endpoint at = { .port = port };

			if (addr_parse(k8s_string_at(&endpoints[i].addresses, n), &at.addr) < 0)
				continue;
			vec_push(&g->routers, at.addr);
			vec_push(to, mem_strdup(endpoint_format(&at, text)));
		}
}

static void find_routers(struct gateway *g)
{
	const struct options *o = g->config.options;
	struct cli_list names = { 0 };
	size_t first, n = observe_slices(g->observe, o->service_namespace, o->service_name, &first);

	g->routers.n = 0;
	for (size_t i = 0; i < n; i++)
		collect(g, observe_slice(g->observe, first + i), &names);
	if (g->routers.n > 0)
		qsort(g->routers.items, g->routers.n, sizeof(struct addr), by_address);
	if (g->push)
		push_set_routers(g->push, (const char *const *)names.items, names.n);
	cli_list_free(&names);
	services_add_all(g->services);
}

static size_t on_routers(const struct addr **ret, void *user)
{
	struct gateway *g = user;

	*ret = g->routers.items;
	return g->routers.n;
}

static const struct services_object *on_find(const char *namespace, const char *name, void *user)
{
	struct gateway *g = user;

	return (const struct services_object *)k8s_cache_get(observe_services(g->observe),
							     namespace, name);
}

static void on_unusable(const char *address, const char *why, void *user)
{
	struct gateway *g = user;

	g->stats.unusable++;
	if (addresses_refuse(g->addresses, address, why))
		task_wake(&g->task);
}

/* ---- the work ---- */

static void take_change(const struct gw_change *c, void *user)
{
	static const enum document_part parts[GW_ENTRY_KINDS] = {
		[GW_LISTENERS] = DOCUMENT_LISTENERS,
		[GW_ROUTES] = DOCUMENT_ROUTES,
		[GW_STREAMS] = DOCUMENT_STREAMS,
		[GW_POOLS] = DOCUMENT_POOLS,
	};
	struct gateway *g = user;

	if (!c->entry) {
		document_remove(g->document, parts[c->kind], c->name);
		return;
	}
	if (!c->only_endpoints)
		document_set(g->document, parts[c->kind], c->name, c->entry->order, c->entry->text);
	if (c->kind == GW_POOLS)
		document_set_servers(g->document, c->name, c->entry->endpoints);
}

static bool may_open(const struct gateway *g)
{
	return g->open || !wanted_pending(g->wanted) || loop_monotonic() >= g->deadline;
}

/* Translation has nothing left to do: what it has made is consistent. */
static void settle(struct gateway *g)
{
	if (!may_open(g))
		return;
	gw_take(g->gw, take_change, g);
	if (!g->open) {
		g->open = true;
		log_info("translated", LOG_U("listeners", gw_entries(g->gw, GW_LISTENERS)),
			 LOG_U("routes", gw_entries(g->gw, GW_ROUTES)),
			 LOG_U("pools", gw_entries(g->gw, GW_POOLS)));
		if (g->push)
			push_open(g->push);
		if (g->config.translated)
			g->config.translated(g, g->config.user);
	}
	if (g->push) {
		push_changed(g->push);
		report_pump(g->report);
	}
}

static bool on_step(struct task *t)
{
	struct gateway *g = container_of(t, struct gateway, task);
	int64_t began = loop_monotonic();
	size_t left, before;

	if (!g->deadline)
		return false;
	before = gw_work(g->gw, 0);
	do {
		left = gw_work(g->gw, SLICE);
	} while (left && task_has_time(g->config.loop));
	g->stats.translated += before > left ? before - left : 0;
	g->stats.time += loop_monotonic() - began;
	if (left)
		return true;
	wanted_step(g->wanted);
	if (addresses_update(g->addresses) || gw_work(g->gw, 0))
		return true;
	if (g->routers_changed) {
		g->routers_changed = false;
		find_routers(g);
	}
	settle(g);
	return false;
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct gateway *g = container_of(timer, struct gateway, look);

	observe_choose(g->observe);
	if (!g->open)
		task_wake(&g->task);
}

/* ---- callbacks of the operator ---- */

static void on_synced(void *user)
{
	struct gateway *g = user;

	log_info("synced", LOG_S("server", operator_server(g->op)));
	g->deadline = loop_monotonic() + FIRST_WAIT;
	observe_choose(g->observe);
	ev_timer_again(g->config.loop, &g->look);
	g->routers_changed = g->config.options->service_name;
	task_wake(&g->task);
}

static void on_active(bool active, void *user)
{
	struct gateway *g = user;

	log_info("leading", LOG_B("leads", active));
	if (active)
		services_add_all(g->services);
	task_wake(&g->task);
}

static void on_trouble(const struct operator_trouble *t, void *user)
{
	log_warn("kube-failed", LOG_S("doing", t->doing), LOG_S("what", t->what),
		 LOG_S("code", k8s_code_name(t->code)), LOG_S("error", t->message),
		 LOG_I("retry_ms", t->delay / NSEC_PER_MSEC));
}

static enum queue_result on_turn(struct queue_item *item, void *user)
{
	struct gateway *g = user;

	return services_step(g->services, item);
}

static const char *on_version(enum gw_kind kind, void *user)
{
	const struct gateway *g = user;

	return observe_version(g->observe, kind);
}

static uint64_t on_status(enum gw_kind kind, const struct k8s_result *result, void *user)
{
	const struct gateway *g = user;

	return observe_written(g->observe, kind, result);
}

static void on_due(void *user)
{
	struct gateway *g = user;

	task_wake(&g->task);
}

/* ---- the parts ---- */

static int make_operator(struct gateway *g)
{
	const struct observe_config observe = { on_changed, on_service, g };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct operator_config config = {
		.loop = g->config.loop,
		.options = &g->config.options->operator,
		.name = "maglev-gateway",
		.controller = "maglev.dev/gateway",
		.step = on_turn,
		.synced = on_synced,
		.active = on_active,
		.trouble = on_trouble,
	};
	int r;

	g->observe = observe_new(&observe);
	config.user = g;
	config.kinds = observe_rows(g->observe, &config.n_kinds);
	r = operator_new(&config, &g->op, &errors);
	if (r < 0) {
		log_error("kubeconfig-failed",
			  LOG_S("error", errors.n ? errors.items[0].text : strerror(-r)));
		return r;
	}
	observe_attach(g->observe, g->op);
	return 0;
}

static void make_translation(struct gateway *g)
{
	struct gw_settings settings = { .controller = g->config.options->controller };

	g->checks = checks_new();
	settings.calls = (struct gw_calls){ .regex = checks_regex(g->checks),
					    .check_pair = on_pair,
					    .check_ca = on_ca,
					    .wanted = on_wanted,
					    .user = g };
	g->gw = gw_new(&settings);
	gw_on_gateway(g->gw, on_gateway, g);
}

static void make_writers(struct gateway *g)
{
	const struct options *o = g->config.options;

	g->wanted = wanted_new(&(struct wanted_config){ g->op, on_changed, on_known, g });
	g->services = services_new(&(struct services_config){ .op = g->op,
							      .gw = g->gw,
							      .find = on_find,
							      .routers = on_routers,
							      .user = g,
							      .addresses = o->service_addresses,
							      .class = o->service_class });
	g->addresses = addresses_new(&(struct addresses_config){
		.loop = g->config.loop,
		.gw = g->gw,
		.ranges = o->ranges,
		.n_ranges = o->n_ranges,
		.services = o->service_addresses ? g->services : NULL,
		.due = on_due,
		.user = g,
	});
	g->report = report_new(&(struct report_config){ .loop = g->config.loop,
							.op = g->op,
							.gw = g->gw,
							.version = on_version,
							.written = on_status,
							.user = g });
}

static int make_push(struct gateway *g)
{
	const struct options *o = g->config.options;
	const struct push_config config = {
		.loop = g->config.loop,
		.document = g->document,
		.token_file = o->token_file,
		.ca = o->ca,
		.certificate = o->certificate,
		.key = o->key,
		.server_name = o->server_name,
		.unusable = on_unusable,
		.user = g,
	};
	int r = push_new(&config, &g->push);

	if (r == 0)
		push_set_routers(g->push, (const char *const *)o->routers.items, o->routers.n);
	return r;
}

int gateway_new(const struct gateway_config *config, struct gateway **ret)
{
	struct gateway *g = mem_zalloc(sizeof(*g));
	int r;

	g->config = *config;
	task_init(&g->task, config->loop, TASK_ORDINARY, on_step);
	ev_timer_init(&g->look, on_look, 0., LOOK);
	g->document = document_new();
	r = make_operator(g);
	if (r == 0) {
		make_translation(g);
		make_writers(g);
		r = config->translated ? 0 : make_push(g);
	}
	if (r < 0) {
		gateway_free(g);
		return r;
	}
	*ret = g;
	return 0;
}

void gateway_free(struct gateway *g)
{
	if (!g)
		return;
	task_cancel(&g->task);
	ev_timer_stop(g->config.loop, &g->look);
	push_free(g->push);
	report_free(g->report);
	services_free(g->services);
	addresses_free(g->addresses);
	gw_free(g->gw);
	checks_free(g->checks);
	wanted_free(g->wanted);
	operator_free(g->op);
	observe_free(g->observe);
	document_free(g->document);
	vec_free(&g->routers);
	free(g);
}

void gateway_start(struct gateway *g)
{
	operator_start(g->op);
}

void gateway_drain(struct gateway *g, void (*done)(void *user), void *user)
{
	operator_drain(g->op, done, user);
}

const char *gateway_unready(const struct gateway *g)
{
	const char *why = operator_unready(g->op);

	if (why)
		return why;
	return g->open ? NULL : "not everything that was seen is translated yet";
}

/* ---- what is shown ---- */

const struct gateway_stats *gateway_stats(const struct gateway *g)
{
	return &g->stats;
}

struct gw *gateway_translation(const struct gateway *g)
{
	return g->gw;
}

struct operator_frame *gateway_operator(const struct gateway *g)
{
	return g->op;
}

const struct document *gateway_document(const struct gateway *g)
{
	return g->document;
}

const struct push *gateway_push(const struct gateway *g)
{
	return g->push;
}

const struct report *gateway_report(const struct gateway *g)
{
	return g->report;
}

const struct services *gateway_services(const struct gateway *g)
{
	return g->services;
}

const struct addresses *gateway_addresses(const struct gateway *g)
{
	return g->addresses;
}

const struct wanted *gateway_wanted(const struct gateway *g)
{
	return g->wanted;
}

const struct observe *gateway_observe(const struct gateway *g)
{
	return g->observe;
}

struct checks *gateway_checks(const struct gateway *g)
{
	return g->checks;
}
