/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l4/changes_kind.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "core/l4/config.h"

#define TEXT_SHOWN 80 /* bytes of a text that are shown */

#define AS(type, value) (*(type const *)(value))

static bool text_equal(const void *a, const void *b)
{
	return cstr_eq(AS(char *, a), AS(char *, b));
}

/* In quotes, with dots for what would break the line. */
static void text_print(const void *value, struct buf *out)
{
	const char *text = AS(char *, value);
	size_t n, used = 0;

	if (!text) {
		buf_adds(out, "none");
		return;
	}
	n = strlen(text);
	buf_addc(out, '"');
	while (used < n && used < TEXT_SHOWN) {
		size_t len = utf8_char(text + used, n - used);
		bool plain = len > 1 || (len && text[used] >= ' ' && text[used] != 0x7f);

		buf_add(out, plain ? text + used : ".", plain ? len : 1);
		used += plain ? len : 1;
	}
	buf_adds(out, used < n ? "...\"" : "\"");
}

static bool bool_equal(const void *a, const void *b)
{
	return AS(bool, a) == AS(bool, b);
}

static void bool_print(const void *value, struct buf *out)
{
	buf_adds(out, AS(bool, value) ? "true" : "false");
}

static bool uint_equal(const void *a, const void *b)
{
	return AS(unsigned, a) == AS(unsigned, b);
}

static void uint_print(const void *value, struct buf *out)
{
	buf_addu(out, AS(unsigned, value));
}

static bool port_equal(const void *a, const void *b)
{
	return AS(uint16_t, a) == AS(uint16_t, b);
}

static void port_print(const void *value, struct buf *out)
{
	buf_addu(out, AS(uint16_t, value));
}

static bool duration_equal(const void *a, const void *b)
{
	return AS(int64_t, a) == AS(int64_t, b);
}

static void duration_print(const void *value, struct buf *out)
{
	char text[DURATION_STRLEN];

	buf_adds(out, duration_format(AS(int64_t, value), text));
}

static bool addr_equal(const void *a, const void *b)
{
	return addr_cmp(a, b) == 0;
}

static void addr_print(const void *value, struct buf *out)
{
	const struct addr *a = value;
	char text[ADDR_STRLEN];

	buf_adds(out, addr_is_set(a) ? addr_format(a, text) : "none");
}

static const char *check_name(const void *value)
{
	const struct l4_check *check = AS(struct l4_check *, value);

	return check ? check->name : NULL;
}

static bool check_equal(const void *a, const void *b)
{
	return cstr_eq(check_name(a), check_name(b));
}

static void check_print(const void *value, struct buf *out)
{
	const char *name = check_name(value);

	buf_adds(out, name ? name : "none");
}

static bool check_type_equal(const void *a, const void *b)
{
	return AS(enum l4_check_type, a) == AS(enum l4_check_type, b);
}

static void check_type_print(const void *value, struct buf *out)
{
	buf_adds(out, l4_check_type_name(AS(enum l4_check_type, value)));
}

static bool codes_equal(const void *a, const void *b)
{
	return l4__same_codes(a, b);
}

static void codes_print(const void *value, struct buf *out)
{
	const struct l4_http_params *p = value;

	if (!p->n_codes)
		buf_adds(out, "none");
	else
		l4_codes_print(p, out);
}

static bool protocol_equal(const void *a, const void *b)
{
	return AS(uint8_t, a) == AS(uint8_t, b);
}

static void protocol_print(const void *value, struct buf *out)
{
	buf_adds(out, l4_protocol_name(AS(uint8_t, value)));
}

static bool dataplane_equal(const void *a, const void *b)
{
	return AS(enum l4_dataplane, a) == AS(enum l4_dataplane, b);
}

static void dataplane_print(const void *value, struct buf *out)
{
	buf_adds(out, l4_dataplane_name(AS(enum l4_dataplane, value)));
}

static bool xdp_mode_equal(const void *a, const void *b)
{
	return AS(enum l4_xdp_mode, a) == AS(enum l4_xdp_mode, b);
}

static void xdp_mode_print(const void *value, struct buf *out)
{
	static const char *const names[] = {
		[L4_XDP_AUTO] = "auto",
		[L4_XDP_NATIVE] = "native",
		[L4_XDP_GENERIC] = "generic",
	};

	buf_adds(out, names[AS(enum l4_xdp_mode, value)]);
}

static bool interfaces_equal(const void *a, const void *b)
{
	const struct l4_xdp *x = a, *y = b;

	for (size_t i = 0; i < x->n_interfaces && i < y->n_interfaces; i++)
		if (strcmp(x->interfaces[i], y->interfaces[i]) != 0)
			return false;
	return x->n_interfaces == y->n_interfaces;
}

static void interfaces_print(const void *value, struct buf *out)
{
	const struct l4_xdp *x = value;

	if (!x->n_interfaces)
		buf_adds(out, "none");
	for (size_t i = 0; i < x->n_interfaces; i++)
		buf_printf(out, "%s%s", i ? "," : "", x->interfaces[i]);
}

#define KIND(name)                                                                                 \
	{                                                                                          \
		name##_equal, name##_print                                                         \
	}

static const struct {
	bool (*equal)(const void *a, const void *b);
	void (*print)(const void *value, struct buf *out);
} kinds[] = {
	[L4__KIND_TEXT] = KIND(text),
	[L4__KIND_BOOL] = KIND(bool),
	[L4__KIND_UINT] = KIND(uint),
	[L4__KIND_PORT] = KIND(port),
	[L4__KIND_DURATION] = KIND(duration),
	[L4__KIND_ADDR] = KIND(addr),
	[L4__KIND_CHECK] = KIND(check),
	[L4__KIND_CHECK_TYPE] = KIND(check_type),
	[L4__KIND_CODES] = KIND(codes),
	[L4__KIND_PROTOCOL] = KIND(protocol),
	[L4__KIND_DATAPLANE] = KIND(dataplane),
	[L4__KIND_XDP_MODE] = KIND(xdp_mode),
	[L4__KIND_INTERFACES] = KIND(interfaces),
};

bool l4__kind_equal(enum l4__kind kind, const void *a, const void *b)
{
	assert((size_t)kind < ARRAY_SIZE(kinds));
	return kinds[kind].equal(a, b);
}

void l4__kind_print(enum l4__kind kind, const void *value, struct buf *out)
{
	assert((size_t)kind < ARRAY_SIZE(kinds));
	kinds[kind].print(value, out);
}
