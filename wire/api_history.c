/* SPDX-License-Identifier: Apache-2.0 */
/* The past of frontends and backends. Lines begin with their first value, and gaps are NaN. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/api.h"
#include "wire/api_private.h"

/* The lines of a frontend, or of a backend. */
struct kind {
	size_t n;
	const char *(*name)(size_t line);
};

static const struct kind frontends = { L4_HISTORY_FRONTEND_LINES, l4_history_frontend_line };
static const struct kind backends = { L4_HISTORY_BACKEND_LINES, l4_history_backend_line };

static bool is_wanted(const struct wire_history *from, const char *line)
{
	for (size_t i = 0; i < from->n_lines; i++)
		if (strcmp(from->lines[i], line) == 0)
			return true;
	return !from->n_lines;
}

static bool has(const struct kind *kind, const char *line)
{
	for (size_t i = 0; i < kind->n; i++)
		if (strcmp(kind->name(i), line) == 0)
			return true;
	return false;
}

bool wire_history_has(const char *line)
{
	return has(&frontends, line) || has(&backends, line);
}

static size_t count_wanted(const struct wire_history *from, const struct kind *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < kind->n; i++)
		n += is_wanted(from, kind->name(i));
	return n;
}

size_t wire_history_size(const struct wire_history *from)
{
	return from->points * (from->n_frontends * count_wanted(from, &frontends) +
			       from->n_backends * count_wanted(from, &backends));
}

/* How many points there are from the first that is known up to the newest. */
static size_t known(const struct wire_history *from, const struct history *h)
{
	size_t n = from->points;

	while (n && isnan(history_get(h, from->span, from->newest + 1 - (int64_t)n)))
		n--;
	return n;
}

static Maglev__HistoryLine *one_line(const struct wire_history *from, const struct history *h,
				     const char *name, struct arena *a)
{
	Maglev__HistoryLine *line = API__NEW(a, Maglev__HistoryLine, maglev__history_line__init);

	line->name = wire__text(name);
	line->n_values = known(from, h);
	line->values = arena_array_of(a, line->n_values, float);
	for (size_t i = 0; i < line->n_values; i++)
		line->values[i] = history_get(h, from->span,
					      from->newest + 1 - (int64_t)(line->n_values - i));
	return line;
}

static const char *state_at(const struct wire_history *from, const struct history *h, int64_t point)
{
	float value = history_get(h, from->span, point);

	return isnan(value) ? "" : health_state_name(l4_history_state(value));
}

/* Points with the same state one after the other are one entry. */
static void set_states(const struct wire_history *from, const struct history *h,
		       Maglev__HistorySeries *s, struct arena *a)
{
	size_t n = known(from, h);

	s->states = arena_array_of(a, n, Maglev__HistoryState *);
	for (size_t i = n; i > 0; i--) {
		const char *state = state_at(from, h, from->newest + 1 - (int64_t)i);
		Maglev__HistoryState *last = s->n_states ? s->states[s->n_states - 1] : NULL;

		if (!last || strcmp(last->state, state) != 0) {
			last = API__NEW(a, Maglev__HistoryState, maglev__history_state__init);
			last->state = wire__text(state);
			s->states[s->n_states++] = last;
		}
		last->points++;
	}
}

static Maglev__HistorySeries *one_series(const struct wire_history *from, const struct kind *kind,
					 const struct l4_history_item *item, struct arena *a)
{
	Maglev__HistorySeries *s = API__NEW(a, Maglev__HistorySeries, maglev__history_series__init);

	s->name = wire__text(item->name);
	s->lines = arena_array_of(a, kind->n, Maglev__HistoryLine *);
	for (size_t i = 0; i < kind->n; i++) {
		const char *name = kind->name(i);

		if (!is_wanted(from, name))
			continue;
		if (kind == &backends && i == L4_HISTORY_STATE)
			set_states(from, &item->lines[i], s, a);
		else
			s->lines[s->n_lines++] = one_line(from, &item->lines[i], name, a);
	}
	return s;
}

Maglev__HistoryResponse *wire_history(const struct wire_history *from, struct arena *a)
{
	Maglev__HistoryResponse *r =
		API__NEW(a, Maglev__HistoryResponse, maglev__history_response__init);

	r->span = wire__text(history_span_name(from->span));
	r->step = history_length(from->span);
	r->newest = from->newest < 0 ? 0 : from->newest_at;
	r->n_frontends = from->n_frontends;
	r->frontends = arena_array_of(a, from->n_frontends, Maglev__HistorySeries *);
	for (size_t i = 0; i < from->n_frontends; i++)
		r->frontends[i] = one_series(
			from, &frontends, &from->history->frontends.items[from->frontends[i]], a);
	r->n_backends = from->n_backends;
	r->backends = arena_array_of(a, from->n_backends, Maglev__HistorySeries *);
	for (size_t i = 0; i < from->n_backends; i++)
		r->backends[i] = one_series(from, &backends,
					    &from->history->backends.items[from->backends[i]], a);
	return r;
}
