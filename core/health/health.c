/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health: the rise/fall machine of one backend.
 *
 * The program that probes the backend owns its struct health. Results arrive through
 * health_record(), commands of the operator and of a reload through their own functions. All of
 * them end in change_state(), the only place that writes a state. The result is a struct
 * health_change, which the caller logs, counts and publishes.
 *
 * The counter has a meaning only while the backend is up or down. In unknown it is 0 and unused,
 * because the first result sets it; in paused it is frozen (FR-3.1) and only shown. In every
 * state it stays within [0, rise + fall - 1].
 */
#include "core/health/health.h"

#include <assert.h>
#include <stddef.h>

#include "base/cleanup.h"

static const char *const state_names[HEALTH_STATES] = {
	[HEALTH_UNKNOWN] = "unknown",	[HEALTH_UP] = "up",
	[HEALTH_DOWN] = "down",		[HEALTH_PAUSED] = "paused",
	[HEALTH_DISABLED] = "disabled", [HEALTH_REMOVED] = "removed",
};

/*
 * Only results of probes can pass; the causes after CODE_STATIC are never fed to health_record().
 */
static const struct {
	const char *name;
	bool pass;
} codes[HEALTH_CODES] = {
	[CODE_L4OK] = { "L4OK", true },		 [CODE_L6OK] = { "L6OK", true },
	[CODE_L7OK] = { "L7OK", true },		 [CODE_L4TOUT] = { "L4TOUT", false },
	[CODE_L4CON] = { "L4CON", false },	 [CODE_L6TOUT] = { "L6TOUT", false },
	[CODE_L6RSP] = { "L6RSP", false },	 [CODE_L7TOUT] = { "L7TOUT", false },
	[CODE_L7RSP] = { "L7RSP", false },	 [CODE_L7STS] = { "L7STS", false },
	[CODE_SOCKERR] = { "SOCKERR", false },	 [CODE_STATIC] = { "static", true },
	[CODE_PAUSED] = { "paused", false },	 [CODE_RESUMED] = { "resumed", false },
	[CODE_DISABLED] = { "disabled", false }, [CODE_ENABLED] = { "enabled", false },
	[CODE_REMOVED] = { "removed", false },	 [CODE_RELOADED] = { "reloaded", false },
};

/* The largest value of the counter: fall failures from there lead to rise - 1, which is down. */
static unsigned full(const struct health_rule *rule)
{
	assert(rule->rise > 0 && rule->fall > 0);
	return rule->rise + rule->fall - 1;
}

/* One result moves the counter by one and saturates at both ends. */
static unsigned step(unsigned counter, const struct health_rule *rule, bool pass)
{
	if (pass)
		return counter < full(rule) ? counter + 1 : full(rule);
	return counter > 0 ? counter - 1 : 0;
}

static enum health_state judge(unsigned counter, const struct health_rule *rule)
{
	return counter >= rule->rise ? HEALTH_UP : HEALTH_DOWN;
}

/* The only function that writes a state; a change to the same state is none. */
static bool change_state(struct health *h, enum health_state to, enum health_code why, int64_t now,
			 struct health_change *ret)
{
	if (h->state == to)
		return false;
	*ret = (struct health_change){ .from = h->state, .to = to, .why = why, .at = now };
	h->state = to;
	h->since = now;
	return true;
}

/* Back to unknown, as if the backend were new: the next result decides. */
static bool start_again(struct health *h, enum health_code why, int64_t now,
			struct health_change *ret)
{
	h->counter = 0;
	return change_state(h, HEALTH_UNKNOWN, why, now, ret);
}

const char *health_state_name(enum health_state s)
{
	assert((size_t)s < ARRAY_SIZE(state_names));
	return state_names[s];
}

const char *health_code_name(enum health_code c)
{
	assert((size_t)c < ARRAY_SIZE(codes));
	return codes[c].name;
}

bool health_code_is_pass(enum health_code c)
{
	assert((size_t)c < ARRAY_SIZE(codes));
	return codes[c].pass;
}

bool health_is_operator(enum health_state s)
{
	return s == HEALTH_PAUSED || s == HEALTH_DISABLED || s == HEALTH_REMOVED;
}

void health_init(struct health *h, int64_t now)
{
	*h = (struct health){ .state = HEALTH_UNKNOWN, .since = now };
}

bool health_record(struct health *h, const struct health_rule *rule, enum health_code code,
		   int64_t now, struct health_change *ret)
{
	bool pass = health_code_is_pass(code);

	assert(code <= CODE_STATIC);
	if (health_is_operator(h->state))
		return false;

	/*
	 * FR-1.6: the first result decides alone. A pass sets the counter to rise, the lowest
	 * value that is up, so that a single failure after it takes the backend down again.
	 */
	if (h->state == HEALTH_UNKNOWN)
		h->counter = pass ? rule->rise : 0;
	else
		h->counter = step(h->counter, rule, pass);
	return change_state(h, judge(h->counter, rule), code, now, ret);
}

bool health_pause(struct health *h, int64_t now, struct health_change *ret)
{
	if (health_is_operator(h->state))
		return false;
	return change_state(h, HEALTH_PAUSED, CODE_PAUSED, now, ret);
}

bool health_resume(struct health *h, int64_t now, struct health_change *ret)
{
	if (h->state != HEALTH_PAUSED)
		return false;
	return start_again(h, CODE_RESUMED, now, ret);
}

bool health_disable(struct health *h, enum health_code why, int64_t now, struct health_change *ret)
{
	assert(why == CODE_DISABLED || why == CODE_RELOADED);
	if (h->state == HEALTH_REMOVED)
		return false;
	return change_state(h, HEALTH_DISABLED, why, now, ret);
}

bool health_enable(struct health *h, enum health_code why, int64_t now, struct health_change *ret)
{
	assert(why == CODE_ENABLED || why == CODE_RELOADED);
	if (h->state != HEALTH_DISABLED)
		return false;
	return start_again(h, why, now, ret);
}

bool health_remove(struct health *h, int64_t now, struct health_change *ret)
{
	return change_state(h, HEALTH_REMOVED, CODE_REMOVED, now, ret);
}

/* The rules may have become smaller, so a counter that is frozen by a pause is clamped, too. */
void health_rule_changed(struct health *h, const struct health_rule *rule)
{
	unsigned most = full(rule);

	if (h->state == HEALTH_DOWN)
		h->counter = 0;
	else if (h->state == HEALTH_UP || h->counter > most)
		h->counter = most;
}
