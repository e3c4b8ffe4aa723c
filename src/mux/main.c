/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglev-mux: wiring. Start: flags, configuration of the client, listener, then the loop; the
 * cluster is listed from there, and /readyz says when that is complete. Stop: writes under way are
 * finished, the lease is given back, answers are sent.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/admin/admin.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "src/mux/controller.h"
#include "src/mux/metrics.h"
#include "src/mux/observe.h"
#include "src/mux/show.h"

#define DRAIN_LIMIT (10 * NSEC_PER_SEC)
#define EXIT_START_FAILED 3

struct program {
	struct options options;
	struct ev_loop *loop;
	struct daemon daemon;
	struct controller controller;
	struct admin *admin;
	struct show *show;
	struct web *web;
	struct arena *looked; /* what the page has looked at in this turn of the loop */
	ev_prepare turn;
};

/* ---- what the page shows ---- */

static const struct mux_view *on_next(const char *namespace, const char *name, void *user)
{
	struct program *p = user;

	return controller_next(&p->controller, namespace, name);
}

static void on_look(const char *namespace, const char *name, struct mux_sight *ret, void *user)
{
	struct program *p = user;

	observe_look(&p->controller, p->looked, namespace, name, ret);
}

static void on_state(struct show_state *ret, void *user)
{
	const struct program *p = user;
	const struct operator_frame *op = p->controller.op;

	*ret = (struct show_state){ .synced = operator_is_synced(op),
				    .active = operator_is_active(op),
				    .elects = p->options.operator.leader_elect,
				    .dry_run = operator_is_dry_run(op),
				    .identity = operator_identity(op),
				    .leader = operator_holder(op),
				    .prefix = p->options.prefix,
				    .server = operator_server(op) };
}

static void on_event(const struct mux_event *event, void *user)
{
	show_event(((struct program *)user)->show, event, loop_realtime());
}

static void on_change(void *user)
{
	show_changed(((struct program *)user)->show);
}

static void on_turn(struct ev_loop *loop, ev_prepare *w, int events)
{
	arena_reset(container_of(w, struct program, turn)->looked);
}

static void make_show(struct program *p)
{
	const struct show_source source = {
		.next = on_next, .look = on_look, .state = on_state, .user = p
	};

	p->show = show_new(&source, loop_realtime());
	p->looked = arena_new();
	ev_prepare_init(&p->turn, on_turn);
	ev_prepare_start(p->loop, &p->turn);
	p->controller.on_event = on_event;
	p->controller.on_change = on_change;
	p->controller.user = p;
}

/* ---- stop ---- */

static void on_drained(void *user)
{
	struct program *p = user;

	ev_break(p->loop, EVBREAK_ALL);
}

static void on_page_drained(void *user)
{
	struct program *p = user;

	admin_drain(p->admin, on_drained, p);
}

static void on_idle(void *user)
{
	struct program *p = user;

	log_info("drained");
	web_drain(p->web, on_page_drained, p);
}

static void on_stop(int signo, void *user)
{
	struct program *p = user;

	log_info("stopping", LOG_S("signal", strsignal(signo)));
	controller_drain(&p->controller, on_idle, p);
}

/* ---- start ---- */

static const char *unready(void *user)
{
	return operator_unready(((struct controller *)user)->op);
}

static int start(struct program *p)
{
	struct controller *c = &p->controller;
	int r;

	make_show(p);
	r = controller_new(c, p->loop, &p->options);
	if (r < 0)
		return r;
	r = admin_new(&(struct admin_config){ .daemon = &p->daemon,
					      .prefix = "maglev_mux",
					      .listen = p->options.metrics_addr,
					      .flag = "--metrics-addr",
					      .metrics = metrics_page,
					      .unready = unready,
					      .user = c },
		      &p->admin);
	if (r == 0)
		r = web_new(&p->daemon, p->show, &p->options.web, &p->web);
	if (r == 0)
		controller_start(c);
	return r;
}

static void stop(struct program *p)
{
	web_free(p->web);
	admin_free(p->admin);
	controller_free(&p->controller);
	ev_prepare_stop(p->loop, &p->turn);
	show_free(p->show);
	arena_free(p->looked);
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
	stop(p);
	daemon_end(&p->daemon);
	daemon_finish();
	return r < 0 ? EXIT_START_FAILED : 0;
}

/* The port lists and states of large muxes come and go; see mallopt(3). */
static void give_back_large_blocks(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

int main(int argc, char *argv[])
{
	struct program p = { 0 };
	int r;

	give_back_large_blocks();
	options_parse(&p.options, argc, argv);
	daemon_begin(&p.options.log);
	p.loop = ev_default_loop(0);
	r = serve(&p);
	ev_loop_destroy(p.loop);
	options_free(&p.options);
	return r;
}
