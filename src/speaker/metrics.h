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

struct bgp_config;
struct reload;
struct session;
/* The families of VIPs on local networks. */
void metrics__add_l2(struct buf *out, const struct speaker *s);
void metrics__add_api(struct buf *out, const struct api *api); /* NULL: there is none */
/* Those of what the reloader is asked, and of the sessions: one for each peer of c. */
void metrics__add_reload(struct buf *out, const struct reload *reload);
void metrics__add_sessions(struct buf *out, const struct bgp_config *c, const struct session *list);
