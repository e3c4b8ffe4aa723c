/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglev-controller: wiring. Start: the configuration of the client, then the listeners, then the
 * loop. Stop: writes that are under way end, the lease is given back, requests are answered.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/admin/admin.h"
#include "lib/daemon/daemon.h"
#include "src/controller/controller.h"
#include "src/controller/metrics.h"
#include "src/controller/webhook.h"

#define DRAIN_LIMIT (5 * NSEC_PER_SEC)
#define EXIT_START_FAILED 3

struct program {
	struct options options;
	struct ev_loop *loop;
	struct daemon daemon;
	struct controller *controller;
	struct webhook *webhook; /* NULL without --webhook-addr */
	struct admin *admin;
	struct metrics_sources metrics;
};

static void on_certificates(const char *certificate, const char *key, void *user)
{
	struct program *p = user;

	webhook_use(p->webhook, certificate, key);
}

static void on_active(bool active, void *user)
{
	daemon_status(active ? "allocating" : "waiting for the lease");
}

static void on_ended(void *user)
{
	struct program *p = user;

	ev_break(p->loop, EVBREAK_ALL);
}

static void on_drained(void *user)
{
	struct program *p = user;

	admin_drain(p->admin, on_ended, p);
}

static void on_stop(int signo, void *user)
{
	struct program *p = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	controller_drain(p->controller, on_drained, p);
}

static const char *unready(void *user)
{
	const struct metrics_sources *from = user;
	const char *why = operator_unready(controller_operator(from->controller));

	/* a dry run makes no certificates */
	if (why || !from->webhook || operator_is_dry_run(controller_operator(from->controller)))
		return why;
	return webhook_unready(from->webhook);
}

static int start(struct program *p)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	bool hooked = *p->options.webhook_addr;
	const struct controller_calls calls = { .active = on_active,
						.certificates = hooked ? on_certificates : NULL,
						.user = p };
	int r = controller_new(p->loop, &p->options, &calls, &p->controller, &errors);

	if (r == 0) {
		if (hooked)
			p->webhook = webhook_new(p->loop, &p->options, p->controller);
		p->metrics = (struct metrics_sources){ p->controller, p->webhook };
		return 0;
	}
	log_error("kubeconfig-failed",
		  LOG_S("error", errors.n ? errors.items[0].text : strerror(-r)));
	return r;
}

static int listen_all(struct program *p)
{
	const struct admin_config config = { .daemon = &p->daemon,
					     .prefix = "maglev_controller",
					     .listen = p->options.metrics_addr,
					     .flag = "--metrics-addr",
					     .metrics = metrics_page,
					     .unready = unready,
					     .user = &p->metrics };

	return admin_new(&config, &p->admin);
}

static int serve(struct program *p)
{
	const struct daemon_calls calls = { .stop = on_stop,
					    .user = p,
					    .drain_limit = DRAIN_LIMIT };
	int r;

	if (start(p) < 0)
		return EXIT_START_FAILED;
	daemon_start(&p->daemon, p->loop, &calls);
	r = listen_all(p);
	if (r == 0) {
		controller_start(p->controller);
		daemon_ready("waiting for the cluster");
		ev_run(p->loop, 0);
	}
	admin_free(p->admin);
	webhook_free(p->webhook);
	controller_free(p->controller);
	daemon_end(&p->daemon);
	daemon_finish();
	return r < 0 ? EXIT_START_FAILED : 0;
}

int main(int argc, char *argv[])
{
	struct program p = { 0 };
	int r;

	options_parse(&p.options, argc, argv);
	daemon_begin(&p.options.log);
	p.loop = ev_default_loop(0);
	r = serve(&p);
	ev_loop_destroy(p.loop);
	return r;
}
