/* SPDX-License-Identifier: Apache-2.0 */
/* dial: sockets to VPP (private to lib/vpp). */
#pragma once

/*
 * Returns a connected, non-blocking Unix socket that the caller owns, or a negative errno, at
 * once: connect() on a Unix socket is never in progress. -EAGAIN means that VPP's backlog is
 * full.
 */
int vpp__dial(const char *path, int type);
