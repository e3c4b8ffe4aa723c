/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: capabilities that are effective only while they are needed.
 *
 * At start a program keeps the capabilities that its configuration needs, permitted but not
 * effective, and raises one around the call that needs it. A process without capabilities still
 * runs: raising returns -EPERM, the caller makes the call anyway and reports the kernel's error.
 *
 * Numbers are those of <linux/capability.h> (CAP_NET_RAW ...). For the main thread: the kernel has
 * the sets of each thread, and a new thread inherits those of the moment when it is started. So
 * privilege_keep() comes before the start of other threads. The sets are read at first use; after
 * privilege_keep() no other code may change them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Makes a permitted capability effective. Returns 1 if it was raised now (lower it after the
 * call), 0 if it already was effective, -EPERM if it is not permitted.
 */
int privilege_raise(int cap);
/* Does nothing if the capability is not effective. Aborts if the kernel refuses. */
void privilege_lower(int cap);

bool privilege_held(int cap);	   /* permitted: can be raised */
bool privilege_effective(int cap); /* effective now */

/*
 * Keeps those capabilities of mask (bit n: capability n) that the process holds, as permitted
 * only, and drops all others from every set; from the bounding set only if CAP_SETPCAP is
 * effective. -EPERM if the kernel refuses; the process then has no more rights than before.
 */
int privilege_keep(uint64_t mask);
