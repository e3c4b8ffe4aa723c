/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pem: certificates, keys, authorities and OCSP responses, from files or from memory.
 *
 * Each source is read whole, within a bound, before OpenSSL sees it, so that a path of a device or
 * of a pipe cannot stop the program. A reason names the path and never has any of the text, which
 * may be a private key.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "lib/tls/tls_private.h"

bool tls_is_pem(const char *text)
{
	return str_starts(str_of(text), STR("-----BEGIN"));
}

static int refuse(struct tls_refusal *why, enum tls_part part, const char *source, const char *word)
{
	why->part = part;
	if (source && !tls_is_pem(source))
		snprintf(why->reason, sizeof(why->reason), "%s: %s", source, word);
	else
		snprintf(why->reason, sizeof(why->reason), "%s", word);
	ERR_clear_error();
	return -EINVAL;
}

int tls__complain(struct tls_refusal *why, enum tls_part part, const char *what)
{
	const char *word = ERR_reason_error_string(ERR_peek_error());

	return refuse(why, part, what, word ? word : "cannot be used");
}

/* 0 or an errno. */
static int read_all(int fd, struct buf *ret)
{
	ssize_t n;

	do {
		if (ret->n > TLS_PEM_MAX)
			return EFBIG;
		buf_reserve(ret, 16384);
		n = read(fd, ret->p + ret->n, 16384);
		ret->n += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? errno : 0;
}

/* 0 or an errno; O_NONBLOCK is for pipes, which would wait for a writer. */
static int read_file(const char *path, struct buf *ret)
{
	_cleanup_(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return S_ISREG(st.st_mode) ? read_all(fd, ret) : EINVAL;
}

/* The bytes of a source; *ret is the caller's also on failure. */
static int read_source(const char *source, enum tls_part part, struct buf *ret,
		       struct tls_refusal *why)
{
	int error;

	if (tls_is_pem(source)) {
		size_t n = strlen(source);

		if (n > TLS_PEM_MAX)
			return refuse(why, part, source, "is too long");
		buf_add(ret, source, n);
		return 0;
	}
	error = read_file(source, ret);
	if (error == EINVAL)
		return refuse(why, part, source, "is not a regular file");
	return error ? refuse(why, part, source, strerrordesc_np(error)) : 0;
}

/* The copy of a key must not stay in memory that is used again. */
static void wipe(struct buf *b)
{
	if (b->p)
		OPENSSL_cleanse(b->p, b->cap);
	buf_free(b);
}

/* A password would be asked for on the terminal of the process. */
static int on_password(char *to, int size, int writing, void *user)
{
	(void)to;
	(void)size;
	(void)writing;
	(void)user;
	return -1;
}

static BIO *open_bytes(const struct buf *b)
{
	BIO *bio = BIO_new_mem_buf(b->p ? b->p : "", (int)b->n);

	if (!bio)
		abort(); /* out of memory, as base/mem.h does */
	return bio;
}

static void push(STACK_OF(X509) * to, X509 *x)
{
	if (sk_X509_push(to, x) <= 0)
		abort();
}

static STACK_OF(X509) * new_stack(void)
{
	STACK_OF(X509) *s = sk_X509_new_null();

	if (!s)
		abort();
	return s;
}

/* Further certificates until the end; anything else after them is an error of the file. */
static int read_rest(BIO *bio, STACK_OF(X509) * to)
{
	X509 *x;

	while ((x = PEM_read_bio_X509(bio, NULL, on_password, NULL)))
		push(to, x);
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return -EINVAL;
	ERR_clear_error();
	return 0;
}

static int read_certificate(const char *source, struct tls__identity *to, struct tls_refusal *why)
{
	_cleanup_(buf_free) struct buf bytes = { 0 };
	int r = read_source(source, TLS_PART_CERTIFICATE, &bytes, why);
	BIO *bio;

	if (r < 0)
		return r;
	bio = open_bytes(&bytes);
	/* "TRUSTED CERTIFICATE" is accepted, too, as OpenSSL's own functions for files do */
	to->certificate = PEM_read_bio_X509_AUX(bio, NULL, on_password, NULL);
	if (!to->certificate || read_rest(bio, to->chain) < 0)
		r = tls__complain(why, TLS_PART_CERTIFICATE, source);
	BIO_free(bio);
	return r;
}

/* The certificate has been read: a key that does not fit it is refused here. */
static int read_key(const char *source, struct tls__identity *to, struct tls_refusal *why)
{
	_cleanup_(wipe) struct buf bytes = { 0 };
	int r = read_source(source, TLS_PART_KEY, &bytes, why);
	BIO *bio;

	if (r < 0)
		return r;
	bio = open_bytes(&bytes);
	to->key = PEM_read_bio_PrivateKey(bio, NULL, on_password, NULL);
	BIO_free(bio);
	if (!to->key && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_BAD_PASSWORD_READ)
		return refuse(why, TLS_PART_KEY, source, "is encrypted");
	if (!to->key || X509_check_private_key(to->certificate, to->key) != 1)
		return tls__complain(why, TLS_PART_KEY, source);
	return 0;
}

static int64_t seconds_of(const ASN1_TIME *t)
{
	struct tm tm;

	return t && ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : INT64_MAX;
}

/* Finds the answer for x by its serial number. Its issuer is checked by the client. */
static const char *find_answer(OCSP_BASICRESP *basic, X509 *x, int64_t *ret_expires)
{
	ASN1_GENERALIZEDTIME *next = NULL;
	int reason;

	for (int i = 0; i < OCSP_resp_count(basic); i++) {
		OCSP_SINGLERESP *one = OCSP_resp_get0(basic, i);
		const OCSP_CERTID *id = OCSP_SINGLERESP_get0_id(one);
		ASN1_INTEGER *serial = NULL;

		OCSP_id_get0_info(NULL, NULL, NULL, &serial, (OCSP_CERTID *)(uintptr_t)id);
		if (!serial || ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(x)) != 0)
			continue;
		if (OCSP_single_get0_status(one, &reason, NULL, NULL, &next) ==
		    V_OCSP_CERTSTATUS_REVOKED)
			return "says that the certificate is revoked";
		*ret_expires = seconds_of(next);
		return NULL;
	}
	return "is for another certificate";
}

/* NULL if the response is one for x, else what is wrong. */
static const char *check_response(const struct buf *der, X509 *x, int64_t *ret_expires)
{
	const unsigned char *p = (const unsigned char *)der->p;
	OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &p, (long)der->n);
	OCSP_BASICRESP *basic = NULL;
	const char *word = "is not an OCSP response";

	if (response && OCSP_response_status(response) != OCSP_RESPONSE_STATUS_SUCCESSFUL)
		word = "is an OCSP response without an answer";
	else if (response && (basic = OCSP_response_get1_basic(response)))
		word = find_answer(basic, x, ret_expires);
	OCSP_BASICRESP_free(basic);
	OCSP_RESPONSE_free(response);
	return word;
}

