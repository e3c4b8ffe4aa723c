/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the families of maglev-mux. */
#pragma once

#include "lib/http/server.h"

/* For admin_config.metrics; user is the struct controller. */
struct http_stream metrics_page(void *user);
