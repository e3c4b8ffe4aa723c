/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/keys.h"

#include <unistd.h>

#include "base/cleanup.h"

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct keys *k = container_of(w, struct keys, readable);
	char some[64];

	ev_io_stop(loop, w);
	/* an arrow is several bytes: they are one key */
	if (read(k->fd, some, sizeof(some)) >= 0)
		k->pressed(k->user);
}

void keys_start(struct keys *k, struct ev_loop *loop, int fd, void (*pressed)(void *user),
		void *user)
{
	struct termios now;

	*k = (struct keys){ .loop = loop, .fd = -1, .pressed = pressed, .user = user };
	if (fd < 0 || tcgetattr(fd, &k->before) < 0)
		return;
	k->fd = fd;
	now = k->before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	tcsetattr(fd, TCSADRAIN, &now);
	ev_io_init(&k->readable, on_readable, fd, EV_READ);
	ev_io_start(loop, &k->readable);
}

void keys_stop(struct keys *k)
{
	if (k->fd < 0)
		return;
	ev_io_stop(k->loop, &k->readable);
	tcsetattr(k->fd, TCSADRAIN, &k->before);
	k->fd = -1;
}
