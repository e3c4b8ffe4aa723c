/* SPDX-License-Identifier: Apache-2.0 */
/*
 * l2-node: a member of an election with nothing behind its VIPs, for tests.
 *
 *	l2-node --interface IF --name NAME --priority N --key TEXT --vip ADDRESS... [--preempt]
 *		[--family 4|6] [--group N] [--heartbeat MS] [--boot N]
 *
 * Logs what happens: "ready", "state" (a VIP was taken or yielded), "again" (it was announced
 * again), "refused" (a heartbeat). SIGTERM: leaves and exits. SIGUSR1: its frontend goes down, and
 * with the next one up.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l2/election.h"
#include "lib/l2/heartbeat.h"
#include "lib/l2/responder.h"
#include "lib/log/log.h"

#define VIPS_MAX 8
#define FAREWELLS 3 /* the last heartbeat is said so often, in case one is lost */

static struct node {
	struct ev_loop *loop;
	struct l2_rule rule;
	struct l2_heartbeat_config config;
	struct l2_heartbeat heartbeat;
	struct l2_responder responder;
	struct addr vips[VIPS_MAX];
	struct l2_election elections[VIPS_MAX];
	size_t n;
	bool frontend_is_up, network_is_up;
	ev_timer beat, due;
} node = { .rule = { .priority = 100, .heartbeat = L2_HEARTBEAT, .losses = L2_LOSSES },
	   .config = { .family = AF_INET, .port = L2_HEARTBEAT_PORT, .group = 1 },
	   .frontend_is_up = true };

static void report(const char *event, size_t i)
{
	const struct l2_election *e = &node.elections[i];
	char text[ADDR_STRLEN];

	log_info(event, LOG_S("vip", addr_format(&node.vips[i], text)),
		 LOG_S("to", l2_state_name(e->state)), LOG_S("reason", l2_reason_name(e->reason)),
		 LOG_S("owner", l2_election_owner(e)));
}

/* ---- deciding and doing ---- */

static void speak(int64_t now)
{
	struct l2_beat_vip vips[VIPS_MAX];

	for (size_t i = 0; i < node.n; i++) {
		struct l2_word word = l2_election_word(&node.elections[i], now);

		vips[i] = (struct l2_beat_vip){ node.vips[i], word.priority, word.owner,
						word.preempt, word.claims };
	}
	l2_heartbeat_send(&node.heartbeat, vips, node.n,
			  (uint32_t)(node.rule.heartbeat / NSEC_PER_MSEC));
}

static void act(size_t i, enum l2_action action)
{
	switch (action) {
	case L2_NOTHING:
		return;
	case L2_ANNOUNCE:
		l2_responder_claim(&node.responder, &node.vips[i]);
		break;
	case L2_ANNOUNCE_AGAIN:
		l2_responder_claim(&node.responder, &node.vips[i]);
		report("again", i);
		return;
	case L2_YIELD:
		l2_responder_release(&node.responder, &node.vips[i]);
		break;
	}
	report("state", i);
}

static void arm(int64_t now)
{
	int64_t due = 0;

	for (size_t i = 0; i < node.n; i++) {
		int64_t its = node.elections[i].due;

		if (its && (!due || its < due))
			due = its;
	}
	ev_timer_stop(node.loop, &node.due);
	if (!due)
		return;
	ev_now_update(node.loop);
	ev_timer_set(&node.due, due > now ? loop_seconds(due - now) : 0, 0);
	ev_timer_start(node.loop, &node.due);
}

/*
 * Heartbeats that have arrived are heard first, of all members, so that nobody is dead only because
 * this process was late. The others hear of a change at once.
 */
static void judge(void)
{
	bool changed = false;
	int64_t now;

	l2_heartbeat_look(&node.heartbeat);
	now = loop_monotonic();
	for (size_t i = 0; i < node.n; i++) {
		enum l2_action action = l2_election_judge(&node.elections[i], now);

		act(i, action);
		changed |= action != L2_NOTHING;
	}
	if (changed)
		speak(now);
	arm(now);
}

/*
 * A member without a network cannot be reached, so it does not stand; and when the network is back,
 * it must first hear who owns the VIPs.
 */
static void look(void)
{
	bool up = l2_responder_check(&node.responder) == 0;

	for (size_t i = 0; i < node.n; i++) {
		if (up && !node.network_is_up)
			l2_election_listen(&node.elections[i], loop_monotonic());
		l2_election_stand(&node.elections[i], up && node.frontend_is_up);
	}
	node.network_is_up = up;
	judge();
}

/* ---- events ---- */

static void on_beat(struct ev_loop *loop, ev_timer *w, int events)
{
	look();
	speak(loop_monotonic());
}

static void on_due(struct ev_loop *loop, ev_timer *w, int events)
{
	judge();
}

