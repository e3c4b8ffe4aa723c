/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certificates: those of the webhooks, which renew themselves.
 *
 * A Secret keeps an authority and a certificate that it has signed. The leader makes and renews
 * them; every replica serves what is there. The API server trusts the authority (caBundle), so that
 * a new certificate needs no change there. When the authority itself is replaced, the old one stays
 * in the bundle as long as it lasts.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "src/controller/kinds.h"

#define CERTIFICATE_DAYS 90 /* renewed when a third is left */
#define AUTHORITY_DAYS 3650 /* replaced when a tenth is left */

/* PEM texts; NULL: missing. */
struct certificates {
	const char *ca, *ca_key, *certificate, *key;
};

/* What a Secret has, in the arena. secret may be NULL. */
struct certificates certificates_of(const struct secret *secret, struct arena *arena);
/* Whether they can be served under this name for a while. now: seconds since the epoch. */
bool certificates_are_good(const struct certificates *c, const char *server, int64_t now);
/* New ones, in the arena; an authority that is good is kept. */
struct certificates certificates_make(const struct certificates *old, const char *server,
				      int64_t now, struct arena *arena);
/* The data of the Secret as a JSON object. */
void certificates_write(const struct certificates *c, struct buf *out);
