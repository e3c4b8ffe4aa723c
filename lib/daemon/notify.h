/* SPDX-License-Identifier: Apache-2.0 */
/* The words for systemd that daemon.c says by itself. */
#pragma once

#include <stdint.h>

void daemon__notify_stopping(void);
void daemon__notify_watchdog(void);
/* ns between two feedings at most; 0 when nobody watches. */
int64_t daemon__watchdog_period(void);
