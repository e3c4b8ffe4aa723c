/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin: the HTTP endpoints that every daemon offers to its operators.
 *
 *	GET /healthz    200 "ok" while the event loop runs
 *	GET /readyz     200 "ok", or 503 and the reason why the daemon is not ready
 *	GET /metrics    the families that every daemon has, then the program's own
 *	GET /loglevel   the level of the log on standard output
 *	PUT /loglevel   sets it; the body is debug, info, warn or error
 *
 * The first three are harmless and can also be mounted into another HTTP server of the program
 * (admin_mount). /loglevel is served only by the listener of admin_config.listen, because other
 * servers may be public. A request that changes the level must come from this machine: from a
 * loopback address, with a loopback Host, and not through a proxy. Otherwise the answer is 403.
 *
 * The metric families of every daemon are PREFIX_build_info, PREFIX_log_dropped_total and
 * PREFIX_loop_lag_seconds with the program's prefix, and process_* without it. The buckets of the
 * loop lag are the same in every daemon.
 *
 * Nothing here blocks. Unlike other libraries this one logs, because its messages are the same in
 * every daemon: "listening", "listen-failed" and "log-level-changed".
 */
#pragma once

#include "base/addr.h"
#include "lib/http/server.h"

struct admin;
struct daemon;

struct admin_config {
	const struct daemon *daemon; /* borrowed; provides the loop and the stopping flag */
	const char *prefix;	     /* of the families above, such as "maglev"; borrowed */
	const char *listen;	     /* "address:port"; NULL or "": no listener; borrowed */
	const char *flag;	     /* the command-line flag of listen, for the log; borrowed */
	/*
	 * Begins a page of the program's own families; NULL: it has none. produce() must not return
	 * HTTP_STREAM_WAIT, and closed() may be NULL.
	 */
	struct http_stream (*metrics)(void *user);
	/*
	 * Returns why the daemon is not ready, as one sentence, or NULL if it is ready. If unready
	 * itself is NULL, the daemon is always ready.
	 */
	const char *(*unready)(void *user);
	void *user; /* passed to metrics() and unready() */
	/* The program's own routes on the listener; they must not change anything. Zeroed: none. */
	struct http_mount mount;
};

/*
 * Starts to measure the turns of the loop, and listens if the configuration says so. Returns
 * -EINVAL if listen is not an address, else -errno of the listener; *ret is untouched then. Both
 * success and failure of the listener are logged. *config is copied.
 */
int admin_new(const struct admin_config *config, struct admin **ret);
/* NULL is allowed. Servers that use its mount must have been freed. */
void admin_free(struct admin *a);
/* The routes /healthz, /readyz and /metrics, for http_server_config.mount; borrows from a. */
struct http_mount admin_mount(struct admin *a);
/* The same without /metrics, which the caller serves with admin_serve_metrics(). */
struct http_mount admin_mount_probes(struct admin *a);
void admin_serve_metrics(struct admin *a, struct http_exchange *x,
			 const struct http_request *request);
/* The address of the listener, unset with port 0 if there is none. */
struct endpoint admin_endpoint(const struct admin *a);
/*
 * Accepts no new requests. done is called once, when the last response was sent; without a listener
 * it is called from within this function.
 */
void admin_drain(struct admin *a, void (*done)(void *user), void *user);
/*
 * Whether a request was made on this machine: from a loopback address, with a loopback Host, and
 * not through a proxy. For endpoints that change something without authentication.
 */
bool admin_is_local(const struct http_request *request);
