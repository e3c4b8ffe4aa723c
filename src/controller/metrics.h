/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the families of MetalLB's controller under its names, and our own. */
#pragma once

#include "lib/http/server.h"

struct controller;
struct webhook;

struct metrics_sources {
	const struct controller *controller;
	const struct webhook *webhook; /* NULL: there is none */
};

/* user is a struct metrics_sources. */
struct http_stream metrics_page(void *user);
