/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_l2: a port is an interface that was opened. Claims are kept as a sorted list of what is
 * owned; each port has those that are meant for it. Counters of an address that was released are
 * kept as long as the process, up to a bound: metrics must not go back.
 */
#include "src/speaker/kube_l2.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "lib/l2/links.h"
#include "lib/log/log.h"

#define LOOK_EVERY 2. /* s */
#define GROUP 1
#define FAREWELLS 3 /* the last heartbeat is sent so often, in case one is lost */
#define RETIRED_MAX 4096

struct port {
	struct kube_l2 *of;
	char name[L2_LINK_NAME];
	struct l2_responder responder;
	struct l2_heartbeat heartbeat;
	bool beats;
	int error;		 /* of the last try; it is not open then */
	VEC(struct addr) claims; /* sorted */
};

struct claim {
	struct addr address;
	char **interfaces;
	size_t n;
};

struct retired {
	struct addr address;
	struct kube_l2_counts counts;
};

struct kube_l2 {
	struct kube_l2_config config;
	struct net_ns ns;
	struct l2_links links;
	struct buf key;
	uint64_t boot;
	ev_timer look, beat;
	VEC(struct port *) ports;	/* sorted by name */
	VEC(struct claim) claims;	/* sorted by address */
	VEC(struct retired) retired;	/* likewise */
	struct l2_heartbeat_stats past; /* of sockets that were closed */
	bool left;
};

/* ---- counters ---- */

static void add_counts(struct kube_l2_counts *to, const struct l2_claim *c)
{
	to->requests += c->requests;
	to->answers += c->answers;
	to->announcements += c->announcements;
}

static size_t place_of_retired(const struct kube_l2 *l, const struct addr *a)
{
	return sorted_place(l->retired.n, i, addr_cmp(&l->retired.items[i].address, a) < 0);
}

static void retire(struct kube_l2 *l, const struct l2_claim *c)
{
	size_t i = place_of_retired(l, &c->vip);

	if (i == l->retired.n || addr_cmp(&l->retired.items[i].address, &c->vip) != 0) {
		if (l->retired.n == RETIRED_MAX)
			return;
		vec_insert_at(&l->retired, i);
		l->retired.items[i] = (struct retired){ .address = c->vip };
	}
	add_counts(&l->retired.items[i].counts, c);
}

struct kube_l2_counts kube_l2_counts(const struct kube_l2 *l, const struct addr *a)
{
	size_t at = place_of_retired(l, a);
	struct kube_l2_counts counts = { 0 };

	if (at < l->retired.n && addr_cmp(&l->retired.items[at].address, a) == 0)
		counts = l->retired.items[at].counts;
	for (size_t i = 0; i < l->ports.n; i++) {
		const struct l2_claim *c =
			l->ports.items[i]->error
				? NULL
				: l2_responder_find(&l->ports.items[i]->responder, a);

		if (c)
			add_counts(&counts, c);
	}
	return counts;
}

static void add_stats(struct l2_heartbeat_stats *to, const struct l2_heartbeat_stats *s)
{
	to->sent += s->sent;
	to->failed += s->failed;
	to->received += s->received;
	for (size_t i = 0; i < L2_REFUSALS; i++)
		to->refused[i] += s->refused[i];
}

struct l2_heartbeat_stats kube_l2_heartbeats(const struct kube_l2 *l)
{
	struct l2_heartbeat_stats sum = l->past;

	for (size_t i = 0; i < l->ports.n; i++)
		if (l->ports.items[i]->beats)
			add_stats(&sum, &l->ports.items[i]->heartbeat.stats);
	return sum;
}

/* ---- claims on one port ---- */

static bool is_for(const struct claim *c, const char *port)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->interfaces[i], port) == 0)
			return true;
	return c->n == 0;
}

static const struct claim *find_claim(const struct kube_l2 *l, const struct addr *a)
{
	size_t i = sorted_place(l->claims.n, k, addr_cmp(&l->claims.items[k].address, a) < 0);

	return i < l->claims.n && addr_cmp(&l->claims.items[i].address, a) == 0
		       ? &l->claims.items[i]
		       : NULL;
}

static void release(struct port *p, size_t i)
{
	const struct l2_claim *c = l2_responder_find(&p->responder, &p->claims.items[i]);

	if (c)
		retire(p->of, c);
	l2_responder_release(&p->responder, &p->claims.items[i]);
	vec_remove_at(&p->claims, i);
}

static void claim(struct port *p, const struct addr *a, bool again)
{
	size_t i = sorted_place(p->claims.n, k, addr_cmp(&p->claims.items[k], a) < 0);
	bool known = i < p->claims.n && addr_cmp(&p->claims.items[i], a) == 0;
	char text[ADDR_STRLEN];
	int r = known && !again ? 0 : l2_responder_claim(&p->responder, a);

	if (r < 0)
		log_error("l2-claim-failed", LOG_S("interface", p->name),
			  LOG_S("address", addr_format(a, text)), LOG_S("error", strerror(-r)));
	if (r < 0 || known)
		return;
	vec_insert_at(&p->claims, i);
	p->claims.items[i] = *a;
}

