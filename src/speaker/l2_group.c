/* SPDX-License-Identifier: Apache-2.0 */
/*
 * l2_group: the life of a member.
 *
 *	open (retried) -> beats: look at the interface, judge, speak -> close when it is gone
 *
 * Judgement follows everything that may change an election: a heartbeat of another one, the time at
 * which a member is dead, the state of the interface, the stance of a VIP. The others are told of
 * a change at once. A VIP is released before its socket is closed, so a claim exists only while
 * the election has an owner here.
 */
#include "src/speaker/l2_group.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/l2/responder.h"
#include "lib/log/log.h"
#include "lib/loop/backoff.h"

#define FAREWELLS 3 /* the last heartbeat is sent so often, in case one is lost */
#define REFUSALS_EVERY (60 * NSEC_PER_SEC)
#define CLAIMS_EVERY (10 * NSEC_PER_SEC) /* after one that failed */
#define LAST_PRIORITY 1
#define PROBLEM_BYTES 160

static const struct backoff_policy open_policy = { .first = NSEC_PER_SEC / 10,
						   .last = NSEC_PER_SEC };

struct counts {
	uint64_t requests, answers, announcements;
};

struct vip {
	struct addr address;
	char *name;
	uint8_t priority;
	enum l2_stance stance;
	struct l2_election election;
	uint64_t transitions;
	int error;		/* of the last claim; it does not stand then */
	int64_t retry_at;	/* monotonic ns; while there is an error */
	struct counts released; /* of claims that ended */
};

/* Refused heartbeats of one kind are logged together. */
struct refusals {
	int64_t logged_at; /* monotonic ns; 0: never */
	uint64_t n;	   /* since then */
};

struct l2_group {
	struct ev_loop *loop;
	struct l2_group_config config;
	char *member, *name, *interface, *key;
	struct bgp_l2 group; /* refers to the strings above */
	struct net_ns ns;
	struct backoff retry;
	bool is_open;
	struct l2_responder responder; /* while open, as the heartbeat */
	struct l2_heartbeat heartbeat;
	bool is_up;	  /* at the last look */
	unsigned unsent;  /* beats in a row that could not be sent */
	int unsent_error; /* of the last of them */
	char problem[PROBLEM_BYTES];
	ev_timer beat, due;
	bool has_news;			  /* what others say has changed since the last judgement */
	VEC(struct vip *) vips;		  /* in the order of addr_cmp() */
	struct l2_heartbeat_stats before; /* of sockets that were closed */
	struct refusals refusals[L2_REFUSALS];
};

static size_t place_of(const struct l2_group *g, const struct addr *vip)
{
	return sorted_place(g->vips.n, i, addr_cmp(&g->vips.items[i]->address, vip) < 0);
}

static struct vip *find(const struct l2_group *g, const struct addr *vip)
{
	size_t i = place_of(g, vip);

	return i < g->vips.n && addr_cmp(&g->vips.items[i]->address, vip) == 0 ? g->vips.items[i]
									       : NULL;
}

static void tell(struct l2_group *g)
{
	g->config.changed(g->config.user);
}

/* ---- problems ---- */

static void describe(const struct l2_group *g, int error, char *ret, size_t size)
{
	switch (-error) {
	case 0:
		*ret = '\0';
		break;
	case ENODEV:
		snprintf(ret, size, "there is no interface %s", g->interface);
		break;
	case ENETDOWN:
		snprintf(ret, size, "%s is down or has no carrier", g->interface);
		break;
	case EOPNOTSUPP:
		snprintf(ret, size, "%s is not an Ethernet interface", g->interface);
		break;
	case EPERM:
		snprintf(ret, size, "ARP and NDP on %s need the capability CAP_NET_RAW",
			 g->interface);
		break;
	default:
		snprintf(ret, size, "%s: %s", g->interface, net_error_word(-error));
	}
}

/* The only place that changes the problem. */
static void set_problem(struct l2_group *g, int error)
{
	char text[PROBLEM_BYTES];

	describe(g, error, text, sizeof(text));
	if (strcmp(text, g->problem) == 0)
		return;
	memcpy(g->problem, text, sizeof(text));
	if (error)
		log_warn("l2-problem", LOG_S("group", g->name), LOG_S("interface", g->interface),
			 LOG_S("reason", text));
	else
		log_info("l2-usable", LOG_S("group", g->name), LOG_S("interface", g->interface));
	tell(g);
}

