/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tls/testkit.h"

#include <dirent.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void pki_make(struct pki *pki)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(pki->folder, sizeof(pki->folder), "%.40s/maglev-pki-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(pki->folder));
}

void pki_remove(struct pki *pki)
{
	DIR *dir = opendir(pki->folder);
	struct dirent *entry;

	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(pki->folder);
}

const char *pki_file(const struct pki *pki, const char *file)
{
	static char paths[4][128];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", pki->folder, file);
	return path;
}

static FILE *open_file(const struct pki *pki, const char *name, const char *ending,
		       const char *mode)
{
	char file[64];
	FILE *f;

	snprintf(file, sizeof(file), "%s.%s", name, ending);
	f = fopen(pki_file(pki, file), mode);
	assert_non_null(f);
	return f;
}

static void add_extension(X509 *cert, int kind, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

	assert_non_null(e);
	X509_add_ext(cert, e, -1);
	X509_EXTENSION_free(e);
}

static void read_issuer(const struct pki *pki, const char *name, X509 **cert, EVP_PKEY **key)
{
	FILE *f = open_file(pki, name, "pem", "r");

	*cert = PEM_read_X509(f, NULL, NULL, NULL);
	fclose(f);
	f = open_file(pki, name, "key", "r");
	*key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
	fclose(f);
	assert_true(*cert && *key);
}

static void save(const struct pki *pki, const char *name, X509 *cert, EVP_PKEY *key)
{
	FILE *f = open_file(pki, name, "pem", "w");

	PEM_write_X509(f, cert);
	fclose(f);
	f = open_file(pki, name, "key", "w");
	PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
	fclose(f);
}

void pki_issue(struct pki *pki, const char *issuer, const char *name)
{
	static long serial = 1;
	EVP_PKEY *key = EVP_EC_gen("P-256"), *issuer_key = key;
	X509 *cert = X509_new(), *issuer_cert = cert;
	X509_NAME *subject = X509_get_subject_name(cert);

	if (issuer)
		read_issuer(pki, issuer, &issuer_cert, &issuer_key);
	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
				   0);
	X509_set_issuer_name(cert, X509_get_subject_name(issuer_cert));
	X509_set_pubkey(cert, key);
	add_extension(cert, NID_basic_constraints,
		      issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
	if (issuer)
		add_extension(cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
	assert_true(X509_sign(cert, issuer_key, EVP_sha256()) > 0);
	save(pki, name, cert, key);
	if (issuer) {
		X509_free(issuer_cert);
		EVP_PKEY_free(issuer_key);
	}
	X509_free(cert);
	EVP_PKEY_free(key);
}
