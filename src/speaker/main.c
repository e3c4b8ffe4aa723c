/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglev-speaker: wiring. Start: the file, then the listeners, then the loop. Stop: VIPs of l2 are
 * left to others, requests are answered, and everything ends; FRR keeps what it announces.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/admin/admin.h"
#include "lib/config/report.h"
#include "lib/config/watch.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "lib/net/privilege.h"
#include "src/speaker/api.h"
#include "src/speaker/info.h"
#include "src/speaker/kube.h"
#include "src/speaker/metrics.h"
#include "src/speaker/speaker.h"

#define DRAIN_LIMIT (5 * NSEC_PER_SEC)
#define EXIT_START_FAILED 3

struct program {
	struct options options;
	struct config_source source;
	struct config_loader *loader;
	struct ev_loop *loop;
	struct daemon daemon;
	struct speaker *speaker;
	struct admin *admin;
	struct api *api; /* NULL without --grpc-addr */
	struct metrics_sources metrics;
	struct kube *kube; /* with --kubernetes, instead of speaker and loader */
};

/* ---- reloads of the file ---- */

static void refuse(struct program *p, const struct config_load *load)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	config_first_error(load, p->source.path, &text);
	speaker_refuse(p->speaker, buf_cstr(&text));
}

/* A file with mistakes changes nothing: the one in force stays. */
static void on_read(const struct config_reading *reading, void *user)
{
	struct program *p = user;

	if (!reading->load) {
		log_error("config-read-failed", LOG_S("file", p->source.path),
			  LOG_S("error", reading->reason));
		speaker_refuse(p->speaker, reading->reason);
	} else if (reading->load->result == CONFIG_OK) {
		settings_log(reading->load, p->source.path, true);
		speaker_configure(p->speaker, settings_take(reading->load));
	} else {
		settings_log(reading->load, p->source.path, true);
		refuse(p, reading->load);
		config_load_free(reading->load);
	}
	config_loader_answer(p->loader, NULL);
}

/* Whatever the outcome: systemd must learn that the reload has ended. */
static void on_reloaded(const void *report, void *user)
{
	daemon_ready("announcing");
}

/* Certificates are read again too, because SIGHUP is what renewal hooks send. */
static void on_hangup(void *user)
{
	struct program *p = user;

	daemon_reloading();
	speaker_renew(p->speaker);
	if (p->api)
		service_renew(api_service(p->api));
	config_loader_hangup(p->loader, on_reloaded, p);
}

static int watch_file(struct program *p)
{
	int r = p->options.watch
			? config_loader_watch(p->loader, CONFIG_WATCH_SETTLE, on_reloaded, p)
			: 0;

	if (r < 0)
		log_error("watch-failed", LOG_S("file", p->source.path),
			  LOG_S("error", strerror(-r)));
	return r;
}

/* ---- the end ---- */

static void on_drained(void *user)
{
	struct program *p = user;

	ev_break(p->loop, EVBREAK_ALL);
}

static void on_api_drained(void *user)
{
	struct program *p = user;

	admin_drain(p->admin, on_drained, p);
}

static void on_stop(int signo, void *user)
{
	struct program *p = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	speaker_leave(p->speaker);
	if (p->api)
		service_drain(api_service(p->api), on_api_drained, p);
	else
		on_api_drained(p);
}

/* ---- the whole ---- */

static const char *unready(void *user)
{
	return speaker_problem(((const struct metrics_sources *)user)->speaker);
}

/* The admin listener is the last: one that gets an answer from it knows that the API is open. */
static int listen_all(struct program *p)
{
	const struct admin_config config = { .daemon = &p->daemon,
					     .prefix = "maglev_speaker",
					     .listen = p->options.metrics_addr,
					     .flag = "--metrics-addr",
					     .metrics = metrics_page,
					     .unready = unready,
					     .user = &p->metrics };
	const struct source source = info_source(p->speaker);
	int r = 0;

	if (*p->options.api.addr)
		r = api_new(p->loop, &p->options.api, &source, &p->api);
	if (r < 0)
		return r;
	p->metrics = (struct metrics_sources){ p->speaker, p->api };
	return admin_new(&config, &p->admin);
}

