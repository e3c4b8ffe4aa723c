/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: the callbacks of nghttp2.
 *
 * nghttp2 parses frames, keeps flow control windows and stream states, and answers protocol errors.
 * This file turns its callbacks into those of struct h2_events, and counts abuse that the protocol
 * allows: within ten seconds a connection may have a number of streams that its peer has ended by
 * an error, with RST_STREAM or by breaking the protocol (rapid reset, CVE-2023-44487), and send a
 * number of frames that carry nothing. Above that, c->error is set, and connection.c closes the
 * connection when nghttp2 has returned.
 *
 * nghttp2 sends no WINDOW_UPDATE by itself. What is received is returned to the window of the
 * connection at once, and to that of the stream by h2_consume().
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/h2/h2_private.h"

#define ABUSE_WINDOW (10 * NSEC_PER_SEC)
#define CONNECTION_WINDOW (1024 * 1024)
#define REFUSED_FACTOR 4     /* a block of this many times max_header_list ends the connection */
#define SAID_MAX 96	     /* bytes of the text of a GOAWAY that are kept */
#define MAX_UNSENT_ACKS 1000 /* above: NGHTTP2_ERR_FLOODED */

/*
 * Counts one event; more than max in a window sets c->error. The connection cannot be closed here,
 * because nghttp2 is on the stack.
 */
static void count(struct h2_conn *c, unsigned *counter, unsigned max, const char *what)
{
	int64_t now = c->heard;

	if (now - c->window_start > ABUSE_WINDOW) {
		c->window_start = now;
		c->resets = c->noise = 0;
	}
	if (++*counter <= max || c->error)
		return;
	c->error = H2_ENHANCE_YOUR_CALM;
	snprintf(c->why, sizeof(c->why), "too many %s", what);
}

/* NULL also for a muted stream: its user must get no more callbacks. */
static struct h2_stream *find(nghttp2_session *session, int32_t id)
{
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	return s && !s->muted ? s : NULL;
}

/* ---- priorities ---- */

/*
 * All streams of a connection have the same weight and no order. A peer may ask for another order
 * as RFC 7540 had it. An exclusive dependency has moved all other streams below the new one.
 */
static void level(struct h2_conn *c, int32_t id, const nghttp2_priority_spec *asked)
{
	nghttp2_priority_spec same;
	struct h2_stream *s;

	nghttp2_priority_spec_default_init(&same);
	nghttp2_session_change_stream_priority(c->session, id, &same);
	if (!asked->exclusive)
		return;
	LIST_FOREACH(s, &c->streams, all)
	nghttp2_session_change_stream_priority(c->session, s->id, &same);
}

/* ---- fields ---- */

static void begin_request(struct h2_conn *c, const nghttp2_frame *frame)
{
	const struct h2_config *config = h2__config(c);
	struct h2_stream *s = h2__stream_new(c);

	s->id = c->highest = frame->hd.stream_id;
	nghttp2_session_set_stream_user_data(c->session, s->id, s);
	if (frame->hd.flags & NGHTTP2_FLAG_PRIORITY)
		level(c, s->id, &frame->headers.pri_spec);
	if (config->events->begin)
		config->events->begin(s, config->user);
}

/* Creates the stream of a request. Trailers and responses belong to a stream that exists. */
static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2_conn *c = user;
	struct h2_stream *s;

	c->headers_since = c->heard;
	c->headers_of = frame->hd.stream_id;
	c->headers_size = 0;
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		begin_request(c, frame);
		return 0;
	}
	s = find(session, frame->hd.stream_id);
	if (s) {
		s->header_size = 0;
		s->interim = s->oversized = false;
	}
	return 0;
}

static struct str text_of(nghttp2_rcbuf *b)
{
	nghttp2_vec v = nghttp2_rcbuf_get_buf(b);

	return (struct str){ (const char *)v.base, v.len };
}

/* Without a callback for it, and for trailers, the stream ends here. */
static void exceed(struct h2_stream *s)
{
	s->oversized = true;
	if (!s->head_received && h2__config(s->conn)->events->oversized)
		return;
	nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id,
				  NGHTTP2_ENHANCE_YOUR_CALM);
	h2__stream_abandon(s, H2_ENHANCE_YOUR_CALM);
}

