/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#pragma once

#include "base/arena.h"
#include "src/maglevd/api/api.h"

struct api {
	struct api_setup setup;
	struct grpc_server *server;
	struct tls_context *tls;
	struct watch *watch;
	struct arena *scratch; /* of the answer being made */
	struct api_stats stats;
};

/* Handlers, one per method; see the table in api.c. user is the struct api. */
#define API_HANDLER(name)                                                                          \
	void api__##name(struct grpc_call *call, const ProtobufCMessage *request, void *user)

/* read.c */
API_HANDLER(list_frontends);
API_HANDLER(get_frontend);
API_HANDLER(list_backends);
API_HANDLER(get_backend);
API_HANDLER(list_health_checks);
API_HANDLER(get_health_check);

/* operate.c */
API_HANDLER(pause_backend);
API_HANDLER(resume_backend);
API_HANDLER(enable_backend);
API_HANDLER(disable_backend);
API_HANDLER(set_weight);

/* config.c */
API_HANDLER(check_config);
API_HANDLER(reload_config);

/* dataplane.c */
API_HANDLER(get_vpp_info);
API_HANDLER(get_lb_state);
API_HANDLER(sync_lb_state);
API_HANDLER(get_lb_counters);

/* False, and the call failed with PERMISSION_DENIED, when this client may only read. */
bool api__may_change(struct api *a, struct grpc_call *call);
/* For an answer that is sent before the handler returns; emptied with every call. */
struct arena *api__scratch(struct api *a);
/* The frontend of that name; SIZE_MAX, and the call failed with NOT_FOUND, when there is none. */
size_t api__frontend(struct api *a, struct grpc_call *call, const char *name);
size_t api__backend(struct api *a, struct grpc_call *call, const char *name);
