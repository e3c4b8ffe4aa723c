/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the families of maglev-gateway, for lib/admin. */
#pragma once

#include "lib/http/slice.h"
#include "src/gateway/gateway.h"

/* For admin_config.metrics; user is the struct gateway. */
struct http_stream metrics_page(void *user);
