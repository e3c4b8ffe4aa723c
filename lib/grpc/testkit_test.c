/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/grpc/testkit.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define NOTE &grpc_test__note__descriptor

const struct grpc_method kit_echo = { "/grpc_test.Test/Echo", NOTE, NOTE, false };
const struct grpc_method kit_who = { "/grpc_test.Test/Who", NOTE, NOTE, false };
const struct grpc_method kit_fail = { "/grpc_test.Test/Fail", NOTE, NOTE, false };
const struct grpc_method kit_hang = { "/grpc_test.Test/Hang", NOTE, NOTE, false };
const struct grpc_method kit_count = { "/grpc_test.Test/Count", NOTE, NOTE, true };
const struct grpc_method kit_watch = { "/grpc_test.Test/Watch", NOTE, NOTE, true };

/* ---- the server ---- */

static const GrpcTest__Note *note_of(const ProtobufCMessage *message)
{
	return (const GrpcTest__Note *)message;
}

static void on_echo(struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	struct kit *kit = user;

	kit->handled++;
	grpc_reply(call, request);
}

static void on_who(struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	const char *name = grpc_peer_name(call);
	GrpcTest__Note note;

	grpc_test__note__init(&note);
	note.text = (char *)(uintptr_t)(name ? name : "nobody");
	grpc_reply(call, &note.base);
}

static void on_fail(struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	grpc_fail(call, (enum grpc_status)note_of(request)->n, "%s", note_of(request)->text);
}

static void on_cancelled(void *user)
{
	struct kit *kit = user;

	kit->cancelled++;
	kit->watcher = NULL;
}

static void on_hang(struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	struct kit *kit = user;

	kit->handled++;
	kit->watcher = call;
	grpc_on_cancel(call, on_cancelled, kit);
}

static void on_count(struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	GrpcTest__Note note = *note_of(request);

	for (uint32_t i = 0; i < note_of(request)->n; i++) {
		note.n = i;
		if (grpc_send(call, &note.base) < 0) {
			grpc_fail(call, GRPC_RESOURCE_EXHAUSTED, "queue full after %u", i);
			return;
		}
	}
	grpc_finish(call);
}

static void on_watch(struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	on_hang(call, request, user);
	assert_int_equal(grpc_send(call, request), 0);
}

static const struct grpc_route routes[] = {
	{ { "/grpc_test.Test/Echo", NOTE, NOTE, false }, on_echo },
	{ { "/grpc_test.Test/Who", NOTE, NOTE, false }, on_who },
	{ { "/grpc_test.Test/Fail", NOTE, NOTE, false }, on_fail },
	{ { "/grpc_test.Test/Hang", NOTE, NOTE, false }, on_hang },
	{ { "/grpc_test.Test/Count", NOTE, NOTE, true }, on_count },
	{ { "/grpc_test.Test/Watch", NOTE, NOTE, true }, on_watch },
};

static void on_trace(const struct grpc_trace *trace, void *user)
{
	struct kit *kit = user;

	kit->traced++;
	kit->traced_status = trace->status;
	assert_true(trace->duration >= 0);
	snprintf(kit->traced_path, sizeof(kit->traced_path), "%s", trace->path);
}

void kit_start(struct kit *kit, struct grpc_server_config config)
{
	*kit = (struct kit){ .loop = ev_loop_new(EVFLAG_AUTO) };
	config.listen.addr = (struct addr){ AF_INET, { 127, 0, 0, 1 } };
	config.routes = routes;
	config.n_routes = ARRAY_SIZE(routes);
	config.user = kit;
	config.trace = on_trace;
	assert_int_equal(grpc_server_new(kit->loop, &config, &kit->server), 0);
	kit->client = kit_client(kit, (struct grpc_client_config){ 0 });
}

void kit_stop(struct kit *kit)
{
	grpc_client_free(kit->client);
	grpc_server_free(kit->server);
	ev_loop_destroy(kit->loop);
}

static void on_state(bool connected, const char *why, void *user)
{
	struct kit *kit = user;

	kit->connected += connected;
	kit->disconnected += !connected;
	snprintf(kit->why, sizeof(kit->why), "%s", why);
}

