/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/page/basic.h"

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

/* Any user: what follows the first colon is compared; all of it without a colon. */
static bool is_right(const struct page_credentials *c, struct str given)
{
	_cleanup_(buf_free) struct buf secret = { 0 };
	struct str user;

	if (c->user)
		buf_printf(&secret, "%s:", c->user);
	else if (given.n && memchr(given.p, ':', given.n))
		str_cut(&given, ':', &user);
	buf_adds(&secret, c->password);
	return equal(given, (struct str){ secret.p, secret.n });
}

enum page_verdict page_basic_check(const struct page_credentials *c, const struct http_head *head)
{
	_cleanup_(buf_free) struct buf given = { 0 };
	struct str value = http_header(head, STR("Authorization"));
	struct str scheme;
	bool valid, same;

	if (!value.n || !str_cut(&value, ' ', &scheme) || !str_ieq(scheme, STR("Basic")))
		return PAGE_AUTH_MISSING;
	/* compared even if it is not valid base64, so that the time does not tell the two apart */
	valid = decode(str_trim(value), &given);
	same = is_right(c, (struct str){ given.p, given.n });
	return valid && same ? PAGE_AUTH_OK : PAGE_AUTH_WRONG;
}

bool page_basic_read(const struct http_head *head, struct buf *given, const char **ret_name,
		     const char **ret_password)
{
	struct str value = http_header(head, STR("Authorization"));
	struct str scheme;
	char *text, *colon;

	if (!value.n || !str_cut(&value, ' ', &scheme) || !str_ieq(scheme, STR("Basic")))
		return false;
	if (!decode(str_trim(value), given))
		given->n = 0;
	buf_cstr(given);
	text = given->p;
	colon = strchr(text, ':');
	*ret_name = text;
	*ret_password = colon ? colon + 1 : "";
	if (colon)
		*colon = '\0';
	return true;
}

bool page_has_cookie(const struct http_head *head, struct str name, struct str value)
{
	struct str cookies = http_header(head, STR("Cookie")), one, key;

	while (str_cut(&cookies, ';', &one)) {
		one = str_trim(one);
		if (str_cut(&one, '=', &key) && str_eq(key, name) && equal(one, value))
			return true;
	}
	return false;
}
