/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver answers every request from a timer, never from within the verb, as the contract
 * demands. It asserts the reconciler's half of the contract too: one request at a time, and only
 * while connected. Operations are carried out one by one; the plane refuses what VPP would
 * refuse.
 */
#include "src/maglevd/dataplane/fake/fake.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct dataplane {
	struct ev_loop *loop;
	struct fake_plane *plane;
	struct dataplane_events events;
	ev_timer timer; /* answers the request under way */
	ev_timer hello; /* calls up() */
	bool connected;
	dataplane_observed_fn observed;
	dataplane_applied_fn applied;
	void *user;
	const struct lb_op *ops;
	size_t n_ops;
};

static struct fake_plane *next_plane;

void fake_use(struct fake_plane *plane)
{
	next_plane = plane;
}

static bool matches_family(const struct fake_plane *p, const struct lb_op *op)
{
	const struct lb_vip *vip = lb_state_vip(&p->state, &op->vip);

	return vip && (vip->encap == LB_ENCAP_GRE4) == (op->as.family == AF_INET);
}

/* As in VPP: an address has one encapsulation, and either an all-port VIP or VIPs by port. */
static bool fits_address(const struct fake_plane *p, const struct lb_op *op)
{
	for (size_t i = 0; i < p->state.vips.n; i++) {
		const struct lb_vip *other = &p->state.vips.items[i];

		if (addr_cmp(&other->key.address, &op->vip.address) == 0 &&
		    (other->encap != op->encap || !other->key.port != !op->vip.port))
			return false;
	}
	return true;
}

/* 0, or the errno a real plane would answer with. */
static int carry_out(struct fake_plane *p, const struct lb_op *op)
{
	struct buf text = { 0 };
	int err = 0;

	lb_op_print(op, &text);
	if (p->fail_match && strstr(buf_cstr(&text), p->fail_match))
		err = -EIO;
	else if (op->kind == LB_OP_VIP_ADD && !p->state.has_conf)
		err = -EPROTO;
	else if (op->kind == LB_OP_VIP_ADD && !fits_address(p, op))
		err = -EEXIST;
	else if (op->kind == LB_OP_AS_ADD && !matches_family(p, op))
		err = -EAFNOSUPPORT;
	else if (!lb_state_apply(&p->state, op))
		err = -EINVAL;
	if (!err)
		vec_push(&p->journal, mem_strdup(buf_cstr(&text)));
	buf_free(&text);
	return err;
}

/* A failing request carries out half of its operations, as a data plane that dies in the middle. */
static void answer_apply(struct dataplane *dp)
{
	struct fake_plane *p = dp->plane;
	dataplane_applied_fn applied = dp->applied;
	bool fail = p->fail_applies > 0;
	size_t limit = fail ? dp->n_ops / 2 : dp->n_ops, i;
	int err = 0;

	p->fail_applies -= fail;
	for (i = 0; i < limit; i++) {
		err = carry_out(p, &dp->ops[i]);
		if (err)
			break;
	}
	if (!err && fail)
		err = -EIO;
	dp->applied = NULL;
	applied(dp->user, err, i);
}

static void answer_observe(struct dataplane *dp)
{
	struct fake_plane *p = dp->plane;
	dataplane_observed_fn observed = dp->observed;
	bool fail = p->fail_observes > 0;

	p->fail_observes -= fail;
	p->observes++;
	dp->observed = NULL;
	observed(dp->user, fail ? -EIO : 0, fail ? NULL : &p->state);
}

static void on_answer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct dataplane *dp = w->data;

	if (dp->applied)
		answer_apply(dp);
	else
		answer_observe(dp);
}

static void on_hello(struct ev_loop *loop, ev_timer *w, int events)
{
	struct dataplane *dp = w->data;

	dp->connected = true;
	dp->events.up(dp->events.user);
}

static struct dataplane *fake_start(struct ev_loop *loop, const struct l4_config *config,
				    const struct dataplane_events *events)
{
	struct dataplane *dp = mem_zalloc(sizeof(*dp));

	assert(next_plane);
	dp->loop = loop;
	dp->plane = next_plane;
	dp->plane->driver = dp;
	dp->events = *events;
	ev_init(&dp->timer, on_answer);
	ev_timer_init(&dp->hello, on_hello, 0., 0.);
	dp->timer.data = dp->hello.data = dp;
	if (dp->plane->up)
		ev_timer_start(loop, &dp->hello);
	return dp;
}

static void fake_reconfigure(struct dataplane *dp, const struct l4_config *config)
{
}

/* A request that hangs starts no timer: only a disconnect ends it. */
static void ask(struct dataplane *dp, void *user)
{
	assert(dp->connected && !ev_is_active(&dp->timer));
	dp->user = user;
	ev_timer_set(&dp->timer, dp->plane->lag, 0.);
	if (!dp->plane->hang)
		ev_timer_start(dp->loop, &dp->timer);
}

static void fake_observe(struct dataplane *dp, dataplane_observed_fn done, void *user)
{
	assert(!dp->observed && !dp->applied);
	dp->observed = done;
	ask(dp, user);
}

