/* SPDX-License-Identifier: Apache-2.0 */
/* websocket: the two values by which both sides of an upgrade show that they mean it (RFC 6455). */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define HTTP_WEBSOCKET_NONCE 16 /* random bytes of a key */
#define HTTP_WEBSOCKET_KEY 24	/* characters of Sec-WebSocket-Key */
#define HTTP_WEBSOCKET_ACCEPT 28

/* Both results end with NUL. */
void http_websocket_key(const uint8_t nonce[static HTTP_WEBSOCKET_NONCE],
			char ret[static HTTP_WEBSOCKET_KEY + 1]);
/* Sec-WebSocket-Accept for a key of at most 64 characters. */
void http_websocket_accept(struct str key, char ret[static HTTP_WEBSOCKET_ACCEPT + 1]);
