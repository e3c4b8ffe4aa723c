/* SPDX-License-Identifier: Apache-2.0 */
/* render_history: what maglevd has recorded: for each line its last value, its range and mean. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

struct figures {
	double last, min, max, sum;
	size_t n; /* points that are known */
};

/* The last point may be a gap: then the newest one before it counts. */
static struct figures figures_of(const Maglev__HistoryLine *line)
{
	struct figures f = { 0 };

	for (size_t i = 0; i < line->n_values; i++) {
		double value = (double)line->values[i];

		if (isnan(value))
			continue;
		f.min = f.n && f.min < value ? f.min : value;
		f.max = f.n && f.max > value ? f.max : value;
		f.sum += value;
		f.last = value;
		f.n++;
	}
	return f;
}

/* Durations as such, all others as rates. */
static void figure_cell(struct columns *c, const char *line, double value)
{
	char text[DURATION_STRLEN];

	if (strcmp(line, "latency") == 0)
		columns_cell(c, TINT_NONE, "%s",
			     duration_format((int64_t)value / NSEC_PER_USEC * NSEC_PER_USEC, text));
	else
		columns_cell(c, TINT_NONE, "%.4g/s", value);
}

static void add_line(struct columns *c, const Maglev__HistoryLine *line)
{
	struct figures f = figures_of(line);

	columns_cell(c, TINT_NONE, "%s", line->name);
	columns_cell(c, TINT_NONE, "%zu", f.n);
	if (!f.n) {
		for (unsigned i = 0; i < 4; i++)
			columns_cell(c, TINT_NONE, "-");
	} else {
		figure_cell(c, line->name, f.last);
		figure_cell(c, line->name, f.min);
		figure_cell(c, line->name, f.sum / (double)f.n);
		figure_cell(c, line->name, f.max);
	}
	columns_end_row(c);
}

/* "up 55m, down 20s, up 4m40s", oldest first. */
static void add_states(const Maglev__HistorySeries *s, int64_t step, struct buf *out)
{
	char age[TEXT_AGE_LEN];

	for (size_t i = 0; i < s->n_states; i++) {
		const Maglev__HistoryState *one = s->states[i];

		buf_printf(out, "%s%s %s", i ? ", " : "", *one->state ? one->state : "not known",
			   text_age((int64_t)one->points * step, age));
	}
}

static void write_series(const char *kind, const Maglev__HistorySeries *s, int64_t step,
			 const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	_cleanup_(buf_free) struct buf states = { 0 };

	buf_printf(r->out, "%s %s\n", kind, s->name);
	columns_head(c, "LINE,POINTS,LAST,LEAST,MEAN,MOST");
	for (size_t i = 0; i < s->n_lines; i++)
		add_line(c, s->lines[i]);
	columns_write(c, 2, r->out);
	add_states(s, step, &states);
	if (states.n)
		buf_printf(r->out, "  states: %s\n", buf_cstr(&states));
}

void render_history(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__HistoryResponse *h = (const void *)message;
	char step[DURATION_STRLEN], time[TEXT_TIME_LEN];

	if (!h->newest) {
		buf_adds(r->out, "nothing has been recorded yet\n");
		return;
	}
	buf_printf(r->out, "the last %s, a point every %s, up to %s\n", h->span,
		   duration_format(h->step, step), text_time(h->newest, time));
	for (size_t i = 0; i < h->n_frontends; i++)
		write_series("frontend", h->frontends[i], h->step, r);
	for (size_t i = 0; i < h->n_backends; i++)
		write_series("backend", h->backends[i], h->step, r);
}