static void on_heard(const struct l2_beat *b, void *user)
{
	int64_t now = loop_monotonic();

	for (size_t v = 0; v < b->n; v++) {
		const struct l2_beat_vip *said = &b->vips[v];
		const struct l2_word word = { said->priority, said->owner, said->preempt,
					      said->claims, b->wait_ms * NSEC_PER_MSEC };

		for (size_t i = 0; i < node.n; i++)
			if (addr_cmp(&node.vips[i], &said->vip) == 0)
				l2_election_hear(&node.elections[i], b->name, &word, now);
	}
	ev_feed_event(node.loop, &node.due, EV_TIMER); /* judged when all have been heard */
}

static void on_refused(enum l2_refusal why, const char *who, void *user)
{
	log_info("refused", LOG_S("why", l2_refusal_name(why)), LOG_S("who", who));
}

static void on_term(struct ev_loop *loop, ev_signal *w, int events)
{
	for (size_t i = 0; i < node.n; i++)
		l2_election_leave(&node.elections[i]);
	judge();
	for (unsigned i = 0; i < FAREWELLS; i++)
		speak(loop_monotonic());
	ev_break(loop, EVBREAK_ALL);
}

static void on_usr1(struct ev_loop *loop, ev_signal *w, int events)
{
	node.frontend_is_up = !node.frontend_is_up;
	look();
}

/* ---- start ---- */

static int run(void)
{
	static const struct l2_heartbeat_events heartbeat_events = { on_heard, on_refused };
	double interval = loop_seconds(node.rule.heartbeat);
	ev_signal term, usr1;
	struct net_ns ns;
	int r;

	net_ns_init(&ns, NULL);
	node.config.ns = &ns;
	node.loop = ev_default_loop(0);
	if ((r = l2_responder_open(&node.responder, node.loop, &ns, node.config.interface)) < 0 ||
	    (r = l2_heartbeat_open(&node.heartbeat, node.loop, &node.config, &heartbeat_events,
				   NULL)) < 0) {
		fprintf(stderr, "%s: %s\n", node.config.interface, net_error_word(-r));
		return 1;
	}
	ev_signal_init(&term, on_term, SIGTERM);
	ev_signal_start(node.loop, &term);
	ev_signal_init(&usr1, on_usr1, SIGUSR1);
	ev_signal_start(node.loop, &usr1);
	ev_timer_init(&node.due, on_due, 0, 0);
	ev_timer_init(&node.beat, on_beat, 0, interval);
	for (size_t i = 0; i < node.n; i++)
		l2_election_start(&node.elections[i], node.config.name, &node.rule,
				  loop_monotonic());
	ev_timer_start(node.loop, &node.beat);
	log_info("ready");
	ev_run(node.loop, 0);
	l2_heartbeat_close(&node.heartbeat);
	l2_responder_close(&node.responder);
	ev_loop_destroy(node.loop);
	net_ns_free(&ns);
	log_flush();
	return 0;
}

static bool take_option(int option)
{
	switch (option) {
	case 'i':
		node.config.interface = optarg;
		return true;
	case 'n':
		node.config.name = optarg;
		return strlen(optarg) <= L2_BEAT_NAME;
	case 'p':
		node.rule.priority = (uint8_t)strtoul(optarg, NULL, 10);
		return node.rule.priority;
	case 'k':
		node.config.key = str_of(optarg);
		return true;
	case 'v':
		return node.n < VIPS_MAX && addr_parse(optarg, &node.vips[node.n++]) == 0;
	case 'P':
		node.rule.preempt = true;
		return true;
	case 'f':
		node.config.family = *optarg == '6' ? AF_INET6 : AF_INET;
		return true;
	case 'g':
		node.config.group = (uint32_t)strtoul(optarg, NULL, 10);
		return true;
	case 'h':
		node.rule.heartbeat = (int64_t)strtoul(optarg, NULL, 10) * NSEC_PER_MSEC;
		return true;
	case 'l':
		return true; /* all daemons of the stories have it */
	case 'b':
		node.config.boot = strtoull(optarg, NULL, 10);
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "interface", 1, NULL, 'i' }, { "name", 1, NULL, 'n' },
		{ "priority", 1, NULL, 'p' },  { "key", 1, NULL, 'k' },
		{ "vip", 1, NULL, 'v' },       { "preempt", 0, NULL, 'P' },
		{ "family", 1, NULL, 'f' },    { "group", 1, NULL, 'g' },
		{ "heartbeat", 1, NULL, 'h' }, { "boot", 1, NULL, 'b' },
		{ "log-level", 1, NULL, 'l' }, { 0 },
	};
	int option;

	log_to_fd(STDOUT_FILENO, LOG_DEBUG);
	node.config.boot = (uint64_t)loop_realtime();
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
		if (!take_option(option))
			return 2;
	if (!node.config.interface || !node.config.name || !node.config.key.p || !node.n) {
		fprintf(stderr, "usage: l2-node --interface IF --name NAME --priority N --key TEXT"
				" --vip ADDRESS... [--preempt] [--family 4|6] [--group N]"
				" [--heartbeat MS] [--boot N]\n");
		return 2;
	}
	return run();
}
