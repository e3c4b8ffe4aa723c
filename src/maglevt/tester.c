/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/tester.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "core/health/schedule.h"
#include "lib/probe/probe.h"
#include "src/maglevt/figures.h"

/* A spike takes several times as long as usual, and noticeably longer in absolute terms. */
#define SPIKE_FACTOR 4
#define SPIKE_LEAST (5 * NSEC_PER_MSEC) /* more than usual */
#define SPIKE_SAMPLES 100		/* needed to know what is usual */

/*
 * Where no check says otherwise. Redirects are not followed. They count as good, because they prove
 * that a backend answers.
 */
static const struct probe_code_range good_codes[] = { { 200, 399 } };

const char *trouble_name(enum trouble_kind k)
{
	static const char *const names[] = { [TROUBLE_TIMEOUT] = "timeout",
					     [TROUBLE_HTTP] = "http-err",
					     [TROUBLE_NET] = "net-err",
					     [TROUBLE_SPIKE] = "spike" };

	return names[k];
}

/* ---- results ---- */

static bool is_same(const struct trouble *a, const struct trouble *b)
{
	return a->vip == b->vip && a->kind == b->kind && strcmp(a->text, b->text) == 0;
}

/*
 * Puts an error first. Repetitions are one entry with a count; the oldest entry is dropped if
 * there are too many.
 */
static void put_first(struct tester *t, struct trouble one)
{
	size_t at = 0;

	while (at < t->n_troubles && !is_same(&t->troubles[at], &one))
		at++;
	if (at < t->n_troubles)
		one.n += t->troubles[at].n;
	else if (t->n_troubles < TROUBLES_MAX)
		at = t->n_troubles++;
	else
		at = TROUBLES_MAX - 1;
	memmove(&t->troubles[1], &t->troubles[0], at * sizeof(t->troubles[0]));
	t->troubles[0] = one;
}

/*
 * Shortens "connect to 192.0.2.1:80: refused" to "connect: refused", because the VIP is shown
 * beside it.
 */
static void write_reason(char *out, size_t size, const struct vip *v, const char *reason)
{
	char at[ENDPOINT_STRLEN];
	const char *place = strstr(reason, endpoint_format(&v->target->at, at));
	const char *end = place ? place + strlen(at) : NULL;
	size_t n = place ? (size_t)(place - reason) : 0;

	while (n && reason[n - 1] == ' ')
		n--;
	while (n && reason[n - 1] != ' ')
		n--;
	if (n && strncmp(end, ": ", 2) == 0)
		snprintf(out, size, "%.*s%s", (int)n - 1, reason, end);
	else
		snprintf(out, size, "%s", reason);
}

static void remember(struct vip *v, enum trouble_kind kind, const char *text)
{
	struct trouble one = { .vip = v, .kind = kind, .at = loop_realtime(), .n = 1 };

	write_reason(one.text, sizeof(one.text), v, text);
	v->troubles[kind]++;
	v->last = one;
	put_first(v->tester, one);
}

/* TLS and certificate errors count as network errors: there was no HTTP answer. */
static enum trouble_kind kind_of(enum probe_error error)
{
	switch (error) {
	case PROBE_ERR_TIMEOUT:
		return TROUBLE_TIMEOUT;
	case PROBE_ERR_MALFORMED:
	case PROBE_ERR_TOO_LARGE:
	case PROBE_ERR_STATUS:
	case PROBE_ERR_BODY:
		return TROUBLE_HTTP;
	case PROBE_OK:
	case PROBE_ERR_NETNS:
	case PROBE_ERR_SOCKET:
	case PROBE_ERR_UNREACHABLE:
	case PROBE_ERR_REFUSED:
	case PROBE_ERR_RESET:
	case PROBE_ERR_TLS:
	case PROBE_ERR_CERTIFICATE:
		break;
	}
	return TROUBLE_NET;
}

/* Summing a window is expensive, so the 95th percentile is computed at most once a second. */
static void renew_usual(struct vip *v, int64_t now)
{
	struct tally t;

	if (now - v->usual_at < NSEC_PER_SEC)
		return;
	window_sum(&v->window, now, &t);
	v->usual = histogram_quantile(&t.passed, 0.95);
	v->usual_n = t.passed.n;
	v->usual_at = now;
}

static void look_for_spike(struct vip *v, int64_t now, int64_t rtt)
{
	char took[FIGURE_LEN], usual[FIGURE_LEN], text[128];

	renew_usual(v, now);
	if (v->usual_n < SPIKE_SAMPLES || rtt < SPIKE_FACTOR * v->usual ||
	    rtt < v->usual + SPIKE_LEAST)
		return;
	snprintf(text, sizeof(text), "took %s, mostly below %s", figure_latency(rtt, took),
		 figure_latency(v->usual, usual));
	remember(v, TROUBLE_SPIKE, text);
}

static void plan_next(struct vip *v, int64_t now);

/*
 * The spike is looked for before the window gets the new value, so that it is compared with the
 * past only.
 */
static void on_answer(struct probe *p, const struct probe_outcome *o, void *user)
{
	struct vip *v = user;
	int64_t now = loop_monotonic();

	v->last_passed = o->error == PROBE_OK;
	v->last_rtt = o->rtt;
	if (v->last_passed)
		look_for_spike(v, now, o->rtt);
	else
		remember(v, kind_of(o->error), o->reason);
	window_add(&v->window, now, v->last_passed, o->rtt);
	if (o->status && v->tester->options->header)
		values_add(&v->headers, o->header[0] ? o->header : "-", now);
	plan_next(v, now);
	if (--v->tester->in_flight == 0 && v->tester->finishing)
		ev_break(v->tester->loop, EVBREAK_ALL);
}

