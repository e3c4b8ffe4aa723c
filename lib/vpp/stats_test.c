/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/vpp/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define PATIENCE 20.0 /* s */
#define MS NSEC_PER_MSEC

struct test {
	struct ev_loop *loop;
	char directory[32];
	struct sockaddr_un at;
	int listener;
	ev_timer patience;
	struct vpp_stats *stats;
	int ready, failed;
	char text[256];
};

static void on_ready(void *user, struct vpp_segment *segment)
{
	struct test *t = user;

	t->ready++;
	vpp_segment_close(segment);
	vpp_stats_free(TAKE_PTR(t->stats));
}

static void on_failed(void *user, const char *text)
{
	struct test *t = user;

	t->failed++;
	snprintf(t->text, sizeof(t->text), "%s", text);
	vpp_stats_free(TAKE_PTR(t->stats));
}

static void on_impatience(struct ev_loop *loop, ev_timer *w, int revents)
{
	fail_msg("waited for too long");
}

static void begin(struct test *t)
{
	*t = (struct test){ .loop = ev_loop_new(EVFLAG_AUTO),
			    .directory = "/tmp/maglev-vpp-XXXXXX",
			    .at.sun_family = AF_UNIX };
	ev_timer_init(&t->patience, on_impatience, PATIENCE, 0.);
	ev_timer_start(t->loop, &t->patience);
	assert_non_null(mkdtemp(t->directory));
	snprintf(t->at.sun_path, sizeof(t->at.sun_path), "%s/stats.sock", t->directory);
	t->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(t->listener, (struct sockaddr *)&t->at, sizeof(t->at)), 0);
	assert_int_equal(listen(t->listener, 1), 0);
}

static void end(struct test *t)
{
	vpp_stats_free(t->stats);
	cleanup_fd(&t->listener);
	unlink(t->at.sun_path);
	rmdir(t->directory);
	ev_timer_stop(t->loop, &t->patience);
	ev_loop_destroy(t->loop);
}

static void dial(struct test *t, int64_t timeout)
{
	const struct vpp_stats_config config = { .path = t->at.sun_path,
						 .timeout = timeout,
						 .ready = on_ready,
						 .failed = on_failed,
						 .user = t };

	t->stats = vpp_stats_connect(t->loop, &config);
	assert_int_equal(t->ready + t->failed, 0); /* not from within the call */
}

static void wait_for_the_outcome(struct test *t)
{
	while (!t->ready && !t->failed)
		ev_run(t->loop, EVRUN_ONCE);
}

static void assert_failed(struct test *t, const char *why)
{
	char text[256];

	wait_for_the_outcome(t);
	snprintf(text, sizeof(text), "%s: %s", t->at.sun_path, why);
	assert_string_equal(t->text, text);
	assert_int_equal(t->ready, 0);
}

/* Sends a message without data, as VPP does, with descriptors of one file. */
static void hand_out(struct test *t, int fd, size_t copies)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = { 0 };
	int client = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC), fds[4];
	struct iovec nothing = { 0 };
	struct msghdr message = { .msg_iov = &nothing,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = CMSG_SPACE(copies * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	assert_true(client >= 0);
	for (size_t i = 0; i < copies; i++)
		fds[i] = fd;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(copies * sizeof(int));
	memcpy(CMSG_DATA(c), fds, copies * sizeof(int));
	assert_int_equal(sendmsg(client, &message, 0), 0);
	close(client);
}

static int make_file(uint64_t version)
{
	uint64_t header[5] = { version };
	int fd = memfd_create("stats", MFD_CLOEXEC);

	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	return fd;
}

static void a_segment_comes_beside_an_empty_message(void **state)
{
	struct test t;
	int fd = make_file(2);

	begin(&t);
	dial(&t, 0);
	hand_out(&t, fd, 1);
	wait_for_the_outcome(&t);
	assert_int_equal(t.ready, 1);
	close(fd);
	end(&t);
}

static void more_than_one_file_is_no_segment(void **state)
{
	struct test t;
	int fd = make_file(2);

	begin(&t);
	dial(&t, 0);
	hand_out(&t, fd, 3);
	assert_failed(&t, "VPP closed the connection without sending its stats segment");
	close(fd);
	end(&t);
}

static void another_layout_is_told(void **state)
{
	struct test t;
	int fd = make_file(1);

	begin(&t);
	dial(&t, 0);
	hand_out(&t, fd, 1);
	assert_failed(&t, "the segment's layout is of an unknown version");
	close(fd);
	end(&t);
}

static void a_file_that_is_no_segment_is_told(void **state)
{
	struct test t;
	int fd = memfd_create("empty", MFD_CLOEXEC);

	begin(&t);
	dial(&t, 0);
	hand_out(&t, fd, 1);
	assert_failed(&t, "what VPP sent is not a stats segment");
	close(fd);
	end(&t);
}

static void a_vpp_that_closes_is_told(void **state)
{
	struct test t;

	begin(&t);
	dial(&t, 0);
	close(accept4(t.listener, NULL, NULL, SOCK_CLOEXEC));
	assert_failed(&t, "VPP closed the connection without sending its stats segment");
	end(&t);
}

static void a_vpp_that_hangs_is_not_waited_for(void **state)
{
	struct test t;

	begin(&t);
	dial(&t, 20 * MS);
	assert_failed(&t, "VPP did not send its stats segment");
	end(&t);
}

static void a_socket_that_is_not_there_is_told(void **state)
{
	struct test t;

	begin(&t);
	close(TAKE_FD(t.listener));
	dial(&t, 0);
	assert_failed(&t, "connection refused");
	t.failed = 0;
	unlink(t.at.sun_path);
	dial(&t, 0);
	assert_failed(&t, "no such file or directory");
	end(&t);
}

static void an_attempt_freed_early_says_nothing_more(void **state)
{
	struct test t;
	int fd = make_file(2);

	begin(&t);
	dial(&t, 0);
	hand_out(&t, fd, 1);
	ev_run(t.loop, EVRUN_NOWAIT); /* the segment may have arrived, but ready() was not called */
	if (t.stats)
		vpp_stats_free(TAKE_PTR(t.stats));
	t.ready = 0;
	ev_run(t.loop, EVRUN_NOWAIT);
	assert_int_equal(t.ready + t.failed, 0);
	close(fd);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_comes_beside_an_empty_message),
		cmocka_unit_test(more_than_one_file_is_no_segment),
		cmocka_unit_test(another_layout_is_told),
		cmocka_unit_test(a_file_that_is_no_segment_is_told),
		cmocka_unit_test(a_vpp_that_closes_is_told),
		cmocka_unit_test(a_vpp_that_hangs_is_not_waited_for),
		cmocka_unit_test(a_socket_that_is_not_there_is_told),
		cmocka_unit_test(an_attempt_freed_early_says_nothing_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
