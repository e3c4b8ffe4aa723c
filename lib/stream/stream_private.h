/* SPDX-License-Identifier: Apache-2.0 */
/* stream: functions of stream_proxy.c for stream.c. */
#pragma once

#include <stdbool.h>

#include "lib/stream/stream.h"

/* True if the stream sends a header, false if it waits for one. Only in STREAM_PROXY. */
bool stream__proxy_sends(const struct stream *s);
/* 0 if the header was sent or received, -EAGAIN to wait for the socket, or a negative errno. */
int stream__proxy_step(struct stream *s);
/* Describes the last error, NULL if it did not come from the header. */
const char *stream__proxy_reason(const struct stream *s);
void stream__proxy_free(struct stream *s);
