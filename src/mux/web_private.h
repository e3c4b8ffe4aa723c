/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of web. */
#pragma once

#include "lib/http/server.h"
#include "src/mux/show.h"
#include "src/mux/web.h"

#define WEB__TESTS_MAX 8 /* under way */

struct probe_env;

struct web {
	struct ev_loop *loop;
	struct show *show;
	const struct web_options *options;
	struct http_server *server;
	struct page_login *login; /* NULL: everybody may look */
	struct probe_env *probes;
	unsigned n_tests;
};

/* web_test_tcp.c: answers /api/test-tcp */
void web__on_test_tcp(struct web *w, struct http_exchange *x, const struct http_request *request);
