/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice: a body that is produced slice by slice (struct http_stream). The server uses it for
 * answers, the client for requests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* About how many bytes a producer adds in one call. */
#define HTTP_SLICE ((size_t)64 * 1024)

enum http_stream_state {
	HTTP_STREAM_MORE, /* call again when this slice was sent */
	HTTP_STREAM_WAIT, /* call again after http_wake() or http_call_wake() */
	HTTP_STREAM_END,  /* this was the last slice */
	HTTP_STREAM_LOST, /* the rest is not available any more: the connection is cut */
};

struct http_stream {
	/*
	 * Appends a slice to out: about HTTP_SLICE bytes, within about TASK_STEP_TIME. Called from
	 * a step of a task, never from within another function of this library. Bytes that out
	 * already holds must not be changed.
	 */
	enum http_stream_state (*produce)(struct buf *out, void *user);
	/*
	 * The last callback, called exactly once for every stream, also if nothing was produced
	 * (HEAD). whole: everything was sent. Otherwise the peer closed the connection or was too
	 * slow, or this side is closing. The exchange or call no longer exists.
	 */
	void (*closed)(bool whole, void *user);
	void *user;
	uint64_t length; /* exact number of bytes that will be produced; 0: not known */
};

/* Produces the next slice and frames it, chunked or plain. *made counts bytes of content. */
enum http_stream_state http__slice(const struct http_stream *stream, struct buf *out, bool chunked,
				   uint64_t *made);