static void tell_header(struct h2_stream *s, struct str name, struct str value)
{
	const struct h2_config *config = h2__config(s->conn);

	if (s->oversized)
		return;
	s->header_size += name.n + value.n + H2__FIELD_OVERHEAD;
	if (s->header_size > config->max_header_list) {
		exceed(s);
		return;
	}
	if (str_eq(name, STR(":status")) && value.p[0] == '1')
		s->interim = true;
	if (config->events->header)
		config->events->header(s, name, value, config->user);
}

/* A refused block is still decoded, because HPACK's table is shared by all streams. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
		     nghttp2_rcbuf *value, uint8_t flags, void *user)
{
	struct str n = text_of(name);
	struct str v = text_of(value);
	struct h2_conn *c = user;
	struct h2_stream *s;

	c->headers_size += n.n + v.n + H2__FIELD_OVERHEAD;
	if (c->headers_size > REFUSED_FACTOR * (size_t)h2__config(c)->max_header_list) {
		c->error = H2_ENHANCE_YOUR_CALM;
		snprintf(c->why, sizeof(c->why), "header block too large");
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	s = find(session, frame->hd.stream_id);
	if (s)
		tell_header(s, n, v);
	return 0;
}

/* nghttp2 would leave the field out. But the message is malformed (RFC 9113 §8.2.1). */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
			     nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *user)
{
	struct h2_stream *s = find(session, frame->hd.stream_id);

	if (!s)
		return 0;
	nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_PROTOCOL_ERROR);
	h2__stream_abandon(s, H2_PROTOCOL_ERROR);
	return 0;
}

static enum h2_block block_of(struct h2_stream *s)
{
	if (s->head_received)
		return H2_TRAILERS;
	if (s->interim)
		return H2_INTERIM;
	s->head_received = true;
	return H2_HEAD;
}

static void tell_headers(struct h2_stream *s)
{
	const struct h2_config *config = h2__config(s->conn);
	enum h2_block block = block_of(s);

	if (s->oversized)
		config->events->oversized(s, config->user);
	else if (config->events->headers)
		config->events->headers(s, block, config->user);
}

/* ---- streams that are closed ---- */

/*
 * RFC 9113 §5.1: DATA and HEADERS for a closed stream are an error of the connection, unless it was
 * closed by RST_STREAM that the peer may not have read yet. nghttp2 would ignore both. A peer
 * thinks that at most max_streams are open, so no more resets than that can be unknown to it.
 */
static void remember_reset(struct h2_conn *c, int32_t id)
{
	if (!c->resets_sent)
		c->resets_sent = mem_zalloc(c->max_streams * sizeof(*c->resets_sent));
	c->resets_sent[c->n_resets_sent++ % c->max_streams] = id;
}

static bool was_reset(const struct h2_conn *c, int32_t id)
{
	for (uint32_t i = 0; c->resets_sent && i < c->max_streams; i++)
		if (c->resets_sent[i] == id)
			return true;
	return false;
}

bool h2__session_is_closed(struct h2_conn *c, uint8_t type, int32_t id)
{
	if (type != NGHTTP2_DATA && type != NGHTTP2_HEADERS)
		return false;
	return h2__config(c)->server && id % 2 && id <= c->highest &&
	       !nghttp2_session_get_stream_user_data(c->session, id) && !was_reset(c, id);
}

/* ---- data ---- */

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
		   void *user)
{
	struct h2_conn *c = user;
	const struct h2_config *config = h2__config(c);
	struct h2_stream *s = find(session, id);

	nghttp2_session_consume_connection(session, n);
	if (!s)
		return 0;
	h2__stream_received(s, n);
	if (config->events->data)
		config->events->data(s, (struct str){ (const char *)p, n }, config->user);
	else
		h2_consume(s, n);
	return 0;
}

/* ---- frames ---- */

