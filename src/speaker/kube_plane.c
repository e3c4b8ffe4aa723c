/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_plane: what the maglevd of this node says about Services on the Maglev data plane.
 *
 * A Service that asks for it has a frontend for each address and port. Names are made by
 * core/cluster, which maglevd uses as well. Whether the Service is served is decided by
 * core/announce, with the same rules as for VIPs of a file: a maglevd that is silent changes
 * nothing for a while, because the kernel goes on forwarding.
 *
 * When the maglevd says something, the Services are looked at, and those whose state changes are
 * judged again. At the start nothing is applied before it has said something about all of them, or
 * the routes that FRR announces would go for a moment.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "src/speaker/kube_state.h"
#include "wire/cluster.h"

#define HOLD (30 * NSEC_PER_SEC)     /* a maglevd may be silent for this long */
#define PATIENCE (10 * NSEC_PER_SEC) /* at the start, for its first word */

static const struct announce_rule rule = { .min_servers = 1,
					   .fallback = ANNOUNCE_THEN_WITHDRAW,
					   .hold = HOLD };

static bool is_served(const struct kube_entry *e)
{
	return announce_is_sent(e->plane.state);
}

/* ---- one Service ---- */

void kube__plane_read(const struct kube_entry *e, const struct kube_service *s,
		      struct kube_entry *made)
{
	const struct cluster_port *ports = wire_service_ports(&s->ports, made->arena);
	const char **names =
		arena_array_of(made->arena, made->n_addresses * s->ports.n, const char *);

	made->by_data_plane = wire_annotations_ask(&s->annotations);
	for (size_t a = 0; made->by_data_plane && a < made->n_addresses; a++)
		for (size_t p = 0; p < s->ports.n; p++)
			if (ports[p].protocol)
				names[made->n_frontends++] =
					cluster_frontend_name(e->namespace, e->name,
							      &made->addresses[a], &ports[p],
							      made->arena);
	made->frontends = names;
}

static bool is_missing(const struct announce_source *s)
{
	return s->reachable && s->heard && !s->known;
}

/*
 * A node that begins to announce gets connections of others. Until its table is complete it would
 * send them to other servers, so the first servers that are up are not enough.
 */
static struct announce_source source_of(const struct kube_entry *e, const char *frontend)
{
	const struct follow *f = e->of->follow;
	struct announce_source s = follow_source(f, frontend, rule.min_servers);

	if (!is_served(e) && s.up && !follow_is_complete(f, frontend))
		s.reachable = s.heard = false;
	return s;
}

/*
 * The frontends are those of the decision, which may be a new one. A port that maglevd does not
 * have, because it is new or because its address is taken, does not count beside others: its
 * packets are those of kube-proxy.
 */
static void judge(struct kube_entry *e, const char *const *frontends, size_t n)
{
	_cleanup_(cleanup_free) struct announce_source *sources =
		mem_zalloc((n + 1) * sizeof(*sources));
	struct announce_change change;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		sources[kept] = source_of(e, frontends[i]);
		kept += !is_missing(&sources[kept]);
	}
	announce_judge(&e->plane, &rule, sources, kept ? kept : 1, loop_monotonic(), &change);
}

static void wait_until(struct kube *k, int64_t due)
{
	int64_t now = loop_monotonic();
	double wait = due > now ? loop_seconds(due - now) : 0.;

	if (ev_is_active(&k->plane) && ev_timer_remaining(k->loop, &k->plane) <= wait)
		return;
	ev_timer_stop(k->loop, &k->plane);
	ev_timer_set(&k->plane, wait, 0.);
	ev_timer_start(k->loop, &k->plane);
}

/* Without any port that could be served there is nothing to ask for. */
bool kube__plane_serves(struct kube_entry *e, const struct kube_entry *made)
{
	if (!made->by_data_plane || !made->n_frontends || !e->of->follow) {
		e->plane = (struct announce){ 0 };
		return false;
	}
	judge(e, made->frontends, made->n_frontends);
	if (e->plane.due)
		wait_until(e->of, e->plane.due);
	return is_served(e);
}

/* ---- all of them ---- */

static void review(struct kube *k)
{
	for (size_t i = 0; i < k->entries.n; i++) {
		struct kube_entry *e = k->entries.items[i];
		bool was = is_served(e);

		if (!e->view || !e->by_data_plane || !e->n_frontends)
			continue;
		judge(e, e->frontends, e->n_frontends);
		if (is_served(e) != was)
			kube__judge_again(e);
		if (e->plane.due)
			wait_until(k, e->plane.due);
	}
	if (!k->judged) /* it may have been the last that was awaited */
		task_wake(&k->task);
}

static void on_plane(struct ev_loop *loop, ev_timer *timer, int revents)
{
	review(container_of(timer, struct kube, plane));
}

/* Many events come at once; one look is enough. */
static void on_said(void *user)
{
	wait_until(user, 0);
}

bool kube__plane_is_awaited(const struct kube *k)
{
	if (!k->follow || loop_monotonic() - k->follow_since >= PATIENCE)
		return false;
	for (size_t i = 0; i < k->entries.n; i++) {
		const struct kube_entry *e = k->entries.items[i];

		if (e->view && e->by_data_plane && e->n_frontends &&
		    e->plane.reason == ANNOUNCE_STARTING)
			return true;
	}
	return false;
}

/* ---- the door ---- */

void kube__plane_init(struct kube *k)
{
	ev_init(&k->plane, on_plane);
}

void kube__plane_start(struct kube *k)
{
	const struct bgp_maglevd node = { .name = "node", .address = k->options->maglevd };

	if (!*k->options->maglevd)
		return;
	k->follow_since = loop_monotonic();
	k->follow = follow_new(k->loop, &(struct follow_config){
						.maglevd = &node, .changed = on_said, .user = k });
	wait_until(k, k->follow_since + PATIENCE);
}

void kube__plane_free(struct kube *k)
{
	ev_timer_stop(k->loop, &k->plane);
	if (k->follow)
		follow_free(k->follow);
}
