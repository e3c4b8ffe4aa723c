/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services: the Service of a Gateway.
 *
 * With --service-addresses each Gateway has a Service of type LoadBalancer, whose address becomes
 * the Gateway's: maglev-controller or MetalLB gives it one and announces it. An EndpointSlice
 * beside it names the routers, since announcers look for endpoints. Without the flag a Gateway has
 * a Service only if it has labels or annotations in spec.infrastructure: a headless one that
 * carries them.
 *
 * Service and slice belong to the Gateway (ownerReferences), so they go with it. They are written
 * by server-side apply, by the leader, and only when they differ from what was written last: a
 * digest of that is an annotation of the Service.
 */
#pragma once

#include "base/addr.h"
#include "lib/operator/operator.h"
#include "src/gateway/translate.h"

#define SERVICES_LABEL "gateway.networking.k8s.io/gateway-name"
#define SERVICES_DIGEST "maglev.dev/applied"
#define SERVICES_NAME 64 /* bytes of a name, with NUL */

/* What is kept of such a Service. */
struct services_object {
	struct k8s_object object;
	struct k8s_list annotations; /* the digest */
	struct k8s_list owners;	     /* struct services_owner */
	struct k8s_list ingress;     /* struct services_ingress */
};

struct services_owner {
	const char *kind, *name;
};

struct services_ingress {
	const char *ip;
};

extern const struct k8s_layout services_layout;

struct services;

struct services_config {
	struct operator_frame *op; /* borrowed */
	struct gw *gw;		   /* the same */
	/* The cached Service of that name; NULL: there is none. */
	const struct services_object *(*find)(const char *namespace, const char *name, void *user);
	/* The addresses of the routers, in a fixed order; borrowed for the call. */
	size_t (*routers)(const struct addr **ret, void *user);
	void *user;
	bool addresses;	   /* --service-addresses */
	const char *class; /* loadBalancerClass; "": none */
};

struct services *services_new(const struct services_config *config);
void services_free(struct services *s); /* before the operator; NULL is allowed */
/* A Gateway, its Service or the routers have changed: it gets a turn in the operator's queue. */
void services_add(struct services *s, const char *namespace, const char *gateway);
/* All Gateways. */
void services_add_all(struct services *s);
/* A turn; for struct operator_config. */
enum queue_result services_step(struct services *s, struct queue_item *item);
/* The name of the Service of a Gateway, which fits into a label of DNS. */
void services_name(const char *gateway, char ret[static SERVICES_NAME]);
/* The address that the Service of a Gateway got; false: none yet. */
bool services_address(const struct services *s, const char *namespace, const char *gateway,
		      struct addr *ret);

struct services_stats {
	uint64_t written, failures;
};
const struct services_stats *services_stats(const struct services *s);