static void settle(struct port *p, bool again)
{
	const struct kube_l2 *l = p->of;

	if (p->error)
		return;
	for (size_t i = p->claims.n; i > 0; i--) {
		const struct claim *c = find_claim(l, &p->claims.items[i - 1]);

		if (!c || !is_for(c, p->name))
			release(p, i - 1);
	}
	for (size_t i = 0; i < l->claims.n; i++)
		if (is_for(&l->claims.items[i], p->name))
			claim(p, &l->claims.items[i].address, again);
}

/* ---- heartbeats ---- */

static void on_heard(const struct l2_beat *b, void *user)
{
	struct kube_l2 *l = ((struct port *)user)->of;
	bool leaves = b->n == 1 && b->vips[0].priority == 0;

	l->config.heard(b->name, leaves, l->config.user);
}

static const struct l2_heartbeat_events events = { .heard = on_heard };

static void silence(struct port *p)
{
	if (!p->beats)
		return;
	add_stats(&p->of->past, &p->heartbeat.stats);
	l2_heartbeat_close(&p->heartbeat);
	p->beats = false;
}

static void open_heartbeat(struct port *p)
{
	struct kube_l2 *l = p->of;
	const struct l2_heartbeat_config config = {
		.ns = &l->ns,
		.interface = p->name,
		.family = AF_INET,
		.port = L2_HEARTBEAT_PORT,
		.group = GROUP,
		.name = l->config.node,
		.key = { l->key.p, l->key.n },
		.boot = l->boot,
	};

	if (p->beats || p->error || !l->key.n)
		return;
	p->beats = l2_heartbeat_open(&p->heartbeat, l->config.loop, &config, &events, p) == 0;
}

static void on_beat(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct kube_l2 *l = container_of(timer, struct kube_l2, beat);

	for (size_t i = 0; i < l->ports.n; i++)
		if (l->ports.items[i]->beats)
			l2_heartbeat_send(&l->ports.items[i]->heartbeat, NULL, 0,
					  (uint32_t)(KUBE_L2_BEAT * 1000));
}

/* ---- ports ---- */

static void close_port(struct port *p)
{
	while (!p->error && p->claims.n)
		release(p, p->claims.n - 1);
	silence(p);
	if (!p->error)
		l2_responder_close(&p->responder);
	vec_free(&p->claims);
	free(p);
}

static void open_port(struct port *p)
{
	int was = p->error;

	p->error = l2_responder_open(&p->responder, p->of->config.loop, &p->of->ns, p->name);
	if (p->error && p->error != was)
		log_warn("l2-interface-failed", LOG_S("interface", p->name),
			 LOG_S("error", strerror(-p->error)));
	if (p->error)
		return;
	log_info("l2-interface", LOG_S("interface", p->name), LOG_S("state", "open"));
	open_heartbeat(p);
	settle(p, false);
}

static bool is_excluded(const struct kube_l2 *l, const char *name)
{
	struct str rest = str_of(l->config.exclude), one;

	while (str_cut(&rest, ',', &one)) {
		char pattern[64];

		if (!one.n || one.n >= sizeof(pattern))
			continue;
		memcpy(pattern, one.p, one.n);
		pattern[one.n] = '\0';
		if (fnmatch(pattern, name, 0) == 0)
			return true;
	}
	return false;
}

static size_t place_of_port(const struct kube_l2 *l, const char *name)
{
	return sorted_place(l->ports.n, i, strcmp(l->ports.items[i]->name, name) < 0);
}

static bool add_port(struct kube_l2 *l, const char *name)
{
	size_t i = place_of_port(l, name);
	struct port *p;

	if (i < l->ports.n && strcmp(l->ports.items[i]->name, name) == 0)
		return false;
	p = mem_zalloc(sizeof(*p));
	p->of = l;
	p->error = 1; /* not tried yet */
	memcpy(p->name, name, strlen(name) + 1);
	vec_insert_at(&l->ports, i);
	l->ports.items[i] = p;
	return true;
}

/* Gone, or another one under the same name. */
static bool drop_stale(struct kube_l2 *l)
{
	bool dropped = false;

	for (size_t i = l->ports.n; i > 0; i--) {
		struct port *p = l->ports.items[i - 1];
		bool gone = !l2_links_find(&l->links, p->name) ||
			    (!p->error && l2_responder_check(&p->responder) == -ENODEV);

		if (!gone)
			continue;
		log_info("l2-interface", LOG_S("interface", p->name), LOG_S("state", "gone"));
		close_port(p);
		vec_remove_at(&l->ports, i - 1);
		dropped = true;
	}
	return dropped;
}

