/* SPDX-License-Identifier: Apache-2.0 */
/* keys: a terminal on which any key means stop. */
#pragma once

#include <termios.h>

#include "base/str.h"
#include "lib/loop/loop.h"

#define KEYS_LONGEST 16 /* bytes of one key */

struct keys {
	struct ev_loop *loop;
	int fd; /* -1: none */
	struct termios before;
	ev_io readable;
	char key[KEYS_LONGEST]; /* the one that was pressed: an arrow is several bytes */
	size_t n;
	bool more; /* others were behind it at once: somebody typed ahead, or pasted */
	void (*pressed)(void *user);
	void *user;
};

/*
 * Keys are neither echoed nor kept until Enter, until keys_stop(); pressed() is told of the first.
 * No other is read. With fd -1, or one that is no terminal, nothing happens.
 */
void keys_start(struct keys *k, struct ev_loop *loop, int fd, void (*pressed)(void *user),
		void *user);
void keys_stop(struct keys *k);
