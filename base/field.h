/* SPDX-License-Identifier: Apache-2.0 */
/* field: one header field of a message: a name and its value, both borrowed. */
#pragma once

#include "base/str.h"

struct field {
	struct str name, value;
};