static void look(struct kube_l2 *l)
{
	bool changed;

	if (l->left || l2_links_read(&l->links, &l->ns) < 0)
		return;
	changed = drop_stale(l);
	for (size_t i = 0; i < l->links.list.n; i++)
		if (!is_excluded(l, l->links.list.items[i].name))
			changed |= add_port(l, l->links.list.items[i].name);
	for (size_t i = 0; i < l->ports.n; i++)
		if (l->ports.items[i]->error)
			open_port(l->ports.items[i]);
		else
			open_heartbeat(l->ports.items[i]);
	if (changed)
		l->config.changed(l->config.user);
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int revents)
{
	look(container_of(timer, struct kube_l2, look));
}

/* ---- the door ---- */

struct kube_l2 *kube_l2_new(const struct kube_l2_config *config)
{
	struct kube_l2 *l = mem_zalloc(sizeof(*l));

	l->config = *config;
	l->boot = (uint64_t)loop_realtime();
	net_ns_init(&l->ns, NULL);
	ev_timer_init(&l->look, on_look, 0., LOOK_EVERY);
	ev_timer_start(config->loop, &l->look);
	ev_timer_init(&l->beat, on_beat, KUBE_L2_BEAT, KUBE_L2_BEAT);
	ev_timer_start(config->loop, &l->beat);
	return l;
}

static void free_claims(struct kube_l2 *l)
{
	for (size_t i = 0; i < l->claims.n; i++) {
		for (size_t k = 0; k < l->claims.items[i].n; k++)
			free(l->claims.items[i].interfaces[k]);
		free(l->claims.items[i].interfaces);
	}
	l->claims.n = 0;
}

void kube_l2_free(struct kube_l2 *l)
{
	if (!l)
		return;
	ev_timer_stop(l->config.loop, &l->look);
	ev_timer_stop(l->config.loop, &l->beat);
	for (size_t i = 0; i < l->ports.n; i++)
		close_port(l->ports.items[i]);
	vec_free(&l->ports);
	free_claims(l);
	vec_free(&l->claims);
	vec_free(&l->retired);
	l2_links_free(&l->links);
	net_ns_free(&l->ns);
	buf_free(&l->key);
	free(l);
}

void kube_l2_set_key(struct kube_l2 *l, struct str key)
{
	if (l->key.n == key.n && (!key.n || memcmp(l->key.p, key.p, key.n) == 0))
		return;
	for (size_t i = 0; i < l->ports.n; i++)
		silence(l->ports.items[i]);
	l->key.n = 0;
	buf_add(&l->key, key.p, key.n);
	for (size_t i = 0; i < l->ports.n; i++)
		open_heartbeat(l->ports.items[i]);
}

static struct claim copy_claim(const struct kube_l2_claim *from)
{
	struct claim c = { from->address, NULL, from->interfaces.n };

	c.interfaces = mem_zalloc((c.n + 1) * sizeof(*c.interfaces));
	for (size_t i = 0; i < c.n; i++)
		c.interfaces[i] = mem_strdup(from->interfaces.items[i]);
	return c;
}

void kube_l2_claim(struct kube_l2 *l, const struct kube_l2_claim *list, size_t n, bool again)
{
	if (l->left)
		return;
	free_claims(l);
	for (size_t i = 0; i < n; i++) {
		size_t at =
			sorted_place(l->claims.n, k,
				     addr_cmp(&l->claims.items[k].address, &list[i].address) < 0);

		vec_insert_at(&l->claims, at);
		l->claims.items[at] = copy_claim(&list[i]);
	}
	for (size_t i = 0; i < l->ports.n; i++)
		settle(l->ports.items[i], again);
}

void kube_l2_look(struct kube_l2 *l)
{
	for (size_t i = 0; i < l->ports.n; i++)
		if (l->ports.items[i]->beats)
			l2_heartbeat_look(&l->ports.items[i]->heartbeat);
}

void kube_l2_leave(struct kube_l2 *l)
{
	const struct l2_beat_vip farewell = { .vip = { .family = AF_INET } };

	kube_l2_claim(l, NULL, 0, false);
	l->left = true;
	ev_timer_stop(l->config.loop, &l->beat);
	for (size_t i = 0; i < FAREWELLS * l->ports.n; i++) {
		struct port *p = l->ports.items[i % l->ports.n];

		if (p->beats)
			l2_heartbeat_send(&p->heartbeat, &farewell, 1,
					  (uint32_t)(KUBE_L2_BEAT * 1000));
	}
}

bool kube_l2_has(const struct kube_l2 *l, const struct metal_texts *names)
{
	for (size_t i = 0; i < names->n; i++) {
		size_t at = place_of_port(l, names->items[i]);

		if (at < l->ports.n && strcmp(l->ports.items[at]->name, names->items[i]) == 0)
			return true;
	}
	return names->n == 0;
}

size_t kube_l2_interfaces(const struct kube_l2 *l)
{
	return l->ports.n;
}
