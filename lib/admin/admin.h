/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin: what every daemon offers to its operators over HTTP, from one struct.
 *
 *	GET /healthz    200 "ok": the loop turns
 *	GET /readyz     200 "ok", or 503 and the reason why the daemon is not ready
 *	GET /metrics    the families that every daemon has, then the program's own
 *	GET /loglevel   the level of the log on standard output
 *	PUT /loglevel   sets it; the body is debug, info, warn or error
 *
 * The first three are harmless and can also be mounted into a server that the program has already
 * (admin_mount). /loglevel is served by the listener of admin_config.listen alone, because others
 * may be open to the world. A change of the level must come from this machine: from a loopback
 * address, with a loopback Host, and not passed on by a proxy. Otherwise it is 403.
 *
 * The families that every daemon has: PREFIX_build_info, PREFIX_log_dropped_total and
 * PREFIX_loop_lag_seconds with the program's prefix, and the process_* ones without it. The buckets
 * of the loop lag are the same in every daemon.
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
	const struct daemon *daemon; /* started; gives the loop, and says when it is stopping */
	const char *prefix;	     /* of the families above: "maglev"; borrowed */
	const char *listen;	     /* an address as in a flag; NULL or "": no listener */
	const char *flag;	     /* which flag that was, for the log */
	/*
	 * A page of the program's own families; NULL: it has none. Its produce() must not wait
	 * (HTTP_STREAM_WAIT), and its closed() may be NULL.
	 */
	struct http_stream (*metrics)(void *user);
	/* Why the daemon is not ready, as one sentence; NULL: it is. NULL: it always is. */
	const char *(*unready)(void *user);
	void *user; /* of the two */
};

/*
 * Counts the turns of the loop from here on, and listens if it is asked to, which is logged.
 * -EINVAL for what is not an address, otherwise -errno of the listener; logged, *ret untouched.
 */
int admin_new(const struct admin_config *config, struct admin **ret);
/* NULL is fine. No server may use its mount any more. */
void admin_free(struct admin *a);
/* /healthz, /readyz and /metrics, for http_server_config.mount; borrows from a. */
struct http_mount admin_mount(struct admin *a);
/* Where it listens; no address and port 0 when it does not. */
struct endpoint admin_endpoint(const struct admin *a);
/*
 * No new requests; done is called once, when the last answer has gone. Without a listener that is
 * at once, from within this call.
 */
void admin_drain(struct admin *a, void (*done)(void *user), void *user);
