/* SPDX-License-Identifier: Apache-2.0 */
/* screen: the interactive view of the tester: a row for each VIP, errors below, and keys. */
#pragma once

#include "src/maglevt/tester.h"

/* Runs the loop until the user leaves; -ENOTTY if there is no terminal. */
int screen_run(struct tester *t);
