/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth: decides whether a request may act: HTTP basic authentication (RFC 7617), and protection
 * against requests that another site makes a browser send (CSRF).
 *
 * Pure. The time that a comparison takes does not depend on the secret.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct http_head;

struct auth {
	const char *user, *password; /* neither is empty */
};

enum auth_verdict {
	AUTH_OK,
	AUTH_MISSING, /* no credentials of the Basic scheme */
	AUTH_WRONG,
};

enum auth_verdict auth_check(const struct auth *a, const struct http_head *head);

/* Whether the request has a cookie with this name and value. value must not be empty. */
bool auth_has_cookie(const struct http_head *head, struct str name, struct str value);

/*
 * Returns NULL if the request comes from our own pages or from a program: it has the
 * X-Maglev-Admin header, which a foreign page cannot set without a CORS preflight that we never
 * grant, and neither Origin nor Sec-Fetch-Site names another site. Otherwise returns the reason.
 */
const char *auth_foreign(const struct http_head *head);
