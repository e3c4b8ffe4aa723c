/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/xdp. */
#pragma once

#include <stdbool.h>

struct nlmsghdr;
struct xdp_vlan;

/* Forgets what xdp_why() had; at the door of what may fail. */
void xdp__clear_why(void);
void xdp__explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* False when the message is not about a VLAN device. */
bool xdp__read_vlan(struct nlmsghdr *m, struct xdp_vlan *ret);
