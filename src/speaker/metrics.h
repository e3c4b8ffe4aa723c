/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the page of the speaker's own families. */
#pragma once

#include "lib/http/server.h"

struct api;
struct speaker;

struct metrics_sources {
	const struct speaker *speaker;
	const struct api *api; /* NULL: there is none */
};

/* user is a struct metrics_sources. */
struct http_stream metrics_page(void *user);

struct speaker;
/* The families of VIPs on local networks. */
void metrics__add_l2(struct buf *out, const struct speaker *s);
