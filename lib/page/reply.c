/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/page/reply.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/http/server.h"
#include "lib/json/json.h"

void page_json(struct http_exchange *x, unsigned status, struct str json)
{
	http_reply_header(x, "Cache-Control", STR("no-store"));
	http_reply(x, status, "application/json", json);
}

void page_error(struct http_exchange *x, unsigned status, const char *text)
{
	_cleanup_(buf_free) struct buf json = { 0 };

	buf_add_lit(&json, "{\"error\":");
	json_write_string(&json, text, strlen(text));
	buf_add_lit(&json, "}\n");
	page_json(x, status, (struct str){ json.p, json.n });
}

void page_status(struct http_exchange *x, unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} sentences[] = {
		{ 400, "this is not a well-formed HTTP/1.1 request" },
		{ 404, "there is nothing at this path" },
		{ 405, "this path does not take that method" },
		{ 408, "the request did not come in time" },
		{ 413, "the body of the request is too large" },
		{ 417, "only 100-continue can be expected" },
		{ 431, "the head of the request is too large" },
		{ 503, "too many connections" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		if (sentences[i].status == status) {
			page_error(x, status, sentences[i].text);
			return;
		}
	}
	page_error(x, status, http_status_reason(status));
}

/* Bytes that are being sent in slices. */
struct reader {
	struct str left;
};

static enum http_stream_state on_produce(struct buf *out, void *user)
{
	struct reader *r = user;
	size_t n = r->left.n < HTTP_SLICE ? r->left.n : HTTP_SLICE;

	buf_add(out, r->left.p, n);
	r->left.p += n;
	r->left.n -= n;
	return r->left.n ? HTTP_STREAM_MORE : HTTP_STREAM_END;
}

static void on_closed(bool whole, void *user)
{
	free(user);
}

void page_static(struct http_exchange *x, const char *content_type, struct str bytes)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	const struct http_stream stream = { on_produce, on_closed, r, bytes.n };

	r->left = bytes;
	http_reply_stream(x, 200, content_type, &stream);
}

struct str page_query(struct str query, struct str name)
{
	struct str pair, key;

	while (str_cut(&query, '&', &pair)) {
		str_cut(&pair, '=', &key);
		if (str_eq(key, name))
			return pair.p ? pair : STR("");
	}
	return STR("");
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int page_decode(struct str part, struct buf *out)
{
	size_t start = out->n;

	for (size_t i = 0; i < part.n; i++) {
		char c = part.p[i];

		if (c == '%') {
			int high = i + 2 < part.n ? digit(part.p[i + 1]) : -1;
			int low = i + 2 < part.n ? digit(part.p[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -EINVAL;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (!c)
			return -EINVAL;
		buf_addc(out, c);
	}
	return out->n == start || utf8_valid(out->p + start, out->n - start) ? 0 : -EINVAL;
}
