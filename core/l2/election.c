/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l2/election.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"

#define PRIORITIES 256

static bool outranks(uint8_t priority, const char *name, uint8_t other, const char *other_name)
{
	return priority != other ? priority > other : strcmp(name, other_name) < 0;
}

static bool is_better(const struct l2_election *e, const struct l2_member *m)
{
	return outranks(m->word.priority, m->name, e->rule.priority, e->name);
}

/* How long a member with this interval may be silent. The lower the own priority, the longer. */
static int64_t patience(const struct l2_election *e, int64_t heartbeat)
{
	int64_t skew = heartbeat * (PRIORITIES - e->rule.priority) / PRIORITIES;

	return heartbeat * (int64_t)e->rule.losses + skew;
}

static int64_t death(const struct l2_election *e, const struct l2_member *m)
{
	return m->seen + patience(e, m->word.heartbeat);
}

static void bury(struct l2_election *e, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->n; i++)
		if (death(e, &e->members[i]) > now)
			e->members[kept++] = e->members[i];
	e->n = kept;
}

static const struct l2_member *best_owner(const struct l2_election *e)
{
	const struct l2_member *best = NULL;

	for (size_t i = 0; i < e->n; i++) {
		const struct l2_member *m = &e->members[i];

		if (m->word.owner &&
		    (!best || outranks(m->word.priority, m->name, best->word.priority, best->name)))
			best = m;
	}
	return best;
}

/*
 * Whether a better member is about to take the VIP: any that stands, or, if there is an owner, one
 * that pre-empts. One that does not stand has priority 0 and is never better.
 */
static bool leaves_it_to_another(const struct l2_election *e, bool preempting)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct l2_member *m = &e->members[i];

		if (is_better(e, m) && (m->word.preempt || !preempting))
			return true;
	}
	return false;
}

static bool stands_higher(const struct l2_election *e)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->members[i].word.priority > e->rule.priority)
			return true;
	return false;
}

static bool is_outranked(const struct l2_election *e)
{
	const struct l2_member *owner = best_owner(e);

	return (owner && is_better(e, owner)) || (e->rule.yields && stands_higher(e));
}

static enum l2_state decide_as_backup(const struct l2_election *e, enum l2_reason *ret_why)
{
	const struct l2_member *owner = best_owner(e);

	if (owner && (!e->rule.preempt || owner->word.priority >= e->rule.priority)) {
		*ret_why = L2_OWNED;
		return L2_BACKUP;
	}
	if (leaves_it_to_another(e, owner != NULL)) {
		*ret_why = L2_OUTRANKED;
		return L2_BACKUP;
	}
	*ret_why = owner ? L2_PREEMPTS : L2_BEST;
	return L2_OWNER;
}

static enum l2_state decide(const struct l2_election *e, int64_t now, enum l2_reason *ret_why)
{
	if (!e->stands || now < e->listens_until) {
		*ret_why = e->stands ? L2_LISTENING : L2_UNFIT;
		return L2_BACKUP;
	}
	if (e->state == L2_BACKUP)
		return decide_as_backup(e, ret_why);
	*ret_why = is_outranked(e) ? L2_OUTRANKED : e->reason;
	return *ret_why == L2_OUTRANKED ? L2_BACKUP : L2_OWNER;
}

static int64_t next_due(const struct l2_election *e, int64_t now)
{
	int64_t due = now < e->listens_until ? e->listens_until : 0;

	for (size_t i = 0; i < e->n; i++) {
		int64_t at = death(e, &e->members[i]);

		if (!due || at < due)
			due = at;
	}
	return due;
}

/* The only place that changes the state. */
static enum l2_action change(struct l2_election *e, enum l2_state to, int64_t now)
{
	bool was_owner = e->state == L2_OWNER;

	e->state = to;
	e->since = now;
	if (to != L2_OWNER)
		return was_owner ? L2_YIELD : L2_NOTHING;
	e->claims++;
	return L2_ANNOUNCE;
}

