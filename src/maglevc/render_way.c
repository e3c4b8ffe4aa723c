/* SPDX-License-Identifier: Apache-2.0 */
/* The view of explain: the steps of a way, indented, and the sentence that says what is wrong. */
#include <string.h>

#include "base/cleanup.h"
#include "proto/way.pb-c.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

static enum tint tint_of(const char *state)
{
	static const struct {
		const char *state;
		enum tint tint;
	} tints[] = {
		{ "good", TINT_GOOD },	   { "idle", TINT_OFF },  { "poor", TINT_DOUBT },
		{ "unknown", TINT_DOUBT }, { "lossy", TINT_BAD }, { "broken", TINT_BAD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tints); i++)
		if (strcmp(state, tints[i].state) == 0)
			return tints[i].tint;
	return TINT_NONE;
}

/* "    backend web1 10.0.11.2"; of a router its name and its listener. */
static void step_cell(struct columns *c, const Maglev__WayStep *s)
{
	bool router = strcmp(s->kind, "router") == 0;

	columns_cell(c, TINT_NONE, "%*s%s %s%s%s%s%s", (int)s->depth * 2, "", s->kind,
		     router ? s->place : s->name, router ? " " : "", router ? s->name : "",
		     *s->detail ? " " : "", s->detail);
}

static void word_cell(struct columns *c, const struct render *r, const Maglev__WayStep *s)
{
	char age[TEXT_AGE_LEN];

	if (s->since && *s->word)
		columns_cell(c, TINT_NONE, "%s for %s", s->word, text_age(r->now - s->since, age));
	else
		columns_cell(c, TINT_NONE, "%s", render__or_dash(s->word));
}

static void figure_cells(struct columns *c, const Maglev__WayStep *s)
{
	if (s->share)
		columns_cell(c, TINT_NONE, "%.3g%%", s->share->of_step * 100);
	else
		columns_cell(c, TINT_NONE, "-");
	if (!s->traffic) {
		columns_cell(c, TINT_NONE, "-");
		columns_cell(c, TINT_NONE, "-");
		return;
	}
	columns_cell(c, TINT_NONE, "%.1f %s", s->traffic->rate, s->traffic->unit);
	columns_cell(c, s->traffic->errors > 0 ? TINT_BAD : TINT_NONE, "%.1f", s->traffic->errors);
}

static void add_step(struct columns *c, const struct render *r, const Maglev__WayStep *s)
{
	step_cell(c, s);
	columns_cell(c, tint_of(s->state), "%s", s->state);
	word_cell(c, r, s);
	figure_cells(c, s);
	columns_cell(c, TINT_NONE, "%s", s->reason);
	columns_end_row(c);
}

/* After the table, because a terminal shows its end. */
static void write_verdict(const Maglev__Way *w, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	for (size_t i = 0; i < w->n_notes; i++)
		columns_line(c, TINT_NONE, "note: %s", w->notes[i]);
	if (w->left_out)
		columns_line(c, TINT_NONE, "note: %u more steps are not shown", w->left_out);
	columns_line(c, tint_of(w->state), "%s%s%s", w->whole ? "whole" : w->state,
		     *w->why ? ": " : "", w->why);
	columns_write(c, 0, r->out);
}

void render_way(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__Way *w = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (w->n_steps) {
		columns_head(c, "STEP,WAY,STATE,SHARE,RATE/S,ERRORS/S,REASON");
		for (size_t i = 0; i < w->n_steps; i++)
			add_step(c, r, w->steps[i]);
		columns_write(c, 0, r->out);
	}
	write_verdict(w, r);
}
