/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: the callbacks of nghttp2.
 *
 * nghttp2 parses frames, keeps flow control windows and stream states, and answers protocol errors.
 * This file turns its callbacks into those of struct h2_events, and counts abuse that the protocol
 * allows: within ten seconds a connection may have a number of streams ended by an error, whichever
 * side resets them (rapid reset, CVE-2023-44487), and send a number of frames that carry nothing.
 * Above that, c->error is set, and connection.c closes the connection when nghttp2 has returned.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/h2/h2_private.h"

#define ABUSE_WINDOW (10 * NSEC_PER_SEC)
#define CONNECTION_WINDOW (1024 * 1024)
#define FIELD_OVERHEAD 32    /* RFC 9113 §6.5.2 */
#define REFUSED_FACTOR 4     /* a block of this many times max_header_list ends the connection */
#define MAX_UNSENT_ACKS 1000 /* above: NGHTTP2_ERR_FLOODED */

static const struct h2_config *config_of(const struct h2_conn *c)
{
	return &c->host->config;
}

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

/* Creates the stream of a request. Trailers and responses belong to a stream that exists. */
static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2_conn *c = user;
	const struct h2_config *config = config_of(c);
	struct h2_stream *s;

	c->headers_since = c->heard;
	c->headers_of = frame->hd.stream_id;
	c->headers_size = 0;
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
		s = find(session, frame->hd.stream_id);
		if (s)
			s->header_size = 0;
		return 0;
	}
	s = h2__stream_new(c);
	s->id = frame->hd.stream_id;
	nghttp2_session_set_stream_user_data(session, s->id, s);
	if (config->events->begin)
		config->events->begin(s, config->user);
	return 0;
}

static struct str text_of(nghttp2_rcbuf *b)
{
	nghttp2_vec v = nghttp2_rcbuf_get_buf(b);

	return (struct str){ (const char *)v.base, v.len };
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
		     nghttp2_rcbuf *value, uint8_t flags, void *user)
{
	struct str n = text_of(name);
	struct str v = text_of(value);
	struct h2_conn *c = user;
	const struct h2_config *config = config_of(c);
	struct h2_stream *s;

	/* a refused block is still decoded, because HPACK's table is shared by all streams */
	c->headers_size += n.n + v.n + FIELD_OVERHEAD;
	if (c->headers_size > REFUSED_FACTOR * (size_t)config->max_header_list) {
		c->error = H2_ENHANCE_YOUR_CALM;
		snprintf(c->why, sizeof(c->why), "header block too large");
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	s = find(session, frame->hd.stream_id);
	if (!s)
		return 0;
	s->header_size += n.n + v.n + FIELD_OVERHEAD;
	if (s->header_size > config->max_header_list) {
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id,
					  NGHTTP2_ENHANCE_YOUR_CALM);
		h2__stream_abandon(s, H2_ENHANCE_YOUR_CALM);
		return 0;
	}
	if (config->events->header)
		config->events->header(s, n, v, config->user);
	return 0;
}

/* Data of muted streams is dropped; nghttp2 returns the window in any case. */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
		   void *user)
{
	const struct h2_config *config = config_of(user);
	struct h2_stream *s = find(session, id);

	if (s && config->events->data)
		config->events->data(s, (struct str){ (const char *)p, n }, config->user);
	return 0;
}