static void tell_end(struct h2_conn *c, const nghttp2_frame *frame)
{
	const struct h2_config *config = h2__config(c);
	struct h2_stream *s = find(c->session, frame->hd.stream_id);

	if (!s || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return;
	s->remote_ended = true;
	if (config->events->end)
		config->events->end(s, config->user);
}

/* The end is known before headers() is called, and told after it. */
static void on_headers(struct h2_conn *c, const nghttp2_frame *frame)
{
	struct h2_stream *s = find(c->session, frame->hd.stream_id);

	c->headers_since = 0;
	if (s) {
		s->remote_ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
		tell_headers(s);
	}
	tell_end(c, frame);
}

/* Empty DATA frames consume no window, so flow control does not limit them (CVE-2019-9518). */
static void on_data_frame(struct h2_conn *c, const nghttp2_frame *frame)
{
	bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (!last && frame->hd.length == 0)
		count(c, &c->noise, h2__config(c)->max_noise, "empty frames");
	tell_end(c, frame);
}

/* The first SETTINGS frame is the peer's preface (RFC 9113 §3.4): the connection is open. */
static void on_settings(struct h2_conn *c, const nghttp2_frame *frame)
{
	const struct h2_config *config = h2__config(c);

	if (frame->hd.flags & NGHTTP2_FLAG_ACK)
		return;
	if (c->state == H2__GREETING) {
		c->state = H2__OPEN;
		c->idle_since = c->n_streams ? 0 : c->heard;
		h2__conn_rearm(c);
		if (config->events->open)
			config->events->open(c, config->user);
	} else if (config->events->settings) {
		config->events->settings(c, config->user);
	}
	count(c, &c->noise, config->max_noise, "SETTINGS frames");
}

/* While draining, any ACK shows that the peer has read our first GOAWAY. */
static void on_ping(struct h2_conn *c, const nghttp2_frame *frame)
{
	if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
		count(c, &c->noise, h2__config(c)->max_noise, "PING frames");
	else if (c->drain_since)
		h2__session_final_goaway(c);
}

static void on_priority(struct h2_conn *c, const nghttp2_frame *frame)
{
	level(c, frame->hd.stream_id, &frame->priority.pri_spec);
	count(c, &c->noise, h2__config(c)->max_noise, "PRIORITY frames");
}

/* The text of the peer is made safe to show. */
static void take_reason(struct h2_conn *c, const nghttp2_goaway *goaway)
{
	const struct str said = { (const char *)goaway->opaque_data, goaway->opaque_data_len };
	struct buf text = { 0 };

	buf_add_shown(&text, said, SAID_MAX);
	snprintf(c->why, sizeof(c->why), "the peer said %s%s%s",
		 nghttp2_http2_strerror(goaway->error_code), said.n ? ": " : "", buf_cstr(&text));
	buf_free(&text);
}

/* A graceful peer sends two GOAWAY frames; the user is notified of the first. */
static void on_goaway(struct h2_conn *c, const nghttp2_frame *frame)
{
	const struct h2_config *config = h2__config(c);

	if (c->going)
		return;
	c->going = true;
	if (frame->goaway.error_code)
		take_reason(c, &frame->goaway);
	if (config->events->going)
		config->events->going(c, config->user);
}

/* By frame type. Frames that are not here need no action beyond what nghttp2 does. */
static void (*const frame_handlers[])(struct h2_conn *c, const nghttp2_frame *frame) = {
	[NGHTTP2_DATA] = on_data_frame,	  [NGHTTP2_HEADERS] = on_headers,
	[NGHTTP2_PRIORITY] = on_priority, [NGHTTP2_SETTINGS] = on_settings,
	[NGHTTP2_PING] = on_ping,	  [NGHTTP2_GOAWAY] = on_goaway,
};

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	if (frame->hd.type < ARRAY_SIZE(frame_handlers) && frame_handlers[frame->hd.type])
		frame_handlers[frame->hd.type](user, frame);
	return 0;
}

/* ---- the end of streams ---- */

/*
 * Corrects the error code of a closed stream. A request whose headers were never sent was refused
 * and may be tried again. NO_ERROR before our whole response was sent is a client that gave up.
 */
static uint32_t judge_end(const struct h2_stream *s, uint32_t error)
{
	if (!h2__config(s->conn)->server)
		return s->headers_sent ? error : H2_REFUSED_STREAM;
	return error == H2_NO_ERROR && !s->local_ended ? H2_CANCEL : error;
}

/*
 * Also ends the timeout of the stream's header block: nghttp2 does not call on_frame() for a block
 * that was refused. A stream that never had an h2_stream counts as a reset as well; one that the
 * user has reset does not.
 */
static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
	struct h2_conn *c = user;
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);
	bool ours = s && s->aborted;

	if (id == c->headers_of)
		c->headers_since = 0;
	if (s) {
		error = judge_end(s, error);
		h2__stream_close(s, error);
	}
	if (error != H2_NO_ERROR && !ours && h2__config(c)->server)
		count(c, &c->resets, h2__config(c)->max_resets, "streams reset");
	return 0;
}

