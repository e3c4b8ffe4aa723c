/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CheckConfig and ReloadConfig (FR-5.5): the same path as SIGHUP. The call is answered when the
 * file has been read. A client that goes away before that is forgotten.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/reload.h"
#include "wire/api.h"

/* A call that waits for the file. */
struct waiting {
	struct api *api;
	struct grpc_call *call;
	bool reload;
};

static struct wire_config summary(const struct api *a, const struct reload_report *report)
{
	return (struct wire_config){
		.file = a->setup.config_path,
		.parse_errors = report->result == RELOAD_PARSE_ERROR ? report->errors : NULL,
		.semantic_errors = report->result == RELOAD_SEMANTIC_ERROR ? report->errors : NULL,
		.warnings = report->warnings,
		.changes = report->changes,
		.reload_error = report->result == RELOAD_REFUSED ? report->refusal : NULL,
	};
}

/*
 * A check whose file could not be read has no result and fails. A reload always has one, because
 * the configuration in force stays.
 */
static void on_done(const void *p, void *user)
{
	const struct reload_report *report = p;
	struct waiting *w = user;
	struct wire_config c = summary(w->api, report);

	if (w->reload)
		grpc_reply(w->call, &wire_reload_config(&c, api__scratch(w->api))->base);
	else if (report->result == RELOAD_REFUSED && !report->changes)
		grpc_fail(w->call, GRPC_INTERNAL, "%s", report->refusal);
	else
		grpc_reply(w->call, &wire_check_config(&c, api__scratch(w->api))->base);
	free(w);
}

static void on_cancelled(void *user)
{
	struct waiting *w = user;

	reload_forget(w->api->setup.reload, w);
	free(w);
}

static void ask(struct api *a, struct grpc_call *call, bool reload)
{
	struct waiting *w = mem_zalloc(sizeof(*w));
	int r;

	*w = (struct waiting){ a, call, reload };
	grpc_on_cancel(call, on_cancelled, w);
	r = (reload ? reload_request : reload_check)(a->setup.reload, on_done, w);
	if (r == 0)
		return;
	grpc_fail(call, GRPC_RESOURCE_EXHAUSTED,
		  "%d calls wait for the file already; try again later", CONFIG_WAITING_MAX);
	free(w);
}

API_HANDLER(check_config)
{
	ask(user, call, false);
}

API_HANDLER(reload_config)
{
	struct api *a = user;
	struct who who;

	if (!api__may_change(a, call))
		return;
	who = service_who(a->service, call);
	service_log_act(&who, "reload", LOG_S("file", a->setup.config_path));
	ask(a, call, true);
}