/* ---- deciding and doing ---- */

static void speak(struct l2_group *g)
{
	_cleanup_(cleanup_free) struct l2_beat_vip *list =
		mem_zalloc((g->vips.n + 1) * sizeof(*list));
	int64_t now = loop_monotonic();
	int r;

	for (size_t i = 0; i < g->vips.n; i++) {
		const struct vip *v = g->vips.items[i];
		struct l2_word word = l2_election_word(&v->election, now);

		list[i] = (struct l2_beat_vip){ v->address, word.priority, word.owner, word.preempt,
						word.claims };
	}
	r = l2_heartbeat_send(&g->heartbeat, list, g->vips.n,
			      (uint32_t)(g->group.rule.heartbeat / NSEC_PER_MSEC));
	g->unsent = r < 0 ? g->unsent + 1 : 0;
	g->unsent_error = r;
}

static void log_change(const struct l2_group *g, const struct vip *v, enum l2_state from)
{
	char text[ADDR_STRLEN];

	log_info("l2-transition", LOG_S("vip", v->name),
		 LOG_S("address", addr_format(&v->address, text)), LOG_S("group", g->name),
		 LOG_S("from", l2_state_name(from)), LOG_S("to", l2_state_name(v->election.state)),
		 LOG_S("reason", l2_reason_name(v->election.reason)),
		 LOG_S("owner", l2_election_owner(&v->election)));
}

/* The next judgement gives the VIP up, so that another member can have it. */
static void note_failed_claim(struct l2_group *g, struct vip *v, int error)
{
	v->error = error;
	v->retry_at = loop_monotonic() + CLAIMS_EVERY;
	l2_election_stand(&v->election, false);
	log_error("l2-claim-failed", LOG_S("vip", v->name), LOG_S("group", g->name),
		  LOG_S("error", net_error_word(-error)));
	ev_feed_event(g->loop, &g->due, EV_TIMER);
}

static void claim(struct l2_group *g, struct vip *v)
{
	int r = l2_responder_claim(&g->responder, &v->address);

	if (r < 0)
		note_failed_claim(g, v, r);
}

static void release(struct l2_group *g, struct vip *v)
{
	const struct l2_claim *c = l2_responder_find(&g->responder, &v->address);

	if (!c)
		return;
	v->released.requests += c->requests;
	v->released.answers += c->answers;
	v->released.announcements += c->announcements;
	l2_responder_release(&g->responder, &v->address);
}

static void act(struct l2_group *g, struct vip *v, enum l2_action action)
{
	switch (action) {
	case L2_NOTHING:
		break;
	case L2_ANNOUNCE:
	case L2_ANNOUNCE_AGAIN:
		claim(g, v);
		break;
	case L2_YIELD:
		release(g, v);
		break;
	}
}

/* True if the others are to be told. */
static bool judge_vip(struct l2_group *g, struct vip *v, int64_t now)
{
	enum l2_state from = v->election.state;
	enum l2_reason why = v->election.reason;
	size_t n = v->election.n;
	enum l2_action action = l2_election_judge(&v->election, now);

	act(g, v, action);
	g->has_news |= v->election.n != n || v->election.reason != why || action != L2_NOTHING;
	if (v->election.state != from) {
		v->transitions++;
		log_change(g, v, from);
	} else if (action == L2_ANNOUNCE_AGAIN) {
		log_debug("l2-announced-again", LOG_S("vip", v->name), LOG_S("group", g->name));
	}
	return action != L2_NOTHING;
}

static void arm(struct l2_group *g, int64_t now)
{
	int64_t due = 0;

	for (size_t i = 0; i < g->vips.n; i++) {
		int64_t its = g->vips.items[i]->election.due;

		if (its && (!due || its < due))
			due = its;
	}
	ev_timer_stop(g->loop, &g->due);
	if (!due)
		return;
	ev_now_update(g->loop);
	ev_timer_set(&g->due, due > now ? loop_seconds(due - now) : 0., 0.);
	ev_timer_start(g->loop, &g->due);
}

/*
 * Heartbeats that have arrived are heard first, of all members, so that nobody is dead only because
 * this process was late.
 */
