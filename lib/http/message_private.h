/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by message.c and body.c. */
#pragma once

#include "lib/http/message.h"

/* Whether a field may stand after the body (RFC 9110 §6.5.1). */
bool http__may_be_trailer(struct str name);
