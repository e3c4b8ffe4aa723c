/* SPDX-License-Identifier: Apache-2.0 */
/* screen: the tester for people who look: a row for each VIP, errors below, and keys. */
#pragma once

#include "src/maglevt/tester.h"

/* Runs the loop until somebody leaves; -ENOTTY when there is no terminal. */
int screen_run(struct tester *t);
