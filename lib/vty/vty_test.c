/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon in the same loop, on a Unix socket: it answers each command with its own text in capital
 * letters, and does what some commands say: "close", "silent", "refuse", "twice", "trickle".
 */
#include "lib/vty/vty.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/stream/listener.h"
#include "lib/stream/stream.h"

struct bench {
	struct ev_loop *loop;
	struct stream_listener listener;
	struct stream peer;
	ev_timer drop;	/* of a text that does not end */
	struct buf in;	/* bytes of commands, with their NULs */
	struct buf log; /* commands that arrived, with spaces between */
	char path[64];
	struct vty *vty;
	struct buf seen; /* answers, as the client has got them */
	size_t answers, wanted;
};

static void say(struct bench *b, const char *text, size_t n, char status)
{
	assert_int_equal(stream_send(&b->peer, text, n), 0);
	assert_int_equal(stream_send(&b->peer, "\0\0\0", 3), 0);
	assert_int_equal(stream_send(&b->peer, &status, 1), 0);
}

/* False if the connection is closed. */
static bool obey(struct bench *b, char *command)
{
	buf_printf(&b->log, "%s ", command);
	if (strcmp(command, "close") == 0) {
		stream_close(&b->peer);
		return false;
	}
	if (strcmp(command, "trickle") == 0)
		ev_timer_again(b->loop, &b->drop);
	if (strcmp(command, "silent") == 0 || strcmp(command, "trickle") == 0)
		return true;
	for (char *p = command; *p; p++)
		*p = (char)toupper(*p);
	say(b, command, strlen(command), strcmp(command, "REFUSE") == 0 ? VTY_NO_MATCH : 0);
	if (strcmp(command, "TWICE") == 0)
		say(b, "", 0, 0);
	return true;
}

static void on_peer_ready(struct stream *s, unsigned what)
{
	struct bench *b = container_of(s, struct bench, peer);
	char bytes[4096], *zero;
	ssize_t n = stream_read(s, bytes, sizeof(bytes));

	if (n == 0 || (n < 0 && n != -EAGAIN)) {
		stream_close(s);
		return;
	}
	if (n > 0)
		buf_add(&b->in, bytes, (size_t)n);
	while (b->in.n && (zero = memchr(b->in.p, '\0', b->in.n))) {
		_cleanup_(cleanup_free) char *command = mem_strdup(b->in.p);

		buf_consume(&b->in, (size_t)(zero - b->in.p) + 1);
		if (!obey(b, command))
			return;
	}
}

static void on_drop(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct bench *b = container_of(w, struct bench, drop);

	if (b->peer.state == STREAM_OPEN)
		stream_send(&b->peer, "x", 1);
}

static void on_peer_closed(struct stream *s, int error)
{
	stream_close(s);
}

static const struct stream_events peer_events = { .ready = on_peer_ready,
						  .closed = on_peer_closed };

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	struct bench *b = user;

	stream_close(&b->peer);
	b->in.n = 0;
	stream_adopt(&b->peer, fd);
	stream_want(&b->peer, STREAM_READ);
}

static void on_starved(int error, void *user)
{
}

static void listen_at(struct bench *b)
{
	const struct stream_listener_events events = { .accepted = on_accepted,
						       .starved = on_starved,
						       .user = b };
	const struct stream_listener_config config = { .path = b->path };

	assert_int_equal(stream_listener_open(&b->listener, b->loop, &config, &events), 0);
}

static int setup(void **state)
{
	struct bench *b = mem_zalloc(sizeof(*b));

	b->loop = ev_loop_new(0);
	snprintf(b->path, sizeof(b->path), "@vty-test-%d", getpid());
	stream_init(&b->peer, b->loop, TASK_ORDINARY, &peer_events);
	ev_timer_init(&b->drop, on_drop, 0., .02);
	listen_at(b);
	b->vty = vty_new(b->loop,
			 &(struct vty_config){ .path = b->path, .timeout = 200 * NSEC_PER_MSEC });
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	vty_free(b->vty);
	ev_timer_stop(b->loop, &b->drop);
	stream_end(&b->peer);
	stream_listener_close(&b->listener);
	ev_loop_destroy(b->loop);
	buf_free(&b->in);
	buf_free(&b->log);
	buf_free(&b->seen);
	free(b);
	return 0;
}

static void on_answer(const struct vty_answer *a, void *user)
{
	struct bench *b = user;

	if (a->error)
		buf_printf(&b->seen, "!%s ", strerrorname_np(-a->error));
	else
		buf_printf(&b->seen, "%.*s=%u ", (int)a->text.n, a->text.p, a->status);
	if (++b->answers == b->wanted)
		ev_break(b->loop, EVBREAK_ALL);
}

static void ask(struct bench *b, const char *command)
{
	assert_int_equal(vty_ask(b->vty, str_of(command), on_answer, b), 0);
}

/* Until n answers have come in all. */
static void run(struct bench *b, size_t n)
{
	b->wanted = n;
	if (b->answers < n)
		ev_run(b->loop, 0);
	assert_int_equal(b->answers, n);
}

