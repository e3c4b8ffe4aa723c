/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests: the HTTP server on the Unix socket.
 *
 *	POST any path   {"action":"reload","id":N} -> {"id":N,"result":true}, when the run is over;
 *	                with "error" if the result is false
 *	GET /health     200 and the last result, as JSON
 *	GET /metrics, /healthz, /readyz    as in every daemon (lib/admin)
 *
 * An answer belongs to the connection that asked. A client that closes its connection takes back
 * nothing: the run goes on.
 */
#pragma once

#include "lib/admin/admin.h"
#include "src/frr-reloader/reloader.h"

struct requests;

/* Listens. -errno of the listener, logged. All arguments are borrowed. */
int requests_new(struct ev_loop *loop, struct reloader *r, struct admin *admin, const char *socket,
		 struct requests **ret);
/* NULL is allowed. */
void requests_free(struct requests *q);
/* Stops listening; done is called when the last answer was sent. */
void requests_drain(struct requests *q, void (*done)(void *user), void *user);

/* Reads a request's body. -EINVAL with words in why if it is none; *ret_id is untouched then. */
int requests_parse(struct str body, int64_t *ret_id, struct buf *why);
