/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: a stream of frames out, a stream of frames in, and a ring of outstanding requests.
 *
 *	GREETING -> READY -> ENDED
 *
 * The context of a request is its sequence number, so the ring finds the request for an answer by
 * a subtraction. A dump takes two places: its own, and the next one for a control_ping. VPP works
 * in order, so the answer to the ping is the end of the records. An answer without a request is
 * traced and ignored: VPP sends us answers for other clients if those use a wrong client index.
 *
 * One deadline watches the oldest request. It restarts when that request is answered, not with
 * every record of a dump, so that a VPP that sends records very slowly is treated as silent.
 *
 * The first eight bytes of VPP's frame header are a pointer that VPP leaks; they are never used.
 */
#include "lib/vpp/api.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/net/net.h"
#include "lib/vpp/dial.h"

#define TIMEOUT (5 * NSEC_PER_SEC)
#define KEEPALIVE (10 * NSEC_PER_SEC)
#define MAX_MESSAGE ((size_t)1024 * 1024)
#define READ_SIZE ((size_t)64 * 1024)
#define OUT_MAX ((size_t)1024 * 1024) /* bytes that VPP has not accepted yet */
#define KEEP_MAX ((size_t)256 * 1024) /* a larger input buffer is freed once it is empty */
#define TEXT_SIZE 256

/* The only message numbers that are the same in every VPP; all others come from the table. */
enum { ID_CREATE = 15, ID_CREATE_REPLY = 16 };

enum state { GREETING, READY, ENDED };

/* One outstanding request, in the ring. */
struct pending {
	const char *name; /* of the answer */
	uint16_t id;	  /* of the answer */
	bool answered;
	bool many;	/* a dump: its records; the ping after it marks it as answered */
	size_t records; /* so far */
	vpp_answer_fn answer;
	vpp_done_fn done; /* only for the ping after a dump */
	void *user;
};

struct vpp_api {
	struct ev_loop *loop;
	struct vpp_api_config config;
	char *path, *client_name;
	enum state state;
	int fd;
	ev_io io;
	ev_timer deadline, keepalive, farewell; /* farewell: calls ended() from the loop */
	struct buf in, out;
	struct vpp_table table;
	uint32_t client_index; /* opaque: sent back as received */
	struct pending ring[VPP_API_PENDING_MAX];
	uint32_t first, next; /* contexts: oldest outstanding, next request; both wrap */
	enum vpp_end why;
	char text[TEXT_SIZE];
};

const struct vpp_message vpp_control_ping = { "control_ping_51077d14",
					      "control_ping_reply_f6b0b8ca" };
static const struct vpp_message greeting = { "sockclnt_create_455fb9c4",
					     "sockclnt_create_reply_35166268" };

const char *vpp_end_name(enum vpp_end why)
{
	static const char *const names[] = {
		[VPP_END_UNREACHABLE] = "unreachable", [VPP_END_REFUSED] = "refused",
		[VPP_END_CLOSED] = "closed",	       [VPP_END_BROKEN] = "broken",
		[VPP_END_TIMEOUT] = "timeout",	       [VPP_END_GARBAGE] = "garbage",
	};

	assert((size_t)why < ARRAY_SIZE(names));
	return names[why];
}

static void trace(const struct vpp_api *a, enum vpp_trace what, const char *name)
{
	if (a->config.trace)
		a->config.trace(a->config.user, what, name);
}

static struct pending *at(struct vpp_api *a, uint32_t context)
{
	return &a->ring[context % VPP_API_PENDING_MAX];
}

/* Unsigned subtraction, so it stays right when the contexts wrap. */
static uint32_t waiting(const struct vpp_api *a)
{
	return a->next - a->first;
}

/* ---- the end ---- */

/* Releases everything that can call back, and the socket. */
static void let_go(struct vpp_api *a)
{
	ev_io_stop(a->loop, &a->io);
	ev_timer_stop(a->loop, &a->deadline);
	ev_timer_stop(a->loop, &a->keepalive);
	cleanup_fd(&a->fd);
	a->fd = -1;
}

