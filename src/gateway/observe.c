/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/observe.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "src/gateway/kinds.h"
#include "src/gateway/services.h"

#define NO_ROW SIZE_MAX

struct row {
	struct observe *observe;
	size_t number;
};

struct observe {
	struct observe_config config;
	struct operator_frame *op;
	struct operator_kind rows[OPERATOR_KINDS_MAX];
	struct row users[OPERATOR_KINDS_MAX]; /* of rows */
	enum gw_kind kind_of[OPERATOR_KINDS_MAX];
	size_t n;
	size_t first[GW_KINDS], count[GW_KINDS]; /* rows of a kind */
	size_t chosen[GW_KINDS];		 /* the row that counts; NO_ROW: none */
	size_t services;			 /* the row of Services of Gateways */
	bool chose;				 /* versions were chosen once */
};

/* ---- changes ---- */

/* Until versions are chosen, objects are only in the caches; observe_choose() tells them. */
static void take(struct observe *o, size_t row, const struct k8s_object *old,
		 const struct k8s_object *new)
{
	if (row == o->services)
		o->config.service(old, new, o->config.user);
	else if (o->chose && o->chosen[o->kind_of[row]] == row)
		o->config.changed(o->kind_of[row], old, new, o->config.user);
}

static void on_row(enum k8s_change change, const struct k8s_object *old,
		   const struct k8s_object *new, void *user)
{
	const struct row *row = user;

	take(row->observe, row->number, old, new);
}

/* ---- versions ---- */

static bool is_there(struct observe *o, size_t row)
{
	struct k8s_informer *i = operator_informer(o->op, row);

	return k8s_informer_is_synced(i) && k8s_informer_state(i) != K8S_ABSENT;
}

static void tell_all(struct observe *o, size_t row, bool come)
{
	const struct k8s_cache *c = operator_cache(o->op, row);

	for (size_t i = 0; i < k8s_cache_count(c); i++) {
		const struct k8s_object *object = k8s_cache_at(c, i);

		o->config.changed(o->kind_of[row], come ? NULL : object, come ? object : NULL,
				  o->config.user);
	}
}

/* Versions after the one that counts are not followed; if it goes, they are looked at again. */
static void choose(struct observe *o, enum gw_kind kind)
{
	size_t found = NO_ROW;

	for (size_t row = o->first[kind]; row < o->first[kind] + o->count[kind]; row++) {
		if (found != NO_ROW)
			k8s_informer_stop(operator_informer(o->op, row));
		else
			k8s_informer_start(operator_informer(o->op, row));
		if (found == NO_ROW && is_there(o, row))
			found = row;
	}
	if (found == o->chosen[kind])
		return;
	if (o->chosen[kind] != NO_ROW)
		tell_all(o, o->chosen[kind], false);
	o->chosen[kind] = found;
	if (found != NO_ROW)
		tell_all(o, found, true);
}

void observe_choose(struct observe *o)
{
	o->chose = true;
	for (enum gw_kind kind = 0; kind < GW_KINDS; kind++)
		if (o->count[kind])
			choose(o, kind);
}

const char *observe_version(const struct observe *o, enum gw_kind kind)
{
	return o->chosen[kind] == NO_ROW ? NULL : o->rows[o->chosen[kind]].resource.version;
}

uint64_t observe_written(const struct observe *o, enum gw_kind kind,
			 const struct k8s_result *result)
{
	return o->chosen[kind] == NO_ROW ? 0
					 : operator_mark(o->op, o->chosen[kind], result).version;
}

/* ---- rows ---- */

/* "NAMESPACE/SERVICE" */
static void index_service(const struct k8s_object *object, k8s_index_add_fn add, void *to,
			  void *user)
{
	const struct gw_slice *s = (const struct gw_slice *)object;
	const char *service = k8s_map_get(&s->labels, GW_SERVICE_LABEL);
	_cleanup_(buf_free) struct buf key = { 0 };

	if (!service)
		return;
	buf_printf(&key, "%s/%s", object->namespace, service);
	add(buf_cstr(&key), to);
}

static struct row *user_of(struct observe *o, size_t row)
{
	o->users[row] = (struct row){ o, row };
	return &o->users[row];
}

static void add_row(struct observe *o, enum gw_kind kind, const char *version)
{
	const struct gw_kind_info *info = &gw_kinds[kind];

	assert(o->n < OPERATOR_KINDS_MAX);
	o->kind_of[o->n] = kind;
	o->rows[o->n] = (struct operator_kind){
		.resource = { info->group, version, info->resource },
		.layout = info->layout,
		.optional = info->optional,
		.alternative = o->n > o->first[kind],
		.changed = on_row,
		.user = user_of(o, o->n),
	};
	if (kind == GW_ENDPOINT_SLICE)
		o->rows[o->n].indexes[0] = index_service;
	o->n++;
}

static void add_rows(struct observe *o, enum gw_kind kind)
{
	o->first[kind] = o->n;
	if (kind == GW_SECRET || kind == GW_CONFIG_MAP)
		return;
	for (size_t i = 0; gw_kinds[kind].versions[i]; i++)
		add_row(o, kind, gw_kinds[kind].versions[i]);
	o->count[kind] = o->n - o->first[kind];
}

static void add_services(struct observe *o)
{
	o->services = o->n;
	o->rows[o->n] = (struct operator_kind){
		.resource = { "", "v1", "services" },
		.layout = &services_layout,
		.label_selector = SERVICES_LABEL,
		.changed = on_row,
		.user = user_of(o, o->n),
	};
	o->n++;
}

const struct operator_kind *observe_rows(const struct observe *o, size_t *ret_n)
{
	*ret_n = o->n;
	return o->rows;
}

void observe_attach(struct observe *o, struct operator_frame *op)
{
	o->op = op;
}

/* ---- caches ---- */

const struct k8s_cache *observe_cache(const struct observe *o, enum gw_kind kind)
{
	return o->chosen[kind] == NO_ROW ? NULL : operator_cache(o->op, o->chosen[kind]);
}

const struct k8s_cache *observe_services(const struct observe *o)
{
	return operator_cache(o->op, o->services);
}

size_t observe_slices(const struct observe *o, const char *namespace, const char *service,
		      size_t *ret_first)
{
	_cleanup_(buf_free) struct buf key = { 0 };

	buf_printf(&key, "%s/%s", namespace, service);
	return k8s_cache_find(operator_cache(o->op, o->first[GW_ENDPOINT_SLICE]), 0, buf_cstr(&key),
			      ret_first);
}

const struct gw_slice *observe_slice(const struct observe *o, size_t i)
{
	return (const struct gw_slice *)k8s_cache_found(
		operator_cache(o->op, o->first[GW_ENDPOINT_SLICE]), 0, i);
}

struct observe *observe_new(const struct observe_config *config)
{
	struct observe *o = mem_zalloc(sizeof(*o));

	o->config = *config;
	for (enum gw_kind kind = 0; kind < GW_KINDS; kind++) {
		o->chosen[kind] = NO_ROW;
		add_rows(o, kind);
	}
	add_services(o);
	return o;
}

void observe_free(struct observe *o)
{
	free(o);
}
