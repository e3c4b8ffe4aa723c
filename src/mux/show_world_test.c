/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mux/show_world_test.h"

#include <string.h>

#include "base/cleanup.h"

#define LIST(array)                                                                                \
	{                                                                                          \
		(array), ARRAY_SIZE(array)                                                         \
	}
#define DNS "external-dns.alpha.kubernetes.io/hostname"

static const struct mux_endpoint_port api_ports[] = { { "http", "TCP", NULL, 8080 },
						      { "dns", "UDP", NULL, 53 } };
static const char *const first[] = { "10.0.0.1" }, *const second[] = { "10.0.0.2" };
static const char *const first6[] = { "fd00::1" }, *const lonely[] = { "10.0.9.9" };

static const struct mux_endpoint api_endpoints[] = {
	{ .addresses = LIST(first), .target = { "Pod", "app", "api-1", NULL }, .ready = K8S_YES },
	{ .addresses = LIST(second), .target = { "Pod", "app", "api-2", NULL }, .ready = K8S_NO },
};
static const struct mux_endpoint api_endpoints6[] = {
	{ .addresses = LIST(first6), .target = { "Pod", "app", "api-1", NULL }, .ready = K8S_YES },
};
static const struct mux_endpoint web_endpoints[] = { { .addresses = LIST(lonely) } };

static const struct mux_slice api_slice = { .ports = LIST(api_ports),
					    .endpoints = LIST(api_endpoints) };
static const struct mux_slice api_slice6 = { .ports = LIST(api_ports),
					     .endpoints = LIST(api_endpoints6) };
static const struct mux_slice web_slice = { .ports = LIST(api_ports),
					    .endpoints = LIST(web_endpoints) };

/* on this machine, and where nobody answers */
static const char *const here[] = { "127.0.0.1" }, *const nowhere[] = { "192.0.2.1" };
static const struct mux_endpoint here_endpoints[] = { { .addresses = LIST(here) } };
static const struct mux_endpoint nowhere_endpoints[] = { { .addresses = LIST(nowhere) } };
static struct mux_endpoint_port here_ports[] = { { "http", "TCP", NULL, 0 } };
static const struct mux_slice here_slice = { .ports = LIST(here_ports),
					     .endpoints = LIST(here_endpoints) };
static const struct mux_slice nowhere_slice = { .ports = LIST(api_ports),
						.endpoints = LIST(nowhere_endpoints) };
static const struct mux_slice *const api_slices[] = { &api_slice, &api_slice6, &nowhere_slice,
						      &here_slice };
static const struct mux_slice *const web_slices[] = { &web_slice };

static const struct mux_ingress edge_ingress[] = { { .ip = "203.0.113.10", .hostname = "x" } };
static const struct k8s_pair edge_annotations[] = { { DNS, "edge.example" } };
static const struct mux_service edge_service = { .annotations = LIST(edge_annotations),
						 .ingress = LIST(edge_ingress) };
static const struct mux_service plain_service;

static const struct mux_view_port api_view_ports[] = {
	{ .name = "http",
	  .protocol = MUX_TCP,
	  .port = 80,
	  .node_port = 30080,
	  .mux_port = 20000,
	  .automatic = true,
	  .mux_name = "bcaefde" },
};
static const struct mux_view_port web_view_ports[] = { { .name = "http", .port = 80 } };

static const struct mux_view_channel edge_channels[] = {
	{ .namespace = "app",
	  .name = "api",
	  .class = "svc-mux.nowake.ai/edge.lb",
	  .fate = MUX_SERVED,
	  .ports = api_view_ports,
	  .n_ports = 1 },
	{ .namespace = "app",
	  .name = "web",
	  .class = "svc-mux.nowake.ai/edge.lb",
	  .hostname = "web.example",
	  .fate = MUX_REFUSED,
	  .reason = "MuxPortConflict",
	  .message = "80/TCP is already claimed by app/api:bcaefde",
	  .ports = web_view_ports,
	  .n_ports = 1 },
};
static const struct mux_view_channel lost_channels[] = {
	{ .namespace = "app",
	  .name = "lost",
	  .class = "svc-mux.nowake.ai/none.lb",
	  .fate = MUX_PENDING },
};

static struct mux_view_channel channels[2], lost[1];
struct mux_view world_views[3];
static size_t n_views, n_api_slices;

void world_reset(void)
{
	memcpy(channels, edge_channels, sizeof(channels));
	memcpy(lost, lost_channels, sizeof(lost));
	world_views[0] = (struct mux_view){ .namespace = "lb",
					    .name = "edge",
					    .condition = MUX_ACTIVE,
					    .state_name = "edge-port-allocations",
					    .channels = channels,
					    .n_channels = 2,
					    .n_served = 1,
					    .n_refused = 1,
					    .n_ports = 1 };
	world_views[1] = (struct mux_view){ .namespace = "lb", .name = "idle" };
	world_views[2] = (struct mux_view){ .namespace = "lb",
					    .name = "none",
					    .condition = MUX_MISSING,
					    .channels = lost,
					    .n_channels = 1 };
	n_views = 3;
	n_api_slices = 1;
}

void world_dual_stack(void)
{
	n_api_slices = 2;
}

void world_listen(uint16_t port)
{
	here_ports[0].port = port;
	n_api_slices = 4;
}

uint16_t world_port(void)
{
	return (uint16_t)here_ports[0].port;
}

void world_shrink(void)
{
	memmove(&channels[0], &channels[1], sizeof(channels[0]));
	world_views[0].n_channels = 1;
	n_views = 2;
}

static const struct mux_view *next(const char *namespace, const char *name, void *user)
{
	for (size_t i = 0; i < n_views; i++) {
		int order = strcmp(world_views[i].namespace, namespace);

		if (order > 0 || (order == 0 && strcmp(world_views[i].name, name) > 0))
			return &world_views[i];
	}
	return NULL;
}

static void look(const char *namespace, const char *name, struct mux_sight *ret, void *user)
{
	*ret = (struct mux_sight){ .service = &plain_service };
	if (strcmp(name, "edge") == 0)
		ret->service = &edge_service;
	if (strcmp(name, "api") == 0)
		*ret = (struct mux_sight){
			&plain_service, api_slices, n_api_slices, NULL, NULL, 0
		};
	if (strcmp(name, "web") == 0)
		*ret = (struct mux_sight){ &plain_service, web_slices, 1, NULL, NULL, 0 };
}

static void state(struct show_state *ret, void *user)
{
	*ret = (struct show_state){ .synced = true,
				    .elects = true,
				    .dry_run = true,
				    .identity = "me",
				    .leader = "other",
				    .prefix = "svc-mux.nowake.ai",
				    .server = "https://127.0.0.1:6443" };
}

const struct show_source world_source = { next, look, state, NULL };
