/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglevd: wiring. Start: options, configuration, listeners, capabilities dropped to what the
 * configuration needs, then engine, prober, reconciler, and the loop. Stop: the API drains, then
 * the listener of the metrics; probes are cancelled; the data plane stays as it is (NFR-1.1).
 *
 * With --kubernetes the Services of the cluster are part of the configuration, so it is loaded when
 * they are known, and not before: frontends that are missing would be removed from a data plane
 * that still has them.
 *
 * The observers of the engine are called in the order in which they are created here: the prober
 * starts or stops workers, then the reconciler acts, then the past is recorded and the watchers
 * are notified.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/admin/admin.h"
#include "lib/cli/cli.h"
#include "lib/config/files.h"
#include "lib/config/report.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "src/maglevd/api/api.h"
#include "src/maglevd/capability.h"
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/dataplane/vpp/vpp.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/kube.h"
#include "src/maglevd/metrics.h"
#include "src/maglevd/options.h"
#include "src/maglevd/overrides.h"
#include "src/maglevd/prober.h"
#include "src/maglevd/reconcile.h"
#include "src/maglevd/recorder.h"
#include "src/maglevd/reload.h"
#include "src/maglevd/snapshot.h"

#define DRAIN_LIMIT (5 * NSEC_PER_SEC)
#define EXIT_START_FAILED 3

struct maglevd {
	struct options options;
	struct snapshot_input input;
	struct config_source source;
	char user_agent[64];
	int64_t started; /* monotonic ns */
	bool synced;	 /* the cluster is known; without one from the start */
	bool watching;	 /* signals */

	struct ev_loop *loop;
	struct daemon daemon;
	struct kube *kube;     /* NULL without --kubernetes */
	struct engine *engine; /* NULL until the configuration is loaded */
	struct prober *prober;
	struct reconcile *reconcile;
	struct recorder *recorder;
	struct reload *reload;
	struct overrides *overrides; /* NULL: overrides do not survive a restart */
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

	errs_print(&load->errors, config_shown_path(source->path), &text);
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

	if (!m->engine)
		return; /* the file will be read */
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
	if (!m->engine)
		on_drained(m);
	else if (m->api)
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
					 .overrides = m->overrides,
					 .recorder = m->recorder,
					 .config_path = config_shown_path(m->source.path) };
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

/* FR-3.5: says which of the two holds, because people look for it in the log. */
static void restore_overrides(struct maglevd *m)
{
	if (*m->options.override_file)
		m->overrides = overrides_new(m->loop, m->engine, m->options.override_file);
	if (!m->overrides)
		log_info("overrides-not-persistent",
			 LOG_S("reason",
			       "pauses, disables and weights that are set at run time end "
			       "with this process: see --override-file"));
}

/* The order of creation is the order in which observers are called; see the top of this file. */
static void assemble(struct maglevd *m, struct snapshot *snapshot)
{
	m->input.in_force = snapshot;
	dataplane_vpp_use(&(struct dataplane_vpp_setup){ .api_addr = m->options.vpp_api_addr,
							 .stats_addr = m->options.vpp_stats_addr });
	m->engine = engine_new(m->loop, snapshot);
	restore_overrides(m); /* before anything looks at the model */
	m->prober = prober_new(m->loop, m->engine, m->user_agent);
	m->reconcile = reconcile_new(
		&(struct reconcile_setup){ .loop = m->loop,
					   .engine = m->engine,
					   .driver = dataplane_find(snapshot->config.dataplane),
					   .started = m->started });
	m->recorder = recorder_new(m->loop, m->engine, m->reconcile);
	m->reload = reload_new(m->loop, m->engine, &m->source, &m->input);
	m->metrics = maglevd_metrics_new(
		&(struct maglevd_metrics_sources){ .loop = m->loop,
						   .engine = m->engine,
						   .prober = m->prober,
						   .reconcile = m->reconcile,
						   .reload = m->reload,
						   .overrides = m->overrides,
						   .op = m->kube ? kube_operator(m->kube) : NULL });
}

