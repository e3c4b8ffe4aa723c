/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/k8s/url.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decoded. NULL if it is malformed or contains NUL. */
static const char *unescape(struct str text, struct arena *arena)
{
	char *out = arena_alloc(arena, text.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '%') {
			out[n++] = text.p[i];
			continue;
		}
		if (i + 2 >= text.n || hex(text.p[i + 1]) < 0 || hex(text.p[i + 2]) < 0)
			return NULL;
		out[n] = (char)(hex(text.p[i + 1]) << 4 | hex(text.p[i + 2]));
		if (!out[n++])
			return NULL;
		i += 2;
	}
	return out;
}

static bool take_scheme(struct str *rest, bool *ret_tls)
{
	bool tls = str_starts(*rest, STR("https://"));
	size_t n = tls ? 8 : 7;

	if (!tls && !str_starts(*rest, STR("http://")))
		return false;
	*rest = (struct str){ rest->p + n, rest->n - n };
	*ret_tls = tls;
	return true;
}

/* "host", "host:port", "[address]:port". */
static int take_authority(struct str text, struct arena *arena, struct k8s_url *url)
{
	const char *end = NULL;
	struct str host = text, port = { 0 };
	uint64_t number = url->tls ? 443 : 80;

	if (text.n && text.p[0] == '[') {
		end = memchr(text.p, ']', text.n);
		if (!end)
			return -EINVAL;
		host = (struct str){ text.p + 1, (size_t)(end - text.p) - 1 };
		end++;
	} else {
		end = memchr(text.p, ':', text.n);
		if (end)
			host.n = (size_t)(end - text.p);
	}
	if (end && end < text.p + text.n) {
		if (*end != ':')
			return -EINVAL;
		port = (struct str){ end + 1, (size_t)(text.p + text.n - end) - 1 };
		if (str_to_u64(port, UINT16_MAX, &number) < 0 || number == 0)
			return -EINVAL;
	}
	if (host.n == 0)
		return -EINVAL;
	url->host = arena_strndup(arena, host.p, host.n);
	url->port = (uint16_t)number;
	return 0;
}

static int take_userinfo(struct str *authority, struct arena *arena, struct k8s_url *url)
{
	const char *at = memrchr(authority->p, '@', authority->n);

	if (!at)
		return 0;
	url->userinfo = unescape((struct str){ authority->p, (size_t)(at - authority->p) }, arena);
	*authority = (struct str){ at + 1, (size_t)(authority->p + authority->n - at) - 1 };
	return url->userinfo ? 0 : -EINVAL;
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f || *text == '#' ||
		    *text == '?')
			return false;
	return true;
}

int k8s_url_parse(const char *text, struct arena *arena, struct k8s_url *ret)
{
	struct k8s_url url = { 0 };
	struct str rest = str_of(text), authority;
	const char *slash;

	if (!is_plain(text) || !take_scheme(&rest, &url.tls))
		return -EINVAL;
	slash = memchr(rest.p, '/', rest.n);
	authority = (struct str){ rest.p, slash ? (size_t)(slash - rest.p) : rest.n };
	if (take_userinfo(&authority, arena, &url) < 0 ||
	    take_authority(authority, arena, &url) < 0)
		return -EINVAL;
	rest = slash ? (struct str){ slash, (size_t)(rest.p + rest.n - slash) } : (struct str){ 0 };
	while (rest.n && rest.p[rest.n - 1] == '/')
		rest.n--;
	url.path = rest.n ? arena_strndup(arena, rest.p, rest.n) : "";
	*ret = url;
	return 0;
}

void k8s__url_escape(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x80 && isalnum(c)) || strchr("-._~", c))
			buf_addc(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

void k8s__url_query(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addc(out, memchr(out->p, '?', out->n) ? '&' : '?');
	buf_adds(out, name);
	buf_addc(out, '=');
	k8s__url_escape(out, value);
}
