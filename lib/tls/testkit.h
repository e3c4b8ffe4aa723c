/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: authorities and certificates for tests, as PEM files in a temporary folder.
 *
 * A certificate NAME consists of NAME.pem and NAME.key. It is valid for "localhost" and 127.0.0.1
 * as a server, for anything as a client, and its common name is NAME.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/tls/tls.h"

struct pki {
	char folder[64];
};

void pki_make(struct pki *pki);
/* Removes the folder. */
void pki_remove(struct pki *pki);
/*
 * issuer is the name of an earlier certificate; NULL makes a self-signed one, as authorities are.
 */
void pki_issue(struct pki *pki, const char *issuer, const char *name);
/* The same for these names ("DNS:a.example,URI:spiffe://b"), with an RSA key or one of P-256. */
struct pki_request {
	const char *issuer, *name, *alternatives;
	bool rsa;
	long seconds; /* until it expires; 0: an hour */
};
void pki_issue_for(struct pki *pki, const struct pki_request *request);
/*
 * Contexts with the certificate NAME (NULL: none, for a client), and the authority of file ca
 * ("ca.pem"). A server with one demands certificates; a client without one verifies nothing. The
 * caller frees them.
 */
struct tls_context *pki_server(const struct pki *pki, const char *name, const char *ca,
			       const char *protocols);
struct tls_context *pki_client(const struct pki *pki, const char *name, const char *ca,
			       const char *protocols);
/* The path of a file, in one of four static buffers that are used in turn. */
const char *pki_file(const struct pki *pki, const char *file);

/* Two connections over a pair of sockets. */
struct ends {
	int fds[2];
	struct tls *client, *server;
};

/* Takes both contexts. */
void ends_join(struct ends *e, struct tls_context *server, struct tls_context *client,
	       const char *name);
void ends_part(struct ends *e);
/* Runs both handshakes until neither waits for the other; returns their last results. */
void ends_shake(struct ends *e, int *ret_client, int *ret_server);
/* The files of a certificate; the caller frees their names with pki_free_pairs(). */
struct tls_pair pki_pair(const struct pki *pki, const char *name);
void pki_free_pairs(struct tls_pair *pairs, size_t n);