struct grpc_client *kit_client(struct kit *kit, struct grpc_client_config config)
{
	struct endpoint e = grpc_server_endpoint(kit->server);
	char target[ENDPOINT_STRLEN];
	struct grpc_client *c;

	if (!config.target)
		config.target = endpoint_format(&e, target);
	config.state = on_state;
	config.user = kit;
	assert_int_equal(grpc_client_new(kit->loop, &config, &c), 0);
	return c;
}

void kit_reconnect(struct kit *kit, struct grpc_client_config config)
{
	grpc_client_free(kit->client);
	kit->client = kit_client(kit, config);
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

struct at_least {
	const int *number;
	int n;
};

static bool is_at_least(void *arg)
{
	const struct at_least *a = arg;

	return *a->number >= a->n;
}

void kit_wait_int(struct kit *kit, const int *number, int n)
{
	struct at_least a = { number, n };

	kit_wait(kit, is_at_least, &a);
}

void kit_turn(struct kit *kit)
{
	ev_run(kit->loop, EVRUN_NOWAIT);
}

/* ---- calls ---- */

static void on_message(const ProtobufCMessage *message, void *user)
{
	struct heard *h = user;

	h->messages++;
	h->n = note_of(message)->n;
	h->data_size = note_of(message)->data.len;
	snprintf(h->note, sizeof(h->note), "%s", note_of(message)->text);
	if (h->cancel_on_message)
		grpc_client_cancel(h->call);
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct heard *h = user;

	h->done++;
	h->status = status;
	snprintf(h->text, sizeof(h->text), "%s", text);
	if (h->free_client_on_done) {
		grpc_client_free(h->kit->client);
		h->kit->client = NULL;
	}
}

static void call_with(struct kit *kit, struct heard *h, const struct grpc_method *method,
		      const GrpcTest__Note *note, int64_t timeout)
{
	const struct grpc_client_events events = { .message = on_message,
						   .done = on_done,
						   .user = h };

	h->kit = kit;
	h->call = grpc_client_call(kit->client, method, &note->base, timeout, &events);
	assert_int_equal(h->done, 0);
}

void kit_call(struct kit *kit, struct heard *h, const struct grpc_method *method, const char *text,
	      uint32_t n, int64_t timeout)
{
	GrpcTest__Note note;

	grpc_test__note__init(&note);
	note.text = (char *)(uintptr_t)text;
	note.n = n;
	call_with(kit, h, method, &note, timeout);
}

void kit_call_with_data(struct kit *kit, struct heard *h, const struct grpc_method *method,
			size_t size)
{
	GrpcTest__Note note;

	grpc_test__note__init(&note);
	note.data = (ProtobufCBinaryData){ size, mem_zalloc(size) };
	memset(note.data.data, 'd', size);
	call_with(kit, h, method, &note, 0);
	free(note.data.data);
}

void kit_wait_done(struct kit *kit, struct heard *h)
{
	kit_wait_int(kit, &h->done, 1);
}

void kit_wait_messages(struct kit *kit, struct heard *h, int n)
{
	kit_wait_int(kit, &h->messages, n);
}

int kit_send(struct kit *kit, const char *text, size_t data_size)
{
	GrpcTest__Note note;
	int r;

	grpc_test__note__init(&note);
	note.text = (char *)(uintptr_t)text;
	note.data = (ProtobufCBinaryData){ data_size, mem_zalloc(data_size + 1) };
	r = grpc_send(kit->watcher, &note.base);
	free(note.data.data);
	return r;
}

/* ---- raw ---- */

static void on_raw_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct raw *r = container_of(w, struct raw, io);
	char bytes[65536];
	ssize_t n = recv(r->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		buf_add(&r->in, bytes, (size_t)n);
	if (n > 0 || (n < 0 && errno == EAGAIN))
		return;
	r->closed = true;
	ev_io_stop(loop, w);
}

struct raw *raw_new(struct kit *kit)
{
	struct raw *r = mem_zalloc(sizeof(*r));
	struct endpoint e = grpc_server_endpoint(kit->server);
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&e, &sa);

	r->kit = kit;
	r->fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(r->fd, (struct sockaddr *)&sa, len), 0);
	ev_io_init(&r->io, on_raw_readable, r->fd, EV_READ);
	ev_io_start(kit->loop, &r->io);
	return r;
}

