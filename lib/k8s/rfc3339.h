/* SPDX-License-Identifier: Apache-2.0 */
/* rfc3339: times as Kubernetes writes them. */
#pragma once

#include <stdint.h>

#include "base/str.h"

/*
 * "2026-11-17T12:00:00Z", with a fraction and an offset if there are. ns since the epoch. -EINVAL.
 */
int k8s_time_parse(struct str text, int64_t *ret);

#define K8S_MICRO_TIME 28
/* "2026-11-17T12:00:00.000000Z" (MicroTime); returns buf. */
const char *k8s_micro_time(int64_t unix_ns, char buf[static K8S_MICRO_TIME]);