/*
 * Whether neighbours may have learned another place of the VIP between the two words: its sender
 * has taken it, or only now gives it up.
 */
static bool has_more_to_tell(const struct l2_word *before, const struct l2_word *now)
{
	return before->claims != now->claims || (before->owner && !now->owner);
}

void l2_election_start(struct l2_election *e, const char *name, const struct l2_rule *rule,
		       int64_t now)
{
	size_t n = strlen(name);

	assert(n > 0 && n <= L2_NAME_MAX);
	*e = (struct l2_election){ .since = now, .stands = true };
	l2_election_set_rule(e, rule);
	memcpy(e->name, name, n);
	/* so that a member that starts again has another number than before */
	e->claims = (uint16_t)(now / NSEC_PER_MSEC);
	l2_election_listen(e, now);
	e->due = e->listens_until;
}

bool l2_election_hear(struct l2_election *e, const char *name, const struct l2_word *word,
		      int64_t now)
{
	size_t len = strlen(name), i = 0;
	struct l2_word before;

	assert(len <= L2_NAME_MAX);
	if (strcmp(name, e->name) == 0)
		return false;
	while (i < e->n && strcmp(e->members[i].name, name) != 0)
		i++;
	if (i == L2_MEMBERS_MAX)
		return false;
	if (i == e->n) {
		e->members[e->n++] =
			(struct l2_member){ .word.claims = (uint16_t)~word->claims, .since = now };
		memcpy(e->members[i].name, name, len);
	}
	before = e->members[i].word;
	e->doubted |= has_more_to_tell(&before, word);
	e->members[i].word = *word;
	e->members[i].seen = now;
	return e->members[i].since == now || before.priority != word->priority ||
	       before.owner != word->owner;
}

void l2_election_stand(struct l2_election *e, bool stands)
{
	e->stands = stands;
}

void l2_election_set_rule(struct l2_election *e, const struct l2_rule *rule)
{
	assert(rule->priority && rule->losses && rule->heartbeat > 0);
	e->rule = *rule;
}

void l2_election_listen(struct l2_election *e, int64_t now)
{
	e->listens_until = now + patience(e, e->rule.heartbeat);
}

void l2_election_leave(struct l2_election *e)
{
	e->reason = L2_LEFT;
}

enum l2_action l2_election_judge(struct l2_election *e, int64_t now)
{
	enum l2_state to = L2_LEAVING;
	bool doubted = e->doubted;

	e->doubted = false;
	bury(e, now);
	if (e->reason != L2_LEFT)
		to = decide(e, now, &e->reason);
	e->due = e->reason == L2_LEFT ? 0 : next_due(e, now);
	if (to != e->state)
		return change(e, to, now);
	return doubted && to == L2_OWNER ? L2_ANNOUNCE_AGAIN : L2_NOTHING;
}

struct l2_word l2_election_word(const struct l2_election *e, int64_t now)
{
	bool stands = e->stands && e->state != L2_LEAVING && now >= e->listens_until;

	return (struct l2_word){ .priority = stands ? e->rule.priority : 0,
				 .owner = e->state == L2_OWNER,
				 .preempt = e->rule.preempt,
				 .claims = e->claims,
				 .heartbeat = e->rule.heartbeat };
}

const char *l2_election_owner(const struct l2_election *e)
{
	const struct l2_member *owner = best_owner(e);

	if (e->state == L2_OWNER && (!owner || !is_better(e, owner)))
		return e->name;
	return owner ? owner->name : NULL;
}

const char *l2_state_name(enum l2_state s)
{
	static const char *const names[] = { "backup", "owner", "leaving" };

	return names[s];
}

const char *l2_reason_name(enum l2_reason r)
{
	static const char *const names[L2_REASONS] = {
		[L2_LISTENING] = "listening", [L2_UNFIT] = "unfit", [L2_OUTRANKED] = "outranked",
		[L2_OWNED] = "owned",	      [L2_BEST] = "best",   [L2_PREEMPTS] = "pre-empts",
		[L2_LEFT] = "left",
	};

	return names[r];
}