void l2_group_judge(struct l2_group *g)
{
	bool changed = false;
	int64_t now;

	if (g->is_open)
		l2_heartbeat_look(&g->heartbeat);
	now = loop_monotonic();
	for (size_t i = 0; i < g->vips.n; i++)
		changed |= judge_vip(g, g->vips.items[i], now);
	if (changed && g->is_open)
		speak(g);
	if (g->has_news)
		tell(g);
	g->has_news = false;
	arm(g, now);
}

static void on_due(struct ev_loop *loop, ev_timer *w, int events)
{
	l2_group_judge(container_of(w, struct l2_group, due));
}

/*
 * Whether a VIP that could not be claimed could be now. Nothing is announced, because it is
 * released before the turn of the announcer, so its owner is not disturbed.
 */
static void try_claim(struct l2_group *g, struct vip *v, int64_t now)
{
	if (!v->error || now < v->retry_at)
		return;
	v->retry_at = now + CLAIMS_EVERY;
	v->error = l2_responder_claim(&g->responder, &v->address);
	l2_responder_release(&g->responder, &v->address);
	g->has_news |= !v->error;
}

/* ---- how it stands ---- */

/* One that can hardly serve yields to every other one, whether that pre-empts or not. */
static void set_rule(struct l2_group *g, struct vip *v)
{
	struct l2_rule rule = g->group.rule;

	rule.priority = v->priority;
	if (v->stance == L2_STANDS_LAST) {
		rule.priority = LAST_PRIORITY;
		rule.yields = true;
	}
	l2_election_set_rule(&v->election, &rule);
	l2_election_stand(&v->election, g->is_up && v->stance != L2_STANDS_NOT && !v->error);
}

/*
 * A member that cannot be reached, or cannot speak, does not stand; and when the network is back,
 * it must first hear who owns the VIPs.
 */
static void set_up(struct l2_group *g, bool up)
{
	bool returns = up && !g->is_up;
	int64_t now = loop_monotonic();

	g->is_up = up;
	for (size_t i = 0; i < g->vips.n; i++) {
		struct vip *v = g->vips.items[i];

		if (returns) {
			v->error = 0;
			l2_election_listen(&v->election, now);
		}
		if (up)
			try_claim(g, v, now);
		set_rule(g, v);
	}
}

void l2_group_stand(struct l2_group *g, const struct addr *vip, enum l2_stance stance)
{
	struct vip *v = find(g, vip);

	assert(v);
	v->stance = stance;
	set_rule(g, v);
}

/* ---- what is heard ---- */

/* Judged when all that has arrived was heard. */
static void on_heard(const struct l2_beat *b, void *user)
{
	struct l2_group *g = user;
	int64_t now = loop_monotonic();

	for (size_t i = 0; i < b->n; i++) {
		const struct l2_beat_vip *said = &b->vips[i];
		const struct l2_word word = { said->priority, said->owner, said->preempt,
					      said->claims, b->wait_ms * NSEC_PER_MSEC };
		struct vip *v = find(g, &said->vip);

		if (v)
			g->has_news |= l2_election_hear(&v->election, b->name, &word, now);
	}
	ev_feed_event(g->loop, &g->due, EV_TIMER);
}

/* Heartbeats of other groups may share the network and the key, and are not worth a line. */
static void on_refused(enum l2_refusal why, const char *who, void *user)
{
	struct l2_group *g = user;
	struct refusals *r = &g->refusals[why];
	int64_t now = loop_monotonic();

	r->n++;
	if (why == L2_REFUSED_GROUP || (r->logged_at && now - r->logged_at < REFUSALS_EVERY))
		return;
	log_warn("l2-refused", LOG_S("group", g->name), LOG_S("interface", g->interface),
		 LOG_S("reason", l2_refusal_name(why)), LOG_S("member", who), LOG_U("count", r->n));
	*r = (struct refusals){ .logged_at = now };
}

/* ---- the interface ---- */

static void add_stats(struct l2_heartbeat_stats *to, const struct l2_heartbeat_stats *s)
{
	to->sent += s->sent;
	to->failed += s->failed;
	to->received += s->received;
	for (size_t i = 0; i < L2_REFUSALS; i++)
		to->refused[i] += s->refused[i];
}

