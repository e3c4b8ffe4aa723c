/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglev-gateway: wiring. Start: the listener of metrics, then the cluster. Stop: the lease is
 * given back, so that another replica need not wait; routers keep what they have.
 */
#include <string.h>

#include "base/units.h"
#include "lib/admin/admin.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "src/gateway/metrics.h"
#include "src/gateway/once.h"

#define DRAIN_LIMIT (5 * NSEC_PER_SEC)
#define EXIT_START_FAILED 3

struct program {
	struct options options;
	struct ev_loop *loop;
	struct daemon daemon;
	struct gateway *gateway;
	struct admin *admin;
};

static void on_admin_drained(void *user)
{
	struct program *p = user;

	ev_break(p->loop, EVBREAK_ALL);
}

static void on_released(void *user)
{
	struct program *p = user;

	admin_drain(p->admin, on_admin_drained, p);
}

static void on_stop(int signo, void *user)
{
	struct program *p = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	gateway_drain(p->gateway, on_released, p);
}

static const char *unready(void *user)
{
	return gateway_unready(user);
}

static int start(struct program *p)
{
	const struct gateway_config gateway = { .loop = p->loop, .options = &p->options };
	struct admin_config admin = { .daemon = &p->daemon,
				      .prefix = "maglev_gateway",
				      .listen = p->options.metrics_addr,
				      .flag = "--metrics-addr",
				      .metrics = metrics_page,
				      .unready = unready };
	int r = gateway_new(&gateway, &p->gateway);

	if (r < 0)
		return r;
	admin.user = p->gateway;
	r = admin_new(&admin, &p->admin);
	if (r == 0)
		gateway_start(p->gateway);
	return r;
}

static int serve(struct program *p)
{
	const struct daemon_calls calls = { .stop = on_stop,
					    .user = p,
					    .drain_limit = DRAIN_LIMIT };
	int r;

	daemon_start(&p->daemon, p->loop, &calls);
	r = start(p);
	if (r == 0) {
		daemon_ready("following the cluster");
		ev_run(p->loop, 0);
	}
	admin_free(p->admin);
	gateway_free(p->gateway);
	daemon_end(&p->daemon);
	daemon_finish();
	return r < 0 ? EXIT_START_FAILED : 0;
}

int main(int argc, char *argv[])
{
	struct program p = { 0 };
	int r;

	options_parse(&p.options, argc, argv);
	p.loop = ev_default_loop(0);
	if (p.options.words.n || p.options.operator.dry_run) {
		r = once_run(p.loop, &p.options);
	} else {
		daemon_begin(&p.options.log);
		r = serve(&p);
	}
	ev_loop_destroy(p.loop);
	options_free(&p.options);
	return r;
}
