/* SPDX-License-Identifier: Apache-2.0 */
/* keys: a terminal on which any key means stop. Used while a stream of events is shown. */
#pragma once

#include <termios.h>

#include "base/str.h"
#include "lib/loop/loop.h"

#define KEYS_LONGEST 16 /* bytes of one key: escape sequences are longer than a character */

struct keys {
	struct ev_loop *loop;
	int fd;		       /* -1: not started, or not a terminal */
	struct termios before; /* restored by keys_stop() */
	ev_io readable;
	char key[KEYS_LONGEST]; /* the bytes of the key that was pressed */
	size_t n;
	bool more; /* further input was there at once: it was typed ahead or pasted */
	void (*pressed)(void *user);
	void *user;
};

/*
 * Switches the terminal to unbuffered input without echo until keys_stop(), and calls pressed()
 * for the first key. No further key is read. If fd is -1 or not a terminal, nothing happens. *k
 * must stay in place until keys_stop().
 */
void keys_start(struct keys *k, struct ev_loop *loop, int fd, void (*pressed)(void *user),
		void *user);
/* Restores the terminal. May be called after a start that did nothing. */
void keys_stop(struct keys *k);
