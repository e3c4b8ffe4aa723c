/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: authorities and certificates for tests, as PEM files in a folder of their own.
 *
 * A certificate NAME is NAME.pem with NAME.key; it is good for "localhost" and 127.0.0.1 as a
 * server, for anything as a client, and its common name is NAME.
 */
#pragma once

struct pki {
	char folder[64];
};

void pki_make(struct pki *pki);
/* Removes the folder. */
void pki_remove(struct pki *pki);
/* issuer: the name of one made before; NULL: signs itself, as authorities do. */
void pki_issue(struct pki *pki, const char *issuer, const char *name);
/* The path of a file; one of four places that are used in turn. */
const char *pki_file(const struct pki *pki, const char *file);
