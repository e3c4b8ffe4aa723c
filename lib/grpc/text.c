/* SPDX-License-Identifier: Apache-2.0 */
/* text: parsing and formatting of gRPC's header values. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/grpc_private.h"

#define MESSAGE_MAX 2048 /* bytes of a grpc-message before encoding; peers limit their headers */
#define TIMEOUT_MAX 99999999 /* eight digits, the most that the specification allows */

/* From fine to coarse: the first unit in which a timeout has at most eight digits is used. */
static const struct unit {
	char letter;
	int64_t ns;
} units[] = {
	{ 'n', 1 },
	{ 'u', NSEC_PER_USEC },
	{ 'm', NSEC_PER_MSEC },
	{ 'S', NSEC_PER_SEC },
	{ 'M', 60 * NSEC_PER_SEC },
	{ 'H', 3600 * NSEC_PER_SEC },
};

int grpc_timeout_parse(struct str s, int64_t *ret_ns)
{
	uint64_t n;

	if (s.n < 2 || str_to_u64((struct str){ s.p, s.n - 1 }, TIMEOUT_MAX, &n) < 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (units[i].letter != s.p[s.n - 1])
			continue;
		/* half of the range, so that adding it to a clock cannot overflow */
		if ((int64_t)n > INT64_MAX / 2 / units[i].ns)
			*ret_ns = INT64_MAX / 2;
		else
			*ret_ns = (int64_t)n * units[i].ns;
		return 0;
	}
	return -EINVAL;
}

const char *grpc_timeout_format(int64_t ns, char text[static GRPC_TIMEOUT_STRLEN])
{
	size_t i = 0;

	while (i < ARRAY_SIZE(units) - 1 && ns / units[i].ns > TIMEOUT_MAX)
		i++;
	snprintf(text, GRPC_TIMEOUT_STRLEN, "%d%c", (int)(ns / units[i].ns), units[i].letter);
	return text;
}

static bool is_plain(char c)
{
	return c >= ' ' && c <= '~' && c != '%';
}

void grpc__message_encode(struct str text, struct buf *out)
{
	static const char hex[] = "0123456789ABCDEF";
	struct buf valid = { 0 };

	buf_add_utf8(&valid, text.p, text.n < MESSAGE_MAX ? text.n : MESSAGE_MAX);
	for (size_t i = 0; i < valid.n; i++) {
		unsigned char c = (unsigned char)valid.p[i];

		if (is_plain(valid.p[i])) {
			buf_addc(out, valid.p[i]);
		} else {
			buf_addc(out, '%');
			buf_addc(out, hex[c >> 4]);
			buf_addc(out, hex[c & 15]);
		}
	}
	buf_free(&valid);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A '%' without two hex digits is kept as it is: the specification forbids to fail here. */
void grpc__message_decode(struct str value, struct buf *out)
{
	struct buf raw = { 0 };

	for (size_t i = 0; i < value.n; i++) {
		int high = i + 2 < value.n ? hex_digit(value.p[i + 1]) : -1;
		int low = i + 2 < value.n ? hex_digit(value.p[i + 2]) : -1;

		if (value.p[i] == '%' && high >= 0 && low >= 0) {
			buf_addc(&raw, (char)(high << 4 | low));
			i += 2;
		} else {
			buf_addc(&raw, value.p[i]);
		}
	}
	buf_add_utf8(out, raw.p, raw.n);
	buf_free(&raw);
}

/* "application/grpc+json" and the like are other encodings, which are not supported. */
bool grpc__is_grpc(struct str content_type)
{
	static const struct str wanted = { "application/grpc", 16 };
	struct str rest;

	if (content_type.n < wanted.n || !str_ieq((struct str){ content_type.p, wanted.n }, wanted))
		return false;
	rest = (struct str){ content_type.p + wanted.n, content_type.n - wanted.n };
	if (rest.n && rest.p[0] == '+') {
		struct str suffix = { rest.p + 1, rest.n - 1 };
		struct str name;

		return str_cut(&suffix, ';', &name) && str_ieq(str_trim(name), STR("proto"));
	}
	rest = str_trim(rest);
	return !rest.n || rest.p[0] == ';';
}
