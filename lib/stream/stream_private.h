/* SPDX-License-Identifier: Apache-2.0 */
/* stream: what stream.c needs of stream_proxy.c. */
#pragma once

#include <stdbool.h>

#include "lib/stream/stream.h"

/* Whether the stream sends a header; otherwise it waits for one. Only in the state PROXY. */
bool stream__proxy_sends(const struct stream *s);
/* 0 when the header has gone or come, -EAGAIN when the socket must be waited for, or an error. */
int stream__proxy_step(struct stream *s);
/* Words for the last error, NULL when it was not one of the header. */
const char *stream__proxy_reason(const struct stream *s);
void stream__proxy_free(struct stream *s);
