/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce: each source gets a verdict, the worst verdict is that of the VIP, and the state follows
 * from it, from the drain, and from whether the VIP was fit for long enough.
 */
#include "core/announce/announce.h"

#include <assert.h>

/* What all sources say together. */
struct verdict {
	enum announce_reason reason;
	size_t culprit;
	int64_t due; /* when the silence of a source has lasted too long; 0: never */
};

/* How much a reason weighs: that of the heaviest source counts. */
enum weight { SAYS_YES, SILENT, SAYS_NO };

static enum weight weight_of(enum announce_reason r)
{
	switch (r) {
	case ANNOUNCE_FIT:
	case ANNOUNCE_STATIC:
	case ANNOUNCE_WAITING:
	case ANNOUNCE_OPERATOR:
		return SAYS_YES;
	case ANNOUNCE_STARTING:
	case ANNOUNCE_ADOPTED:
	case ANNOUNCE_HELD:
		return SILENT;
	case ANNOUNCE_DOWN:
	case ANNOUNCE_FEW_SERVERS:
	case ANNOUNCE_UNKNOWN:
	case ANNOUNCE_LOST:
	case ANNOUNCE_REASONS:
		break;
	}
	return SAYS_NO;
}

/* A later time; the end of time if it cannot be expressed. */
static int64_t after(int64_t start, int64_t duration)
{
	int64_t sum;

	return __builtin_add_overflow(start, duration, &sum) ? INT64_MAX : sum;
}

