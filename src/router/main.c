/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglev-router: wiring. Start: the file, then the listeners, the gRPC API and the admin API, then
 * the loop. Stop: the data threads finish their requests, then the APIs end.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/admin/admin.h"
#include "lib/config/report.h"
#include "lib/config/watch.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "src/router/api.h"
#include "src/router/options.h"
#include "src/router/router.h"
#include "src/router/show.h"

#define DRAIN_TIME (30 * NSEC_PER_SEC)	/* for requests */
#define DRAIN_LIMIT (35 * NSEC_PER_SEC) /* for all */
#define EXIT_START_FAILED 3

struct program {
	struct options options;
	struct settings_file file;
	struct config_source source;
	struct config_loader *loader; /* NULL without --config */
	struct ev_loop *loop;
	struct daemon daemon;
	struct router *router;
	struct rollout *rollout;
	struct metrics_state metrics;
	struct admin *admin;
	struct show *show; /* NULL without --grpc-addr */
	struct api *api;
	char user_agent[64];
};

/* ---- the file ---- */

static void refuse(struct program *p, const char *why)
{
	p->metrics.refused[METRICS_FILE]++;
	if (p->show)
		show_refused(p->show, why);
}

/* Takes the load. */
static int apply(struct program *p, struct config_load *load)
{
	const struct history_origin origin = { HISTORY_FILE, "" };
	_cleanup_(buf_free) struct buf why = { 0 };
	int r;

	if (load->result != CONFIG_OK) {
		config_first_error(load, p->source.path, &why);
		config_load_free(load);
		refuse(p, buf_cstr(&why));
		return -1;
	}
	r = router_apply(p->router, settings_take(load), &origin, &why);
	if (r < 0) {
		log_error("config-apply-failed", LOG_S("file", p->source.path),
			  LOG_S("error", buf_cstr(&why)));
		refuse(p, buf_cstr(&why));
	} else {
		p->metrics.applied[METRICS_FILE]++;
		if (p->show)
			show_refused(p->show, "");
	}
	return r;
}

/* A file with mistakes changes nothing: the configuration in force stays. */
static void on_read(const struct config_reading *reading, void *user)
{
	struct program *p = user;

	if (reading->load) {
		settings_log(reading->load, p->source.path, true);
		apply(p, reading->load);
	} else {
		log_error("config-read-failed", LOG_S("file", p->source.path),
			  LOG_S("error", reading->reason));
		refuse(p, reading->reason);
	}
	config_loader_answer(p->loader, NULL);
}

/* Whatever the outcome: systemd must learn that the reload has ended. */
static void on_reloaded(const void *report, void *user)
{
	daemon_ready("routing");
}

/* Certificates are read again, too, because SIGHUP is what renewal hooks send. */
static void on_hangup(void *user)
{
	struct program *p = user;

	if (p->show)
		service_renew(show_service(p->show));
	if (p->api)
		api_reload(p->api);
	if (!p->loader)
		return;
	daemon_reloading();
	config_loader_hangup(p->loader, on_reloaded, p);
}

/* Before the file is read, so that no change is missed. */
static int watch_file(struct program *p)
{
	int r = 0;

	p->loader =
		config_loader_new(p->loop, &p->source, &(struct config_loader_calls){ on_read, p });
	if (p->options.watch)
		r = config_loader_watch(p->loader, CONFIG_WATCH_SETTLE, on_reloaded, p);
	if (r < 0)
		log_error("watch-failed", LOG_S("file", p->source.path),
			  LOG_S("error", strerror(-r)));
	return r;
}

/* ---- the end ---- */

static void on_api_drained(void *user)
{
	struct program *p = user;

	ev_break(p->loop, EVBREAK_ALL);
}

static void on_show_drained(void *user)
{
	struct program *p = user;

	api_drain(p->api, on_api_drained, p);
}

static void on_router_drained(void *user)
{
	struct program *p = user;

	if (p->show)
		service_drain(show_service(p->show), on_show_drained, p);
	else
		on_show_drained(p);
}

static void on_stop(int signo, void *user)
{
	struct program *p = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	router_drain(p->router);
}

/* ---- the whole ---- */

