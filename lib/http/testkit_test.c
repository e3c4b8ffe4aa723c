/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/testkit.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"

static const struct addr loopback = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };

void kit_start(struct kit *kit, struct http_server_config config)
{
	kit->loop = ev_loop_new(EVFLAG_AUTO);
	if (!addr_is_set(&config.listen.addr))
		config.listen.addr = loopback;
	assert_int_equal(http_server_new(kit->loop, &config, &kit->server), 0);
	assert_true(config.path || http_server_endpoint(kit->server).port);
}

void kit_stop(struct kit *kit)
{
	http_server_free(kit->server);
	ev_loop_destroy(kit->loop);
}

static void on_out_of_patience(struct ev_loop *loop, ev_timer *w, int revents)
{
	*(bool *)w->data = true;
}

void kit_wait(struct kit *kit, bool (*cond)(void *arg), void *arg)
{
	bool too_long = false;
	ev_timer patience;

	ev_timer_init(&patience, on_out_of_patience, KIT_PATIENCE, 0);
	patience.data = &too_long;
	ev_now_update(kit->loop);
	ev_timer_start(kit->loop, &patience);
	while (!too_long && !cond(arg))
		ev_run(kit->loop, EVRUN_ONCE);
	ev_timer_stop(kit->loop, &patience);
	assert_false(too_long);
}

static void take_some(struct client *c)
{
	char bytes[65536];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);

	if (n > 0)
		buf_add(&c->in, bytes, (size_t)n);
	if (n > 0 || (n < 0 && errno == EAGAIN))
		return;
	c->closed = true;
	c->reset = n < 0;
	ev_io_stop(c->kit->loop, &c->io);
	ev_timer_stop(c->kit->loop, &c->sip);
}

static void on_client_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	take_some(container_of(w, struct client, io));
}

static void on_sip(struct ev_loop *loop, ev_timer *w, int revents)
{
	take_some(container_of(w, struct client, sip));
}

static struct client *connect_to(struct kit *kit, const struct sockaddr *sa, socklen_t len)
{
	struct client *c = mem_zalloc(sizeof(*c));

	c->kit = kit;
	c->fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, sa, len) < 0) {
		close(c->fd);
		free(c);
		return NULL;
	}
	assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
	ev_io_init(&c->io, on_client_readable, c->fd, EV_READ);
	ev_io_start(kit->loop, &c->io);
	ev_timer_init(&c->sip, on_sip, 0.01, 0.01);
	return c;
}

struct client *client_new_at(struct kit *kit, struct endpoint e)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&e, &sa);

	return connect_to(kit, (struct sockaddr *)&sa, len);
}

struct client *client_new_unix(struct kit *kit, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct client *c;

	assert_true(strlen(path) < sizeof(sa.sun_path));
	memcpy(sa.sun_path, path, strlen(path));
	c = connect_to(kit, (struct sockaddr *)&sa, sizeof(sa));
	assert_non_null(c);
	return c;
}

struct client *client_new(struct kit *kit)
{
	struct client *c = client_new_at(kit, http_server_endpoint(kit->server));

	assert_non_null(c);
	return c;
}

void client_free(struct client *c)
{
	ev_io_stop(c->kit->loop, &c->io);
	ev_timer_stop(c->kit->loop, &c->sip);
	close(c->fd);
	buf_free(&c->in);
	free(c);
}

void client_send(struct client *c, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t r = send(c->fd, text, n, MSG_NOSIGNAL);

		if (r < 0 && errno == EAGAIN) {
			ev_run(c->kit->loop, EVRUN_NOWAIT);
			continue;
		}
		if (r < 0) /* closed by the server meanwhile: the test will see */
			return;
		text += r;
		n -= (size_t)r;
	}
}

void client_set_reading(struct client *c, bool reading)
{
	if (reading)
		ev_io_start(c->kit->loop, &c->io);
	else
		ev_io_stop(c->kit->loop, &c->io);
}

void client_set_slow(struct client *c)
{
	int small = 64 * 1024;

	assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	client_set_reading(c, false);
	ev_timer_start(c->kit->loop, &c->sip);
}

struct wanted {
	struct client *client;
	const char *text;
};

static bool has_come_or_closed(void *arg)
{
	struct wanted *w = arg;

	return w->client->closed || client_count(w->client, w->text);
}

void client_expect(struct client *c, const char *text)
{
	kit_wait(c->kit, has_come_or_closed, &(struct wanted){ c, text });
	if (!client_count(c, text))
		print_message("wanted \"%s\", got \"%.2000s\"\n", text, client_text(c));
	assert_true(client_count(c, text) > 0);
}

static bool is_closed(void *arg)
{
	return ((struct client *)arg)->closed;
}

void client_expect_close(struct client *c)
{
	kit_wait(c->kit, is_closed, c);
}

size_t client_count(struct client *c, const char *text)
{
	const char *p = buf_cstr(&c->in);
	const char *end = p + c->in.n;
	size_t len = strlen(text);
	size_t count = 0;

	while ((p = memmem(p, (size_t)(end - p), text, len))) {
		count++;
		p += len;
	}
	return count;
}

const char *client_text(struct client *c)
{
	return buf_cstr(&c->in);
}
