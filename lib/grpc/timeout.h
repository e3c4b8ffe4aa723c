/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: the header grpc-timeout, also for programs that only pass calls on. */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define GRPC_TIMEOUT_STRLEN 16

/* At most eight digits and a unit; -EINVAL otherwise. Capped at INT64_MAX / 2. */
int grpc_timeout_parse(struct str s, int64_t *ret_ns);
/* In the finest unit that has room for it; what is below it is dropped. ns is not negative. */
const char *grpc_timeout_format(int64_t ns, char text[static GRPC_TIMEOUT_STRLEN]);
