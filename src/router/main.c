/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglev-router: wiring. Start: the file, then the listeners, the gRPC API and the admin API, then
 * the loop. Stop: the data threads finish their requests, then the APIs end.
 *
 * A process that takes over from another one has its configuration and its listeners instead of the
 * file. When one has taken over from this process, the APIs end at once, and the data threads
 * finish their requests.
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
#include "src/router/upgrade.h"

#define DRAIN_REST (5 * NSEC_PER_SEC) /* for the admin API, after the requests */
#define EXIT_START_FAILED 3

struct program {
	struct options options;
	char *const *argv;
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
	struct upgrade *upgrade;
	struct inheritance *inheritance; /* NULL: there is no earlier process */
	ev_timer delay;			 /* of a drain */
	bool taken;			 /* a new process has taken over */
	bool router_ended, api_ended;
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
	const struct history_origin origin = { HISTORY_FILE, "", NULL };
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

/*
 * A file with mistakes changes nothing: the configuration in force stays. While a new process takes
 * over, the reading is left to it.
 */
static void on_read(const struct config_reading *reading, void *user)
{
	struct program *p = user;

	if (reading->load && !upgrade_may_reload(p->upgrade)) {
		config_load_free(reading->load);
	} else if (reading->load) {
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
	if (!p->loader || !upgrade_may_reload(p->upgrade))
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

static void end_if_drained(struct program *p)
{
	if (p->router_ended && p->api_ended)
		ev_break(p->loop, EVBREAK_ALL);
}

static void on_api_drained(void *user)
{
	struct program *p = user;

	p->api_ended = true;
	end_if_drained(p);
}

static void on_show_drained(void *user)
{
	struct program *p = user;

	api_drain(p->api, on_api_drained, p);
}

static void drain_apis(struct program *p)
{
	if (p->show)
		service_drain(show_service(p->show), on_show_drained, p);
	else
		on_show_drained(p);
}

static void on_router_drained(void *user)
{
	struct program *p = user;

	p->router_ended = true;
	if (!p->taken)
		drain_apis(p);
	end_if_drained(p);
}

static void on_delay_over(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct program *p = timer->data;

	router_drain(p->router);
}

/* After a takeover the drain is under way already; now it has a shorter limit (daemon.h). */
static void on_stop(int signo, void *user)
{
	struct program *p = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	if (p->taken)
		return;
	upgrade_cancel(p->upgrade);
	if (p->options.drain_delay) {
		router_announce(p->router);
		ev_timer_start(p->loop, &p->delay);
	} else {
		router_drain(p->router);
	}
}

static void on_upgrade(void *user)
{
	struct program *p = user;

	upgrade_begin(p->upgrade);
}

static void on_taken(int channel, void *user)
{
	struct program *p = user;

	p->taken = true;
	api_hand_over(p->api);
	if (p->show)
		service_hand_over(show_service(p->show));
	drain_apis(p);
	router_hand_over(p->router, channel);
}

/* ---- the whole ---- */

static const char *unready(void *user)
{
	const struct metrics_state *s = user;

	return router_current(s->router) ? NULL : "there is no configuration yet";
}

/* The socket of an API, from an earlier process; 0: none. */
static int inherited(struct program *p, enum router_handover_kind kind, const char *at)
{
	return p->inheritance ? inheritance_socket(p->inheritance, kind, at) : 0;
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
	api.inherited = inherited(p, ROUTER_HANDOVER_ADMIN, p->options.admin_addr);
	return api_new(&api, &p->api);
}

static int start_show(struct program *p)
{
	int r = 0;

	if (*p->options.grpc.addr)
		r = show_new(p->loop, &p->options.grpc, p->router,
			     inherited(p, ROUTER_HANDOVER_GRPC, p->options.grpc.addr), &p->show);
	if (p->show)
		show_follow(p->show, p->rollout);
	p->metrics.show = p->show;
	return r;
}

static void add_sockets(struct upgrade_sockets *list, void *user)
{
	struct program *p = user;

	upgrade_add(list, ROUTER_HANDOVER_ADMIN, p->options.admin_addr, api_socket(p->api));
	if (p->show)
		upgrade_add(list, ROUTER_HANDOVER_GRPC, p->options.grpc.addr,
			    service_socket(show_service(p->show)));
}

static void prepare_upgrade(struct program *p)
{
	const struct upgrade_config config = { .loop = p->loop,
					       .argv = p->argv,
					       .router = p->router,
					       .add_sockets = add_sockets,
					       .failures = &p->metrics.upgrade_failures,
					       .taken = on_taken,
					       .reload = on_hangup,
					       .user = p };

	p->upgrade = upgrade_new(&config);
	ev_timer_init(&p->delay, on_delay_over, loop_seconds(p->options.drain_delay), 0.);
	p->delay.data = p;
}

static int start_router(struct program *p)
{
	const struct worker_limits limits = { .head_time = p->options.head_timeout,
					      .idle_time = p->options.idle_timeout,
					      .stall_time = p->options.stall_timeout,
					      .drain_time = p->options.drain_time,
					      .leave_time = p->options.upgrade_drain_time };
	const struct router_config config = { .threads = (unsigned)p->options.threads,
					      .care = { p->user_agent, p->options.dns },
					      .limits = limits,
					      .ticket_rotation = p->options.ticket_rotation,
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

/* The first configuration. load: NULL without a file; taken. */
static int configure(struct program *p, struct config_load *load)
{
	if (p->inheritance)
		return inheritance_apply(p->inheritance, p->router);
	return load ? apply(p, load) : 0;
}

/* Runs until the end; the exit code. load: NULL without a file; taken. */
static int run(struct program *p, struct config_load *load)
{
	int r = start_router(p);

	if (r < 0) {
		config_load_free(load);
		return EXIT_START_FAILED;
	}
	r = configure(p, load);
	if (r == 0)
		r = start_show(p);
	if (r == 0)
		r = start_admin(p); /* the last: one that gets an answer knows that all is open */
	if (r == 0)
		prepare_upgrade(p);
	if (r == 0 && p->inheritance)
		r = inheritance_confirm(p->inheritance, p->router);
	if (r == 0) {
		inheritance_free(TAKE_PTR(p->inheritance));
		daemon_ready("routing");
		ev_run(p->loop, 0);
	}
	return r < 0 ? EXIT_START_FAILED : 0;
}

/* Reads the file, unless another process passes its configuration. The exit code. */
static int prepare(struct program *p, struct config_load **ret)
{
	if (*p->options.config && watch_file(p) < 0)
		return EXIT_START_FAILED;
	if (inheritance_receive(&p->inheritance) < 0)
		return EXIT_START_FAILED;
	if (!*p->options.config || p->inheritance)
		return 0;
	*ret = config_load(&p->source);
	config_loader_follow(p->loader, *ret);
	settings_log(*ret, p->source.path, false);
	return (int)(*ret)->result;
}

static int serve(struct program *p)
{
	const struct daemon_calls calls = { .stop = on_stop,
					    .reload = on_hangup,
					    .upgrade = on_upgrade,
					    .user = p,
					    .drain_limit = p->options.drain_delay +
							   p->options.drain_time + DRAIN_REST };
	struct config_load *load = NULL;
	int r = prepare(p, &load);

	if (r == 0) {
		daemon_start(&p->daemon, p->loop, &calls);
		daemon_accept_threads(&p->daemon);
		r = run(p, load);
		upgrade_free(p->upgrade);
		ev_timer_stop(p->loop, &p->delay);
		api_free(p->api);
		admin_free(p->admin);
		rollout_free(p->rollout);
		show_free(p->show);
		router_free(p->router);
		daemon_end(&p->daemon);
	} else {
		config_load_free(load);
	}
	inheritance_free(p->inheritance);
	daemon_finish();
	return r;
}

/* --check: certificates are read, too. */
static int inspect(const struct l7_config *c, struct buf *why)
{
	struct vault *v = vault_new(worker_choose);
	int r = secures_check(c, why);

	if (r == 0 && v)
		r = vault_check(v, c, why);
	vault_free(v);
	return r;
}

int main(int argc, char *argv[])
{
	struct program p = { .argv = argv };
	int r;

	options_parse(&p.options, argc, argv);
	p.file = (struct settings_file){ p.options.config, p.options.listen,
					 p.options.check ? inspect : NULL };
	p.source = settings_source(&p.file);
	if (p.options.check)
		return config_check(&p.source);
	daemon_begin(&p.options.log);
	snprintf(p.user_agent, sizeof(p.user_agent), "maglev-router/%s (health check)",
		 cli_version.version);
	p.loop = ev_default_loop(0);
	r = serve(&p);
	config_loader_free(p.loader);
	ev_loop_destroy(p.loop);
	options_free(&p.options);
	return r;
}
