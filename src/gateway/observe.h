/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: the kinds of objects that are followed all over the cluster, as rows for lib/operator.
 *
 * A kind that is served in several versions has a row for each of them. Only the first version that
 * is installed counts; the rows after it are stopped, so that no object is told twice. A kind that
 * is not installed has no objects, and is looked for again every ten seconds.
 *
 * Secrets and ConfigMaps are not among them (wanted.h).
 */
#pragma once

#include "lib/operator/operator.h"
#include "src/gateway/facts.h"

struct observe;

struct observe_config {
	/* An object came, changed or went. */
	void (*changed)(enum gw_kind kind, const struct k8s_object *old,
			const struct k8s_object *new, void *user);
	/* Of a Service that was made for a Gateway (services.h). */
	void (*service)(const struct k8s_object *old, const struct k8s_object *new, void *user);
	void *user;
};

struct observe *observe_new(const struct observe_config *config);
void observe_free(struct observe *o); /* after the operator; NULL is allowed */
/* Rows for struct operator_config. They live as long as the observe. */
const struct operator_kind *observe_rows(const struct observe *o, size_t *ret_n);
/* Before operator_start(). */
void observe_attach(struct observe *o, struct operator_frame *op);
/* Chooses versions; to be called when all are synced, and from then on every few seconds. */
void observe_choose(struct observe *o);

/* The version of a kind that counts; NULL: it is not installed. */
const char *observe_version(const struct observe *o, enum gw_kind kind);
/* The version of the object in the answer to a write of that kind; 0: not known. */
uint64_t observe_written(const struct observe *o, enum gw_kind kind,
			 const struct k8s_result *result);
/* Objects of that version; NULL: the kind is not followed here. */
const struct k8s_cache *observe_cache(const struct observe *o, enum gw_kind kind);
/* Services that were made for Gateways. */
const struct k8s_cache *observe_services(const struct observe *o);
/* EndpointSlices of a Service; as k8s_cache_find(). */
size_t observe_slices(const struct observe *o, const char *namespace, const char *service,
		      size_t *ret_first);
const struct gw_slice *observe_slice(const struct observe *o, size_t i);