/* Each part is freed before what it uses. */
static void disassemble(struct maglevd *m)
{
	api_free(m->api);
	admin_free(m->admin);
	maglevd_metrics_free(m->metrics);
	reload_free(m->reload);
	recorder_free(m->recorder);
	prober_free(m->prober);
	reconcile_free(m->reconcile);
	overrides_free(m->overrides);
	engine_free(m->engine);
}

/*
 * Before readiness is announced, because a signal may come from then on, and before the cluster is
 * waited for.
 */
static void watch_signals(struct maglevd *m)
{
	const struct daemon_calls calls = {
		.stop = on_stop, .reload = on_hangup, .user = m, .drain_limit = DRAIN_LIMIT
	};

	if (m->watching)
		return;
	m->watching = true;
	daemon_start(&m->daemon, m->loop, &calls);
}

static void run(struct maglevd *m)
{
	engine_start(m->engine);
	prober_start(m->prober);
	daemon_ready("serving");
	ev_run(m->loop, 0);
}

/* ---- the cluster ---- */

static void on_cluster_synced(void *user)
{
	struct maglevd *m = user;

	m->synced = true;
	ev_break(m->loop, EVBREAK_ALL);
}

static void on_cluster_changed(void *user)
{
	struct maglevd *m = user;

	if (m->reload)
		reload_extend(m->reload);
}

static int connect_cluster(struct maglevd *m)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct kube_config config = { .loop = m->loop,
					    .options = &m->options.kube,
					    .node = m->options.node_name,
					    .synced = on_cluster_synced,
					    .changed = on_cluster_changed,
					    .user = m };
	int r = kube_new(&config, &m->kube, &errors);

	if (r < 0)
		log_error("kubeconfig-failed",
			  LOG_S("error", errors.n ? errors.items[0].text : strerror(-r)));
	return r;
}

/*
 * Waits until the cluster is known, or until the end of the process is asked for. The warm-up
 * begins afterwards.
 */
static int wait_for_cluster(struct maglevd *m)
{
	int r = connect_cluster(m);

	if (r < 0)
		return r;
	watch_signals(m);
	m->input.extend = kube_extend;
	m->input.user = m->kube;
	kube_start(m->kube);
	ev_run(m->loop, 0);
	m->started = loop_monotonic();
	return 0;
}

/* ---- the whole ---- */

/* Capabilities are dropped last, because the listeners may use privileged ports. */
static int serve(struct maglevd *m)
{
	struct config_load *load = config_load(&m->source);
	int r;

	reload_log_load(load, config_shown_path(m->source.path), false);
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
	return r < 0 ? EXIT_START_FAILED : 0;
}

static int serve_all(struct maglevd *m)
{
	int r = 0;

	if (m->options.kubernetes && wait_for_cluster(m) < 0)
		r = EXIT_START_FAILED;
	if (m->synced)
		r = serve(m);
	kube_free(m->kube);
	if (m->watching) {
		daemon_end(&m->daemon);
		daemon_finish();
	}
	return r;
}

int main(int argc, char *argv[])
{
	struct maglevd m = { .started = loop_monotonic() };
	int r;

	options_parse(&m.options, argc, argv);
	m.input.no_dataplane = !*m.options.vpp_api_addr;
	m.source = snapshot_source(m.options.config, &m.input);
	m.synced = !m.options.kubernetes;
	if (m.options.check)
		return config_check(&m.source);
	if (m.options.xdp_detach)
		return detach(&m.source);

	daemon_begin(&m.options.log);
	snprintf(m.user_agent, sizeof(m.user_agent), "maglevd/%s (health check)",
		 cli_version.version);
	m.loop = ev_default_loop(0);
	r = serve_all(&m);
	ev_loop_destroy(m.loop);
	options_free(&m.options);
	return r;
}
