/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/ejection.h"

bool l7_try_failed(const struct l7_try *t)
{
	switch (t->ending) {
	case L7_ANSWERED:
		return t->status == 500 || (t->status >= 502 && t->status <= 504);
	case L7_NOT_TAKEN: /* usual for kept connections */
		return false;
	case L7_NOT_REACHED:
	case L7_NOT_SECURED:
	case L7_BROKEN:
		return true;
	case L7_TIMED_OUT:
		return !t->answering;
	}
	return false;
}

bool l7_ejection_allowed(const struct l7_ejection *e, size_t n, size_t ejected)
{
	return !ejected || (ejected + 1) * 100 <= n * e->most;
}

static int64_t time_of(const struct l7_ejection *e, unsigned times)
{
	int64_t most = e->time > L7_EJECTION_MAX ? e->time : L7_EJECTION_MAX;
	int64_t time = e->time;

	for (unsigned i = 1; i < times && time < most; i++)
		time *= 2;
	return time < most ? time : most;
}

void l7_eject(struct l7_ejected *s, const struct l7_ejection *e, int64_t now)
{
	bool again = s->times && now - s->until < s->until - s->from;

	s->times = again ? s->times + 1 : 1;
	s->from = now;
	s->until = now + time_of(e, s->times);
}

bool l7_slow_start_takes(int64_t since, int64_t time, uint64_t random)
{
	return since >= time || (int64_t)(random % (uint64_t)time) < since;
}
