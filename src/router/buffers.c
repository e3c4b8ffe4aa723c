/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/buffers.h"

#include <stdlib.h>

#include "base/mem.h"

#define SPARE_MAX 256 /* 4 MiB */

struct buffer *buffers_take(struct buffers *b)
{
	struct buffer *one = b->spare;

	b->n_used++;
	if (one) {
		b->spare = one->next;
		b->n_spare--;
	} else {
		one = mem_alloc(sizeof(*one));
	}
	one->at = one->n = 0;
	return one;
}

void buffers_give(struct buffers *b, struct buffer *one)
{
	if (!one)
		return;
	b->n_used--;
	if (b->n_spare >= SPARE_MAX) {
		free(one);
		return;
	}
	one->next = b->spare;
	b->spare = one;
	b->n_spare++;
}

void buffers_free(struct buffers *b)
{
	while (b->spare) {
		struct buffer *one = b->spare;

		b->spare = one->next;
		free(one);
	}
	b->n_spare = 0;
}
