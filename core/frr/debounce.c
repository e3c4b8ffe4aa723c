/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frr/debounce.h"

#include <assert.h>

static bool start(struct debounce *d)
{
	d->state = DEBOUNCE_BUSY;
	d->applying = d->stored;
	return true;
}

bool debounce_store(struct debounce *d)
{
	d->stored++;
	return d->state == DEBOUNCE_BUSY ? false : start(d);
}

bool debounce_done(struct debounce *d, bool success, int64_t now)
{
	assert(d->state == DEBOUNCE_BUSY);
	if (success) {
		d->applied = d->applying;
		d->failures = 0;
	} else {
		d->failures++;
	}
	if (d->applying != d->stored)
		return start(d);
	d->state = success ? DEBOUNCE_IDLE : DEBOUNCE_WAITING;
	d->due = success ? 0 : now + d->retry;
	return false;
}

bool debounce_tick(struct debounce *d, int64_t now)
{
	return d->state == DEBOUNCE_WAITING && now >= d->due && start(d);
}

uint64_t debounce_batch(const struct debounce *d)
{
	return d->applying - d->applied;
}

const char *debounce_state_name(enum debounce_state s)
{
	static const char *const names[] = { "idle", "busy", "waiting" };

	return names[s];
}
