/* SPDX-License-Identifier: Apache-2.0 */
/* issue: makes certificates, for programs that have an authority of their own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* What a new certificate says. Everything is borrowed for the call. */
struct tls_issue {
	const char *name;	    /* common name */
	const char *const *servers; /* DNS names of a server; NULL: an authority */
	size_t n_servers;
	int64_t not_before, not_after; /* seconds since the epoch */
	/* PEM texts of the authority that signs; NULL: it signs itself. */
	const char *ca, *ca_key;
};

/*
 * Appends a new certificate and its key (ECDSA, P-256), as PEM. -EINVAL if the authority cannot be
 * used; nothing is appended then.
 */
int tls_issue(const struct tls_issue *what, struct buf *certificate, struct buf *key);
/* When the first certificate of a PEM text ends, in seconds since the epoch. -EINVAL: none. */
int tls_pem_ends(const char *pem, int64_t *ret);
/* Whether the certificate is signed by the authority, and the key is that of the certificate. */
bool tls_pem_fits(const char *certificate, const char *key, const char *ca);
/* Whether the first certificate is one for a server of this DNS name. */
bool tls_pem_names(const char *certificate, const char *name);
