/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners, the clock and the statistics of the server, on one loop. If a test asks for it,
 * a thread changes the epoch all the time; it touches nothing else.
 */
#include "tests/support/vpp/server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"

#define SEGMENT_SIZE ((size_t)32 << 20)
#define SEGMENT_BASE 0x7f7b3340b000
#define FIRST_EPOCH 587
#define HEARTBEAT 0.5	    /* seconds */
#define PUBLISH_AFTER 0.002 /* seconds: many changes are published at once */
#define SHORT_SIZE 20
#define CRASHED 70 /* exit status */

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

uint32_t server__now(struct server *s)
{
	return (uint32_t)((loop_monotonic() - s->booted) / NSEC_PER_SEC) + s->skipped;
}

/* ---- statistics ---- */

static void publish(struct server *s)
{
	if (s->freeze)
		return;
	stats_collect(&s->stats, &s->machine);
	segment_publish(&s->segment, s->stats.entries.items, s->stats.entries.n);
}

static void on_publish(struct ev_loop *loop, ev_timer *w, int events)
{
	publish(w->data);
}

static void on_heartbeat(struct ev_loop *loop, ev_timer *w, int events)
{
	struct server *s = w->data;

	if (s->hang)
		return;
	s->stats.heartbeat++;
	machine_advance(&s->machine, server__now(s));
	publish(s);
}

void server_changed(struct server *s)
{
	if (s->machine.plugin.crash) {
		fprintf(stderr, "vpp-standin: VPP crashes on %s\n", s->machine.plugin.crash);
		_exit(CRASHED);
	}
	if (!ev_is_active(&s->publish)) {
		ev_timer_set(&s->publish, PUBLISH_AFTER, 0);
		ev_timer_start(s->loop, &s->publish);
	}
}

static int file_of(size_t size)
{
	int fd = memfd_create("stats", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		die("memfd");
	return fd;
}

/* Passes a descriptor as SCM_RIGHTS (unix(7)). */
static void send_fd(int to, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct msghdr message = { .msg_control = &control, .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sendmsg(to, &message, MSG_NOSIGNAL);
}

static void send_other(int to, int fd)
{
	send_fd(to, fd);
	close(fd);
}

static void send_pipe(int to)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	send_other(to, ends[0]);
	close(ends[1]);
}

static void on_stats_client(struct ev_loop *loop, ev_io *w, int events)
{
	struct server *s = w->data;
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	switch (s->stats_mode) {
	case SERVER_STATS_GOOD:
		send_fd(fd, s->segment.fd);
		break;
	case SERVER_STATS_HANG:
		vec_push(&s->hung_stats, fd);
		return;
	case SERVER_STATS_CLOSE:
		break;
	case SERVER_STATS_EMPTY:
		send_other(fd, file_of(0));
		break;
	case SERVER_STATS_SHORT:
		send_other(fd, file_of(SHORT_SIZE));
		break;
	case SERVER_STATS_PIPE:
		send_pipe(fd);
		break;
	}
	close(fd);
}

/* ---- faults ---- */

void server_hang(struct server *s, bool hang)
{
	void (*change)(struct ev_loop *, ev_io *) = hang ? ev_io_stop : ev_io_start;

	s->hang = hang;
	if (s->api.fd < 0)
		return;
	change(s->loop, &s->api);
	change(s->loop, &s->stats_socket);
	for (size_t i = 0; i < s->connections.n; i++)
		if (s->connections.items[i])
			server__hang_connection(s->connections.items[i], hang);
}

/* Runs in its own thread, so that the epoch changes even within one reading of a client. */
static void *run_spinner(void *user)
{
	struct server *s = user;
	uint64_t *epoch = &segment_header(&s->segment)->epoch;

	while (__atomic_load_n(&s->spin, __ATOMIC_RELAXED))
		__atomic_add_fetch(epoch, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

void server_spin(struct server *s, bool spin)
{
	if (spin == s->spin)
		return;
	__atomic_store_n(&s->spin, spin, __ATOMIC_RELAXED);
	if (spin && pthread_create(&s->spinner, NULL, run_spinner, s) != 0)
		die("thread");
	if (!spin)
		pthread_join(s->spinner, NULL);
}

void server_skip(struct server *s, uint32_t seconds)
{
	s->skipped += seconds;
	machine_advance(&s->machine, server__now(s));
	server_changed(s);
}

void server_clear_log(struct server *s)
{
	for (size_t i = 0; i < s->log.n; i++)
		free((char *)(uintptr_t)s->log.items[i].bytes.p);
	vec_free(&s->log);
}

/* ---- life ---- */

static int listen_on(const char *path, int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path));
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 64) < 0)
		die(path);
	return fd;
}

static void watch(struct server *s, ev_io *w, int fd,
		  void (*accepted)(struct ev_loop *, ev_io *, int))
{
	ev_io_init(w, accepted, fd, EV_READ);
	w->data = s;
	ev_io_start(s->loop, w);
}

/*
 * pid and boot time differ from the last start even within one second, so that clients notice.
 */
void server_up(struct server *s, enum personality who)
{
	assert(s->api.fd < 0);
	s->boots++;
	s->booted = loop_monotonic();
	s->skipped = 0;
	s->stats.heartbeat = 1;
	s->stats.boot_time = (uint64_t)(loop_realtime() / NSEC_PER_SEC) + s->boots;
	machine_init(&s->machine, who, (uint32_t)getpid() + s->boots);
	if (segment_open(&s->segment, SEGMENT_SIZE, SEGMENT_BASE) < 0)
		die("segment");
	segment_header(&s->segment)->epoch = FIRST_EPOCH;
	publish(s);
	watch(s, &s->api, listen_on(s->api_path, SOCK_STREAM), server__accept);
	watch(s, &s->stats_socket, listen_on(s->stats_path, SOCK_SEQPACKET), on_stats_client);
	ev_timer_start(s->loop, &s->heartbeat);
}

static void stop_listening(struct server *s, ev_io *w)
{
	ev_io_stop(s->loop, w);
	close(w->fd);
	w->fd = -1;
}

static void forget_hung(struct server *s)
{
	for (size_t i = 0; i < s->hung_stats.n; i++)
		close(s->hung_stats.items[i]);
	vec_free(&s->hung_stats);
}

void server_down(struct server *s)
{
	if (s->api.fd < 0)
		return;
	server_spin(s, false);
	s->hang = s->freeze = false;
	ev_timer_stop(s->loop, &s->heartbeat);
	ev_timer_stop(s->loop, &s->publish);
	stop_listening(s, &s->api);
	stop_listening(s, &s->stats_socket);
	for (size_t i = 0; i < s->connections.n; i++)
		if (s->connections.items[i])
			server__close(s->connections.items[i]);
	forget_hung(s);
	segment_close(&s->segment);
	machine_free(&s->machine);
}

void server_start(struct server *s, struct ev_loop *loop, enum personality who)
{
	s->loop = loop;
	s->api.fd = s->stats_socket.fd = -1;
	ev_timer_init(&s->heartbeat, on_heartbeat, HEARTBEAT, HEARTBEAT);
	ev_init(&s->publish, on_publish);
	s->heartbeat.data = s->publish.data = s;
	server_up(s, who);
}

void server_stop(struct server *s)
{
	server_down(s);
	server_clear_log(s);
	stats_free(&s->stats);
	vec_free(&s->connections);
}