/*
 * Only ARP and NDP need a right, which is raised when their sockets are opened. Root keeps its
 * rights, for the files and sockets of FRR.
 */
static void keep_rights(void)
{
	int r = geteuid() == 0 ? 0 : privilege_keep(UINT64_C(1) << CAP_NET_RAW);

	if (r < 0)
		log_warn("capability-drop-failed", LOG_S("error", strerror(-r)));
}

static int serve(struct program *p)
{
	const struct daemon_calls calls = {
		.stop = on_stop, .reload = on_hangup, .user = p, .drain_limit = DRAIN_LIMIT
	};
	struct config_load *load = config_load(&p->source);
	int r;

	settings_log(load, p->source.path, false);
	if (load->result != CONFIG_OK) {
		r = (int)load->result;
		config_load_free(load);
		return r;
	}
	keep_rights();
	daemon_start(&p->daemon, p->loop, &calls);
	p->speaker = speaker_new(p->loop, &p->options, settings_take(load));
	p->loader =
		config_loader_new(p->loop, &p->source, &(struct config_loader_calls){ on_read, p });
	config_loader_follow(p->loader, load);
	r = listen_all(p);
	if (r == 0)
		r = watch_file(p);
	if (r == 0) {
		daemon_ready("announcing");
		ev_run(p->loop, 0);
	}
	api_free(p->api);
	admin_free(p->admin);
	config_loader_free(p->loader);
	speaker_free(p->speaker);
	daemon_end(&p->daemon);
	daemon_finish();
	return r < 0 ? EXIT_START_FAILED : 0;
}

/* ---- in a cluster ---- */

static void on_kube_left(void *user)
{
	struct program *p = user;

	if (p->api)
		service_drain(api_service(p->api), on_api_drained, p);
	else
		on_api_drained(p);
}

static void on_kube_hangup(void *user)
{
	struct program *p = user;

	if (p->api)
		service_renew(api_service(p->api));
}

static void on_kube_stop(int signo, void *user)
{
	struct program *p = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	kube_drain(p->kube, on_kube_left, p);
}

static int connect_kube(struct program *p)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	int r = kube_new(p->loop, &p->options, &p->kube, &errors);

	if (r < 0)
		log_error("kubeconfig-failed",
			  LOG_S("error", errors.n ? errors.items[0].text : strerror(-r)));
	return r;
}

static int listen_kube(struct program *p)
{
	const struct source source = kube_source(p->kube);
	int r = 0;

	if (*p->options.api.addr)
		r = api_new(p->loop, &p->options.api, &source, &p->api);
	if (r < 0)
		return r;
	kube_set_api(p->kube, p->api);
	return admin_new(&(struct admin_config){ .daemon = &p->daemon,
						 .prefix = "maglev_speaker",
						 .listen = p->options.metrics_addr,
						 .flag = "--metrics-addr",
						 .metrics = kube_metrics_page,
						 .unready = kube_unready,
						 .user = p->kube },
			 &p->admin);
}

static int serve_kube(struct program *p)
{
	const struct daemon_calls calls = { .stop = on_kube_stop,
					    .reload = on_kube_hangup,
					    .user = p,
					    .drain_limit = DRAIN_LIMIT };
	int r;

	keep_rights();
	daemon_start(&p->daemon, p->loop, &calls);
	r = connect_kube(p);
	if (r == 0)
		r = listen_kube(p);
	if (r == 0) {
		kube_start(p->kube);
		daemon_ready("announcing");
		ev_run(p->loop, 0);
	}
	api_free(p->api);
	admin_free(p->admin);
	kube_free(p->kube);
	daemon_end(&p->daemon);
	daemon_finish();
	return r < 0 ? EXIT_START_FAILED : 0;
}

int main(int argc, char *argv[])
{
	struct program p = { 0 };
	int r;

	options_parse(&p.options, argc, argv);
	p.source = settings_source(p.options.config);
	if (p.options.check && !p.options.kubernetes)
		return config_check(&p.source);
	daemon_begin(&p.options.log);
	p.loop = ev_default_loop(0);
	r = p.options.kubernetes ? serve_kube(&p) : serve(&p);
	ev_loop_destroy(p.loop);
	options_free(&p.options);
	return r;
}
