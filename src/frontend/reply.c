/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/reply.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/http/server.h"
#include "lib/json/json.h"
#include "src/frontend/blob.h"

void reply_json(struct http_exchange *x, unsigned status, struct str json)
{
	http_reply_header(x, "Cache-Control", STR("no-store"));
	http_reply(x, status, "application/json", json);
}

void reply_error(struct http_exchange *x, unsigned status, const char *text)
{
	_cleanup_(buf_free) struct buf json = { 0 };

	buf_add_lit(&json, "{\"error\":");
	json_write_string(&json, text, strlen(text));
	buf_add_lit(&json, "}\n");
	reply_json(x, status, (struct str){ json.p, json.n });
}

struct reader {
	struct blob *blob;
	size_t at;
};

static enum http_stream_state on_produce(struct buf *out, void *user)
{
	struct reader *r = user;
	size_t left = r->blob->n - r->at;
	size_t n = left < HTTP_SLICE ? left : HTTP_SLICE;

	buf_add(out, r->blob->bytes + r->at, n);
	r->at += n;
	return r->at < r->blob->n ? HTTP_STREAM_MORE : HTTP_STREAM_END;
}

static void on_closed(bool whole, void *user)
{
	struct reader *r = user;

	blob_unref(r->blob);
	free(r);
}

void reply_blob(struct http_exchange *x, struct blob *json)
{
	struct reader *r;

	if (json->n <= HTTP_SLICE) {
		reply_json(x, 200, (struct str){ json->bytes, json->n });
		return;
	}
	r = mem_zalloc(sizeof(*r));
	r->blob = blob_ref(json);
	http_reply_header(x, "Cache-Control", STR("no-store"));
	http_reply_stream(x, 200, "application/json",
			  &(struct http_stream){ on_produce, on_closed, r });
}

struct str reply_query(struct str query, struct str name)
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

int reply_decode(struct str part, struct buf *out)
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
