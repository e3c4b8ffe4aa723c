/* SPDX-License-Identifier: Apache-2.0 */
/* api: the gRPC service maglev.Speaker (proto/speaker.proto). */
#pragma once

#include "lib/service/service.h"
#include "src/speaker/source.h"
#include "src/speaker/watch.h"

struct api;

/* Starts to listen. Fails and logs like service_new(). options are borrowed, the source copied. */
int api_new(struct ev_loop *loop, const struct service_options *options,
	    const struct source *source, struct api **ret);
/* Ends all calls. Must come before what the source shows is freed. NULL is allowed. */
void api_free(struct api *a);
/* Certificates, drain and counters of calls. */
struct service *api_service(const struct api *a);
const struct service_watch_stats *api_watch_stats(const struct api *a);
