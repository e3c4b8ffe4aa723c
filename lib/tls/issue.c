/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tls/issue.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

static void free_x509(X509 **x)
{
	X509_free(*x);
}

static void free_key(EVP_PKEY **k)
{
	EVP_PKEY_free(*k);
}

static void free_bio(BIO **b)
{
	BIO_free(*b);
}

static X509 *read_certificate(const char *pem)
{
	_cleanup_(free_bio) BIO *bio = pem ? BIO_new_mem_buf(pem, -1) : NULL;

	return bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
}

static EVP_PKEY *read_key(const char *pem)
{
	_cleanup_(free_bio) BIO *bio = pem ? BIO_new_mem_buf(pem, -1) : NULL;

	return bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
}

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *e;
	bool added;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	added = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return added;
}

static bool add_server(X509 *x, X509 *issuer, const struct tls_issue *what)
{
	_cleanup_(buf_free) struct buf names = { 0 };

	for (size_t i = 0; i < what->n_servers; i++)
		buf_printf(&names, "%sDNS:%s", i ? "," : "", what->servers[i]);
	return add_extension(x, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(x, issuer, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(x, issuer, NID_ext_key_usage, "serverAuth") &&
	       add_extension(x, issuer, NID_subject_alt_name, buf_cstr(&names)) &&
	       add_extension(x, issuer, NID_authority_key_identifier, "keyid");
}

static bool add_authority(X509 *x)
{
	return add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	       add_extension(x, x, NID_subject_key_identifier, "hash");
}

/* A random number, so that no two certificates of an authority have the same. */
static bool set_serial(X509 *x)
{
	unsigned char bytes[16];
	BIGNUM *n;
	bool set;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	bytes[0] &= 0x7f;
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	set = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
	BN_free(n);
	return set;
}

static bool fill(X509 *x, X509 *issuer, EVP_PKEY *key, const struct tls_issue *what)
{
	X509_NAME *subject = X509_get_subject_name(x);

	return X509_set_version(x, X509_VERSION_3) && set_serial(x) &&
	       ASN1_TIME_set(X509_getm_notBefore(x), (time_t)what->not_before) &&
	       ASN1_TIME_set(X509_getm_notAfter(x), (time_t)what->not_after) &&
	       X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
					  (const unsigned char *)what->name, -1, -1, 0) &&
	       X509_set_issuer_name(x, X509_get_subject_name(issuer)) && X509_set_pubkey(x, key) &&
	       (what->servers ? add_server(x, issuer, what) : add_authority(x));
}

static void append(struct buf *out, BIO *bio)
{
	char *p;
	long n = BIO_get_mem_data(bio, &p);

	buf_add(out, p, (size_t)n);
}

static int write_pair(X509 *x, EVP_PKEY *key, struct buf *certificate, struct buf *key_text)
{
	_cleanup_(free_bio) BIO *one = BIO_new(BIO_s_mem());
	_cleanup_(free_bio) BIO *two = BIO_new(BIO_s_mem());

	if (!one || !two || !PEM_write_bio_X509(one, x) ||
	    !PEM_write_bio_PKCS8PrivateKey(two, key, NULL, NULL, 0, NULL, NULL))
		return -EINVAL;
	append(certificate, one);
	append(key_text, two);
	return 0;
}

int tls_issue(const struct tls_issue *what, struct buf *certificate, struct buf *key_text)
{
	_cleanup_(free_key) EVP_PKEY *key = EVP_EC_gen("P-256");
	_cleanup_(free_key) EVP_PKEY *ca_key = read_key(what->ca_key);
	_cleanup_(free_x509) X509 *ca = read_certificate(what->ca);
	_cleanup_(free_x509) X509 *x = X509_new();

	if (!key || !x || (what->ca && (!ca || !ca_key || !X509_check_private_key(ca, ca_key))))
		return -EINVAL;
	if (!fill(x, ca ? ca : x, key, what) || !X509_sign(x, ca ? ca_key : key, EVP_sha256()))
		return -EINVAL;
	return write_pair(x, key, certificate, key_text);
}

int tls_pem_ends(const char *pem, int64_t *ret)
{
	_cleanup_(free_x509) X509 *x = read_certificate(pem);
	struct tm tm;

	if (!x || !ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm))
		return -EINVAL;
	*ret = timegm(&tm);
	return 0;
}

bool tls_pem_fits(const char *certificate, const char *key, const char *ca)
{
	_cleanup_(free_x509) X509 *x = read_certificate(certificate);
	_cleanup_(free_x509) X509 *authority = read_certificate(ca);
	_cleanup_(free_key) EVP_PKEY *k = read_key(key);

	return x && authority && k && X509_check_private_key(x, k) &&
	       X509_verify(x, X509_get0_pubkey(authority)) == 1;
}

bool tls_pem_names(const char *certificate, const char *name)
{
	_cleanup_(free_x509) X509 *x = read_certificate(certificate);

	return x && X509_check_host(x, name, 0, 0, NULL) == 1;
}
