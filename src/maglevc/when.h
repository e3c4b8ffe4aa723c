/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when: points in time as operators write them.
 *
 *	22:00, 22:00:30			the next time that the clock shows it
 *	2026-04-15T22:00[:30]		that day
 *	2026-04-15T22:00:30Z, +02:00	the same in another time zone
 *
 * Without a zone they are local times, of the variable TZ or of the machine. A blank may stand for
 * the T. Nothing else of the outside is used.
 */
#pragma once

#include <stdint.h>

/*
 * Reads a point in time, in ns since the epoch; after is the time that a time without a day
 * follows. Returns -EINVAL if it is none, and *ret is untouched.
 */
int when_parse(const char *text, int64_t after, int64_t *ret);
