/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The past of some frontends and backends. An answer is bounded, so that it can be made at once,
 * and turned into JSON at once by a dashboard, without a stall.
 */
#include <string.h>

#include "src/maglevd/api/internal.h"
#include "src/maglevd/recorder.h"
#include "wire/api.h"

#define VALUES_MAX 16384

/* False, after the call has failed, if there is no such span. */
static bool find_span(struct grpc_call *call, const char *word, enum history_span *ret)
{
	for (unsigned i = 0; i < HISTORY_SPANS; i++)
		if (strcmp(word, history_span_name((enum history_span)i)) == 0) {
			*ret = (enum history_span)i;
			return true;
		}
	if (!*word)
		*ret = HISTORY_SPAN_HOUR;
	else
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "span is hour or day, not \"%s\"", word);
	return !*word;
}

static bool check_lines(struct grpc_call *call, const Maglev__GetHistoryRequest *r)
{
	for (size_t i = 0; i < r->n_lines; i++)
		if (!wire_history_has(r->lines[i])) {
			grpc_fail(call, GRPC_INVALID_ARGUMENT, "no line is called \"%s\"",
				  r->lines[i]);
			return false;
		}
	return true;
}

struct names {
	char *const *items;
	size_t n;
	const char *kind; /* "frontend", "backend" */
	size_t (*find)(const struct l4_config *c, const char *name);
};

/*
 * The indices of names, in arena. One that does not exist is left out, or the call fails and NULL
 * is returned.
 */
static size_t *find_all(const struct l4_config *c, struct grpc_call *call, struct arena *arena,
			const struct names *names, bool leave_out, size_t *ret_n)
{
	size_t *list = arena_array_of(arena, names->n + 1, size_t), n = 0;

	for (size_t i = 0; i < names->n; i++) {
		list[n] = names->find(c, names->items[i]);
		if (list[n] != SIZE_MAX) {
			n++;
		} else if (!leave_out) {
			grpc_fail(call, GRPC_NOT_FOUND, "no %s is called \"%s\"", names->kind,
				  names->items[i]);
			return NULL;
		}
	}
	*ret_n = n;
	return list;
}

/* False, after the call has failed, if the request is not good. */
static bool read_request(struct grpc_call *call, const Maglev__GetHistoryRequest *r,
			 struct wire_history *ret)
{
	size_t all;

	if (!find_span(call, r->span, &ret->span) || !check_lines(call, r))
		return false;
	all = history_points(ret->span);
	ret->points = r->points && r->points < all ? r->points : all;
	ret->lines = r->lines;
	ret->n_lines = r->n_lines;
	ret->n_frontends = r->n_frontends;
	ret->n_backends = r->n_backends;
	if (wire_history_size(ret) > VALUES_MAX) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT,
			  "an answer has at most %d values; ask for fewer names, lines or points",
			  VALUES_MAX);
		return false;
	}
	return true;
}

API_HANDLER(get_history)
{
	struct api *a = user;
	const Maglev__GetHistoryRequest *r = (const Maglev__GetHistoryRequest *)request;
	const struct recorder *recorder = a->setup.recorder;
	struct wire_history from = { .history = recorder_history(recorder) };
	const struct names frontends = { r->frontends, r->n_frontends, "frontend",
					 l4_config_frontend };
	const struct names backends = { r->backends, r->n_backends, "backend", l4_config_backend };
	const struct l4_config *c = engine_model(a->setup.engine)->config;
	struct arena *arena = api__scratch(a);

	if (!read_request(call, r, &from))
		return;
	from.newest = history_newest(from.span, recorder_newest(recorder));
	from.newest_at = recorder_time(recorder, history_last_step(from.span, from.newest));
	from.frontends = find_all(c, call, arena, &frontends, r->leave_out, &from.n_frontends);
	if (!from.frontends)
		return;
	from.backends = find_all(c, call, arena, &backends, r->leave_out, &from.n_backends);
	if (from.backends)
		grpc_reply(call, &wire_history(&from, arena)->base);
}
