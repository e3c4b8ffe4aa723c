/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice: a message's body that is produced slice by slice, as struct http_stream says; the same for
 * answers of the server and requests of the client.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* What a producer aims to add at a time, and never far exceeds. */
#define HTTP_SLICE ((size_t)64 * 1024)

enum http_stream_state {
	HTTP_STREAM_MORE, /* ask again when this has gone */
	HTTP_STREAM_WAIT, /* ask again after http_wake() or http_call_wake() */
	HTTP_STREAM_END,  /* that was all */
	HTTP_STREAM_LOST, /* the rest is not there any more: the connection ends before its time */
};

struct http_stream {
	/*
	 * Adds a slice to out: about HTTP_SLICE bytes, and in about TASK_STEP_TIME. Called from a
	 * step of a task, never from within another call. It leaves alone what out holds already.
	 */
	enum http_stream_state (*produce)(struct buf *out, void *user);
	/*
	 * The last call, exactly one, for every stream, also where nothing was produced (HEAD).
	 * whole: all was sent. Otherwise the peer went away or was too slow, or we are closing. The
	 * exchange or call is gone.
	 */
	void (*closed)(bool whole, void *user);
	void *user;
	uint64_t length; /* of all that will be produced, exactly; 0: not known */
};

/* Asks for the next slice and frames it, chunked or as it is. *made counts bytes of content. */
enum http_stream_state http__slice(const struct http_stream *stream, struct buf *out, bool chunked,
				   uint64_t *made);
