/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certificate: what people and programs see of a certificate.
 *
 * Values come from a peer. A name with a NUL inside is left out, because as a C string it could
 * pass for another name.
 */
#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "lib/tls/digest.h"
#include "lib/tls/tls_private.h"

static char *own_text(const unsigned char *p, int n)
{
	char *text;

	if (!p || n <= 0 || memchr(p, 0, (size_t)n))
		return NULL;
	text = mem_alloc((size_t)n + 1);
	memcpy(text, p, (size_t)n);
	text[n] = '\0';
	return text;
}

/* The last CN is the most specific one. */
static char *common_name(X509_NAME *subject)
{
	int at = -1, last = -1;
	unsigned char *utf8 = NULL;
	char *name;
	int n;

	while ((at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0)
		last = at;
	if (last < 0)
		return NULL;
	n = ASN1_STRING_to_UTF8(&utf8,
				X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
	name = own_text(utf8, n);
	OPENSSL_free(utf8);
	return name;
}

/* RFC 2253, which escapes control characters and everything that is not ASCII. */
static char *distinguished_name(const X509_NAME *name)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *p = NULL, *text;
	long n;

	if (!bio)
		abort(); /* out of memory, as base/mem.h does */
	X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253);
	n = BIO_get_mem_data(bio, &p);
	text = own_text((const unsigned char *)p, (int)n);
	BIO_free(bio);
	return text ? text : mem_strdup("");
}

static char *hex_of(const unsigned char *p, size_t n)
{
	char *text = mem_alloc(2 * n + 1);

	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	return text;
}

static char *address_text(const ASN1_OCTET_STRING *bytes)
{
	int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
	char text[INET6_ADDRSTRLEN];

	if (ASN1_STRING_length(bytes) != 4 && ASN1_STRING_length(bytes) != 16)
		return NULL;
	inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof(text));
	return mem_strdup(text);
}

static const struct {
	int type;
	enum tls_name_kind kind;
} kinds[] = {
	{ GEN_DNS, TLS_NAME_DNS },
	{ GEN_URI, TLS_NAME_URI },
	{ GEN_EMAIL, TLS_NAME_EMAIL },
	{ GEN_IPADD, TLS_NAME_IP },
};

/* False for kinds that have no text here, and for texts that are not safe. */
static bool read_name(const GENERAL_NAME *from, struct tls_name *ret)
{
	int type;
	ASN1_STRING *value = GENERAL_NAME_get0_value(from, &type);
	char *text = NULL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].type != type)
			continue;
		text = type == GEN_IPADD
			       ? address_text(value)
			       : own_text(ASN1_STRING_get0_data(value), ASN1_STRING_length(value));
		*ret = (struct tls_name){ kinds[i].kind, text };
	}
	return text != NULL;
}

static void read_names(X509 *x, struct tls_certificate *to)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	VEC(struct tls_name) names = { 0 };
	struct tls_name name;

	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++)
		if (read_name(sk_GENERAL_NAME_value(all, i), &name))
			vec_push(&names, name);
	GENERAL_NAMES_free(all);
	to->names = names.items;
	to->n_names = names.n;
}

static int64_t seconds_of(const ASN1_TIME *t)
{
	struct tm tm;

	return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static char *serial_text(X509 *x)
{
	const ASN1_INTEGER *serial = X509_get0_serialNumber(x);

	return hex_of(ASN1_STRING_get0_data(serial), (size_t)ASN1_STRING_length(serial));
}

static void fingerprint(X509 *x, char ret[static 65])
{
	unsigned char digest[TLS_SHA256];
	unsigned n = 0;

	X509_digest(x, EVP_sha256(), digest, &n);
	for (unsigned i = 0; i < n; i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

/* OBJ_nid2sn() says "rsaEncryption" where people say RSA. */
static const char *algorithm_of(X509 *x)
{
	EVP_PKEY *key = X509_get0_pubkey(x);
	const char *word = key ? EVP_PKEY_get0_type_name(key) : NULL;

	return word ? word : "unknown";
}

void tls__certificate_describe(X509 *x, struct tls_certificate *ret)
{
	*ret = (struct tls_certificate){
		.subject = distinguished_name(X509_get_subject_name(x)),
		.issuer = distinguished_name(X509_get_issuer_name(x)),
		.name = common_name(X509_get_subject_name(x)),
		.serial = serial_text(x),
		.algorithm = mem_strdup(algorithm_of(x)),
		.not_before = seconds_of(X509_get0_notBefore(x)),
		.not_after = seconds_of(X509_get0_notAfter(x)),
	};
	fingerprint(x, ret->fingerprint);
	read_names(x, ret);
}

static void drop(const char *text)
{
	free((void *)(uintptr_t)text);
}

void tls__certificate_free(struct tls_certificate *c)
{
	drop(c->subject);
	drop(c->issuer);
	drop(c->name);
	drop(c->serial);
	drop(c->algorithm);
	for (size_t i = 0; i < c->n_names; i++)
		drop(c->names[i].value);
	free((void *)(uintptr_t)c->names);
}

static bool has_uri(X509 *x, const char *uri)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	bool found = false;
	int type;

	for (int i = 0; i < sk_GENERAL_NAME_num(all) && !found; i++) {
		ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all, i), &type);

		found = type == GEN_URI &&
			str_eq(str_of(uri),
			       (struct str){ (const char *)ASN1_STRING_get0_data(value),
					     (size_t)ASN1_STRING_length(value) });
	}
	GENERAL_NAMES_free(all);
	return found;
}

bool tls__certificate_has(X509 *x, const struct tls_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = names[i].value;

		if (names[i].kind == TLS_NAME_URI
			    ? has_uri(x, value)
			    : X509_check_host(x, value, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
					      NULL) == 1)
			return true;
	}
	return false;
}