static const char *unready(void *user)
{
	const struct metrics_state *s = user;

	return router_current(s->router) ? NULL : "there is no configuration yet";
}

static int start_admin(struct program *p)
{
	const struct admin_config config = { .daemon = &p->daemon,
					     .prefix = "maglev_router",
					     .metrics = metrics_page,
					     .unready = unready,
					     .user = &p->metrics };
	struct api_config api = { .loop = p->loop,
				  .router = p->router,
				  .rollout = p->rollout,
				  .metrics = &p->metrics,
				  .listen = p->options.listen,
				  .at = p->options.admin_addr,
				  .access = p->options.admin_access,
				  .max_body = p->options.admin_max_body,
				  .max_answer = p->options.admin_max_answer };
	int r = admin_new(&config, &p->admin);

	if (r < 0)
		return r;
	api.admin = p->admin;
	return api_new(&api, &p->api);
}

static int start_show(struct program *p)
{
	int r = 0;

	if (*p->options.grpc.addr)
		r = show_new(p->loop, &p->options.grpc, p->router, &p->show);
	p->metrics.show = p->show;
	return r;
}

static int start_router(struct program *p)
{
	const struct worker_limits limits = { .head_time = p->options.head_timeout,
					      .idle_time = p->options.idle_timeout,
					      .stall_time = p->options.stall_timeout,
					      .drain_time = DRAIN_TIME };
	const struct router_config config = { .threads = (unsigned)p->options.threads,
					      .care = { p->user_agent, p->options.dns },
					      .limits = limits,
					      .drained = on_router_drained,
					      .user = p };
	int r = router_new(p->loop, &config, &p->router);

	if (r < 0)
		log_error("threads-failed", LOG_U("threads", p->options.threads),
			  LOG_S("error", strerror(-r)));
	else
		p->rollout = rollout_new(p->loop, p->router);
	p->metrics.router = p->router;
	p->metrics.rollout = p->rollout;
	p->metrics.loop = p->loop;
	p->metrics.limit = p->options.metrics_limit;
	return r;
}

/* Runs until the end; the exit code. load: NULL without a file; taken. */
static int run(struct program *p, struct config_load *load)
{
	int r = start_router(p);

	if (r < 0) {
		config_load_free(load);
		return EXIT_START_FAILED;
	}
	if (load)
		r = apply(p, load);
	if (r == 0)
		r = start_show(p);
	if (r == 0)
		r = start_admin(p); /* the last: one that gets an answer knows that all is open */
	if (r == 0) {
		daemon_ready("routing");
		ev_run(p->loop, 0);
	}
	return r < 0 ? EXIT_START_FAILED : 0;
}

static int serve(struct program *p)
{
	const struct daemon_calls calls = {
		.stop = on_stop, .reload = on_hangup, .user = p, .drain_limit = DRAIN_LIMIT
	};
	struct config_load *load = NULL;
	int r = 0;

	if (*p->options.config) {
		if (watch_file(p) < 0)
			return EXIT_START_FAILED;
		load = config_load(&p->source);
		settings_log(load, p->source.path, false);
		r = (int)load->result;
	}
	if (r == CONFIG_OK) {
		daemon_start(&p->daemon, p->loop, &calls);
		daemon_accept_threads(&p->daemon);
		r = run(p, load);
		api_free(p->api);
		admin_free(p->admin);
		rollout_free(p->rollout);
		show_free(p->show);
		router_free(p->router);
		daemon_end(&p->daemon);
	} else {
		config_load_free(load);
	}
	daemon_finish();
	return r;
}

int main(int argc, char *argv[])
{
	struct program p = { 0 };
	int r;

	options_parse(&p.options, argc, argv);
	p.file = (struct settings_file){ p.options.config, p.options.listen };
	p.source = settings_source(&p.file);
	if (p.options.check)
		return config_check(&p.source);
	daemon_begin(p.options.log_level);
	snprintf(p.user_agent, sizeof(p.user_agent), "maglev-router/%s (health check)",
		 cli_version.version);
	p.loop = ev_default_loop(0);
	r = serve(&p);
	config_loader_free(p.loader);
	ev_loop_destroy(p.loop);
	options_free(&p.options);
	return r;
}
