/* SPDX-License-Identifier: Apache-2.0 */
/* render_frontend: frontends, their pools and the weights of the members. */
#include <string.h>

#include "base/cleanup.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

/* Counts the members of all pools. A backend that is in two pools counts twice. */
static void count_up(const Maglev__FrontendInfo *f, size_t *ret_up, size_t *ret_all)
{
	size_t up = 0, all = 0;

	for (size_t i = 0; i < f->n_pools; i++) {
		const Maglev__PoolInfo *pool = f->pools[i];

		all += pool->n_backends;
		for (size_t j = 0; j < pool->n_backends; j++)
			up += strcmp(pool->backends[j]->state, "up") == 0;
	}
	*ret_up = up;
	*ret_all = all;
}

static void add_row(struct columns *c, const struct render *r, const Maglev__FrontendInfo *f)
{
	_cleanup_(buf_free) struct buf vip = { 0 };
	size_t up, all;

	count_up(f, &up, &all);
	render__add_vip(f->address, f->protocol, f->port, &vip);
	columns_cell(c, TINT_NONE, "%s", f->name);
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&vip));
	columns_cell(c, render__tint(f->state), "%s", f->state);
	render__age_cell(c, r, f->since);
	columns_cell(c, TINT_NONE, "%s", render__or_dash(f->active_pool));
	columns_cell(c, TINT_NONE, "%zu/%zu", up, all);
	columns_cell(c, TINT_NONE, "%s", f->description);
	columns_end_row(c);
}

void render_frontends(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListFrontendsResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NAME,VIP,STATE,AGE,POOL,UP,DESCRIPTION");
	for (size_t i = 0; i < list->n_frontends; i++)
		add_row(c, r, list->frontends[i]);
	columns_write(c, 0, r->out);
}

/* Appends what is unusual about a member: a weight that was set at run time, an override. */
static void add_notes(const Maglev__PoolBackendInfo *b, struct buf *out)
{
	if (b->slow_start_until)
		buf_printf(out, "[slow start]%s", b->mutated || b->override ? " " : "");
	if (b->mutated)
		buf_printf(out, "[weight %u in the file]", b->configured_weight);
	if (b->mutated && (b->override || render__tint(b->state) == TINT_OFF))
		buf_addc(out, ' ');
	render__add_mark(b->state, b->override, out);
}

static void add_pool(struct columns *c, const Maglev__PoolInfo *pool)
{
	columns_line(c, pool->active ? TINT_GOOD : TINT_NONE, "  %s%s", pool->name,
		     pool->active ? " [active]" : "");
	for (size_t i = 0; i < pool->n_backends; i++) {
		const Maglev__PoolBackendInfo *b = pool->backends[i];
		_cleanup_(buf_free) struct buf notes = { 0 };

		add_notes(b, &notes);
		columns_cell(c, TINT_NONE, "    %s", b->name);
		columns_cell(c, render__tint(b->state), "%s", b->state);
		columns_cell(c, TINT_NONE, "%u", b->weight);
		columns_cell(c, TINT_NONE, "%u", b->effective_weight);
		columns_cell(c, TINT_OFF, "%s", buf_cstr(&notes));
		columns_end_row(c);
	}
}

static void write_pools(const Maglev__FrontendInfo *f, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!f->n_pools)
		return;
	columns_head(c, "pools,STATE,WEIGHT,EFFECTIVE");
	for (size_t i = 0; i < f->n_pools; i++)
		add_pool(c, f->pools[i]);
	columns_write(c, 0, r->out);
}

void render_frontend(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__FrontendInfo *f = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "name", "%s", f->name);
	render__pair_if(c, "description", f->description);
	render__pair(c, "address", "%s", f->address);
	render__pair(c, "protocol", "%s", f->protocol);
	if (f->port)
		render__pair(c, "port", "%u", f->port);
	render__pair_state(c, r, f->state, f->since);
	render__pair(c, "active-pool", "%s", render__or_dash(f->active_pool));
	render__pair(c, "src-ip-sticky", "%s", f->src_ip_sticky ? "yes" : "no");
	render__pair(c, "flush-on-down", "%s", f->flush_on_down ? "yes" : "no");
	if (!f->released)
		render__pair(c, "data-plane", "left alone by the warm-up");
	columns_write(c, 0, r->out);
	write_pools(f, r);
}

/*
 * NULL if the answer does not contain the member, for example from a server of another version.
 */
static const Maglev__PoolBackendInfo *find_member(const Maglev__FrontendInfo *f, const char *pool,
						  const char *backend)
{
	for (size_t i = 0; i < f->n_pools; i++)
		for (size_t j = 0; j < f->pools[i]->n_backends; j++)
			if (strcmp(f->pools[i]->name, pool) == 0 &&
			    strcmp(f->pools[i]->backends[j]->name, backend) == 0)
				return f->pools[i]->backends[j];
	return NULL;
}

void render_weight(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__FrontendInfo *f = (const void *)message;
	const char *const *args = r->command->args;
	const Maglev__PoolBackendInfo *b = find_member(f, args[SLOT_POOL], args[SLOT_BACKEND]);
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_line(c, TINT_NONE, "frontend %s, pool %s, backend %s: weight %u, effective %u%s",
		     f->name, args[SLOT_POOL], args[SLOT_BACKEND], b ? b->weight : 0,
		     b ? b->effective_weight : 0, args[SLOT_FLUSH] ? ", flushed" : "");
	columns_write(c, 0, r->out);
}
