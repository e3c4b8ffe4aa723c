/* SPDX-License-Identifier: Apache-2.0 */
/* What is so: straight from the model, through wire/api. */
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"
#include "wire/api.h"

static const struct l4_model *model(const struct api *a)
{
	return engine_model(a->setup.engine);
}

API_HANDLER(list_frontends)
{
	struct api *a = user;

	grpc_reply(call, &api_frontends(model(a), api__scratch(a))->base);
}

API_HANDLER(get_frontend)
{
	struct api *a = user;
	size_t i = api__frontend(a, call, ((const Maglev__GetFrontendRequest *)request)->name);

	if (i != SIZE_MAX)
		grpc_reply(call, &api_frontend(model(a), i, api__scratch(a))->base);
}

API_HANDLER(list_backends)
{
	struct api *a = user;

	grpc_reply(call, &api_backends(model(a), api__scratch(a))->base);
}

API_HANDLER(get_backend)
{
	struct api *a = user;
	size_t i = api__backend(a, call, ((const Maglev__GetBackendRequest *)request)->name);

	if (i != SIZE_MAX)
		grpc_reply(call, &api_backend(model(a), i, api__scratch(a))->base);
}

API_HANDLER(list_health_checks)
{
	struct api *a = user;

	grpc_reply(call, &api_checks(model(a)->config, api__scratch(a))->base);
}

API_HANDLER(get_health_check)
{
	struct api *a = user;
	const char *name = ((const Maglev__GetHealthCheckRequest *)request)->name;
	const struct l4_config *c = model(a)->config;
	const struct l4_check *check = l4_config_check(c, name);

	if (!check)
		grpc_fail(call, GRPC_NOT_FOUND, "no health check is called \"%s\"", name);
	else
		grpc_reply(call, &api_check(c, (size_t)(check - c->checks), api__scratch(a))->base);
}
