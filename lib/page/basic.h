/* SPDX-License-Identifier: Apache-2.0 */
/*
 * basic: HTTP basic authentication (RFC 7617), and secrets in cookies.
 *
 * Pure. The time that a comparison takes does not depend on the secret.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct http_head;

struct page_credentials {
	const char *user;     /* not empty; NULL: any user */
	const char *password; /* not empty */
};

enum page_verdict {
	PAGE_AUTH_OK,
	PAGE_AUTH_MISSING, /* no credentials of the Basic scheme */
	PAGE_AUTH_WRONG,
};

enum page_verdict page_basic_check(const struct page_credentials *c, const struct http_head *head);

/*
 * The name and the password that a request has, as texts in *given, which the caller frees. False:
 * it has none. What is not base64, or has no colon, is a name without a password.
 */
bool page_basic_read(const struct http_head *head, struct buf *given, const char **ret_name,
		     const char **ret_password);

/* Whether the request has a cookie with this name and value. value must not be empty. */
bool page_has_cookie(const struct http_head *head, struct str name, struct str value);
