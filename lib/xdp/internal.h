/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/xdp. */
#pragma once

#include <stdbool.h>

struct nlmsghdr;
struct xdp_vlan;

/* Clears xdp_why(); called first in each function that may fail with messages. */
void xdp__clear_why(void);
/* Appends to xdp_why(). */
void xdp__explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Parses one RTM_NEWLINK message; false if it is not about a VLAN device. */
bool xdp__read_vlan(struct nlmsghdr *m, struct xdp_vlan *ret);
