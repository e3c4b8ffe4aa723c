/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testkit: authorities and certificates for tests, as PEM files in a temporary folder.
 *
 * A certificate NAME consists of NAME.pem and NAME.key. It is valid for "localhost" and 127.0.0.1
 * as a server, for anything as a client, and its common name is NAME.
 */
#pragma once

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
/* The path of a file, in one of four static buffers that are used in turn. */
const char *pki_file(const struct pki *pki, const char *file);
