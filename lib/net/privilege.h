/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: capabilities, in force only while they are needed.
 *
 * A program keeps at start what its configuration needs (permitted, nothing effective) and raises
 * one capability around the one call that needs it. A process that has none still runs: raising
 * says -EPERM, the caller tries anyway and reports what the kernel says.
 *
 * Numbers are those of <linux/capability.h> (CAP_NET_RAW ...). For one thread; the sets are read
 * when first asked for, and after privilege_keep() nobody else should change them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Puts a permitted capability in force. Returns 1 when it was raised now (lower it after the
 * call), 0 when it already was in force, -EPERM when it is not permitted.
 */
int privilege_raise(int cap);
void privilege_lower(int cap);

bool privilege_held(int cap);	   /* permitted: can be raised */
bool privilege_effective(int cap); /* in force now */

/*
 * Keeps the capabilities of mask (bit n: capability n) that are held, permitted only; drops all
 * others from every set, from the bounding set as far as the kernel allows. -EPERM when the kernel
 * refuses; nothing is gained by then.
 */
int privilege_keep(uint64_t mask);
