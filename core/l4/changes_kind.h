/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of values that a configuration has: whether two are the same, and how one looks. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum l4__kind {
	L4__KIND_TEXT, /* const char *; NULL: none */
	L4__KIND_BOOL,
	L4__KIND_UINT, /* unsigned */
	L4__KIND_PORT, /* uint16_t */
	L4__KIND_DURATION,
	L4__KIND_ADDR,
	L4__KIND_CHECK, /* const struct l4_check *; NULL: none */
	L4__KIND_CHECK_TYPE,
	L4__KIND_CODES, /* struct l4_http_params */
	L4__KIND_PROTOCOL,
	L4__KIND_DATAPLANE,
	L4__KIND_XDP_MODE,
	L4__KIND_INTERFACES, /* struct l4_xdp */
};

bool l4__kind_equal(enum l4__kind kind, const void *a, const void *b);
/* One line of valid UTF-8, whatever the value. */
void l4__kind_print(enum l4__kind kind, const void *value, struct buf *out);
