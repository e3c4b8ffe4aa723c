/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/auth.h"

#include <assert.h>

#include "base/cleanup.h"
#include "lib/http/message.h"

/* The value of a base64 digit, or -1. */
static int digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes base64 (RFC 4648, section 4), with or without padding. False if it is not base64. */
static bool decode(struct str text, struct buf *out)
{
	unsigned bits = 0, n_bits = 0;

	while (text.n && text.p[text.n - 1] == '=')
		text.n--;
	for (size_t i = 0; i < text.n; i++) {
		int d = digit(text.p[i]);

		if (d < 0)
			return false;
		bits = bits << 6 | (unsigned)d;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		buf_addc(out, (char)(bits >> n_bits & 0xff));
	}
	return true;
}

/*
 * Compares without an early exit: the time depends only on the length of what was given.
 * volatile keeps the compiler from adding one.
 */
static bool equal(struct str given, struct str secret)
{
	volatile unsigned difference = given.n != secret.n;

	assert(secret.n);
	for (size_t i = 0; i < given.n; i++)
		difference |= (unsigned char)given.p[i] ^ (unsigned char)secret.p[i % secret.n];
	return difference == 0;
}

enum auth_verdict auth_check(const struct auth *a, const struct http_head *head)
{
	_cleanup_(buf_free) struct buf given = { 0 }, secret = { 0 };
	struct str value = http_header(head, STR("Authorization"));
	struct str scheme;
	bool valid, same;

	if (!value.n || !str_cut(&value, ' ', &scheme) || !str_ieq(scheme, STR("Basic")))
		return AUTH_MISSING;
	/* compared even if it is not valid base64, so that the time does not tell the two apart */
	valid = decode(str_trim(value), &given);
	buf_printf(&secret, "%s:%s", a->user, a->password);
	same = equal((struct str){ given.p, given.n }, (struct str){ secret.p, secret.n });
	return valid && same ? AUTH_OK : AUTH_WRONG;
}

bool auth_has_cookie(const struct http_head *head, struct str name, struct str value)
{
	struct str cookies = http_header(head, STR("Cookie")), one, key;

	while (str_cut(&cookies, ';', &one)) {
		one = str_trim(one);
		if (str_cut(&one, '=', &key) && str_eq(key, name) && equal(one, value))
			return true;
	}
	return false;
}

/* The authority of an origin; empty if its scheme is not http or https ("null", for example). */
static struct str authority_of(struct str origin)
{
	static const struct str schemes[] = { { "https://", 8 }, { "http://", 7 } };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (origin.n > schemes[i].n &&
		    str_eq((struct str){ origin.p, schemes[i].n }, schemes[i]))
			return (struct str){ origin.p + schemes[i].n, origin.n - schemes[i].n };
	return STR("");
}

static bool is_json(struct str content_type)
{
	struct str type;

	return str_cut(&content_type, ';', &type) &&
	       str_ieq(str_trim(type), STR("application/json"));
}

/*
 * Sec-Fetch-Site and Origin are checked only if they are present: programs do not send them. The
 * content type must be JSON because HTML forms cannot send it.
 */
const char *auth_foreign(const struct http_head *head)
{
	struct str site = http_header(head, STR("Sec-Fetch-Site"));
	struct str origin = http_header(head, STR("Origin"));

	if (!str_eq(http_header(head, STR("X-Maglev-Admin")), STR("1")))
		return "the header X-Maglev-Admin: 1 is missing";
	if (!is_json(http_header(head, STR("Content-Type"))))
		return "the content type has to be application/json";
	if (site.p && !str_eq(site, STR("same-origin")))
		return "the request comes from another site";
	if (origin.p && !(authority_of(origin).n &&
			  str_ieq(authority_of(origin), http_header(head, STR("Host")))))
		return "the request comes from another origin";
	return NULL;
}
