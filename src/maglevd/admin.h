/* SPDX-License-Identifier: Apache-2.0 */
/* admin: the HTTP listener with /metrics, /healthz and /readyz. */
#pragma once

#include "base/addr.h"
#include "lib/loop/loop.h"

struct admin;
struct maglevd_metrics;

/* -errno when it cannot listen; *ret untouched then. */
int admin_new(struct ev_loop *loop, const struct endpoint *at, struct maglevd_metrics *metrics,
	      struct admin **ret);
void admin_free(struct admin *a);
struct endpoint admin_endpoint(const struct admin *a);
/* No new requests; done is called, from the loop, when the last answer has gone. */
void admin_drain(struct admin *a, void (*done)(void *user), void *user);