void raw_free(struct raw *r)
{
	ev_io_stop(r->kit->loop, &r->io);
	close(r->fd);
	buf_free(&r->in);
	free(r);
}

bool raw_send(struct raw *r, const void *p, size_t n)
{
	const char *at = p;

	while (n && !r->closed) {
		ssize_t sent = send(r->fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			at += sent;
			n -= (size_t)sent;
		} else if (errno != EAGAIN) {
			return false;
		}
		kit_turn(r->kit);
	}
	return !r->closed;
}

bool raw_frame(struct raw *r, unsigned type, unsigned flags, uint32_t stream, struct str payload)
{
	struct buf b = { 0 };
	const unsigned char head[9] = {
		(unsigned char)(payload.n >> 16),
		(unsigned char)(payload.n >> 8),
		(unsigned char)payload.n,
		(unsigned char)type,
		(unsigned char)flags,
		(unsigned char)(stream >> 24),
		(unsigned char)(stream >> 16),
		(unsigned char)(stream >> 8),
		(unsigned char)stream,
	};
	bool fine;

	buf_add(&b, head, sizeof(head));
	if (payload.n)
		buf_add(&b, payload.p, payload.n);
	fine = raw_send(r, b.p, b.n);
	buf_free(&b);
	return fine;
}

void raw_preface(struct raw *r)
{
	static const char magic[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

	raw_send(r, magic, sizeof(magic) - 1);
	raw_frame(r, 4, 0, 0, STR(""));
}

static void add_string(struct buf *to, const char *s)
{
	size_t n = strlen(s);

	if (n < 127) {
		buf_addc(to, (char)n);
	} else { /* HPACK's integers */
		buf_addc(to, 127);
		for (n -= 127; n >= 128; n >>= 7)
			buf_addc(to, (char)((n & 127) | 128));
		buf_addc(to, (char)n);
	}
	buf_adds(to, s);
}

void raw_field(struct buf *to, const char *name, const char *value)
{
	buf_addc(to, 0);
	add_string(to, name);
	add_string(to, value);
}

bool raw_request(struct raw *r, uint32_t stream, const char *path, struct str extra, bool end)
{
	struct buf b = { 0 };
	bool fine;

	buf_add_lit(&b, "\x83\x86"); /* POST, http */
	raw_field(&b, ":path", path);
	raw_field(&b, ":authority", "test");
	raw_field(&b, "content-type", "application/grpc");
	if (extra.n)
		buf_add(&b, extra.p, extra.n);
	fine = raw_frame(r, 1, 4 | (end ? 1 : 0), stream, (struct str){ b.p, b.n });
	buf_free(&b);
	return fine;
}

static bool has_closed(void *arg)
{
	return ((struct raw *)arg)->closed;
}

void raw_wait_close(struct raw *r)
{
	kit_wait(r->kit, has_closed, r);
}

size_t raw_count(const struct raw *r, unsigned type, uint32_t stream, struct str *ret_last)
{
	const unsigned char *p = (const unsigned char *)r->in.p;
	size_t found = 0;

	for (size_t at = 0; at + 9 <= r->in.n;) {
		const unsigned char *f = p + at;
		size_t n = (size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2];
		uint32_t id =
			(uint32_t)f[5] << 24 | (uint32_t)f[6] << 16 | (uint32_t)f[7] << 8 | f[8];

		if (at + 9 + n > r->in.n)
			break;
		if (f[3] == type && id == stream) {
			found++;
			if (ret_last)
				*ret_last = (struct str){ r->in.p + at + 9, n };
		}
		at += 9 + n;
	}
	return found;
}

int raw_goaway(const struct raw *r)
{
	struct str last;

	if (!raw_count(r, 7, 0, &last))
		return -1;
	return (unsigned char)last.p[7];
}
