/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the page of the speaker's own families; user is the speaker. */
#pragma once

#include "lib/http/server.h"

struct http_stream metrics_page(void *user);

struct speaker;
/* The families of VIPs on local networks. */
void metrics__add_l2(struct buf *out, const struct speaker *s);
