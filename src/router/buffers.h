/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers: memory for bytes that wait, of one size, kept by a thread for the next use.
 *
 * A connection without a request holds none.
 */
#pragma once

#include <stddef.h>

#include "lib/http/message.h"

#define BUFFER_SIZE HTTP_HEAD_MAX

struct buffer {
	struct buffer *next; /* in the list of spare ones */
	size_t at, n;	     /* bytes from at to n are waiting */
	char p[BUFFER_SIZE];
};

struct buffers {
	struct buffer *spare;
	size_t n_spare, n_used;
};

struct buffer *buffers_take(struct buffers *b);
void buffers_give(struct buffers *b, struct buffer *one);
void buffers_free(struct buffers *b);
