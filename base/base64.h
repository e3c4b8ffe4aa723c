/* SPDX-License-Identifier: Apache-2.0 */
/* base64: bytes as text (RFC 4648, section 4). */
#pragma once

#include <sys/types.h>

#include "base/str.h"

/*
 * Decodes; line ends are skipped, as many writers break lines. The padding must be there. out needs
 * room for text.n bytes. Returns the number of bytes, or -EINVAL.
 */
ssize_t base64_decode(struct str text, void *out);
void base64_encode(struct buf *out, struct str bytes);