/* All VIPs have been released. */
static void shut(struct l2_group *g)
{
	if (!g->is_open)
		return;
	g->is_open = false;
	ev_timer_stop(g->loop, &g->beat);
	add_stats(&g->before, &g->heartbeat.stats);
	l2_heartbeat_close(&g->heartbeat);
	l2_responder_close(&g->responder);
}

static void lose(struct l2_group *g, int error)
{
	set_problem(g, error);
	set_up(g, false);
	l2_group_judge(g);
	shut(g);
	backoff_start(&g->retry);
}

/* What is wrong with the network, as a negative errno. */
static int look(const struct l2_group *g)
{
	int r = l2_responder_check(&g->responder);

	return r == 0 && g->unsent >= g->group.rule.losses ? g->unsent_error : r;
}

static void on_beat(struct ev_loop *loop, ev_timer *w, int events)
{
	struct l2_group *g = container_of(w, struct l2_group, beat);
	int r = look(g);

	if (r == -ENODEV) {
		lose(g, r);
		return;
	}
	set_problem(g, r);
	set_up(g, r == 0);
	l2_group_judge(g);
	speak(g);
}

static int open_sockets(struct l2_group *g)
{
	static const struct l2_heartbeat_events events = { on_heard, on_refused };
	const struct l2_heartbeat_config config = { .ns = &g->ns,
						    .interface = g->interface,
						    .family = g->group.family,
						    .port = g->group.port,
						    .group = g->group.number,
						    .name = g->member,
						    .key = g->group.key,
						    .boot = g->config.boot };
	int r = l2_responder_open(&g->responder, g->loop, &g->ns, g->interface);

	if (r < 0)
		return r;
	r = l2_heartbeat_open(&g->heartbeat, g->loop, &config, &events, g);
	if (r < 0)
		l2_responder_close(&g->responder);
	return r;
}

static void open_now(void *user)
{
	struct l2_group *g = user;
	int r = open_sockets(g);

	if (r < 0) {
		set_problem(g, r);
		backoff_start(&g->retry);
		return;
	}
	backoff_reset(&g->retry);
	g->is_open = true;
	g->unsent = 0;
	ev_timer_again(g->loop, &g->beat);
	on_beat(g->loop, &g->beat, EV_TIMER);
}

/* ---- VIPs ---- */

static int by_address(const void *a, const void *b)
{
	return addr_cmp(&((const struct l2_group_vip *)a)->address,
			&((const struct l2_group_vip *)b)->address);
}

static void free_vip(struct vip *v)
{
	free(v->name);
	free(v);
}

static void say_farewell(struct l2_group *g)
{
	l2_group_judge(g);
	for (unsigned i = 0; g->is_open && i < FAREWELLS; i++)
		speak(g);
}

/* wanted is sorted by address. The others hear that those which go are free. */
static void drop_others(struct l2_group *g, const struct l2_group_vip *wanted, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->vips.n; i++) {
		const struct l2_group_vip key = { .address = g->vips.items[i]->address };

		if (n && bsearch(&key, wanted, n, sizeof(*wanted), by_address))
			kept++;
		else
			l2_election_leave(&g->vips.items[i]->election);
	}
	if (kept == g->vips.n)
		return;
	say_farewell(g);
	kept = 0;
	for (size_t i = 0; i < g->vips.n; i++)
		if (g->vips.items[i]->election.reason == L2_LEFT)
			free_vip(g->vips.items[i]);
		else
			g->vips.items[kept++] = g->vips.items[i];
	g->vips.n = kept;
}

static struct vip *add(struct l2_group *g, const struct addr *address)
{
	struct vip *v = mem_zalloc(sizeof(*v));
	size_t i = place_of(g, address);

	v->address = *address;
	l2_election_start(&v->election, g->member, &g->group.rule, loop_monotonic());
	vec_insert_at(&g->vips, i);
	g->vips.items[i] = v;
	return v;
}

static void set_string(char **to, const char *text)
{
	char *copy = mem_strdup(text);

	free(*to);
	*to = copy;
}

/* The others learn the interval from a heartbeat, so one is sent before the old one has passed. */
static void set_group(struct l2_group *g, const struct bgp_l2 *group)
{
	set_string(&g->name, group->name);
	g->group.name = g->name;
	g->group.rule = group->rule;
	g->beat.repeat = loop_seconds(group->rule.heartbeat);
	if (g->is_open)
		ev_timer_again(g->loop, &g->beat);
}

