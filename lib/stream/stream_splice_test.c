/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from one socket to another through a pipe. */
#include "lib/stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	struct ev_loop *loop;
	struct stream from, to;
	int sender, receiver; /* the other ends of their sockets */
	int pipe[2];
};

static void on_ready(struct stream *s, unsigned what)
{
}

static void on_closed(struct stream *s, int error)
{
}

static const struct stream_events events = { .ready = on_ready, .closed = on_closed };

static void adopt(struct bench *b, struct stream *s, int *ret_other)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	stream_init(s, b->loop, TASK_ORDINARY, &events);
	stream_adopt(s, fds[0]);
	*ret_other = fds[1];
}

static void start(struct bench *b)
{
	b->loop = ev_loop_new(0);
	adopt(b, &b->from, &b->sender);
	adopt(b, &b->to, &b->receiver);
	assert_int_equal(pipe2(b->pipe, O_NONBLOCK), 0);
}

static void finish(struct bench *b)
{
	stream_end(&b->from);
	stream_end(&b->to);
	close(b->sender);
	close(b->receiver);
	close(b->pipe[0]);
	close(b->pipe[1]);
	ev_loop_destroy(b->loop);
}

static void bytes_pass_and_are_counted_as_sent(void **state)
{
	struct bench b;
	char got[8];

	start(&b);
	assert_int_equal(stream_splice_in(&b.from, b.pipe[1], 100), -EAGAIN);
	assert_int_equal(write(b.sender, "hello", 5), 5);
	assert_int_equal(stream_splice_in(&b.from, b.pipe[1], 100), 5);
	assert_int_equal(stream_splice_out(&b.to, b.pipe[0], 2), 2);
	assert_int_equal(stream_splice_out(&b.to, b.pipe[0], 3), 3);
	assert_int_equal(b.to.sent, 5);
	assert_int_equal(read(b.receiver, got, sizeof(got)), 5);
	assert_memory_equal(got, "hello", 5);
	finish(&b);
}

static void the_end_of_the_sender_is_seen(void **state)
{
	struct bench b;

	start(&b);
	shutdown(b.sender, SHUT_WR);
	assert_int_equal(stream_splice_in(&b.from, b.pipe[1], 100), 0);
	finish(&b);
}

static void a_receiver_that_is_full_or_gone_is_told_apart(void **state)
{
	struct bench b;
	char much[4096] = { 0 };
	ssize_t n;

	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	start(&b);
	do {
		assert_int_equal(write(b.pipe[1], much, sizeof(much)), sizeof(much));
		n = stream_splice_out(&b.to, b.pipe[0], sizeof(much));
	} while (n > 0);
	assert_int_equal(n, -EAGAIN);
	shutdown(b.receiver, SHUT_RD);
	assert_int_equal(stream_splice_out(&b.to, b.pipe[0], 1), -EPIPE);
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_pass_and_are_counted_as_sent),
		cmocka_unit_test(the_end_of_the_sender_is_seen),
		cmocka_unit_test(a_receiver_that_is_full_or_gone_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
