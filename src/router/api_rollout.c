/* SPDX-License-Identifier: Apache-2.0 */
/* Rollouts: their parameters, their state, and what an operator decides. */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/router/api_private.h"

/* ---- parameters ---- */

static bool refuse(struct http_exchange *x, const char *key, const char *must)
{
	_cleanup_(buf_free) struct buf why = { 0 };

	buf_printf(&why, "%s must be %s", key, must);
	api__refuse(x, 400, "InvalidRollout", (struct str){ why.p, why.n });
	return false;
}

static bool read_number(struct http_exchange *x, const struct http_request *request,
			const char *key, uint64_t max, uint64_t *to)
{
	struct str text;

	if (!api__parameter(request, key, &text) || str_to_u64(text, max, to) == 0)
		return true;
	return refuse(x, key, max == 100 ? "a number from 0 to 100" : "a whole number");
}

static bool read_interval(struct http_exchange *x, const struct http_request *request, int64_t *to)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct str value;

	if (!api__parameter(request, "interval", &value))
		return true;
	buf_add(&text, value.p, value.n);
	if (duration_parse(buf_cstr(&text), to) == 0 && *to >= 100 * NSEC_PER_MSEC &&
	    *to <= 24 * 3600 * NSEC_PER_SEC)
		return true;
	return refuse(x, "interval", "a duration from 100ms to 24h");
}

static bool read_key(struct http_exchange *x, const struct http_request *request,
		     bool *by_connection)
{
	struct str text = STR("client");

	api__parameter(request, "by", &text);
	*by_connection = str_eq(text, STR("connection"));
	if (*by_connection || str_eq(text, STR("client")))
		return true;
	return refuse(x, "by", "client or connection");
}

bool api__read_rollout(struct http_exchange *x, const struct http_request *request,
		       struct rollout_config *ret)
{
	uint64_t share = 0, step = L7_ROLLOUT_STEP_DEFAULT, increase = L7_ROLLOUT_INCREASE_DEFAULT;
	uint64_t requests = L7_ROLLOUT_REQUESTS_DEFAULT;

	*ret = (struct rollout_config){ .how = { .interval = L7_ROLLOUT_INTERVAL_DEFAULT } };
	if (!read_number(x, request, "rollout", 100, &share) ||
	    !read_number(x, request, "step", 100, &step) ||
	    !read_number(x, request, "max_error_increase", 100, &increase) ||
	    !read_number(x, request, "min_requests", UINT32_MAX, &requests) ||
	    !read_interval(x, request, &ret->how.interval) ||
	    !read_key(x, request, &ret->by_connection))
		return false;
	if (!share)
		return refuse(x, "rollout", "a number from 1 to 100");
	ret->how.share = (unsigned)share;
	ret->how.step = (unsigned)step;
	ret->how.max_increase = (unsigned)increase;
	ret->how.min_requests = requests;
	return true;
}

/* ---- state ---- */

static void add_tally(struct buf *out, const char *key, struct l7_tally t)
{
	api__key(out, key);
	buf_addc(out, '{');
	api__number(out, "answers", t.answers);
	api__number(out, "errors", t.errors);
	buf_addc(out, '}');
}

static void add_status(struct buf *out, const struct rollout_status *s)
{
	char at[TIME_STRLEN], interval[DURATION_STRLEN];

	api__number(out, "generation", s->generation);
	api__number(out, "from", s->from);
	api__number(out, "percent", s->share);
	api__text(out, "since", str_of(time_format(s->at, at)));
	api__number(out, "step", s->config.how.step);
	api__text(out, "interval", str_of(duration_format(s->config.how.interval, interval)));
	api__number(out, "max_error_increase", s->config.how.max_increase);
	api__number(out, "min_requests", s->config.how.min_requests);
	api__text(out, "by", s->config.by_connection ? STR("connection") : STR("client"));
	add_tally(out, "old", s->before);
	add_tally(out, "new", s->after);
}

void api__on_rollout(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct api *a = user;
	const struct rollout_status s = rollout_status(a->config.rollout);
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_addc(&body, '{');
	api__text(&body, "state", str_of(rollout_state_name(s.state)));
	if (s.state != ROLLOUT_NONE)
		add_status(&body, &s);
	buf_addc(&body, '}');
	api__reply(a, x, 200, &body);
}

/* ---- decisions ---- */

static void decide(struct api *a, struct http_exchange *x, int (*act)(struct rollout *r))
{
	_cleanup_(buf_free) struct buf body = { 0 };

	if (act(a->config.rollout) < 0) {
		api__refuse(x, 409, "NoRollout", STR("there is no rollout"));
		return;
	}
	buf_printf(&body, "{\"status\":\"ok\",\"generation\":%" PRIu64 "}", api__generation(a));
	api__reply(a, x, 200, &body);
}

void api__on_promote(struct http_exchange *x, const struct http_request *request, void *user)
{
	decide(user, x, rollout_promote);
}

void api__on_abort(struct http_exchange *x, const struct http_request *request, void *user)
{
	decide(user, x, rollout_abort);
}
