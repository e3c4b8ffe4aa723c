/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth: protection against requests that another site makes a browser send (CSRF). Pure.
 */
#pragma once

struct http_head;

/*
 * Returns NULL if the request comes from our own pages or from a program: it has the
 * X-Maglev-Admin header, which a foreign page cannot set without a CORS preflight that we never
 * grant, and neither Origin nor Sec-Fetch-Site names another site. Otherwise returns the reason.
 */
const char *auth_foreign(const struct http_head *head);
