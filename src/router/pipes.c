/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/pipes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

#define SPARE_MAX 16

static void close_pipe(struct pipe *one)
{
	close(one->in);
	close(one->out);
	free(one);
}

struct pipe *pipes_take(struct pipes *p)
{
	struct pipe *one = p->spare;
	int fds[2];

	if (one) {
		p->spare = one->next;
		p->n_spare--;
		return one;
	}
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return NULL;
	(void)fcntl(fds[1], F_SETPIPE_SZ,
		    PIPE_SIZE); /* above a limit of the user it stays smaller */
	one = mem_zalloc(sizeof(*one));
	one->out = fds[0];
	one->in = fds[1];
	return one;
}

void pipes_give(struct pipes *p, struct pipe *one)
{
	if (!one)
		return;
	if (one->held || p->n_spare >= SPARE_MAX) {
		close_pipe(one);
		return;
	}
	one->next = p->spare;
	p->spare = one;
	p->n_spare++;
}

void pipes_free(struct pipes *p)
{
	while (p->spare) {
		struct pipe *one = p->spare;

		p->spare = one->next;
		close_pipe(one);
	}
	p->n_spare = 0;
}
