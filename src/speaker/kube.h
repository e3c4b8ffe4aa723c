/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube: the speaker of one node of a Kubernetes cluster.
 *
 *	API server --> operator's caches --> kube_view (configuration, nodes)
 *	                     |                    |
 *	                     '--> Services --> core/speak --> plan_kube --> reload --> FRR
 *	                                          |  '-----> kube_l2 --> ARP and NDP
 *	                                          '--> kube_status --> API server
 *	heartbeats, Leases --> core/l2/alive --> nodes
 *	bgpd, bfdd --> sessions --> kube_status
 *
 * What is announced is a function of what the caches have, so a restart changes nothing: FRR keeps
 * what it announces until all kinds are listed and every Service was judged. An API server that is
 * away changes nothing either. A configuration that is not valid is shown and not used.
 */
#pragma once

#include "lib/http/server.h"
#include "lib/loop/loop.h"
#include "src/speaker/options.h"
#include "src/speaker/source.h"

struct kube;
struct errs;

/* Errors as of operator_new(); *ret is untouched then. options are borrowed. */
int kube_new(struct ev_loop *loop, const struct options *options, struct kube **ret,
	     struct errs *errors);
/* NULL is allowed. */
void kube_free(struct kube *k);
void kube_start(struct kube *k);
/*
 * The process is about to end: other nodes take the addresses on local networks at once. done() is
 * called from the loop when the API server was told. FRR keeps what it announces.
 */
void kube_drain(struct kube *k, void (*done)(void *user), void *user);

/* What its API shows. */
struct source kube_source(struct kube *k);
struct api;
/* Its counters are on the page of metrics from now on. NULL: those of none. */
void kube_set_api(struct kube *k, const struct api *api);

/* Why nothing is announced or changed at all; NULL: all is well. user is a struct kube. */
const char *kube_unready(void *user);
/* The page of its own families; user is a struct kube. */
struct http_stream kube_metrics_page(void *user);
