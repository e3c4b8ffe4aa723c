/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines as events. Lines that are logged while a line is being sent go to standard output and
 * do not become events: lib/log does not call a sink from within a sink.
 */
#include "base/units.h"
#include "src/maglevd/api/watch_private.h"

#define ATTRS_MAX 32 /* attributes of one log line; further ones are left out */

static char *text(const char *s)
{
	return (char *)(uintptr_t)s; /* only encoded, never written to */
}

/* The value of a field as text. */
static char *field_text(const struct log_field *f, struct arena *a)
{
	char duration[DURATION_STRLEN];

	switch (f->kind) {
	case LOG_KIND_STR:
		return arena_strndup(a, f->s.p, f->s.n);
	case LOG_KIND_INT:
		return arena_printf(a, "%lld", (long long)f->i);
	case LOG_KIND_UINT:
		return arena_printf(a, "%llu", (unsigned long long)f->u);
	case LOG_KIND_DOUBLE:
		return arena_printf(a, "%g", f->d);
	case LOG_KIND_BOOL:
		return arena_strdup(a, f->b ? "true" : "false");
	case LOG_KIND_DURATION:
		return arena_strdup(a, duration_format(f->i, duration));
	case LOG_KIND_END:
		break;
	}
	return arena_strdup(a, "");
}

/* Uses an arena of its own: a line may be logged while another event is being built in w->arena. */
static void encode_line(struct watch *w, const struct log_line *line)
{
	static const char *const levels[] = { "debug", "info", "warn", "error" };
	Maglev__LogEvent__AttrsEntry entries[ATTRS_MAX], *list[ATTRS_MAX];
	Maglev__Event event;
	Maglev__LogEvent body;

	maglev__event__init(&event);
	maglev__log_event__init(&body);
	arena_reset(w->line);
	for (const struct log_field *f = line->fields; f->kind != LOG_KIND_END; f++) {
		if (body.n_attrs == ATTRS_MAX || (f->kind == LOG_KIND_STR && !f->s.p))
			continue;
		maglev__log_event__attrs_entry__init(&entries[body.n_attrs]);
		entries[body.n_attrs].key = text(f->key);
		entries[body.n_attrs].value = field_text(f, w->line);
		list[body.n_attrs] = &entries[body.n_attrs];
		body.n_attrs++;
	}
	body.attrs = list;
	body.level = text(levels[line->level]);
	body.msg = text(line->msg);
	event.at = line->at;
	event.event_case = MAGLEV__EVENT__EVENT_LOG;
	event.log = &body;
	watch__encode(w, &event);
}

/* Encoded only when the first subscriber wants the line. */
static void on_line(const struct log_line *line, void *user)
{
	struct watch *w = user;
	bool encoded = false;

	for (struct subscriber *s = w->subscribers; s; s = s->next) {
		if (!s->log || line->level < s->level)
			continue;
		if (!encoded)
			encode_line(w, line);
		encoded = true;
		watch__send(s);
	}
}

/* A sink at debug level makes every log call expensive, so its level is no lower than needed. */
void watch__listen(struct watch *w)
{
	enum log_level lowest = LOG_ERROR;
	bool wanted = false;

	for (const struct subscriber *s = w->subscribers; s; s = s->next) {
		if (!s->log)
			continue;
		wanted = true;
		lowest = s->level < lowest ? s->level : lowest;
	}
	if (!wanted && w->sink >= 0) {
		log_remove_sink(w->sink);
		w->sink = -1;
	} else if (wanted && w->sink < 0) {
		w->sink = log_add_sink(lowest, on_line, w);
	} else if (wanted) {
		log_set_sink_level(w->sink, lowest);
	}
}
