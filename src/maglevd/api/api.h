/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: the gRPC service maglev.Maglev of a maglevd (proto/maglev.proto).
 *
 * Reads come from the engine's model; every change goes through engine, reload and reconcile, which
 * answer for order and logging. With mutual TLS, and operators named, only those may change
 * anything; who else shows a certificate may read.
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
	const char *config_path; /* borrowed, as all that follows */
	bool reflection;
	struct tls_files tls;	      /* no certificate: plaintext */
	const char *const *operators; /* common names; none: whoever is let in */
	size_t n_operators;
};

/* -errno when it cannot listen; -EINVAL, and why in reason, when a certificate cannot be used. */
int api_new(const struct api_setup *setup, struct api **ret, char *reason, size_t reason_size);
void api_free(struct api *a);
struct endpoint api_endpoint(const struct api *a);
/* Certificates from their files again, for connections from now on. As api_new(); old ones stay. */
int api_reload_tls(struct api *a, char *reason, size_t reason_size);
/* Watchers are let go, calls under way finish; done is called from the loop. */
void api_drain(struct api *a, void (*done)(void *user), void *user);

struct api_stats {
	uint64_t calls[API_METHODS][GRPC_UNAUTHENTICATED + 1]; /* ended, by method and status */
};

const struct api_stats *api_stats(const struct api *a);
const struct grpc_server_stats *api_server_stats(const struct api *a);
const struct watch_stats *api_watch_stats(const struct api *a);
