/* SPDX-License-Identifier: Apache-2.0 */
/* dashboard: connects to all maglevds and speakers and serves all browsers of one process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "src/frontend/auth.h"
#include "src/frontend/options.h"

struct daemon;
struct dashboard;

/*
 * Checks the addresses and certificates of the options without listening. Negative errno with a
 * sentence in why.
 */
int dashboard_check(const struct options *options, struct buf *why);
/*
 * Listens and starts connecting, on the loop of a daemon that was started. Both arguments are
 * borrowed until dashboard_free(). Returns a negative errno, logged; *ret is untouched then.
 */
int dashboard_new(const struct daemon *daemon, const struct options *options,
		  struct dashboard **ret);
void dashboard_free(struct dashboard *d);
/* Where browsers are served; has the actual port if 0 was asked for. */
struct endpoint dashboard_endpoint(const struct dashboard *d);
/*
 * Reads the certificates of both sides and the users again and logs the result. A side whose files
 * cannot be used keeps its certificate, and the users stay if their file cannot be used.
 */
void dashboard_reload(struct dashboard *d);
/*
 * Stops listening, ends streams and sends pending answers. Then calls done() once, from the
 * loop.
 */
void dashboard_drain(struct dashboard *d, void (*done)(void *user), void *user);
