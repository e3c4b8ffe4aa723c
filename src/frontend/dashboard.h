/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dashboard: all maglevds and all browsers of one process, and the HTTP server between them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "src/frontend/auth.h"
#include "src/frontend/options.h"

struct daemon;
struct dashboard;

/* Whether the addresses and the certificates of the options can be used; otherwise why not. */
int dashboard_check(const struct options *options, struct buf *why);
/*
 * Listens and begins to connect, on the loop of a daemon that was started. -errno, logged; *ret
 * untouched then. Both are borrowed.
 */
int dashboard_new(const struct daemon *daemon, const struct options *options,
		  struct dashboard **ret);
void dashboard_free(struct dashboard *d);
struct endpoint dashboard_endpoint(const struct dashboard *d);
/* Reads the certificates of both sides again, and logs it; where that fails, they stay. */
void dashboard_reload_tls(struct dashboard *d);
/* Streams end, answers under way go out; done() once, from the loop. */
void dashboard_drain(struct dashboard *d, void (*done)(void *user), void *user);
