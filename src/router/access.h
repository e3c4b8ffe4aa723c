/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access: who may use the admin API: a bearer token (RFC 6750) and certificates of clients.
 *
 * Each is demanded if its file is configured. Both are read again on SIGHUP; a file that cannot be
 * used then changes nothing. Failures are logged.
 */
#pragma once

#include <stdbool.h>

#include "lib/http/server.h"
#include "lib/tls/tls.h"

#define ACCESS_TOKEN_MIN 16 /* bytes */
#define ACCESS_TOKEN_MAX 4096

struct access;

/* NULL where there is none; borrowed. */
struct access_config {
	const char *token_file;
	struct tls_files tls; /* with a certificate the API uses TLS; with ca, clients need one */
};

int access_new(const struct access_config *config, struct access **ret);
/* NULL is allowed. */
void access_free(struct access *a);
/* Reads the files again. The server gets the new certificates for new connections. */
void access_reload(struct access *a, struct http_server *server);
/* NULL: plaintext. */
struct tls_context *access_tls(const struct access *a);

bool access_has_token(const struct access *a);
/* Whether every client has to prove who it is. */
bool access_is_closed(const struct access *a);
/* Whether the request has the token. In a time that does not depend on the token. */
bool access_allows(const struct access *a, const struct http_head *head);