static int read_ocsp(const char *path, struct tls__identity *to, struct tls_refusal *why)
{
	int r = read_source(path, TLS_PART_OCSP, &to->ocsp, why);
	const char *word;

	if (r < 0)
		return r;
	word = check_response(&to->ocsp, to->certificate, &to->ocsp_expires);
	return word ? refuse(why, TLS_PART_OCSP, path, word) : 0;
}

int tls__identity_read(const struct tls_pair *pair, struct tls__identity *ret,
		       struct tls_refusal *why)
{
	struct tls__identity i = { .chain = new_stack(), .ocsp_expires = INT64_MAX };
	int r = 0;

	ERR_clear_error();
	if (!pair->certificate || !pair->key)
		r = refuse(why, pair->key ? TLS_PART_CERTIFICATE : TLS_PART_KEY, NULL,
			   "certificate and key come together");
	if (r == 0)
		r = read_certificate(pair->certificate, &i, why);
	if (r == 0)
		r = read_key(pair->key, &i, why);
	if (r == 0 && pair->ocsp)
		r = read_ocsp(pair->ocsp, &i, why);
	if (r == 0)
		*ret = i;
	else
		tls__identity_free(&i);
	return r;
}

void tls__identity_free(struct tls__identity *i)
{
	X509_free(i->certificate);
	tls__stack_free(i->chain);
	EVP_PKEY_free(i->key);
	buf_free(&i->ocsp);
}

int tls__authorities_read(const char *pem, STACK_OF(X509) * *ret, struct tls_refusal *why)
{
	_cleanup_(buf_free) struct buf bytes = { 0 };
	STACK_OF(X509) * all;
	BIO *bio;
	int r;

	ERR_clear_error();
	r = read_source(pem, TLS_PART_CA, &bytes, why);
	if (r < 0)
		return r;
	all = new_stack();
	bio = open_bytes(&bytes);
	if (read_rest(bio, all) < 0)
		r = tls__complain(why, TLS_PART_CA, pem);
	else if (sk_X509_num(all) == 0)
		r = refuse(why, TLS_PART_CA, pem, "has no certificate");
	BIO_free(bio);
	if (r == 0)
		*ret = all;
	else
		tls__stack_free(all);
	return r;
}
