/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/websocket.h"

#include <assert.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "lib/tls/digest.h"

#define KEY_MAX 64

static void encode(const uint8_t *p, size_t n, char *to)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	base64_encode(&text, (struct str){ (const char *)p, n });
	memcpy(to, text.p, text.n);
	to[text.n] = '\0';
}

void http_websocket_key(const uint8_t nonce[static HTTP_WEBSOCKET_NONCE],
			char ret[static HTTP_WEBSOCKET_KEY + 1])
{
	encode(nonce, HTTP_WEBSOCKET_NONCE, ret);
}

void http_websocket_accept(struct str key, char ret[static HTTP_WEBSOCKET_ACCEPT + 1])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	char text[KEY_MAX + sizeof(guid)];
	uint8_t digest[TLS_SHA1];

	assert(key.n <= KEY_MAX);
	memcpy(text, key.p, key.n);
	memcpy(text + key.n, guid, sizeof(guid) - 1);
	tls_sha1(text, key.n + sizeof(guid) - 1, digest);
	encode(digest, sizeof(digest), ret);
}
