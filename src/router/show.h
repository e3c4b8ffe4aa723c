/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show: the gRPC service maglev.Router (proto/router.proto): the state for people and for the
 * dashboard, and the few commands of an operator. Configurations are the admin API's (api.h).
 */
#pragma once

#include "lib/service/service.h"
#include "lib/service/watch.h"
#include "src/router/router.h"

struct rollout;
struct show;

/*
 * Starts to listen, on a socket of an earlier process unless that is 0. Fails and logs like
 * service_new(). options are borrowed.
 */
int show_new(struct ev_loop *loop, const struct service_options *options, struct router *router,
	     int inherited, struct show **ret);
/* The rollout that is shown; borrowed. */
void show_follow(struct show *s, const struct rollout *rollout);
/* Why the file was refused when it was read last; "": it was not. */
void show_refused(struct show *s, const char *why);
/* Ends all calls. Must come before the router is freed. NULL is allowed. */
void show_free(struct show *s);
/* Certificates, drain and counters of calls. */
struct service *show_service(const struct show *s);
const struct service_watch_stats *show_watch_stats(const struct show *s);
