/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglevd: wiring. Start: options, configuration, listeners, capabilities dropped to what the
 * configuration needs, then engine, prober, reconciler, and the loop. Stop: the API drains, then
 * the listener of the metrics; probes are cancelled; the data plane stays as it is (NFR-1.1).
 *
 * The observers of the engine are called in the order in which they are created here: the prober
 * starts or stops workers, then the reconciler acts, then the watchers are notified.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "lib/admin/admin.h"
#include "lib/cli/cli.h"
#include "lib/config/report.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "src/maglevd/api/api.h"
#include "src/maglevd/capability.h"
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/dataplane/vpp/vpp.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/metrics.h"
#include "src/maglevd/options.h"
#include "src/maglevd/prober.h"
#include "src/maglevd/reconcile.h"
#include "src/maglevd/reload.h"
#include "src/maglevd/snapshot.h"

#define DRAIN_LIMIT (5 * NSEC_PER_SEC)
#define EXIT_START_FAILED 3

struct maglevd {
	struct options options;
	struct config_source source;
	char user_agent[64];
	int64_t started; /* monotonic ns */

	struct ev_loop *loop;
	struct daemon daemon;
	struct engine *engine;
	struct prober *prober;
	struct reconcile *reconcile;
	struct reload *reload;
	struct maglevd_metrics *metrics;
	struct api *api; /* NULL without --grpc-addr */
	struct admin *admin;
};

/*
 * --xdp-detach: removes what the XDP data plane has left in the kernel, whichever data plane the
 * configuration names.
 */
static int detach(const struct config_source *source)
{
	const struct dataplane_driver *driver = dataplane_find(L4_DATAPLANE_XDP);
	struct config_load *load = config_load(source);
	struct buf text = { 0 };
	int r = (int)load->result;

	errs_print(&load->errors, source->path, &text);
	if (r == CONFIG_OK && !driver->remove) {
		buf_adds(&text, "this maglevd was built without the data plane xdp\n");
		r = EXIT_START_FAILED;
	} else if (r == CONFIG_OK && driver->remove(snapshot_config(load), &text) < 0) {
		r = EXIT_START_FAILED;
	}
	fputs(buf_cstr(&text), r == CONFIG_OK ? stdout : stderr);
	buf_free(&text);
	config_load_free(load);
	return r;
}

/* Whatever the outcome: systemd must learn that the reload has ended. */
static void on_reloaded(const void *report, void *user)
{
	daemon_ready("serving");
}

/* Certificates are read again too, because SIGHUP is what renewal hooks send. */
static void on_hangup(void *user)
{
	struct maglevd *m = user;

	daemon_reloading();
	if (m->api)
		service_renew(api_service(m->api));
	reload_hangup(m->reload, on_reloaded, m);
}

static void on_drained(void *user)
{
	struct maglevd *m = user;

	ev_break(m->loop, EVBREAK_ALL);
}

static void on_api_drained(void *user)
{
	struct maglevd *m = user;

	admin_drain(m->admin, on_drained, m);
}

static void on_stop(int signo, void *user)
{
	struct maglevd *m = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	if (m->api)
		service_drain(api_service(m->api), on_api_drained, m);
	else
		on_api_drained(m);
}

/* Without an address there is no API. */
static int listen_api(struct maglevd *m)
{
	const struct api_setup setup = { .loop = m->loop,
					 .options = &m->options.api,
					 .engine = m->engine,
					 .reconcile = m->reconcile,
					 .reload = m->reload,
					 .config_path = m->source.path };
	int r;

	if (!*m->options.api.addr)
		return 0;
	r = api_new(&setup, &m->api);
	if (r == 0)
		maglevd_metrics_set_api(m->metrics, m->api);
	return r;
}

/*
 * The last of the listeners: a client that gets an answer from /readyz knows that the others are
 * open.
 */
static int listen_admin(struct maglevd *m)
{
	return admin_new(&(struct admin_config){ .daemon = &m->daemon,
						 .prefix = "maglev",
						 .listen = m->options.metrics_addr,
						 .flag = "--metrics-addr",
						 .metrics = maglevd_metrics_stream,
						 .user = m->metrics },
			 &m->admin);
}

/* The order of creation is the order in which observers are called; see the top of this file. */
static void assemble(struct maglevd *m, struct snapshot *snapshot)
{
	dataplane_vpp_use(&(struct dataplane_vpp_setup){ .api_addr = m->options.vpp_api_addr,
							 .stats_addr = m->options.vpp_stats_addr });
	m->engine = engine_new(m->loop, snapshot);
	m->prober = prober_new(m->loop, m->engine, m->user_agent);
	m->reconcile = reconcile_new(
		&(struct reconcile_setup){ .loop = m->loop,
					   .engine = m->engine,
					   .driver = dataplane_find(snapshot->config.dataplane),
					   .started = m->started });
	m->reload = reload_new(m->loop, m->engine, &m->source);
	m->metrics =
		maglevd_metrics_new(&(struct maglevd_metrics_sources){ .loop = m->loop,
								       .engine = m->engine,
								       .prober = m->prober,
								       .reconcile = m->reconcile,
								       .reload = m->reload });
}

/* Each part is freed before what it uses. */
static void disassemble(struct maglevd *m)
{
	api_free(m->api);
	admin_free(m->admin);
	maglevd_metrics_free(m->metrics);
	reload_free(m->reload);
	prober_free(m->prober);
	reconcile_free(m->reconcile);
	engine_free(m->engine);
}

/* Before readiness is announced, because a signal may come from then on. */
static void watch_signals(struct maglevd *m)
{
	const struct daemon_calls calls = {
		.stop = on_stop, .reload = on_hangup, .user = m, .drain_limit = DRAIN_LIMIT
	};

	daemon_start(&m->daemon, m->loop, &calls);
}

static void run(struct maglevd *m)
{
	engine_start(m->engine);
	prober_start(m->prober);
	daemon_ready("serving");
	ev_run(m->loop, 0);
}

/* Capabilities are dropped last, because the listeners may use privileged ports. */
static int serve(struct maglevd *m)
{
	struct config_load *load = config_load(&m->source);
	int r;

	reload_log_load(load, m->source.path, false);
	if (load->result != CONFIG_OK) {
		r = (int)load->result;
		config_load_free(load);
		return r;
	}
	assemble(m, snapshot_take(load));
	watch_signals(m);
	r = listen_api(m);
	if (r == 0)
		r = listen_admin(m);
	if (r == 0) {
		capability_keep(engine_model(m->engine)->config);
		run(m);
	}
	disassemble(m);
	daemon_end(&m->daemon);
	daemon_finish();
	return r < 0 ? EXIT_START_FAILED : 0;
}

int main(int argc, char *argv[])
{
	struct maglevd m = { .started = loop_monotonic() };
	int r;

	options_parse(&m.options, argc, argv);
	m.source = snapshot_source(m.options.config, !*m.options.vpp_api_addr);
	if (m.options.check)
		return config_check(&m.source);
	if (m.options.xdp_detach)
		return detach(&m.source);

	daemon_begin(m.options.log_level);
	snprintf(m.user_agent, sizeof(m.user_agent), "maglevd/%s (health check)",
		 cli_version.version);
	m.loop = ev_default_loop(0);
	r = serve(&m);
	ev_loop_destroy(m.loop);
	options_free(&m.options);
	return r;
}
