/* SPDX-License-Identifier: Apache-2.0 */
/* dial: sockets to VPP (private to lib/vpp). */
#pragma once

/*
 * A connected, non-blocking Unix socket, or a negative errno at once: there is no "in progress"
 * there, and -EAGAIN means that VPP accepts nobody.
 */
int vpp__dial(const char *path, int type);
