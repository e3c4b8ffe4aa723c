/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipes: through which bytes go from one socket to another, kept by a thread for the next use.
 *
 * A connection has one only while bytes are in it.
 */
#pragma once

#include <stddef.h>

#define PIPE_SIZE ((size_t)256 * 1024)

struct pipe {
	struct pipe *next; /* in the list of spare ones */
	int in, out;	   /* in is written to */
	size_t held;	   /* bytes that are in it */
};

struct pipes {
	struct pipe *spare;
	size_t n_spare;
};

/* NULL: there is none, because of a limit of the system. */
struct pipe *pipes_take(struct pipes *p);
/* NULL is allowed. One with bytes in it is closed. */
void pipes_give(struct pipes *p, struct pipe *one);
void pipes_free(struct pipes *p);
