/* SPDX-License-Identifier: Apache-2.0 */
/*
 * once: what maglev-gateway prints and then ends: a dry run, and explain.
 *
 * Both read the cluster as the daemon does, translate, and write nothing anywhere.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/gateway/options.h"

/* The exit status: 0, or 1 with a reason on standard error. */
int once_run(struct ev_loop *loop, const struct options *options);