/*
 * RFC 9113 §8.1: a server that has sent its complete response before the request was complete
 * asks the client to stop with RST_STREAM(NO_ERROR).
 */
static void after_message(struct h2_conn *c, const nghttp2_frame *frame)
{
	struct h2_stream *s = nghttp2_session_get_stream_user_data(c->session, frame->hd.stream_id);

	if (!s)
		return;
	s->headers_sent = true;
	s->local_ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	if (s->local_ended && !s->remote_ended && !s->muted && !s->patient && h2__config(c)->server)
		nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
}

/* Counted here because nghttp2 sends GOAWAY for protocol errors itself. */
static void after_goaway(struct h2_conn *c, uint32_t error)
{
	if (error == NGHTTP2_NO_ERROR)
		return;
	c->ended_with = error;
	if (!c->why[0])
		snprintf(c->why, sizeof(c->why), "%s",
			 c->trouble[0] ? c->trouble : nghttp2_http2_strerror(error));
	if (error == NGHTTP2_ENHANCE_YOUR_CALM)
		c->host->stats.calmed++;
	else if (!c->aborted)
		c->host->stats.protocol_errors++;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
		after_message(user, frame);
	else if (frame->hd.type == NGHTTP2_RST_STREAM && h2__config(user)->server)
		remember_reset(user, frame->hd.stream_id);
	else if (frame->hd.type == NGHTTP2_GOAWAY)
		after_goaway(user, frame->goaway.error_code);
	return 0;
}

/* Kept for lost(): nghttp2's text says more than the error code of the GOAWAY that follows. */
static int on_trouble(nghttp2_session *session, int code, const char *text, size_t n, void *user)
{
	struct h2_conn *c = user;

	snprintf(c->trouble, sizeof(c->trouble), "%.*s", (int)n, text);
	return 0;
}

/* ---- sessions ---- */

/* Once per host: callbacks and options are shared by all of its sessions. */
void h2__session_prepare(struct h2_host *h)
{
	nghttp2_session_callbacks *cb;

	if (nghttp2_session_callbacks_new(&cb) || nghttp2_option_new(&h->option))
		abort(); /* out of memory, as base/mem.h does */
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback2(cb, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback2(cb, on_invalid_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
	nghttp2_session_callbacks_set_send_data_callback(cb, h2__stream_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	nghttp2_session_callbacks_set_error_callback2(cb, on_trouble);
	h->callbacks = cb;
	nghttp2_option_set_no_closed_streams(h->option, 1);
	nghttp2_option_set_no_auto_window_update(h->option, 1);
	nghttp2_option_set_max_send_header_block_length(h->option, H2_BLOCK_MAX);
	/* nghttp2's own limit of resets is disabled: count() does it */
	nghttp2_option_set_stream_reset_rate_limit(h->option, UINT32_MAX, UINT32_MAX);
	nghttp2_option_set_max_outbound_ack(h->option, MAX_UNSENT_ACKS);
}

static size_t add_settings(const struct h2_config *config, nghttp2_settings_entry to[static 5])
{
	size_t n = 0;

	to[n++] = (nghttp2_settings_entry){ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
					    config->server ? config->max_streams : 0 };
	to[n++] = (nghttp2_settings_entry){ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, config->window };
	to[n++] = (nghttp2_settings_entry){ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
					    config->max_header_list };
	if (!config->server) /* only clients need to disable push */
		to[n++] = (nghttp2_settings_entry){ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 };
	else if (config->connect_protocol)
		to[n++] = (nghttp2_settings_entry){ NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1 };
	return n;
}

void h2__session_new(struct h2_conn *c)
{
	struct h2_host *h = c->host;
	nghttp2_settings_entry settings[5];
	int r = h->config.server
			? nghttp2_session_server_new2(&c->session, h->callbacks, c, h->option)
			: nghttp2_session_client_new2(&c->session, h->callbacks, c, h->option);

	if (r)
		abort();
	c->max_streams = h->config.max_streams;
	nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
				add_settings(&h->config, settings));
	nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
}

void h2__session_final_goaway(struct h2_conn *c)
{
	if (c->final_sent)
		return;
	c->final_sent = true;
	c->bystander = h2__conn_is_bystander(c);
	nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR,
			      NULL, 0);
}
