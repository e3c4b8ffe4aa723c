/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the families of frr-reloader beside those of every daemon. */
#pragma once

#include "lib/http/slice.h"
#include "src/frr-reloader/reloader.h"

/* For admin_config.metrics; user is the struct reloader. */
struct http_stream metrics_page(void *user);
