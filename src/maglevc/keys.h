/* SPDX-License-Identifier: Apache-2.0 */
/* keys: a terminal on which any key means stop. */
#pragma once

#include <termios.h>

#include "lib/loop/loop.h"

struct keys {
	struct ev_loop *loop;
	int fd; /* -1: none */
	struct termios before;
	ev_io readable;
	void (*pressed)(void *user);
	void *user;
};

/*
 * Keys are neither echoed nor kept until Enter, until keys_stop(); pressed() is told of the first,
 * which nobody else will read. With fd -1, or one that is no terminal, nothing happens.
 */
void keys_start(struct keys *k, struct ev_loop *loop, int fd, void (*pressed)(void *user),
		void *user);
void keys_stop(struct keys *k);
