/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait: after a pause or a disable, waits until the data plane has no flow of the backend left;
 * after the drain of a VIP, until it is withdrawn.
 */
#pragma once

#include "src/maglevc/session.h"

#define WAIT_DEFAULT (5 * 60) /* s */

/*
 * Runs the loop until the backend or VIP of the command is drained, the time is over, a call fails
 * or a signal arrives. Prints the outcome; on a terminal also what is left meanwhile.
 */
enum status wait_drained(struct session *s, const struct command *c);
