/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway: the whole, from the objects of the cluster to routers and status.
 *
 *	observe, wanted --> translation (translate.h) --> document --> push --> routers
 *	                        ^   |
 *	             addresses _|   |--> status, services (the leader)
 *
 * Work is done by one task, in slices: translation of what is stale, then addresses, and when
 * nothing is left, the changes of the document, which is then consistent. Nothing is sent before
 * all kinds of objects, and all Secrets and ConfigMaps that they refer to, were seen once.
 */
#pragma once

#include "src/gateway/addresses.h"
#include "src/gateway/document.h"
#include "src/gateway/observe.h"
#include "src/gateway/options.h"
#include "src/gateway/push.h"
#include "src/gateway/report.h"
#include "src/gateway/services.h"
#include "src/gateway/wanted.h"

struct gateway;
struct checks;

struct gateway_config {
	struct ev_loop *loop;
	const struct options *options; /* borrowed */
	/*
	 * Everything is translated for the first time; nothing is pushed or written if this is not
	 * NULL (dry run, explain).
	 */
	void (*translated)(struct gateway *g, void *user);
	void *user;
};

/* Logs why it cannot be made. */
int gateway_new(const struct gateway_config *config, struct gateway **ret);
void gateway_free(struct gateway *g); /* NULL is allowed */
void gateway_start(struct gateway *g);
/* Gives the lease back; done() is called from the loop. */
void gateway_drain(struct gateway *g, void (*done)(void *user), void *user);
/* Why it is not ready; NULL: it is. */
const char *gateway_unready(const struct gateway *g);

/* ---- for what shows it ---- */

struct gateway_stats {
	uint64_t changes;    /* of objects */
	uint64_t translated; /* results that were made again */
	int64_t time;	     /* ns for that */
	uint64_t unusable;   /* times that a router could not listen on an address */
};

const struct gateway_stats *gateway_stats(const struct gateway *g);
struct gw *gateway_translation(const struct gateway *g);
struct operator_frame *gateway_operator(const struct gateway *g);
const struct document *gateway_document(const struct gateway *g);
const struct push *gateway_push(const struct gateway *g);
const struct report *gateway_report(const struct gateway *g);
const struct services *gateway_services(const struct gateway *g);
const struct addresses *gateway_addresses(const struct gateway *g);
const struct wanted *gateway_wanted(const struct gateway *g);
const struct observe *gateway_observe(const struct gateway *g);
struct checks *gateway_checks(const struct gateway *g);
