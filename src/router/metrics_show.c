/* SPDX-License-Identifier: Apache-2.0 */
/* The families of the gRPC API. */
#include <string.h>

#include "base/cleanup.h"
#include "lib/metrics/metrics.h"
#include "src/router/metrics_private.h"
#include "wire/router_methods.h"

static const struct {
	const char *name;
	enum metrics_type type;
	const char *help;
} calls = { "maglev_router_grpc_calls_total", METRICS_COUNTER,
	    "Calls of the gRPC API that ended, by method and status." };

/* Only pairs that occurred: most would be zero. */
static void add_calls(struct buf *out, const struct service *service)
{
	metrics_family(out, calls.name, calls.type, calls.help);
	for (size_t i = 0; service && i < ROUTER_METHODS; i++)
		for (enum grpc_status s = GRPC_OK; s <= GRPC_UNAUTHENTICATED; s++) {
			const struct metrics_label labels[] = {
				{ "method", str_of(strrchr(router_methods[i].path, '/') + 1) },
				{ "status", str_of(grpc_status_name(s)) },
			};
			uint64_t n = service_calls(service, i, s);

			if (n)
				metrics_u64(out, calls.name, labels, ARRAY_SIZE(labels), n);
		}
}

/* 0 without an API: the series should not vanish with an option. */
void metrics__add_show(struct buf *out, const struct show *show)
{
	static const struct grpc_server_stats no_server;
	static const struct service_watch_stats no_watch;
	const struct grpc_server_stats *server =
		show ? service_stats(show_service(show)) : &no_server;
	const struct service_watch_stats *watch = show ? show_watch_stats(show) : &no_watch;
	const struct {
		const char *name;
		enum metrics_type type;
		const char *help;
		uint64_t value;
	} rows[] = {
		{ "maglev_router_grpc_connections", METRICS_GAUGE, "Connections to the gRPC API.",
		  server->connections },
		{ "maglev_router_grpc_refused_total", METRICS_COUNTER,
		  "Connections to the gRPC API that were over a limit.", server->refused },
		{ "maglev_router_grpc_evicted_total", METRICS_COUNTER,
		  "Connections to the gRPC API closed to make room for others.", server->evicted },
		{ "maglev_router_grpc_open", METRICS_GAUGE,
		  "1 if other machines may change everything without a client certificate.",
		  show && service_is_open(show_service(show)) },
		{ "maglev_router_watch_subscribers", METRICS_GAUGE, "Clients of WatchRouter.",
		  watch->subscribers },
		{ "maglev_router_watch_events_total", METRICS_COUNTER,
		  "Events sent to all of them together.", watch->events },
		{ "maglev_router_watch_dropped_total", METRICS_COUNTER,
		  "Clients dropped because they fell behind.", watch->dropped },
	};

	add_calls(out, show ? show_service(show) : NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		metrics_family(out, rows[i].name, rows[i].type, rows[i].help);
		metrics_u64(out, rows[i].name, NULL, 0, rows[i].value);
	}
}
