/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth: may this request act? HTTP basic authentication, and whether a browser was led to send it.
 *
 * Pure. How long a comparison takes tells nothing about the credentials.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct http_head;

struct auth {
	const char *user, *password; /* both not empty */
};

enum auth_verdict {
	AUTH_OK,
	AUTH_MISSING, /* no credentials of this kind */
	AUTH_WRONG,
};

enum auth_verdict auth_check(const struct auth *a, const struct http_head *head);

/* Whether the cookie of that name has that value, which is not empty. */
bool auth_has_cookie(const struct http_head *head, struct str name, struct str value);

/*
 * NULL when the request can only have come from our own pages or from a program: it has the header
 * that no foreign page can set, and nothing says that it comes from elsewhere. Otherwise why not.
 */
const char *auth_foreign(const struct http_head *head);
