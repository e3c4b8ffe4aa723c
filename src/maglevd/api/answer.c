/* SPDX-License-Identifier: Apache-2.0 */
/* Long answers: what the parts of lib/service/answer.c need in addition here. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "src/maglevd/api/internal.h"

struct api__answer *api__answer_of(struct service_answer *base)
{
	return container_of(base, struct api__answer, base);
}

static void restart(struct service_answer *base)
{
	wire_lb_walk_end(&api__answer_of(base)->walk);
}

static void release(struct service_answer *base)
{
	struct api__answer *w = api__answer_of(base);

	wire_lb_walk_end(&w->walk);
	free(w->name);
	free(w);
}

void api__answer(struct api *a, struct grpc_call *call, service_part_fn part, int err, char *name)
{
	struct api__answer *w = mem_zalloc(sizeof(*w));

	w->base = (struct service_answer){ .part = part, .restart = restart, .release = release };
	w->api = a;
	w->err = err;
	w->name = name;
	service_answer(a->service, call, &w->base);
}
