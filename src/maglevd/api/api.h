/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: the gRPC service maglev.Maglev of a maglevd (proto/maglev.proto).
 *
 * Reads come from the engine's model. Every change goes through engine, reload and reconcile,
 * which are responsible for order and logging. lib/service knows which clients may change anything.
 */
#pragma once

#include "lib/loop/loop.h"
#include "lib/service/service.h"
#include "src/maglevd/api/watch.h"
#include "wire/api_methods.h"

struct api;
struct engine;
struct overrides;
struct reconcile;
struct recorder;
struct reload;

struct api_setup {
	struct ev_loop *loop;
	const struct service_options *options; /* borrowed, like everything that follows */
	struct engine *engine;
	struct reconcile *reconcile;
	struct reload *reload;
	struct overrides *overrides; /* NULL: nothing waits for a file */
	const struct recorder *recorder;
	const char *config_path;
};

/* Starts to listen. Fails and logs like service_new(). */
int api_new(const struct api_setup *setup, struct api **ret);
/* Ends all calls. Must come before engine, reload and reconcile are freed. NULL is allowed. */
void api_free(struct api *a);
/* Certificates, drain and counters of calls. */
struct service *api_service(const struct api *a);
const struct watch_stats *api_watch_stats(const struct api *a);
