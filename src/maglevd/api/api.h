/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: the gRPC service maglev.Maglev of a maglevd (proto/maglev.proto).
 *
 * Reads come from the engine's model. Every change goes through engine, reload and reconcile,
 * which are responsible for order and logging. With mutual TLS and a list of operators only these
 * may change anything; other clients with a valid certificate may read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "lib/grpc/server.h"
#include "lib/loop/loop.h"
#include "lib/tls/tls.h"
#include "src/maglevd/api/watch.h"
#include "wire/api_methods.h"

struct api;
struct engine;
struct reconcile;
struct reload;

struct api_setup {
	struct ev_loop *loop;
	struct endpoint listen;
	struct engine *engine;
	struct reconcile *reconcile;
	struct reload *reload;
	const char *config_path; /* borrowed, like everything that follows */
	bool reflection;
	size_t max_per_client;	      /* connections; 0: the default of lib/grpc/server.h */
	struct tls_files tls;	      /* without a certificate: plaintext */
	const char *const *operators; /* common names; an empty list: every client may change */
	size_t n_operators;
};

/*
 * Starts to listen. -errno when that fails; -EINVAL when a certificate cannot be used. reason
 * gets why, in words.
 */
int api_new(const struct api_setup *setup, struct api **ret, char *reason, size_t reason_size);
/* Ends all calls. Must come before engine, reload and reconcile are freed. NULL is allowed. */
void api_free(struct api *a);
/* Where it listens; the port is the real one if 0 was asked for. */
struct endpoint api_endpoint(const struct api *a);
/*
 * Reads the certificates from their files again, for new connections. Fails like api_new(); then
 * the old ones stay in use.
 */
int api_reload_tls(struct api *a, char *reason, size_t reason_size);
/*
 * Ends the streams of watchers and lets calls under way finish; then done is called from the
 * loop.
 */
void api_drain(struct api *a, void (*done)(void *user), void *user);

struct api_stats {
	/* calls that ended, by method and status */
	uint64_t calls[API_METHODS][GRPC_UNAUTHENTICATED + 1];
};

const struct api_stats *api_stats(const struct api *a);
const struct grpc_server_stats *api_server_stats(const struct api *a);
const struct watch_stats *api_watch_stats(const struct api *a);
