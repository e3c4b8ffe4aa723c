/* SPDX-License-Identifier: Apache-2.0 */
/* render_backend: backends, the results of their probes, and the overrides of operators. */
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

static void add_row(struct columns *c, const struct render *r, const Maglev__BackendInfo *b)
{
	_cleanup_(buf_free) struct buf frontends = { 0 }, mark = { 0 };

	render__add_list(b->frontends, b->n_frontends, &frontends);
	render__add_mark(b->state, b->override, &mark);
	if (b->scheduled) {
		buf_adds(&mark, mark.n ? " " : "");
		render__add_mark("", b->scheduled, &mark);
	}
	columns_cell(c, TINT_NONE, "%s", b->name);
	columns_cell(c, TINT_NONE, "%s", b->address);
	columns_cell(c, render__tint(b->state), "%s", b->state);
	render__age_cell(c, r, b->since);
	columns_cell(c, TINT_NONE, "%s", render__or_dash(b->last_code));
	columns_cell(c, TINT_NONE, "%s", render__or_dash(b->healthcheck));
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&frontends));
	columns_cell(c, TINT_OFF, "%s", buf_cstr(&mark));
	columns_end_row(c);
}

void render_backends(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListBackendsResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NAME,ADDRESS,STATE,AGE,CODE,HEALTHCHECK,FRONTENDS");
	for (size_t i = 0; i < list->n_backends; i++)
		add_row(c, r, list->backends[i]);
	columns_write(c, 0, r->out);
}

/*
 * Backends without a health check have no counter. A last code is missing until the first probe
 * has ended. The counter runs from 0 to rise + fall - 1. Durations are cut to microseconds.
 */
static void add_probe(struct columns *c, const struct render *r, const Maglev__BackendInfo *b)
{
	char took[DURATION_STRLEN], age[TEXT_AGE_LEN];

	if (!*b->healthcheck)
		return;
	render__pair(c, "counter", "%u of %u (rise %u, fall %u)", b->counter,
		     b->rise + b->fall ? b->rise + b->fall - 1 : 0, b->rise, b->fall);
	if (!*b->last_code)
		return;
	render__pair(c, "last-probe", "%s in %s, %s ago", b->last_code,
		     duration_format(b->last_duration / NSEC_PER_USEC * NSEC_PER_USEC, took),
		     text_age(r->now - b->last_probe, age));
	render__pair_if(c, "last-reason", b->last_reason);
}

/* "[paused until ...] new disk (3m12s ago, by alice from 192.0.2.7)" */
static void add_override(struct columns *c, const struct render *r, const char *label,
			 const Maglev__Override *o)
{
	_cleanup_(buf_free) struct buf mark = { 0 }, who = { 0 };
	char age[TEXT_AGE_LEN];

	if (!o)
		return;
	render__add_mark("", o, &mark);
	render__add_operator(o->operator_, o->operator_address, &who);
	columns_cell(c, TINT_LABEL, "%s", label);
	columns_cell(c, TINT_OFF, "%s (%s ago%s%s%s)", buf_cstr(&mark),
		     text_age(r->now - o->at, age), who.n ? ", " : "", *o->operator_ ? "by " : "",
		     buf_cstr(&who));
	columns_end_row(c);
}

/* The weights of each frontend are shown with the frontend. */
static void add_slow_start(struct columns *c, const struct render *r, const Maglev__BackendInfo *b)
{
	int64_t left = b->slow_start_until - r->now;
	char text[TEXT_AGE_LEN];

	if (b->slow_start_until)
		render__pair(c, "slow-start", "its weight grows for %s more",
			     text_age(left > 0 ? left : 0, text));
}

/* A table of its own below the pairs, because its columns have other widths. */
static void write_transitions(const Maglev__BackendInfo *b, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	char time[TEXT_TIME_LEN];

	if (!b->n_transitions)
		return;
	columns_head(c, "transitions,AGE,FROM,TO,CODE,REASON,OPERATOR");
	for (size_t i = 0; i < b->n_transitions; i++) {
		const Maglev__Transition *t = b->transitions[i];
		_cleanup_(buf_free) struct buf who = { 0 };

		columns_cell(c, TINT_NONE, "  %s", text_time(t->at, time));
		render__age_cell(c, r, t->at);
		columns_cell(c, render__tint(t->from), "%s", t->from);
		columns_cell(c, render__tint(t->to), "%s", t->to);
		columns_cell(c, TINT_NONE, "%s", t->code);
		columns_cell(c, TINT_NONE, "%s", t->reason);
		render__add_operator(t->operator_, t->operator_address, &who);
		columns_cell(c, TINT_NONE, "%s", buf_cstr(&who));
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

void render_backend(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__BackendInfo *b = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	_cleanup_(buf_free) struct buf frontends = { 0 };

	render__add_list(b->frontends, b->n_frontends, &frontends);
	render__pair(c, "name", "%s", b->name);
	render__pair(c, "address", "%s", b->address);
	render__pair(c, "healthcheck", "%s", render__or_dash(b->healthcheck));
	render__pair_state(c, r, b->state, b->since);
	render__pair(c, "enabled", "%s", b->enabled ? "yes" : "no");
	add_probe(c, r, b);
	add_override(c, r, "override", b->override);
	add_override(c, r, "scheduled", b->scheduled);
	add_slow_start(c, r, b);
	render__pair(c, "frontends", "%s", buf_cstr(&frontends));
	columns_write(c, 0, r->out);
	write_transitions(b, r);
}

/* Unlike the list, the mark is shown only for an override: the state is in the line already. */
void render_act(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__BackendInfo *b = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	_cleanup_(buf_free) struct buf mark = { 0 };

	if (b->override)
		render__add_mark(b->state, b->override, &mark);
	if (b->scheduled) {
		buf_adds(&mark, mark.n ? ", " : "");
		render__add_mark("", b->scheduled, &mark);
	}
	columns_line(c, TINT_NONE, "backend %s: %s%s%s", b->name, b->state, mark.n ? " " : "",
		     buf_cstr(&mark));
	columns_write(c, 0, r->out);
}