static void tell_end(nghttp2_session *session, const nghttp2_frame *frame,
		     const struct h2_config *config)
{
	struct h2_stream *s = find(session, frame->hd.stream_id);

	if (!s || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return;
	s->remote_ended = true;
	if (config->events->end)
		config->events->end(s, config->user);
}

static void on_headers(struct h2_conn *c, const nghttp2_frame *frame)
{
	const struct h2_config *config = config_of(c);
	struct h2_stream *s = find(c->session, frame->hd.stream_id);

	c->headers_since = 0;
	if (s && config->events->headers)
		config->events->headers(s, config->user);
	tell_end(c->session, frame, config);
}

/* Empty DATA frames consume no window, so flow control does not limit them (CVE-2019-9518). */
static void on_data_frame(struct h2_conn *c, const nghttp2_frame *frame)
{
	bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (!last && frame->hd.length == 0)
		count(c, &c->noise, config_of(c)->max_noise, "empty frames");
	tell_end(c->session, frame, config_of(c));
}

/* The first SETTINGS frame is the peer's preface (RFC 9113 §3.4): the connection is open. */
static void on_settings(struct h2_conn *c, const nghttp2_frame *frame)
{
	const struct h2_config *config = config_of(c);

	if (frame->hd.flags & NGHTTP2_FLAG_ACK)
		return;
	if (c->state == H2__GREETING) {
		c->state = H2__OPEN;
		c->idle_since = c->n_streams ? 0 : c->heard;
		h2__conn_rearm(c);
		if (config->events->open)
			config->events->open(c, config->user);
	}
	count(c, &c->noise, config->max_noise, "SETTINGS frames");
}

/* While draining, any ACK shows that the peer has read our first GOAWAY. */
static void on_ping(struct h2_conn *c, const nghttp2_frame *frame)
{
	if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
		count(c, &c->noise, config_of(c)->max_noise, "PING frames");
	else if (c->drain_since)
		h2__session_final_goaway(c);
}

static void on_priority(struct h2_conn *c, const nghttp2_frame *frame)
{
	count(c, &c->noise, config_of(c)->max_noise, "PRIORITY frames");
}

/* A graceful peer sends two GOAWAY frames; the user is notified of the first. */
static void on_goaway(struct h2_conn *c, const nghttp2_frame *frame)
{
	const struct h2_config *config = config_of(c);

	if (c->going)
		return;
	c->going = true;
	if (frame->goaway.error_code)
		snprintf(c->why, sizeof(c->why), "the peer said %s: %.*s",
			 nghttp2_http2_strerror(frame->goaway.error_code),
			 (int)frame->goaway.opaque_data_len, frame->goaway.opaque_data);
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

/*
 * Corrects the error code of a closed stream. A request whose headers were never sent was refused
 * and may be tried again. NO_ERROR before our whole response was sent is a client that gave up.
 */
static uint32_t judge_end(const struct h2_stream *s, uint32_t error)
{
	if (!config_of(s->conn)->server)
		return s->headers_sent ? error : H2_REFUSED_STREAM;
	return error == H2_NO_ERROR && !s->local_ended ? H2_CANCEL : error;
}

/*
 * Also ends the timeout of the stream's header block: nghttp2 does not call on_frame() for a block
 * that was refused. A stream that never had an h2_stream counts as a reset as well.
 */
static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
	struct h2_conn *c = user;
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	if (id == c->headers_of)
		c->headers_since = 0;
	if (s) {
		error = judge_end(s, error);
		h2__stream_close(s, error);
	}
	if (error != H2_NO_ERROR && config_of(c)->server)
		count(c, &c->resets, config_of(c)->max_resets, "streams reset");
	return 0;
}

/*
 * RFC 9113 §8.1: a server that has sent its complete response before the request was complete
 * asks the client to stop with RST_STREAM(NO_ERROR).
 */
static void refuse_the_rest(struct h2_conn *c, const nghttp2_frame *frame)
{
	struct h2_stream *s = find(c->session, frame->hd.stream_id);

	if (s && config_of(c)->server && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
	    !s->remote_ended)
		nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
}

/* A GOAWAY with an error is counted here because nghttp2 sends those for protocol errors itself. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2_conn *c = user;
	struct h2_stream *s;

	if (frame->hd.type == NGHTTP2_HEADERS) {
		s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
		if (s) {
			s->headers_sent = true;
			s->local_ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
		}
		refuse_the_rest(c, frame);
	}
	if (frame->hd.type != NGHTTP2_GOAWAY || frame->goaway.error_code == NGHTTP2_NO_ERROR)
		return 0;
	if (!c->why[0])
		snprintf(c->why, sizeof(c->why), "%s",
			 c->trouble[0] ? c->trouble
				       : nghttp2_http2_strerror(frame->goaway.error_code));
	if (frame->goaway.error_code == NGHTTP2_ENHANCE_YOUR_CALM)
		c->host->stats.calmed++;
	else
		c->host->stats.protocol_errors++;
	return 0;
}

/* Kept for lost(): nghttp2's text says more than the error code of the GOAWAY that follows. */
static int on_trouble(nghttp2_session *session, int code, const char *text, size_t n, void *user)
{
	struct h2_conn *c = user;

	snprintf(c->trouble, sizeof(c->trouble), "%.*s", (int)n, text);
	return 0;
}

/* Once per host: callbacks and options are shared by all of its sessions. */
void h2__session_prepare(struct h2_host *h)
{
	nghttp2_session_callbacks *cb;

	if (nghttp2_session_callbacks_new(&cb) || nghttp2_option_new(&h->option))
		abort(); /* out of memory, as base/mem.h does */
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback2(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	nghttp2_session_callbacks_set_error_callback2(cb, on_trouble);
	h->callbacks = cb;
	nghttp2_option_set_no_closed_streams(h->option, 1);
	/* nghttp2's own limit of resets is disabled: count() does it */
	nghttp2_option_set_stream_reset_rate_limit(h->option, UINT32_MAX, UINT32_MAX);
	nghttp2_option_set_max_outbound_ack(h->option, MAX_UNSENT_ACKS);
}

int h2__session_new(struct h2_conn *c)
{
	const struct h2_config *config = config_of(c);
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		  config->server ? config->max_streams : 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, config->window },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, config->max_header_list },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};
	struct h2_host *h = c->host;
	int r = config->server
			? nghttp2_session_server_new2(&c->session, h->callbacks, c, h->option)
			: nghttp2_session_client_new2(&c->session, h->callbacks, c, h->option);

	if (r)
		abort();
	/* ENABLE_PUSH is last, so that a server leaves it out: only clients need to disable push */
	nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
				ARRAY_SIZE(settings) - config->server);
	return nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
						     CONNECTION_WINDOW);
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
