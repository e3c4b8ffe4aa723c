/* SPDX-License-Identifier: Apache-2.0 */
/* port: one interface of a namespace, as a socket there sees it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/l2/frame.h"

struct l2_port {
	unsigned index;
	uint8_t mac[L2_MAC];
	bool is_up; /* and has a carrier */
};

/*
 * Looks up an interface by its name with any socket in its namespace. -ENODEV if there is none,
 * -EOPNOTSUPP if it is not Ethernet; *ret is untouched then.
 */
int l2_port_read(int fd, const char *name, struct l2_port *ret);
/* Binds the socket to the interface: it receives and sends only there. 0 or a negative errno. */
int l2_port_bind(int fd, const char *name);
