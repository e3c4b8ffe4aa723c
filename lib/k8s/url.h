/* SPDX-License-Identifier: Apache-2.0 */
/* url: URLs of servers, and paths of resources. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* Texts are in the arena. */
struct k8s_url {
	bool tls;
	const char *host;     /* without brackets */
	uint16_t port;	      /* 80 or 443 if none is given */
	const char *path;     /* without a slash at its end; "" */
	const char *userinfo; /* percent-decoded; NULL: none */
};

/* http or https, a host, maybe a port and a path; no query. -EINVAL; *ret is untouched then. */
int k8s_url_parse(const char *text, struct arena *arena, struct k8s_url *ret);

/* Appends with all bytes escaped that may not be in a part of a path or query (RFC 3986). */
void k8s__url_escape(struct buf *out, const char *text);
/* Appends "?name=value" or "&name=value". Nothing if value is NULL. */
void k8s__url_query(struct buf *out, const char *name, const char *value);