static void fake_apply(struct dataplane *dp, const struct lb_op *ops, size_t n,
		       dataplane_applied_fn done, void *user)
{
	assert(!dp->observed && !dp->applied && n > 0);
	dp->applied = done;
	dp->ops = ops;
	dp->n_ops = n;
	ask(dp, user);
}

static const struct lb_counters *fake_counters(struct dataplane *dp)
{
	return dp->plane->counts ? &dp->plane->counters : NULL;
}

/* The pointers are set for each call, because the vector may have moved. */
static const struct dataplane_info *fake_info(struct dataplane *dp)
{
	struct fake_plane *p = dp->plane;

	p->info.messages = p->messages.items;
	p->info.n_messages = p->messages.n;
	return p->known ? &p->info : NULL;
}

/* NULL while there are no interfaces, as in a driver without that verb. */
static const struct lb_attachment *fake_attachment(struct dataplane *dp)
{
	struct fake_plane *p = dp->plane;

	p->attachment = (struct lb_attachment){ .interfaces = p->interfaces.items,
						.n = p->interfaces.n,
						.problem = "" };
	for (size_t i = 0; i < p->interfaces.n; i++)
		if (!p->interfaces.items[i].attached)
			p->attachment.problem = p->interfaces.items[i].problem;
	return p->interfaces.n ? &p->attachment : NULL;
}

static void fake_stop(struct dataplane *dp)
{
	ev_timer_stop(dp->loop, &dp->timer);
	ev_timer_stop(dp->loop, &dp->hello);
	dp->plane->driver = NULL;
	free(dp);
}

const struct dataplane_driver fake_driver = {
	.name = "fake",
	.start = fake_start,
	.reconfigure = fake_reconfigure,
	.observe = fake_observe,
	.apply = fake_apply,
	.counters = fake_counters,
	.info = fake_info,
	.attachment = fake_attachment,
	.stop = fake_stop,
};

/* The request under way is dropped without an answer, as dataplane.h demands. */
static void disconnect(struct dataplane *dp)
{
	ev_timer_stop(dp->loop, &dp->timer);
	ev_timer_stop(dp->loop, &dp->hello);
	dp->observed = NULL;
	dp->applied = NULL;
	if (!dp->connected)
		return;
	dp->connected = false;
	dp->events.down(dp->events.user, "the fake was told to go");
}

void fake_plane_set_up(struct fake_plane *plane, bool up)
{
	if (plane->up == up)
		return;
	plane->up = up;
	if (!plane->driver)
		return;
	if (up)
		ev_timer_start(plane->driver->loop, &plane->driver->hello);
	else
		disconnect(plane->driver);
}

void fake_plane_clear_journal(struct fake_plane *plane)
{
	for (size_t i = 0; i < plane->journal.n; i++)
		free(plane->journal.items[i]);
	plane->journal.n = 0;
}

void fake_plane_free(struct fake_plane *plane)
{
	fake_plane_clear_journal(plane);
	vec_free(&plane->journal);
	lb_state_free(&plane->state);
	plane->counts = plane->known = false;
	lb_counters_free(&plane->counters);
	vec_free(&plane->interfaces);
	vec_free(&plane->messages);
	for (size_t i = 0; i < plane->texts.n; i++)
		free(plane->texts.items[i]);
	vec_free(&plane->texts);
}

const char *fake_plane_keep(struct fake_plane *plane, const char *text)
{
	vec_push(&plane->texts, mem_strdup(text));
	return plane->texts.items[plane->texts.n - 1];
}

void fake_plane_set_interface(struct fake_plane *plane, const struct lb_interface *interface)
{
	size_t i = 0;

	while (i < plane->interfaces.n &&
	       strcmp(plane->interfaces.items[i].name, interface->name) != 0)
		i++;
	if (i == plane->interfaces.n)
		vec_push(&plane->interfaces, *interface);
	plane->interfaces.items[i] = *interface;
	if (plane->driver)
		plane->driver->events.problem(plane->driver->events.user);
}

size_t fake_plane_find(const struct fake_plane *plane, const char *text, size_t from)
{
	for (size_t i = from; i < plane->journal.n; i++)
		if (strstr(plane->journal.items[i], text))
			return i;
	return SIZE_MAX;
}

/* Finds the first VIP with the address, whatever its port. */
static struct lb_as *find_as(const struct fake_plane *plane, const char *vip, const char *as)
{
	struct addr vip_address, as_address;

	if (addr_parse(vip, &vip_address) < 0 || addr_parse(as, &as_address) < 0)
		return NULL;
	for (size_t i = 0; i < plane->state.vips.n; i++)
		if (addr_cmp(&plane->state.vips.items[i].key.address, &vip_address) == 0)
			return lb_vip_as(&plane->state.vips.items[i], &as_address);
	return NULL;
}

int fake_plane_weight(const struct fake_plane *plane, const char *vip, const char *as)
{
	const struct lb_as *found = find_as(plane, vip, as);

	return found ? found->weight : -1;
}

void fake_plane_set_weight(struct fake_plane *plane, const char *vip, const char *as,
			   unsigned weight)
{
	struct lb_as *found = find_as(plane, vip, as);

	assert(found && weight <= 100);
	found->weight = (uint8_t)weight;
}