void l2_group_configure(struct l2_group *g, const struct bgp_l2 *group,
			const struct l2_group_vip *vips, size_t n)
{
	_cleanup_(cleanup_free) struct l2_group_vip *sorted = mem_zalloc((n + 1) * sizeof(*sorted));

	if (n) {
		memcpy(sorted, vips, n * sizeof(*vips));
		qsort(sorted, n, sizeof(*sorted), by_address);
	}
	set_group(g, group);
	drop_others(g, sorted, n);
	for (size_t i = 0; i < n; i++) {
		struct vip *v = find(g, &sorted[i].address);

		if (!v)
			v = add(g, &sorted[i].address);
		set_string(&v->name, sorted[i].name);
		v->error = 0;
		v->priority = sorted[i].priority;
		set_rule(g, v);
	}
	l2_group_judge(g);
	if (g->is_open)
		speak(g);
}

void l2_group_leave(struct l2_group *g)
{
	for (size_t i = 0; i < g->vips.n; i++)
		l2_election_leave(&g->vips.items[i]->election);
	say_farewell(g);
}

/* ---- the door ---- */

struct l2_group *l2_group_new(struct ev_loop *loop, const struct l2_group_config *config)
{
	struct l2_group *g = mem_zalloc(sizeof(*g));
	const struct bgp_l2 *group = config->group;

	g->loop = loop;
	g->config = *config;
	g->group = *group;
	g->member = mem_strdup(config->member);
	g->name = mem_strdup(group->name);
	g->interface = mem_strdup(group->interface);
	g->key = mem_alloc(group->key.n);
	memcpy(g->key, group->key.p, group->key.n);
	g->group.name = g->name;
	g->group.interface = g->interface;
	g->group.key = (struct str){ g->key, group->key.n };
	net_ns_init(&g->ns, NULL);
	ev_init(&g->due, on_due);
	ev_init(&g->beat, on_beat);
	g->beat.repeat = loop_seconds(group->rule.heartbeat);
	snprintf(g->problem, sizeof(g->problem), "%s has not been opened yet", g->interface);
	backoff_init(&g->retry, loop, &open_policy, open_now, g);
	backoff_now(&g->retry);
	return g;
}

void l2_group_free(struct l2_group *g)
{
	if (!g)
		return;
	l2_group_leave(g);
	shut(g);
	ev_timer_stop(g->loop, &g->due);
	ev_clear_pending(g->loop, &g->due);
	backoff_stop(&g->retry);
	for (size_t i = 0; i < g->vips.n; i++)
		free_vip(g->vips.items[i]);
	vec_free(&g->vips);
	net_ns_free(&g->ns);
	free(g->member);
	free(g->name);
	free(g->interface);
	explicit_bzero(g->key, g->group.key.n);
	free(g->key);
	free(g);
}

bool l2_group_is(const struct l2_group *g, const struct l2_group_config *config)
{
	const struct bgp_l2 *a = &g->group, *b = config->group;

	return strcmp(g->member, config->member) == 0 && strcmp(a->interface, b->interface) == 0 &&
	       str_eq(a->key, b->key) && a->number == b->number && a->family == b->family &&
	       a->port == b->port;
}

bool l2_group_view(const struct l2_group *g, const struct addr *vip, struct l2_view *ret)
{
	const struct vip *v = find(g, vip);
	const struct l2_claim *c;

	if (!v)
		return false;
	c = g->is_open ? l2_responder_find(&g->responder, vip) : NULL;
	*ret = (struct l2_view){
		.group = g->name,
		.interface = g->interface,
		.problem = v->error ? net_error_word(-v->error) : g->problem,
		.election = &v->election,
		.priority = v->priority,
		.transitions = v->transitions,
		.requests = v->released.requests + (c ? c->requests : 0),
		.answers = v->released.answers + (c ? c->answers : 0),
		.announcements = v->released.announcements + (c ? c->announcements : 0),
	};
	return true;
}

const char *l2_group_name(const struct l2_group *g)
{
	return g->name;
}

const char *l2_group_problem(const struct l2_group *g)
{
	return g->problem;
}

struct l2_heartbeat_stats l2_group_stats(const struct l2_group *g)
{
	struct l2_heartbeat_stats sum = g->before;

	if (g->is_open)
		add_stats(&sum, &g->heartbeat.stats);
	return sum;
}
