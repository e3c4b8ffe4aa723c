/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to systemd that daemon.c sends automatically. */
#pragma once

#include <stdint.h>

void daemon__notify_stopping(void);
void daemon__notify_watchdog(void);
/* The watchdog period in ns: the longest time between two messages; 0 if there is no watchdog. */
int64_t daemon__watchdog_period(void);
