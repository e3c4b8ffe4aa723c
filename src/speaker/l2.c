/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/l2.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

struct l2 {
	struct ev_loop *loop;
	void (*changed)(void *user);
	void *user;
	uint64_t boot;
	const struct bgp_config *config; /* NULL: none yet */
	struct l2_group **groups;
	size_t n;
};

static struct l2_group_config config_of(const struct l2 *l, const struct bgp_config *c, size_t i)
{
	return (struct l2_group_config){ .member = c->name,
					 .group = &c->l2[i],
					 .boot = l->boot,
					 .changed = l->changed,
					 .user = l->user };
}

static struct l2_group *take(struct l2 *l, const struct l2_group_config *config)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->groups[i] && l2_group_is(l->groups[i], config))
			return TAKE_PTR(l->groups[i]);
	return NULL;
}

static void free_groups(struct l2 *l)
{
	for (size_t i = 0; i < l->n; i++)
		l2_group_free(l->groups[i]);
	free(l->groups);
}

static void give_vips(struct l2_group *g, const struct bgp_config *c, size_t group)
{
	_cleanup_(cleanup_free) struct l2_group_vip *list =
		mem_zalloc((c->n_vips + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < c->n_vips; i++) {
		const struct bgp_vip *v = &c->vips[i];

		if (v->l2 == group)
			list[n++] = (struct l2_group_vip){ v->name, v->address, v->l2_priority };
	}
	l2_group_configure(g, &c->l2[group], list, n);
}

/* Groups that end are left before others join, so that both may use one interface and port. */
void l2_configure(struct l2 *l, const struct bgp_config *config)
{
	struct l2_group **groups = mem_zalloc((config->n_l2 + 1) * sizeof(struct l2_group *));

	for (size_t i = 0; i < config->n_l2; i++) {
		const struct l2_group_config one = config_of(l, config, i);

		groups[i] = take(l, &one);
	}
	free_groups(l);
	l->groups = groups;
	l->n = config->n_l2;
	l->config = config;
	for (size_t i = 0; i < l->n; i++) {
		const struct l2_group_config one = config_of(l, config, i);

		if (!groups[i])
			groups[i] = l2_group_new(l->loop, &one);
		give_vips(groups[i], config, i);
	}
}

static enum l2_stance stance_of(enum announce_state s)
{
	static const enum l2_stance stances[] = { [ANNOUNCE_WITHDRAWN] = L2_STANDS_NOT,
						  [ANNOUNCE_UP] = L2_STANDS,
						  [ANNOUNCE_WORSE] = L2_STANDS_LAST,
						  [ANNOUNCE_DRAINING] = L2_STANDS_NOT };

	return stances[s];
}

void l2_stand(struct l2 *l, const enum announce_state *states)
{
	for (size_t i = 0; i < l->config->n_vips; i++) {
		const struct bgp_vip *v = &l->config->vips[i];

		if (v->l2 != BGP_NONE)
			l2_group_stand(l->groups[v->l2], &v->address, stance_of(states[i]));
	}
	for (size_t i = 0; i < l->n; i++)
		l2_group_judge(l->groups[i]);
}

void l2_leave(struct l2 *l)
{
	for (size_t i = 0; i < l->n; i++)
		l2_group_leave(l->groups[i]);
}

struct l2 *l2_new(struct ev_loop *loop, void (*changed)(void *user), void *user)
{
	struct l2 *l = mem_zalloc(sizeof(*l));

	l->loop = loop;
	l->changed = changed;
	l->user = user;
	l->boot = (uint64_t)loop_realtime();
	return l;
}

void l2_free(struct l2 *l)
{
	if (!l)
		return;
	free_groups(l);
	free(l);
}

const struct l2_group *l2_group_at(const struct l2 *l, size_t i)
{
	assert(i < l->n);
	return l->groups[i];
}

bool l2_view(const struct l2 *l, size_t vip, struct l2_view *ret)
{
	const struct bgp_vip *v = &l->config->vips[vip];

	return v->l2 != BGP_NONE && l2_group_view(l->groups[v->l2], &v->address, ret);
}
