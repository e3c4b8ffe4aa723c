/* SPDX-License-Identifier: Apache-2.0 */
/* internal: shared by the files of this room. */
#pragma once

#include "lib/loop/task.h"
#include "lib/service/service.h"
#include "lib/tls/tls.h"

TAILQ_HEAD(service__answers, service_answer);

struct service {
	struct ev_loop *loop;
	struct service_config config;
	struct grpc_server *server;
	struct grpc_route *routes;
	struct tls_context *tls; /* NULL: plaintext */
	struct arena *scratch;
	uint64_t (*calls)[GRPC_UNAUTHENTICATED + 1]; /* by method */
	struct service__answers answers;	     /* being made, oldest first */
	struct task work;			     /* makes the answers */
};

void service__answers_init(struct service *s);
/* All calls must have ended. */
void service__answers_stop(struct service *s);
