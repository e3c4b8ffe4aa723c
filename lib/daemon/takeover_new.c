/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takeover: the new process's side, which blocks: its loop does not run yet.
 *
 * The socket is inherited, and its number is in the environment. What the old process says is
 * checked, because its version may be another.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/daemon/takeover.h"
#include "lib/daemon/takeover_private.h"
#include "lib/net/pass.h"

int takeover_channel(void)
{
	const char *text = getenv(TAKEOVER__VARIABLE);
	uint64_t fd;
	int r = -1;

	if (text && str_to_u64(str_of(text), INT32_MAX, &fd) == 0) {
		r = (int)fd;
		fcntl(r, F_SETFD, FD_CLOEXEC);
	}
	unsetenv(TAKEOVER__VARIABLE);
	return r;
}

/* 0 when there is something to read or the other side has ended; -ETIMEDOUT at the deadline. */
static int wait_until(int channel, int64_t deadline)
{
	struct pollfd p = { .fd = channel, .events = POLLIN };

	for (;;) {
		int64_t left = deadline - loop_monotonic();
		int r = left > 0 ? poll(&p, 1, (int)(left / NSEC_PER_MSEC) + 1) : 0;

		if (r == 0)
			return -ETIMEDOUT;
		if (r > 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

static int64_t limit_from_now(void)
{
	return loop_monotonic() + (int64_t)(TAKEOVER_STATE_LIMIT * NSEC_PER_SEC);
}

/* One message: its descriptors are added to the state, and its text is returned. */
static int take_message(int channel, int64_t deadline, struct takeover_state *state,
			char text[static TAKEOVER__TEXT], struct str *ret)
{
	int fds[NET_PASS_MAX];
	size_t n = NET_PASS_MAX;
	int r = wait_until(channel, deadline);
	ssize_t got;

	if (r < 0)
		return r;
	got = net_take(channel, text, TAKEOVER__TEXT, fds, &n);
	for (size_t i = 0; i < n; i++)
		vec_push(&state->fds, fds[i]);
	if (got <= 0)
		return got == 0 ? -ECONNRESET : got == -EMSGSIZE ? -EBADMSG : (int)got;
	*ret = (struct str){ text, (size_t)got };
	return 0;
}

/* The number of descriptors that "state N" announces. */
static int parse_state(struct str text, uint64_t *ret)
{
	if (!str_starts(text, STR(TAKEOVER__STATE)))
		return -EBADMSG;
	text.p += sizeof(TAKEOVER__STATE) - 1;
	text.n -= sizeof(TAKEOVER__STATE) - 1;
	return str_to_u64(text, TAKEOVER_FDS, ret) < 0 ? -EBADMSG : 0;
}

static int take_all(int channel, struct takeover_state *state)
{
	int64_t deadline = limit_from_now();
	char text[TAKEOVER__TEXT];
	struct str said;
	uint64_t n = 0;
	int r = take_message(channel, deadline, state, text, &said);

	if (r == 0)
		r = parse_state(said, &n);
	while (r == 0 && state->fds.n < n + 1) {
		r = take_message(channel, deadline, state, text, &said);
		if (r == 0 && !str_eq(said, STR(TAKEOVER__MORE)))
			r = -EBADMSG;
	}
	return r == 0 && state->fds.n != n + 1 ? -EBADMSG : r;
}

static int read_file(int fd, struct buf *out)
{
	struct stat s;
	size_t size;

	if (fstat(fd, &s) < 0 || !S_ISREG(s.st_mode) || s.st_size < 0 ||
	    (uint64_t)s.st_size > TAKEOVER_BYTES)
		return -EBADMSG;
	size = (size_t)s.st_size;
	buf_reserve(out, size);
	while (out->n < size) {
		ssize_t n = pread(fd, out->p + out->n, size - out->n, (off_t)out->n);

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		out->n += (size_t)n;
	}
	return 0;
}

/* The first descriptor is the file with the bytes. */
static void drop_file(struct takeover_state *state)
{
	assert(state->fds.items && state->fds.n);
	close(state->fds.items[0]);
	vec_remove_at(&state->fds, 0);
}

int takeover_receive(int channel, struct takeover_state *ret)
{
	struct takeover_state state = { 0 };
	int r = net_pass(channel, STR(TAKEOVER__HELLO), NULL, 0);

	if (r == 0)
		r = take_all(channel, &state);
	if (r == 0)
		r = read_file(state.fds.items[0], &state.bytes);
	if (r < 0) {
		takeover_state_close(&state);
		return r == -EPIPE ? -ECONNRESET : r;
	}
	drop_file(&state);
	*ret = state;
	return 0;
}

int takeover_confirm(int channel)
{
	struct takeover_state none = { 0 };
	char text[TAKEOVER__TEXT];
	struct str said = { 0 };
	int r = net_pass(channel, STR(TAKEOVER__READY), NULL, 0);

	if (r == 0)
		r = take_message(channel, limit_from_now(), &none, text, &said);
	takeover_state_close(&none);
	if (r == -EPIPE || r == -ECONNRESET)
		return 0;
	return r == 0 && !str_eq(said, STR(TAKEOVER__GO)) ? -EBADMSG : r;
}

void takeover_state_close(struct takeover_state *state)
{
	for (size_t i = 0; i < state->fds.n; i++)
		cleanup_fd(&state->fds.items[i]);
	vec_free(&state->fds);
	buf_free(&state->bytes);
}
