/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/fields.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/http/server.h"
#include "lib/tls/digest.h"

enum { METHOD, SCHEME, AUTHORITY, PATH, PSEUDO }; /* places of the pseudo fields */

static bool is_one_of(struct str name, const struct str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].n == name.n && str_ieq(list[i], name))
			return true;
	return false;
}

bool fields_is_hop(struct str name)
{
	static const struct str list[] = { { "connection", 10 },
					   { "keep-alive", 10 },
					   { "proxy-connection", 16 },
					   { "transfer-encoding", 17 },
					   { "upgrade", 7 } };

	return is_one_of(name, list, ARRAY_SIZE(list));
}

/* ---- requests ---- */

/* The next line without its end; false at the empty one, or if there is none. */
static bool cut_line(struct str *text, struct str *ret)
{
	const char *end = memchr(text->p, '\r', text->n);

	if (!end || end == text->p)
		return false;
	*ret = (struct str){ text->p, (size_t)(end - text->p) };
	*text = (struct str){ end + 2, text->n - ret->n - 2 };
	return true;
}

/* "GET /path HTTP/1.1" */
static void read_start(struct str line, struct fields_request *r)
{
	struct str method = { 0 }, target = { 0 };

	str_cut(&line, ' ', &method);
	str_cut(&line, ' ', &target);
	r->is_head = str_eq(method, STR("HEAD"));
	r->list[METHOD] = (struct field){ STR(":method"), method };
	r->list[AUTHORITY] = (struct field){ STR(":authority"), { 0 } };
	r->list[PATH] = (struct field){ STR(":path"), target };
	r->n = PSEUDO;
}

static bool read_field(struct str line, struct fields_request *r, struct str *upgrade)
{
	const char *colon = memchr(line.p, ':', line.n);
	struct field f = { .name = { line.p, (size_t)(colon - line.p) } };

	f.value = (struct str){ colon + 2, line.n - f.name.n - 2 };
	if (str_ieq(f.name, STR("host"))) {
		r->list[AUTHORITY].value = f.value;
	} else if (fields_is_hop(f.name)) {
		r->chunked |= str_ieq(f.name, STR("transfer-encoding"));
		if (str_ieq(f.name, STR("upgrade")))
			*upgrade = f.value;
	} else if (r->n < FIELDS_MAX - 2) { /* :protocol and te follow */
		if (str_ieq(f.name, STR("content-length")))
			str_to_u64(f.value, INT64_MAX, &r->length);
		if (str_ieq(f.name, STR("sec-websocket-key")))
			r->key = f.value;
		r->list[r->n++] = f;
	} else {
		return false;
	}
	return true;
}

/* RFC 8441: the key is of HTTP/1.1 alone. */
static void ask_for_socket(struct fields_request *r)
{
	size_t n = PSEUDO + 1;

	memmove(&r->list[PSEUDO + 1], &r->list[PSEUDO], (r->n - PSEUDO) * sizeof(*r->list));
	r->list[METHOD].value = STR("CONNECT");
	r->list[PSEUDO] = (struct field){ STR(":protocol"), STR("websocket") };
	for (size_t i = n; i < r->n + 1; i++)
		if (!str_ieq(r->list[i].name, STR("sec-websocket-key")))
			r->list[n++] = r->list[i];
	r->n = n;
	r->socket = true;
}

size_t fields_of_request(struct str text, bool secure, bool connect, struct fields_request *ret)
{
	struct str rest = text, line, upgrade = { 0 };

	ret->n = 0;
	ret->socket = ret->chunked = false;
	ret->length = 0;
	ret->key = (struct str){ 0 };
	if (!cut_line(&rest, &line))
		return 0;
	read_start(line, ret);
	ret->list[SCHEME] = (struct field){ STR(":scheme"), secure ? STR("https") : STR("http") };
	while (cut_line(&rest, &line))
		if (!read_field(line, ret, &upgrade))
			return 0;
	if (rest.n < 2)
		return 0;
	if (connect && ret->key.n && str_ieq(upgrade, STR("websocket")))
		ask_for_socket(ret);
	else /* we take trailers, whatever the client does; gRPC asks for it */
		ret->list[ret->n++] = (struct field){ STR("te"), STR("trailers") };
	return text.n - rest.n + 2;
}

/* ---- answers ---- */

void fields_add_status(struct buf *out, unsigned status)
{
	buf_add_lit(out, "HTTP/1.1 ");
	buf_addu(out, status);
	buf_addc(out, ' ');
	buf_adds(out, http_status_reason(status));
	buf_add_lit(out, "\r\n");
}

void fields_add(struct buf *out, struct str name, struct str value)
{
	buf_add(out, name.p, name.n);
	buf_add_lit(out, ": ");
	buf_add(out, value.p, value.n);
	buf_add_lit(out, "\r\n");
}

void fields_accept(struct str key, char ret[static FIELDS_ACCEPT_SIZE])
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	_cleanup_(buf_free) struct buf text = { 0 };
	uint8_t hash[TLS_SHA1 + 1] = { 0 }; /* 21 bytes are 28 letters; the last is padding */

	buf_add(&text, key.p, key.n);
	buf_add_lit(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
	tls_sha1(text.p, text.n, hash);
	for (size_t i = 0; i < 7; i++) {
		const uint8_t *b = hash + 3 * i;
		uint32_t three = (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];

		for (size_t k = 0; k < 4; k++)
			ret[4 * i + k] = letters[three >> (18 - 6 * k) & 63];
	}
	ret[27] = '=';
	ret[28] = 0;
}
