/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/keys.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool has_more(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && p.revents & POLLIN;
}

/*
 * Whether an escape sequence is complete: ESC [ parameters final (CSI, ECMA-48 5.4), ESC O
 * letter (SS3), or ESC and a key (how terminals send Alt).
 */
static bool is_whole_sequence(const char *key, size_t n)
{
	if (n < 2)
		return false;
	if (key[1] == '[')
		return n > 2 && key[n - 1] >= '@' && key[n - 1] <= '~';
	return key[1] != 'O' || n == 3;
}

/*
 * Whether the bytes are a whole key: an escape sequence, or a UTF-8 character whose first byte
 * gives its length.
 */
static bool is_whole(const char *key, size_t n)
{
	unsigned char first = (unsigned char)key[0];

	if (first == '\033')
		return is_whole_sequence(key, n);
	if (first < 0xc0)
		return true;
	return n >= (first < 0xe0 ? 2u : first < 0xf0 ? 3u : 4u);
}

/*
 * Reads one key byte by byte, because input after it belongs to the next reader. An ESC alone is
 * a key too, so the read ends when no more bytes are waiting. Returns -1 if there is no input
 * yet.
 */
static int read_key(struct keys *k)
{
	ssize_t n;

	do {
		n = read(k->fd, k->key + k->n, 1);
		if (n < 0 && !k->n && (errno == EAGAIN || errno == EINTR))
			return -1;
		k->n += n > 0;
	} while (n > 0 && k->n < sizeof(k->key) && !is_whole(k->key, k->n) && has_more(k->fd));
	return 0;
}

/* End of file (the terminal is gone) counts as a key, otherwise the watch would never end. */
static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct keys *k = container_of(w, struct keys, readable);

	if (read_key(k) < 0)
		return;
	ev_io_stop(loop, w);
	k->more = k->n && has_more(k->fd);
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