/* The earlier of two times, of which 0 is never. */
static int64_t earlier(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* What a source said last. */
static enum announce_reason said(const struct announce_source *s, const struct announce_rule *rule)
{
	if (!s->known)
		return ANNOUNCE_UNKNOWN;
	if (!s->up)
		return ANNOUNCE_DOWN;
	return s->servers < rule->min_servers ? ANNOUNCE_FEW_SERVERS : ANNOUNCE_FIT;
}

/* A source that said something bad before it became silent is not better for it. */
static enum announce_reason judge_silent(const struct announce *a, const struct announce_rule *rule,
					 const struct announce_source *s, int64_t now, int64_t *due)
{
	int64_t end = after(s->heard ? s->lost_at : a->silent_since, rule->hold);

	if (now >= end)
		return ANNOUNCE_LOST;
	*due = earlier(*due, end);
	if (!s->heard)
		return a->settled ? ANNOUNCE_ADOPTED : ANNOUNCE_STARTING;
	return said(s, rule) == ANNOUNCE_FIT ? ANNOUNCE_HELD : said(s, rule);
}

/* The first of the heaviest sources is the one that decides. */
static struct verdict judge_sources(const struct announce *a, const struct announce_rule *rule,
				    const struct announce_source *sources, size_t n, int64_t now)
{
	struct verdict v = { n ? ANNOUNCE_FIT : ANNOUNCE_STATIC, SIZE_MAX, 0 };

	for (size_t i = 0; i < n; i++) {
		const struct announce_source *s = &sources[i];
		enum announce_reason r = s->reachable && s->heard
						 ? said(s, rule)
						 : judge_silent(a, rule, s, now, &v.due);

		if (weight_of(r) > weight_of(v.reason)) {
			v.reason = r;
			v.culprit = i;
		}
	}
	return v;
}

static void note_silence(struct announce *a, const struct announce_source *sources, size_t n,
			 int64_t now)
{
	size_t heard = 0;

	while (heard < n && sources[heard].heard)
		heard++;
	if (heard == n)
		a->silent_since = 0;
	else if (!a->silent_since)
		a->silent_since = now;
}

/* Silence keeps a settled VIP as it is; it does not count towards min_up. */
static void note_fitness(struct announce *a, const struct announce_rule *rule,
			 const struct verdict *v, int64_t now)
{
	enum weight w = weight_of(v->reason);

	if (w == SAYS_NO || (w == SILENT && !a->settled)) {
		a->fit_since = 0;
		a->settled = false;
		return;
	}
	if (!a->fit_since)
		a->fit_since = now;
	if (v->reason == ANNOUNCE_STATIC || now >= after(a->fit_since, rule->min_up))
		a->settled = true;
}

static enum announce_state undrained(const struct announce *a, const struct announce_rule *rule,
				     const struct verdict *v)
{
	if (a->settled)
		return ANNOUNCE_UP;
	/* silence does not announce */
	if (a->state == ANNOUNCE_WITHDRAWN && weight_of(v->reason) == SILENT)
		return ANNOUNCE_WITHDRAWN;
	return rule->fallback == ANNOUNCE_THEN_WORSE ? ANNOUNCE_WORSE : ANNOUNCE_WITHDRAWN;
}

static enum announce_state decide(const struct announce *a, const struct announce_rule *rule,
				  const struct verdict *v, int64_t now)
{
	enum announce_state s = undrained(a, rule, v);

	if (!a->drained_at)
		return s;
	if (a->state == ANNOUNCE_WITHDRAWN || s == ANNOUNCE_WITHDRAWN ||
	    now >= after(a->drained_at, rule->drain_time))
		return ANNOUNCE_WITHDRAWN;
	return ANNOUNCE_DRAINING;
}

static void explain(struct announce *a, const struct announce_rule *rule, const struct verdict *v)
{
	a->culprit = SIZE_MAX;
	a->due = v->due;
	if (a->fit_since && !a->settled)
		a->due = earlier(a->due, after(a->fit_since, rule->min_up));
	if (a->state == ANNOUNCE_DRAINING)
		a->due = earlier(a->due, after(a->drained_at, rule->drain_time));
	if (a->drained_at) {
		a->reason = ANNOUNCE_OPERATOR;
	} else if (a->fit_since && !a->settled) {
		a->reason = ANNOUNCE_WAITING;
	} else {
		a->reason = v->reason;
		a->culprit = v->culprit;
	}
}

void announce_adopt(struct announce *a, int64_t now)
{
	int64_t drained_at = a->drained_at;

	*a = (struct announce){ .state = drained_at ? ANNOUNCE_DRAINING : ANNOUNCE_UP,
				.reason = drained_at ? ANNOUNCE_OPERATOR : ANNOUNCE_ADOPTED,
				.culprit = SIZE_MAX,
				.since = now,
				.fit_since = now,
				.settled = true,
				.silent_since = now,
				.drained_at = drained_at };
}

bool announce_judge(struct announce *a, const struct announce_rule *rule,
		    const struct announce_source *sources, size_t n, int64_t now,
		    struct announce_change *ret)
{
	struct announce_change change = { .from = a->state };
	struct verdict v;

	assert(a && rule && (sources || !n) && now > 0 && ret);
	note_silence(a, sources, n, now);
	v = judge_sources(a, rule, sources, n, now);
	note_fitness(a, rule, &v, now);
	change.to = a->state = decide(a, rule, &v, now);
	explain(a, rule, &v);
	if (!a->since || change.to != change.from)
		a->since = now;
	if (change.to == change.from)
		return false;
	*ret = change;
	return true;
}

void announce_drain(struct announce *a, int64_t now)
{
	assert(now > 0);
	if (!a->drained_at)
		a->drained_at = now;
}

void announce_undrain(struct announce *a)
{
	a->drained_at = 0;
}

const char *announce_state_name(enum announce_state s)
{
	static const char *const names[] = {
		[ANNOUNCE_WITHDRAWN] = "withdrawn",
		[ANNOUNCE_UP] = "announced",
		[ANNOUNCE_WORSE] = "worse",
		[ANNOUNCE_DRAINING] = "draining",
	};

	return names[s];
}

const char *announce_reason_name(enum announce_reason r)
{
	static const char *const names[ANNOUNCE_REASONS] = {
		[ANNOUNCE_STARTING] = "starting",
		[ANNOUNCE_ADOPTED] = "adopted",
		[ANNOUNCE_FIT] = "frontend-up",
		[ANNOUNCE_WAITING] = "waiting",
		[ANNOUNCE_DOWN] = "frontend-down",
		[ANNOUNCE_FEW_SERVERS] = "few-servers",
		[ANNOUNCE_UNKNOWN] = "frontend-unknown",
		[ANNOUNCE_HELD] = "maglevd-unreachable",
		[ANNOUNCE_LOST] = "maglevd-lost",
		[ANNOUNCE_OPERATOR] = "drained",
		[ANNOUNCE_STATIC] = "static",
	};

	assert(r < ANNOUNCE_REASONS);
	return names[r];
}

bool announce_is_sent(enum announce_state s)
{
	return s != ANNOUNCE_WITHDRAWN;
}
