/* SPDX-License-Identifier: Apache-2.0 */
/*
 * render_many: what an act on several backends does, and the overrides of operators.
 */
#include <string.h>

#include "base/cleanup.h"
#include "src/maglevc/many.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

static const struct kind {
	const char *word;
	enum tint tint;
	size_t sum; /* offset of its number in struct many_sum */
	const char *one, *many;
} kinds[] = {
	{ "down", TINT_BAD, offsetof(struct many_sum, down), "goes down", "go down" },
	{ "failover", TINT_DOUBT, offsetof(struct many_sum, failover), "fails over", "fail over" },
	{ "fewer", TINT_DOUBT, offsetof(struct many_sum, fewer), "has fewer servers",
	  "have fewer servers" },
	{ "more", TINT_GOOD, offsetof(struct many_sum, more), "has more servers",
	  "have more servers" },
	{ "up", TINT_GOOD, offsetof(struct many_sum, up), "comes up", "come up" },
};

/* NULL: one that a newer server has. */
static const struct kind *kind_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].word, word) == 0)
			return &kinds[i];
	return NULL;
}

static size_t *number_of(struct many_sum *sum, const struct kind *kind)
{
	return (size_t *)(void *)((char *)sum + kind->sum);
}

void many_add(struct many_sum *sum, const Maglev__ActOnBackendsResponse *m)
{
	sum->servers++;
	sum->backends += m->n_backends;
	for (size_t i = 0; i < m->n_frontends; i++) {
		const struct kind *kind = kind_of(m->frontends[i]->kind);

		if (kind)
			++*number_of(sum, kind);
	}
}

void many_describe(const struct many_sum *sum, struct buf *out)
{
	struct many_sum copy = *sum;
	const char *before = "; frontends: ";

	buf_printf(out, "%zu backend%s", sum->backends, sum->backends == 1 ? "" : "s");
	if (sum->servers > 1)
		buf_printf(out, " on %zu servers", sum->servers);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t n = *number_of(&copy, &kinds[i]);

		if (!n)
			continue;
		buf_printf(out, "%s%zu %s", before, n, n == 1 ? kinds[i].one : kinds[i].many);
		before = ", ";
	}
}

static void write_backends(const Maglev__ActOnBackendsResponse *m, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, m->dry_run ? "BACKEND,ADDRESS,NOW,WOULD BE" : "BACKEND,ADDRESS,BEFORE,NOW");
	for (size_t i = 0; i < m->n_backends; i++) {
		const Maglev__BackendChange *b = m->backends[i];

		columns_cell(c, TINT_NONE, "%s", b->name);
		columns_cell(c, TINT_NONE, "%s", b->address);
		columns_cell(c, render__tint(b->before), "%s", b->before);
		columns_cell(c, render__tint(b->after), "%s", b->after);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

static void add_consequence(struct columns *c, const Maglev__FrontendConsequence *f)
{
	const struct kind *kind = kind_of(f->kind);

	columns_cell(c, TINT_NONE, "%s", f->frontend);
	columns_cell(c, kind ? kind->tint : TINT_NONE, "%s", kind ? kind->one : f->kind);
	if (strcmp(f->pool_before, f->pool_after) == 0)
		columns_cell(c, TINT_NONE, "%s", render__or_dash(f->pool_after));
	else
		columns_cell(c, TINT_NONE, "%s -> %s", render__or_dash(f->pool_before),
			     render__or_dash(f->pool_after));
	columns_cell(c, TINT_NONE, "%u -> %u of %u", f->servers_before, f->servers_after,
		     f->members);
	columns_end_row(c);
}

static void write_frontends(const Maglev__ActOnBackendsResponse *m, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (m->n_frontends)
		columns_head(c, "FRONTEND,EFFECT,POOL,SERVERS");
	for (size_t i = 0; i < m->n_frontends; i++)
		add_consequence(c, m->frontends[i]);
	if (m->unaffected)
		columns_line(c, TINT_NONE, "%u frontend%s with %s not change", m->unaffected,
			     m->unaffected == 1 ? "" : "s",
			     m->unaffected == 1 ? "one of them does" : "some of them do");
	columns_write(c, 0, r->out);
}

void render_many(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ActOnBackendsResponse *m = (const void *)message;
	struct many_sum *sum = r->sum;

	if (sum)
		many_add(sum, m);
	if (sum && sum->brief) {
		struct many_sum here = { 0 };

		many_add(&here, m);
		buf_printf(r->out, "%s: ", r->command->args[SLOT_ACT]);
		many_describe(&here, r->out);
		buf_addc(r->out, '\n');
		return;
	}
	write_backends(m, r);
	write_frontends(m, r);
}

/* ---- overrides ---- */

static void add_target(struct columns *c, const Maglev__OverrideInfo *o)
{
	columns_cell(c, TINT_NONE, "%s", o->backend);
	if (*o->frontend)
		columns_cell(c, TINT_OFF, "weight %u, not %u, in %s/%s", o->weight,
			     o->configured_weight, o->frontend, o->pool);
	else
		columns_cell(c, TINT_OFF, "%s%s", o->override->act,
			     o->override->from ? " (scheduled)" : "");
}

static void add_row(struct columns *c, const struct render *r, const Maglev__OverrideInfo *o)
{
	const Maglev__Override *v = o->override;
	_cleanup_(buf_free) struct buf who = { 0 };
	char from[TEXT_TIME_LEN], until[TEXT_TIME_LEN];

	render__add_operator(v->operator_, v->operator_address, &who);
	add_target(c, o);
	render__age_cell(c, r, v->at);
	columns_cell(c, TINT_NONE, "%s", v->from ? text_time(v->from, from) : "-");
	columns_cell(c, TINT_NONE, "%s", v->until ? text_time(v->until, until) : "-");
	columns_cell(c, TINT_NONE, "%s", who.n ? buf_cstr(&who) : "-");
	columns_cell(c, TINT_NONE, "%s", v->reason);
	columns_end_row(c);
}

/* The rule of restarts is said where people look for what is in force. */
void render_overrides(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListOverridesResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "BACKEND,OVERRIDE,AGE,FROM,UNTIL,OPERATOR,REASON");
	for (size_t i = 0; i < list->n_overrides; i++)
		if (list->overrides[i]->override)
			add_row(c, r, list->overrides[i]);
	columns_line(c, TINT_NONE, "%s",
		     list->kept ? "kept over a restart of maglevd"
				: "not kept over a restart of maglevd: then the file decides");
	columns_write(c, 0, r->out);
}