/* ---- asking ---- */

static void wait_until(struct vip *v, int64_t at, int64_t now)
{
	ev_timer_set(&v->next, loop_seconds(at > now ? at - now : 0), 0.);
	ev_timer_start(v->tester->loop, &v->next);
}

static void plan_next(struct vip *v, int64_t now)
{
	struct tester *t = v->tester;

	if (!t->paused && !t->finishing)
		wait_until(v,
			   schedule_next(t->options->interval, v->started, now,
					 random_next(&t->random)),
			   now);
}

static void on_due(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct vip *v = container_of(w, struct vip, next);

	v->started = loop_monotonic();
	v->tester->in_flight++;
	probe_start(v->probe);
}

/* Both structs are a range of codes, one of core and one of lib, which do not know each other. */
static const struct probe_code_range *codes_of(const struct tester *t, const struct target *to)
{
	struct probe_code_range *codes =
		arena_array_of(t->arena, to->n_codes, struct probe_code_range);

	for (size_t i = 0; i < to->n_codes; i++)
		codes[i] = (struct probe_code_range){ to->codes[i].first, to->codes[i].last };
	return to->n_codes ? codes : good_codes;
}

/* Flags go before what the check says. A host that is given is the name in the certificate, too. */
static struct probe_spec spec_of(const struct tester *tester, const struct target *t)
{
	const struct options *o = tester->options;
	static const enum probe_kind kinds[] = {
		[SCHEME_HTTP] = PROBE_HTTP, [SCHEME_HTTPS] = PROBE_HTTPS, [SCHEME_TCP] = PROBE_TCP
	};
	static char user_agent[64];
	const char *path = o->uri ?: t->path ?: URI_DEFAULT;

	snprintf(user_agent, sizeof(user_agent), "maglevt/%s", cli_version.version);
	return (struct probe_spec){ .kind = kinds[t->scheme],
				    .target = t->at,
				    .timeout = o->timeout,
				    .keep_alive = o->keepalive,
				    .path = t->scheme == SCHEME_TCP ? NULL : path,
				    .host = o->host ?: t->host,
				    .server_name = o->host ? NULL : t->server_name,
				    .tls = tester->tls,
				    .user_agent = user_agent,
				    .codes = codes_of(tester, t),
				    .n_codes = t->n_codes ? t->n_codes : ARRAY_SIZE(good_codes),
				    .header = o->header,
				    .insecure_skip_verify = o->insecure };
}

/*
 * The window has one slice more than its length, because the newest slice is not complete yet.
 */
static void clear_figures(struct vip *v)
{
	int64_t window = v->tester->options->window;

	v->window = (struct window){ .slice = window / (WINDOW_SLICES - 1) + 1 };
	v->headers = (struct values){ .slice = v->window.slice };
	memset(v->troubles, 0, sizeof(v->troubles));
	v->last = (struct trouble){ 0 };
	v->last_rtt = v->usual = v->usual_at = 0;
	v->usual_n = 0;
	v->last_passed = false;
}

/* The first requests are spread over the interval, so that not all VIPs are asked at once. */
static void start(struct vip *v, int64_t now)
{
	struct tester *t = v->tester;

	wait_until(v, schedule_first(t->options->interval, now, random_next(&t->random)), now);
}

struct tester *tester_new(struct ev_loop *loop, const struct options *o,
			  const struct targets *targets, struct tls_context *tls)
{
	struct tester *t = mem_zalloc(sizeof(*t));
	int64_t now = loop_monotonic();

	t->loop = loop;
	t->options = o;
	t->tls = tls;
	t->arena = arena_new();
	t->env = probe_env_new(loop, NULL);
	t->n = targets->n;
	t->vips = mem_zalloc((t->n + 1) * sizeof(*t->vips));
	if (getrandom(&t->random, sizeof(t->random), 0) < 0)
		t->random = (uint64_t)now;
	for (size_t i = 0; i < t->n; i++) {
		struct vip *v = &t->vips[i];
		struct probe_spec spec = spec_of(t, &targets->items[i]);

		v->tester = t;
		v->target = &targets->items[i];
		v->probe = probe_new(t->env, &spec, on_answer, v);
		clear_figures(v);
		ev_timer_init(&v->next, on_due, 0., 0.);
		start(v, now);
	}
	return t;
}

void tester_free(struct tester *t)
{
	for (size_t i = 0; i < t->n; i++) {
		ev_timer_stop(t->loop, &t->vips[i].next);
		probe_free(t->vips[i].probe);
	}
	probe_env_free(t->env);
	arena_free(t->arena);
	free(t->vips);
	free(t);
}

void tester_pause(struct tester *t, bool paused)
{
	int64_t now = loop_monotonic();

	if (t->paused == paused)
		return;
	t->paused = paused;
	t->in_flight = 0;
	for (size_t i = 0; i < t->n; i++) {
		if (paused) {
			ev_timer_stop(t->loop, &t->vips[i].next);
			probe_cancel(t->vips[i].probe);
		} else {
			start(&t->vips[i], now);
		}
	}
}

/* After this plan_next() schedules nothing, so in_flight can only fall. */
bool tester_finish(struct tester *t)
{
	t->finishing = true;
	for (size_t i = 0; i < t->n; i++)
		ev_timer_stop(t->loop, &t->vips[i].next);
	return t->in_flight > 0;
}

void tester_reset(struct tester *t)
{
	for (size_t i = 0; i < t->n; i++)
		clear_figures(&t->vips[i]);
	t->n_troubles = 0;
}