static void answers_come_in_the_order_of_the_commands(void **state)
{
	struct bench *b = *state;

	ask(b, "one");
	ask(b, "refuse");
	ask(b, "two words");
	run(b, 3);
	assert_string_equal(buf_cstr(&b->seen), "ONE=0 REFUSE=2 TWO WORDS=0 ");
	assert_string_equal(buf_cstr(&b->log), "enable one refuse two words ");
	assert_int_equal(vty_waiting(b->vty), 0);
}

static void the_connection_is_kept(void **state)
{
	struct bench *b = *state;

	ask(b, "one");
	run(b, 1);
	ask(b, "two");
	run(b, 2);
	assert_int_equal(vty_connections(b->vty), 1);
	assert_string_equal(buf_cstr(&b->log), "enable one two ");
}

/* 64 wait for an answer at a time, and all get one */
static void very_many_commands_are_answered(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < 5000; i++)
		ask(b, "x");
	run(b, 5000);
	assert_int_equal(vty_waiting(b->vty), 0);
}

static void a_lost_connection_fails_what_waits_and_the_next_command_connects(void **state)
{
	struct bench *b = *state;

	ask(b, "one");
	ask(b, "close");
	ask(b, "two");
	run(b, 3);
	assert_string_equal(buf_cstr(&b->seen), "ONE=0 !ECONNRESET !ECONNRESET ");
	ask(b, "three");
	run(b, 4);
	assert_int_equal(vty_connections(b->vty), 2);
	assert_string_equal(buf_cstr(&b->seen), "ONE=0 !ECONNRESET !ECONNRESET THREE=0 ");
}

static void a_daemon_that_does_not_answer_is_given_up(void **state)
{
	struct bench *b = *state;

	ask(b, "silent");
	ask(b, "one");
	run(b, 2);
	/* the answer to the second command is taken for that of the first: then none is left */
	assert_string_equal(buf_cstr(&b->seen), "ONE=0 !ETIMEDOUT ");
}

static void an_answer_that_does_not_end_is_given_up(void **state)
{
	struct bench *b = *state;

	ask(b, "trickle");
	run(b, 1);
	assert_string_equal(buf_cstr(&b->seen), "!ETIMEDOUT ");
}

static void an_answer_too_many_ends_the_connection(void **state)
{
	struct bench *b = *state;

	ask(b, "twice");
	run(b, 1);
	ask(b, "one");
	run(b, 2);
	assert_string_equal(buf_cstr(&b->seen), "TWICE=0 ONE=0 ");
	assert_int_equal(vty_connections(b->vty), 2);
}

static void an_absent_daemon_is_an_error(void **state)
{
	struct bench *b = *state;

	stream_listener_close(&b->listener);
	ask(b, "one");
	run(b, 1);
	assert_string_equal(buf_cstr(&b->seen), "!ECONNREFUSED ");
	listen_at(b);
	ask(b, "one");
	run(b, 2);
	assert_string_equal(buf_cstr(&b->seen), "!ECONNREFUSED ONE=0 ");
}

static void on_first(const struct vty_answer *a, void *user)
{
	struct bench *b = user;

	vty_free(b->vty);
	b->vty = NULL;
	ev_break(b->loop, EVBREAK_ALL);
}

static void a_callback_may_free_the_client(void **state)
{
	struct bench *b = *state;

	assert_int_equal(vty_ask(b->vty, STR("one"), on_first, b), 0);
	ask(b, "two");
	ev_run(b->loop, 0);
	assert_null(b->vty);
	assert_int_equal(b->answers, 0);
}

static void what_is_no_command_is_refused(void **state)
{
	struct bench *b = *state;
	char text[VTY_COMMAND_MAX + 1];

	memset(text, 'x', sizeof(text));
	assert_int_equal(vty_ask(b->vty, STR(""), NULL, NULL), -EINVAL);
	assert_int_equal(vty_ask(b->vty, STR("a\nb"), NULL, NULL), -EINVAL);
	assert_int_equal(vty_ask(b->vty, STR("a\0b"), NULL, NULL), -EINVAL);
	assert_int_equal(vty_ask(b->vty, (struct str){ text, sizeof(text) }, NULL, NULL), -EINVAL);
	assert_int_equal(vty_waiting(b->vty), 0);
	assert_int_equal(vty_connections(b->vty), 0);
}

#define ON_BENCH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BENCH(answers_come_in_the_order_of_the_commands),
		ON_BENCH(the_connection_is_kept),
		ON_BENCH(very_many_commands_are_answered),
		ON_BENCH(a_lost_connection_fails_what_waits_and_the_next_command_connects),
		ON_BENCH(a_daemon_that_does_not_answer_is_given_up),
		ON_BENCH(an_answer_that_does_not_end_is_given_up),
		ON_BENCH(an_answer_too_many_ends_the_connection),
		ON_BENCH(an_absent_daemon_is_an_error),
		ON_BENCH(a_callback_may_free_the_client),
		ON_BENCH(what_is_no_command_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