static void end(struct vpp_api *a, enum vpp_end why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The only way into ENDED. ended() is called from the loop through a timer, because the caller
 * may be inside vpp_api_call() or a callback.
 */
static void end(struct vpp_api *a, enum vpp_end why, const char *fmt, ...)
{
	va_list ap;

	if (a->state == ENDED)
		return;
	va_start(ap, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, ap);
	va_end(ap);
	for (; waiting(a); a->first++)
		if (!at(a, a->first)->answered)
			trace(a, VPP_RECEIVE_FAILED, at(a, a->first)->name);
	a->why = why;
	a->state = ENDED;
	let_go(a);
	ev_timer_start(a->loop, &a->farewell);
}

static void on_farewell(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct vpp_api *a = container_of(w, struct vpp_api, farewell);

	a->config.ended(a->config.user, a->why, a->text);
}

/* ---- out ---- */

/* EV_WRITE only while there is output, since the socket is nearly always writable. */
static void watch(struct vpp_api *a)
{
	int events = EV_READ | (a->out.n ? EV_WRITE : 0);

	if (a->state == ENDED ||
	    (ev_is_active(&a->io) && (a->io.events & EV_WRITE) == (events & EV_WRITE)))
		return;
	ev_io_stop(a->loop, &a->io);
	ev_io_set(&a->io, a->fd, events);
	ev_io_start(a->loop, &a->io);
}

static void set_deadline(struct vpp_api *a)
{
	a->deadline.repeat = waiting(a) ? loop_seconds(a->config.timeout) : 0.;
	ev_timer_again(a->loop, &a->deadline); /* stops it when repeat is 0 */
}

/* Enters the request with context a->next into the ring. The caller has checked for room. */
static void expect(struct vpp_api *a, const struct pending *p)
{
	*at(a, a->next) = *p;
	a->next++;
	if (waiting(a) == 1)
		set_deadline(a);
}

/* sockclnt_create has no client index, unlike all other requests. */
static void put_greeting(struct vpp_api *a)
{
	size_t begin = vpp_frame_begin(&a->out);

	vpp_put_u16(&a->out, ID_CREATE);
	vpp_put_u32(&a->out, a->next);
	vpp_put_name(&a->out, a->client_name, VPP_NAME_SIZE);
	vpp_frame_end(&a->out, begin);
	trace(a, VPP_SENT, greeting.request);
	expect(a, &(struct pending){ .name = greeting.answer, .id = ID_CREATE_REPLY });
}

static void put_request(struct vpp_api *a, uint16_t id, const struct buf *fields)
{
	size_t begin = vpp_frame_begin(&a->out);

	vpp_put_u16(&a->out, id);
	vpp_put_u32(&a->out, a->client_index);
	vpp_put_u32(&a->out, a->next);
	if (fields)
		buf_add(&a->out, fields->p, fields->n);
	vpp_frame_end(&a->out, begin);
	watch(a);
}

static void on_writable(struct vpp_api *a)
{
	ssize_t n = send(a->fd, a->out.p, a->out.n, MSG_NOSIGNAL);

	if (n >= 0)
		buf_consume(&a->out, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		end(a, errno == EPIPE || errno == ECONNRESET ? VPP_END_CLOSED : VPP_END_BROKEN,
		    "writing to VPP: %s", net_error_word(errno));
}

/* ---- in ---- */

/* Answered requests leave the ring from its oldest end only; the deadline restarts. */
static void retire(struct vpp_api *a)
{
	while (waiting(a) && at(a, a->first)->answered)
		a->first++;
	set_deadline(a);
}

/* The answer carries VPP's message table. A negative response has no table. */
static void on_greeted(struct vpp_api *a, struct vpp_reader *r)
{
	int32_t response;
	uint16_t n;

	vpp_get_u32(r); /* a client index that is always 0 */
	if (vpp_get_u32(r) != a->first)
		return;
	response = vpp_get_i32(r);
	a->client_index = vpp_get_u32(r);
	n = vpp_get_u16(r);
	if (r->bad || (response >= 0 && !vpp_table_read(&a->table, r, n))) {
		end(a, VPP_END_GARBAGE, "%s is too short", greeting.answer);
		return;
	}
	if (response < 0) {
		end(a, VPP_END_REFUSED, "VPP refused us as a client: %d", response);
		return;
	}
	trace(a, VPP_RECEIVED, greeting.answer);
	at(a, a->first)->answered = true;
	retire(a);
	a->state = READY;
	ev_timer_again(a->loop, &a->keepalive);
	a->config.ready(a->config.user);
}

/*
 * The outstanding request for an answer; NULL if there is none, also if the answer is of another
 * type.
 */
static struct pending *find(struct vpp_api *a, uint16_t id, uint32_t context)
{
	struct pending *p = at(a, context);

	return context - a->first < waiting(a) && !p->answered && p->id == id ? p : NULL;
}

/*
 * p is not used after the callback, which may send requests and so write to the ring. The end of
 * a dump marks the place of the dump, one before the ping, as answered.
 */
static void deliver(struct vpp_api *a, struct pending *p, uint32_t context, struct vpp_reader *r)
{
	const char *name = p->name;
	vpp_done_fn done = p->done;
	void *user = p->user;

	if (p->many && ++p->records > VPP_API_DETAILS_MAX) {
		end(a, VPP_END_GARBAGE, "%s is not terminated", name);
		return;
	}
	p->answered = !p->many;
	if (done)
		at(a, context - 1)->answered = true;
	if (p->answer)
		p->answer(user, r); /* may add to the ring, never removes from it */
	trace(a, r->bad ? VPP_RECEIVE_FAILED : VPP_RECEIVED, name);
	if (r->bad)
		end(a, VPP_END_GARBAGE, "%s cannot be understood", name);
	if (done && a->state == READY)
		done(user);
	if (a->state == READY && at(a, a->first)->answered)
		retire(a);
}

static void on_message(struct vpp_api *a, struct vpp_reader *r)
{
	uint16_t id = vpp_get_u16(r);
	uint32_t context;
	struct pending *p;

	if (a->state == GREETING) {
		if (id == ID_CREATE_REPLY)
			on_greeted(a, r);
		return;
	}
	context = vpp_get_u32(r);
	p = r->bad ? NULL : find(a, id, context);
	if (p)
		deliver(a, p, context, r);
	else
		trace(a, VPP_RECEIVE_FAILED, "unexpected");
}

/* Handles all complete frames. Input is consumed once at the end, to avoid moving it per frame. */
static void take_frames(struct vpp_api *a)
{
	size_t begin = 0;

	while (a->state != ENDED && a->in.n - begin >= VPP_HEADER_SIZE) {
		struct vpp_reader r = vpp_reader_of(a->in.p + begin, a->in.n - begin);
		uint32_t n;

		vpp_get_bytes(&r, 8);
		n = vpp_get_u32(&r);
		vpp_get_u32(&r);
		if (n < 2 || n > a->config.max_message) {
			end(a, VPP_END_GARBAGE, "VPP sent a message of %u bytes", n);
			return;
		}
		if (n > r.n)
			break;
		r.n = n;
		begin += VPP_HEADER_SIZE + n;
		on_message(a, &r);
	}
	buf_consume(&a->in, begin);
	if (!a->in.n && a->in.cap > KEEP_MAX)
		buf_free(&a->in);
}

static void on_readable(struct vpp_api *a)
{
	ssize_t n;

	buf_reserve(&a->in, READ_SIZE);
	n = recv(a->fd, a->in.p + a->in.n, READ_SIZE, 0);
	if (n > 0) {
		a->in.n += (size_t)n;
		take_frames(a);
	} else if (n == 0) {
		end(a, VPP_END_CLOSED, "VPP closed the connection%s",
		    a->in.n ? " in the middle of a message" : "");
	} else if (errno != EAGAIN && errno != EINTR) {
		end(a, errno == ECONNRESET ? VPP_END_CLOSED : VPP_END_BROKEN,
		    "reading from VPP: %s", net_error_word(errno));
	}
}

static void on_io(struct ev_loop *loop, ev_io *w, int revents)
{
	struct vpp_api *a = container_of(w, struct vpp_api, io);

	if (revents & EV_WRITE)
		on_writable(a);
	if ((revents & EV_READ) && a->state != ENDED)
		on_readable(a);
	watch(a);
}

/* ---- time ---- */

static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct vpp_api *a = container_of(w, struct vpp_api, deadline);
	char text[DURATION_STRLEN];

	end(a, VPP_END_TIMEOUT, "VPP did not send %s within %s", at(a, a->first)->name,
	    duration_format(a->config.timeout, text));
}

static void on_keepalive(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct vpp_api *a = container_of(w, struct vpp_api, keepalive);

	/* while a request is outstanding, its deadline already watches the connection */
	if (!waiting(a) && vpp_api_call(a, &vpp_control_ping, NULL, NULL, NULL) < 0)
		end(a, VPP_END_GARBAGE, "VPP does not know %s", vpp_control_ping.request);
}

/* ---- beginning ---- */

static struct vpp_api *new_client(struct ev_loop *loop, const struct vpp_api_config *config)
{
	struct vpp_api *a = mem_zalloc(sizeof(*a));

	assert(config->client_name && config->ready && config->ended);
	a->loop = loop;
	a->config = *config;
	a->config.timeout = config->timeout ? config->timeout : TIMEOUT;
	a->config.keepalive = config->keepalive ? config->keepalive : KEEPALIVE;
	a->config.max_message = config->max_message ? config->max_message : MAX_MESSAGE;
	a->client_name = mem_strdup(config->client_name);
	a->path = config->path ? mem_strdup(config->path) : NULL;
	a->fd = -1;
	ev_init(&a->io, on_io);
	ev_set_priority(&a->io, 1); /* after a stall, answers are handled before the deadline */
	ev_init(&a->deadline, on_deadline);
	ev_init(&a->keepalive, on_keepalive);
	a->keepalive.repeat = loop_seconds(a->config.keepalive);
	ev_timer_init(&a->farewell, on_farewell, 0., 0.);
	return a;
}

static void greet(struct vpp_api *a, int fd)
{
	a->fd = fd;
	put_greeting(a);
	watch(a);
}

struct vpp_api *vpp_api_connect(struct ev_loop *loop, const struct vpp_api_config *config)
{
	struct vpp_api *a = new_client(loop, config);
	int fd;

	assert(config->path);
	fd = vpp__dial(a->path, SOCK_STREAM);
	if (fd < 0)
		end(a, VPP_END_UNREACHABLE, "%s: %s", a->path, net_error_word(-fd));
	else
		greet(a, fd);
	return a;
}

struct vpp_api *vpp_api_adopt(struct ev_loop *loop, const struct vpp_api_config *config, int fd)
{
	struct vpp_api *a = new_client(loop, config);

	greet(a, fd);
	return a;
}

void vpp_api_free(struct vpp_api *a)
{
	if (!a)
		return;
	let_go(a);
	ev_timer_stop(a->loop, &a->farewell);
	vpp_table_free(&a->table);
	buf_free(&a->in);
	buf_free(&a->out);
	free(a->client_name);
	free(a->path);
	free(a);
}

const struct vpp_table *vpp_api_table(const struct vpp_api *a)
{
	return &a->table;
}

size_t vpp_api_room(const struct vpp_api *a)
{
	return a->state == READY ? VPP_API_PENDING_MAX - waiting(a) : 0;
}

/*
 * Checks whether m can be sent and the ring has room for so many; on 0, *ret_ids are the numbers
 * of request and answer.
 */
static int prepare(const struct vpp_api *a, const struct vpp_message *m, const struct buf *fields,
		   size_t room, uint16_t ret_ids[2])
{
	if (a->state != READY)
		return -ENOTCONN;
	if (vpp_api_room(a) < room || a->out.n > OUT_MAX)
		return -ENOBUFS;
	if (fields && fields->n > VPP_API_REQUEST_MAX)
		return -EMSGSIZE;
	if (vpp_table_find(&a->table, m->request, &ret_ids[0]) < 0 ||
	    vpp_table_find(&a->table, m->answer, &ret_ids[1]) < 0)
		return -ENOENT;
	return 0;
}

int vpp_api_call(struct vpp_api *a, const struct vpp_message *m, const struct buf *fields,
		 vpp_answer_fn answered, void *user)
{
	uint16_t ids[2];
	int r = prepare(a, m, fields, 1, ids);

	trace(a, r < 0 ? VPP_SEND_FAILED : VPP_SENT, m->request);
	if (r < 0)
		return r;
	put_request(a, ids[0], fields);
	expect(a, &(struct pending){
			  .name = m->answer, .id = ids[1], .answer = answered, .user = user });
	return 0;
}

/* Everything is checked before anything is sent: a dump without its ping would never end. */
int vpp_api_dump(struct vpp_api *a, const struct vpp_message *m, const struct buf *fields,
		 vpp_answer_fn record, vpp_done_fn done, void *user)
{
	uint16_t ids[2], ping[2];
	int r = prepare(a, m, fields, 2, ids);

	assert(record && done);
	if (r == 0)
		r = prepare(a, &vpp_control_ping, NULL, 2, ping);
	trace(a, r < 0 ? VPP_SEND_FAILED : VPP_SENT, m->request);
	if (r < 0)
		return r;
	put_request(a, ids[0], fields);
	expect(a, &(struct pending){ .name = m->answer,
				     .id = ids[1],
				     .many = true,
				     .answer = record,
				     .user = user });
	trace(a, VPP_SENT, vpp_control_ping.request);
	put_request(a, ping[0], NULL);
	expect(a, &(struct pending){ .name = vpp_control_ping.answer,
				     .id = ping[1],
				     .done = done,
				     .user = user });
	return 0;
}
